"""Q1 and Q2 as data: the stream, the function over its windows, and how many rows a class has.

Q1 (table 2): a cubic over the latest quotes predicts the next price, beside the candlestick of the window; quotes come
with exponential gaps (`--arrivals poisson:rate=200k/s`). Q2: k-means over the latest positions of the players places
four camera drones. The game had 11,500 readings a second (`--arrivals constant:rate=11.5k/s`); sped up ten times it is
`constant:rate=115k/s`. Unless told, all rows are there at once: the highest sustainable rate is what the paper asks.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from penstock.apps.gasser.kernels import FORECAST, PLACE_DRONES
from penstock.apps.gasser.quotes import QUOTE_DDL, Quotes
from penstock.apps.gasser.readings import PLAYERS_AND_BALL, READING_DDL, Readings
from penstock.devices.kernel import Kernel
from penstock.workloads.workload import Generate

# The first setting of table 3, and one a tenth as long for tests.
WINDOW = "10k/25"
TEST_WINDOW = "1k/25"
TEST = "test"


@dataclass(frozen=True)
class Query:
    """A function over windows of a stream.

    `generate` makes the stream of so many keys, `usual_keys` where windows are over all rows. `row_s` is the time of a
    row in a window on one core, measured: windows are that times their length.
    """

    name: str
    description: str
    kernel: Kernel
    columns: tuple[str, ...]
    key: str
    generate: Callable[[int], Generate]
    usual_keys: int
    schema_ddl: str
    rows: Mapping[str, int]
    row_s: float

    @property
    def outputs(self) -> list[str]:
        """The names of the kernel's outputs."""
        return [output.name for output in self.kernel.outputs]


Q1 = Query(
    name="q1",
    description="Gasser's Q1: a cubic over the latest quotes predicts the next price, with the candlestick",
    kernel=FORECAST,
    columns=("price",),
    key="symbol",
    generate=Quotes,
    usual_keys=1,
    schema_ddl=QUOTE_DDL,
    rows={TEST: 10**6, "small": 20 * 10**6, "medium": 100 * 10**6, "large": 500 * 10**6, "huge": 2 * 10**9},
    row_s=2.3e-9,
)

Q2 = Query(
    name="q2",
    description="Gasser's Q2: k-means over the latest positions of football players places camera drones",
    kernel=PLACE_DRONES,
    columns=("x", "y"),
    key="sensor",
    generate=Readings,
    usual_keys=PLAYERS_AND_BALL,
    schema_ddl=READING_DDL,
    rows={TEST: 10**6, "small": 10 * 10**6, "medium": 50 * 10**6, "large": 250 * 10**6, "huge": 10**9},
    row_s=18e-9,
)

QUERIES = {query.name: query for query in (Q1, Q2)}
