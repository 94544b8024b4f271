"""Gates: how a decided size reaches a running query. One file a kind of source; `choose` picks it."""

from penstock.spark.gates.choose import check_unit, gate_for
from penstock.spark.gates.files import FileGate
from penstock.spark.gates.kafka.bytes import KafkaBytesGate
from penstock.spark.gates.kafka.rows import KafkaGate
from penstock.spark.gates.protocol import Retention, SourceGate
from penstock.spark.gates.split import SplitGate
from penstock.spark.gates.workload import WorkloadGate

__all__ = [
    "FileGate",
    "KafkaBytesGate",
    "KafkaGate",
    "Retention",
    "SourceGate",
    "SplitGate",
    "WorkloadGate",
    "check_unit",
    "gate_for",
]
