"""The Spark session of a run: local by default, quiet, and the same code on a cluster by another master."""

from __future__ import annotations

import socket
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING

from penstock.errors import BadInputError, MissingExtraError

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


_CONNECT_S = 3.0
_SHUFFLE = "spark.sql.shuffle.partitions"


def check_master(master: str) -> None:
    """Refuse a standalone master that nobody answers for: Spark itself would try for a minute."""
    if not master.startswith("spark://"):
        return
    silent = []
    for address in master.removeprefix("spark://").split(","):
        host, _, port = address.rpartition(":")
        try:
            with socket.create_connection((host.strip("[]"), int(port)), timeout=_CONNECT_S):
                return
        except ValueError:
            raise BadInputError("master", master, "not HOST:PORT", "write e.g. spark://127.0.0.1:7077") from None
        except OSError as error:
            silent.append(f"{address}: {error.strerror or error}")
    raise BadInputError(
        "master", master, f"no master answers ({'; '.join(silent)})", "start it, or write e.g. local[2]"
    )


@contextmanager
def session(master: str, profile: str = "fast", settings: Mapping[str, str] | None = None) -> Iterator[SparkSession]:
    """A session of our own, stopped at the end; one that is already active is used and left alone."""
    try:
        from pyspark import SparkContext
        from pyspark.sql import SparkSession
    except ModuleNotFoundError as error:
        raise MissingExtraError("pyspark", "spark") from error
    from penstock.spark.faults import cause
    from penstock.spark.session import configure

    if SparkContext._active_spark_context is not None:
        yield SparkSession.builder.getOrCreate()
        return
    check_master(master)
    # As a URI, since the options are split at blanks.
    log4j = Path(str(resources.files("penstock.bench").joinpath("log4j2.properties"))).as_uri()
    builder = (
        SparkSession.builder.master(master)
        .appName("penstock")
        .config("spark.ui.enabled", "false")
        .config("spark.ui.showConsoleProgress", "false")
        .config("spark.driver.extraJavaOptions", f"-Dlog4j2.configurationFile={log4j}")
    )
    for key, value in (settings or {}).items():
        builder = builder.config(key, value)
    try:
        spark = configure(builder, profile).getOrCreate()
    except Exception as error:
        why = cause(error)
        raise BadInputError(
            "master", master, f"Spark did not start ({why})", "write e.g. local[2], and see: penstock doctor"
        ) from error
    try:
        if _SHUFFLE not in (settings or {}):
            # One task a core: more would only add to the fixed cost of a batch.
            spark.conf.set(_SHUFFLE, str(spark.sparkContext.defaultParallelism))
        yield spark
    finally:
        spark.stop()


@contextmanager
def settings_in_force(spark: SparkSession, settings: Mapping[str, str]) -> Iterator[None]:
    """Settings of Spark SQL, for the queries that start in the meantime; what was there before comes back."""
    before = {name: spark.conf.get(name, None) for name in settings}
    for name, value in settings.items():
        spark.conf.set(name, value)
    try:
        yield
    finally:
        for name, was in before.items():
            if was is None:
                spark.conf.unset(name)
            else:
                spark.conf.set(name, was)
