"""Which gate fits a running query."""

from __future__ import annotations

from penstock.errors import UnsupportedError
from penstock.spark.gates.files import FileGate
from penstock.spark.gates.protocol import SourceGate
from penstock.spark.gates.split import SplitGate
from penstock.spark.gates.workload import WorkloadGate
from penstock.spark.jvm import LiveQuery
from penstock.spark.mailbox import Mailbox


def gate_for(query: LiveQuery) -> SourceGate:
    """The gate that fits a running query's sources; an error that says what to do where there is none."""
    gates = [_gate(query, index) for index in range(len(query.sources))]
    return gates[0] if len(gates) == 1 else SplitGate(gates)


def _gate(query: LiveQuery, index: int) -> SourceGate:
    source = query.sources[index]
    options = {key.lower(): value for key, value in source.options.items()}
    if source.kind == "FileStreamSource":
        return FileGate(query, index, query.user_limit(index, options.get("penstock.files")))
    if source.kind.startswith("PythonMicroBatchStream") and "mailbox" in options:
        limit = options.get("penstock.rows", options.get("maxrowspertrigger", "none"))
        user_limit = None if limit == "none" else float(limit)
        return WorkloadGate(query, Mailbox(options["mailbox"]), index, user_limit, options.get("admit", "rows"))
    raise UnsupportedError(
        f"{source.text} ({source.kind}) has no admission control that Penstock knows: read files, or replay a workload "
        "with penstock.read_workload; an unknown limit could make a source read everything at once"
    )
