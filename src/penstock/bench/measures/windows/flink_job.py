"""One job of PyFlink: a sliding count window over one key. Run by `flink` in Flink's own environment.

Arguments: query, length, every, windows, and the file of the kernels in NumPy. Prints {"seconds": ...}: from the
first full window to the last one, so that neither starting nor filling counts.
"""

from __future__ import annotations

import json
import sys
import time
from typing import Any

import numpy as np


def main(query: str, length: int, every: int, windows: int, kernels: str) -> None:
    """Run the job and print what it took."""
    from pyflink.common import Types  # type: ignore[import-not-found]
    from pyflink.datastream import StreamExecutionEnvironment  # type: ignore[import-not-found]
    from pyflink.datastream.functions import ProcessWindowFunction  # type: ignore[import-not-found]

    class Compute(ProcessWindowFunction):  # type: ignore[misc]
        def open(self, context: Any) -> None:
            # There by `add_python_file`.
            from numpy_kernels import KERNELS  # type: ignore[import-not-found]

            self.function = KERNELS[query]

        def process(self, key: Any, context: Any, elements: Any) -> Any:
            rows = np.array([row[1:] for row in elements])
            # Its first windows have fewer rows than they should: left out.
            if len(rows) == length:
                self.function(*rows.T)
                yield time.time()

    environment = StreamExecutionEnvironment.get_execution_environment()
    environment.set_parallelism(1)
    environment.set_python_executable(sys.executable)
    environment.add_python_file(kernels)
    count = length + (windows - 1) * every
    random = np.random.default_rng(1)
    width = 1 if query == "q1" else 2
    values = 100.0 + random.standard_normal((count, width)).cumsum(axis=0)
    rows = [(0, *map(float, row)) for row in values]
    kinds = Types.TUPLE([Types.INT(), *([Types.DOUBLE()] * width)])
    stream = environment.from_collection(rows, kinds)
    results = stream.key_by(lambda row: row[0], Types.INT()).count_window(length, every)
    with results.process(Compute(), Types.DOUBLE()).execute_and_collect("windows") as found:
        ended_s = sorted(found)
    print(json.dumps({"seconds": ended_s[-1] - ended_s[0], "windows": len(ended_s)}), flush=True)


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), int(sys.argv[4]), sys.argv[5])
