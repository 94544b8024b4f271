"""The six queries, as Spark SQL over a stream of rows with an event time, in append mode.

LMStream writes them in a language of continuous queries and says no more of their meaning than table III does. What
the table leaves open, and what we chose:

- LR1 joins `SegSpeedStr [range 30 slide 5] as A` with the stream `SegSpeedStr as L`, on the vehicle. A row of L is a
  point in time; that a window of A is joined with the L of all time would need the whole past as state. So L stands
  in the windows too: in every window, each row of L is given out once for each row of A of the same vehicle in the
  same window, itself included. That is what a window-based engine of this family computes for a join of two windowed
  streams, and the watermark bounds the state: what lies in a closed window is forgotten. A row comes out as soon as
  both partners are there, and as often as it has partners in windows; the order of rows has no meaning.
- `timestamp` beside an aggregate is where its window begins, in microseconds as in the rows.
- An aggregate comes out once, when its window has closed.
- `ORDER BY` is not allowed on a stream: CM1 is sorted where a batch is written, by window and then by its sum.
- Without a slide (LR1T, CM1T) windows tumble: the slide is the range.
"""

from __future__ import annotations

from dataclasses import dataclass

from penstock.apps.lmstream.positions import POSITIONS
from penstock.apps.lmstream.stream import CLOSING_S, Stream
from penstock.apps.lmstream.tasks import SCHEDULED, TASKS

SLOW = 40.0
_REPORT = ("timestamp", "vehicle", "speed", "highway", "lane", "direction", "segment")

# The columns of A are renamed, and not those of L: two sides that share a column make Spark read the source twice
# over, as two sources. The closing row would find itself as its own partner, so it is left out; by the window, as a
# filter by anything else would be moved below the watermark, which then never saw that row.
_SAME_VEHICLE = f"""
    SELECT {", ".join(f"L.{name}" for name in _REPORT)}
    FROM (
        SELECT window(event_time, '{{range}}', '{{slide}}') AS frame, {", ".join(_REPORT)} FROM {{rows}}
    ) AS L
    JOIN (
        SELECT window(event_time, '{{range}}', '{{slide}}') AS frame_a, vehicle AS vehicle_a FROM {{rows}}
    ) AS A
    ON A.frame_a = L.frame AND A.vehicle_a = L.vehicle
    WHERE L.frame.end <= timestamp_seconds({CLOSING_S}) AND A.frame_a.end <= timestamp_seconds({CLOSING_S})
"""
_SLOW_SEGMENTS = f"""
    SELECT unix_micros(window.start) AS timestamp, highway, direction, segment, avg(speed) AS avgSpeed
    FROM {{rows}}
    GROUP BY window(event_time, '{{range}}', '{{slide}}'), highway, direction, segment
    HAVING avg(speed) < {SLOW}
"""
_CPU_OF_CATEGORIES = """
    SELECT unix_micros(window.start) AS timestamp, category, sum(cpu) AS totalCpu
    FROM {rows}
    GROUP BY window(event_time, '{range}', '{slide}'), category
"""
_CPU_OF_JOBS = f"""
    SELECT jobId, avg(cpu) AS avgCpu
    FROM {{rows}}
    WHERE eventType = {SCHEDULED}
    GROUP BY window(event_time, '{{range}}', '{{slide}}'), jobId
"""


@dataclass(frozen=True)
class Query:
    """A query of table III: windows of `range_s` that begin every `slide_s`, over one of the two streams.

    `kind` names the query apart from its windows; `output` are its columns, and `order` those that a batch of it is
    sorted by before it is written.
    """

    name: str
    kind: str
    stream: Stream
    range_s: int
    slide_s: int
    sql: str
    output: tuple[str, ...]
    about: str
    order: tuple[str, ...] = ()

    @property
    def description(self) -> str:
        """The query in a line."""
        windows = f"{self.range_s} s" + (f" every {self.slide_s} s" if self.slide_s < self.range_s else "")
        return f"LMStream's {self.name.upper()}: {self.about}, windows of {windows} ({self.stream.name})"

    @property
    def text(self) -> str:
        """The SQL, with `{rows}` left in it for the stream.

        >>> "window(event_time, '60 seconds', '10 seconds'), category" in CM1S.text
        True
        """
        windows = {"range": f"{self.range_s} seconds", "slide": f"{self.slide_s} seconds"}
        return self.sql.format(rows="{rows}", **windows)


def _same_vehicle(name: str, range_s: int, slide_s: int) -> Query:
    about = "reports joined with those of the same vehicle"
    return Query(name, "same-vehicle", POSITIONS, range_s, slide_s, _SAME_VEHICLE, _REPORT, about)


def _cpu_of_categories(name: str, range_s: int, slide_s: int) -> Query:
    columns, about = ("timestamp", "category", "totalCpu"), "CPU requested by category, sorted"
    order = ("timestamp", "totalCpu", "category")
    return Query(name, "cpu-of-categories", TASKS, range_s, slide_s, _CPU_OF_CATEGORIES, columns, about, order)


LR1S = _same_vehicle("lr1s", 30, 5)
LR1T = _same_vehicle("lr1t", 30, 30)
LR2S = Query(
    name="lr2s",
    kind="slow-segments",
    stream=POSITIONS,
    range_s=30,
    slide_s=10,
    sql=_SLOW_SEGMENTS,
    output=("timestamp", "highway", "direction", "segment", "avgSpeed"),
    about="segments with a mean speed below 40",
)
CM1S = _cpu_of_categories("cm1s", 60, 10)
CM1T = _cpu_of_categories("cm1t", 60, 60)
CM2S = Query(
    name="cm2s",
    kind="cpu-of-jobs",
    stream=TASKS,
    range_s=60,
    slide_s=5,
    sql=_CPU_OF_JOBS,
    output=("jobId", "avgCpu"),
    about="mean CPU requested by scheduled tasks of each job",
)
QUERIES = {query.name: query for query in (LR1S, LR1T, LR2S, CM1S, CM1T, CM2S)}
