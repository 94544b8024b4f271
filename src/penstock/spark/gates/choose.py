"""Which gate fits a running query."""

from __future__ import annotations

from penstock.errors import BadInputError, UnsupportedError
from penstock.spark.gates.files import FileGate
from penstock.spark.gates.kafka.bytes import KafkaBytesGate
from penstock.spark.gates.kafka.rows import KafkaGate
from penstock.spark.gates.protocol import SourceGate
from penstock.spark.gates.split import SplitGate
from penstock.spark.gates.workload import WorkloadGate
from penstock.spark.jvm.bridge import LiveQuery
from penstock.spark.source.mailbox import Mailbox


def gate_for(query: LiveQuery, unit: str | None = None) -> SourceGate:
    """The gate that fits a running query's sources; an error that says what to do where there is none.

    `unit` is "files" or "bytes" for files, by default what the user's own limit counts; "rows" or "bytes" for Kafka, by
    default rows. Our own source counts rows or, where it was made to, cost.
    """
    check_unit(unit)
    gates = [_gate(query, index, unit) for index in range(len(query.sources))]
    return gates[0] if len(gates) == 1 else SplitGate(gates)


def check_unit(unit: object) -> None:
    """Refuse what no source counts in."""
    if unit not in (None, "rows", "files", "bytes"):
        raise BadInputError("unit", unit, "not a unit of a source", "write rows, files or bytes, or leave it out")


def _gate(query: LiveQuery, index: int, unit: str | None) -> SourceGate:
    source = query.sources[index]
    options = {key.lower(): value for key, value in source.options.items()}
    if source.kind == "FileStreamSource":
        counted = "bytes" if "maxbytespertrigger" in options else "files"
        return FileGate(query, index, query.user_limit(index, options.get("penstock.files")), unit or counted)
    if source.kind == "KafkaMicroBatchStream":
        if unit == "files":
            raise BadInputError("unit", unit, "not a unit of Kafka", "write rows or bytes, or leave it out")
        remembered = options.get("penstock.rows")
        limit = None if remembered is None else remembered if remembered == "none" else f"rows:{remembered}"
        kind = KafkaBytesGate if unit == "bytes" else KafkaGate
        return kind(query, index, query.user_limit(index, limit))
    if source.kind.startswith("PythonMicroBatchStream") and "mailbox" in options:
        admit = options.get("admit", "rows")
        if unit not in (None, admit):
            raise BadInputError("unit", unit, f"this workload is admitted by {admit}", "leave it out")
        limit = options.get("penstock.rows", options.get("maxrowspertrigger", "none"))
        user_limit = None if limit == "none" else float(limit)
        gate = WorkloadGate(query, Mailbox(options["mailbox"]), index, user_limit, admit)
        query.owe_file(*gate.own_file())
        return gate
    raise UnsupportedError(
        f"{source.text} ({source.kind}) has no admission control that Penstock knows: read Kafka or files, or replay "
        "a workload with penstock.read_workload; an unknown limit could make a source read everything at once"
    )
