"""The fixed cost of a batch: a query that does nothing, under one set of settings after another.

Settings of the file system hold for a whole JVM, so each measurement is a process of its own; the settings take turns,
so that a busy machine burdens all alike.
"""

from __future__ import annotations

import json
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence

from penstock.errors import PenstockError

RAW = "raw_local_files"
"""The name of `fast` with the opt-in of that name."""
EXTRAS = {
    "no_log_purge": {"spark.sql.streaming.minBatchesToRetain": "1000000"},
    "aqe_off": {"spark.sql.adaptive.enabled": "false"},
    "codegen_off": {"spark.sql.codegen.wholeStage": "false"},
}
"""Settings measured on top of `fast`, and not in it: too little gained, or the user's own plans would change."""

_BATCHES = 150
_WARM_UP = 30
_LONGEST_S = 60.0


def compare(names: Sequence[str], rounds: int, progress: Callable[[str], None]) -> dict[str, float]:
    """Median trigger time in ms under each of the named settings, over all rounds."""
    seen: dict[str, list[float]] = {name: [] for name in names}
    for number in range(rounds):
        # Every other round in reverse: a drift of the machine favours none.
        for name in names if number % 2 == 0 else reversed(names):
            progress(f"fixed cost of a batch, {name}, round {number + 1} of {rounds}")
            answer = subprocess.run(
                [sys.executable, "-m", "penstock.bench.measures.fixed_cost", name],
                capture_output=True,
                text=True,
                check=False,
            )
            if answer.returncode != 0:
                raise PenstockError(f"fixed cost under {name!r} could not be measured: {answer.stderr.strip()[-500:]}")
            seen[name] += json.loads(answer.stdout.splitlines()[-1])
    return {name: statistics.median(times) for name, times in seen.items()}


def main(name: str) -> None:
    """Run the empty query under the named settings and print its trigger times in ms as JSON."""
    from pyspark.sql import SparkSession

    from penstock.spark.session import configure

    builder = SparkSession.builder.master("local[2]").config("spark.ui.enabled", "false")
    builder = builder.config("spark.log.level", "ERROR").config("spark.sql.streaming.numRecentProgressUpdates", "1000")
    for key, value in EXTRAS.get(name, {}).items():
        builder = builder.config(key, value)
    profile = "safe" if name == "default" else "fast"
    spark = configure(builder, profile, raw_local_files=name == RAW).getOrCreate()
    source = spark.readStream.format("rate-micro-batch").option("rowsPerBatch", 10).load()
    with tempfile.TemporaryDirectory() as folder:
        query = source.writeStream.format("noop").option("checkpointLocation", folder).start()
        deadline_s = time.monotonic() + _LONGEST_S
        while len(query.recentProgress) < _BATCHES and time.monotonic() < deadline_s:
            time.sleep(0.5)
        query.stop()
        times = [progress["durationMs"]["triggerExecution"] for progress in query.recentProgress]
        spark.stop()
    print(json.dumps(times[_WARM_UP:]))


if __name__ == "__main__":
    main(sys.argv[1])
