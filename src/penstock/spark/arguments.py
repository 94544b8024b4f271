"""What users pass to `attach`, `attach_all` and `gated`, checked: each mistake is one line that says what to write."""

from __future__ import annotations

from numbers import Integral
from typing import Any

from pyspark.sql import DataFrame, DataFrameReader
from pyspark.sql.streaming.readwriter import DataStreamWriter

from penstock.errors import BadInputError, UnsupportedError
from penstock.slo import Slo

_CONNECT = "pyspark.sql.connect"


def slo_of(slo: object) -> Slo:
    """The objective, given in words or as an `Slo`."""
    if isinstance(slo, str):
        return Slo.parse(slo)
    if not isinstance(slo, Slo):
        raise BadInputError("slo", slo, "not an objective", "write it in words, e.g. '<= 1 s' or '1 s ± 10%'")
    return slo


def whole(field: str, value: object, least: int, example: int) -> None:
    """Refuse what is not a whole number of at least `least`."""
    if isinstance(value, bool) or not isinstance(value, Integral) or value < least:
        raise BadInputError(field, value, f"not a whole number of {least} or more", f"write e.g. {example}")


def check_query(query: object) -> None:
    """Refuse what is not a streaming query of a classic session."""
    if hasattr(query, "_jsq"):
        return
    if _of_connect(query):
        raise UnsupportedError(
            "this is a Spark Connect query: its engine is out of reach from here; attach in the driver's process, from "
            "SparkSession.builder.master(...)"
        )
    reason = "not a query"
    if isinstance(query, DataStreamWriter):
        reason = "a writer that was not started"
    raise BadInputError("query", query, reason, "give what .writeStream...start() returns")


def check_session(session: object) -> None:
    """Refuse what is not a classic session."""
    if hasattr(session, "_jsparkSession"):
        return
    if _of_connect(session):
        raise UnsupportedError(
            "this is a Spark Connect session: its engine is out of reach from here; attach in the driver's process, "
            "from SparkSession.builder.master(...)"
        )
    raise BadInputError("spark", session, "not a session", "give what SparkSession.builder...getOrCreate() returns")


def java_reader(reader: object) -> Any:
    """The engine's side of a stream reader; what is not one is refused."""
    if _of_connect(reader):
        raise UnsupportedError(
            "this is a Spark Connect reader; gate the query from a classic session in the driver's process"
        )
    if isinstance(reader, DataFrameReader):
        raise BadInputError(
            "reader", reader, "reads once and not as a stream", "write penstock.gated(spark.readStream)"
        )
    if isinstance(reader, DataFrame):
        remedy = "write penstock.gated(spark.readStream...).load()"
        raise BadInputError("reader", reader, "loaded already, and its limits are set before", remedy)
    jreader = getattr(reader, "_jreader", None)
    if jreader is None:
        raise BadInputError("reader", reader, "not a stream reader", "write penstock.gated(spark.readStream...)")
    return jreader


def _of_connect(thing: object) -> bool:
    return any(cls.__module__.startswith(_CONNECT) for cls in type(thing).__mro__)
