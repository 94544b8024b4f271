"""What measurements run on: one Spark session that starts when it is first asked for, a folder, and CPU seconds."""

from __future__ import annotations

import shutil
import tempfile
from contextlib import ExitStack
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING

from penstock.bench.measures.windows.cases import CORES, Size
from penstock.bench.session import session
from penstock.errors import MissingExtraError

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_SETTINGS = {
    "spark.sql.streaming.stateStore.providerClass": (
        "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider"
    ),
    "spark.sql.shuffle.partitions": str(CORES),
    "spark.driver.memory": "4g",
}


class Machine:
    """A session and a folder of its own, both gone at the end."""

    def __init__(self, size: Size) -> None:
        self.size = size
        self._stack = ExitStack()
        self._spark: SparkSession | None = None

    def __enter__(self) -> Machine:
        self.folder = Path(tempfile.mkdtemp(prefix="penstock-windows-"))
        self._stack.callback(shutil.rmtree, self.folder, ignore_errors=True)
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._stack.close()

    @property
    def spark(self) -> SparkSession:
        """The session, on all cores."""
        if self._spark is None:
            self._spark = self._stack.enter_context(session(f"local[{CORES}]", settings=_SETTINGS))
        return self._spark


def cpu_seconds() -> float:
    """CPU seconds of this process, of Spark's JVM and of its Python workers, so far."""
    try:
        import psutil
    except ModuleNotFoundError as error:
        raise MissingExtraError("psutil", "dev") from error
    total_s = 0.0
    here = psutil.Process()
    for process in (here, *here.children(recursive=True)):
        try:
            times = process.cpu_times()
        except psutil.NoSuchProcess:
            continue
        # Children that have ended are counted by their parents.
        total_s += times.user + times.system + times.children_user + times.children_system
    return total_s
