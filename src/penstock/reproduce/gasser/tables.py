"""Tables 3 and 4, and what figures 7, 8, 9 and 11 show, as numbers: published beside ours."""

from __future__ import annotations

from penstock.bench.measures.windows import aggregates, black_box, devices, latency, planner, plumbing
from penstock.bench.measures.windows.cases import Setting
from penstock.bench.measures.windows.peers import COMPILED, FLINK, NUMPY, PANDAS, SPARK
from penstock.bench.measures.windows.rates import OURS
from penstock.reproduce.gasser import published
from penstock.reproduce.gasser.scores import Scores, case
from penstock.reproduce.gasser.wanted import wanted_table
from penstock.reproduce.table import Table, Value
from penstock.spark.windows.api import usual_batch
from penstock.stages.windows.spec import WindowSpec

WHO = (OURS, SPARK, FLINK, NUMPY, COMPILED, PANDAS)


def tables(scores: Scores) -> list[Table]:
    """All that there are rows for."""
    made = [
        wanted_table(scores),
        _table_3(scores),
        _rates(scores),
        _keyed(scores),
        _table_4(scores),
        _latency(scores),
        _break_even(scores),
        _black_box(scores),
        _plumbing(scores),
        _aggregates(scores),
        _planner(scores),
    ]
    return [table for table in made if table.rows]


def _table_3(scores: Scores) -> Table:
    head = (
        "case",
        "n, theirs",
        "B, theirs",
        "over its CPU version",
        "over Flink",
        "n, ours",
        "B, ours",
        "over plain PySpark",
        "over PyFlink",
        "over a NumPy loop",
        "over the compiled loop",
    )
    rows: list[tuple[Value, ...]] = []
    for setting in scores.results.settings():
        theirs = published.TABLE_3.get((setting.query, setting.length, setting.every))
        mine = [_gain(scores, setting, who) for who in (SPARK, FLINK, NUMPY, COMPILED)]
        replicas = scores.results.rate(setting, name="replicas")
        rows.append(
            (
                case(setting),
                theirs.replicas if theirs else None,
                theirs.batch if theirs else None,
                f"{theirs.over_cpu:g}x" if theirs else None,
                _over_flink(setting, theirs) if theirs else None,
                None if replicas is None else round(replicas),
                _batch(scores, setting),
                *mine,
            )
        )
    return Table("3", "Table 3: best configurations and gains", head, tuple(rows))


def _rates(scores: Scores) -> Table:
    head = ("case", *WHO, "kernel's share, %", "copies of a row", "MB of state")
    rows: list[tuple[Value, ...]] = []
    for setting in scores.results.settings():
        rates = [_rate(scores, setting, who) for who in WHO]
        rows.append((case(setting), *rates, *_inside(scores, setting)))
    return Table("7", "Figure 7: sustainable rate, rows/s, without keys", head, tuple(rows))


def _keyed(scores: Scores) -> Table:
    head = ("case", "keys", "rows/s", "windows/s", "kernel's share, %", "copies of a row", "MB of state")
    rows: list[tuple[Value, ...]] = []
    for setting in scores.results.settings(keyed=True):
        windows = scores.results.rate(setting, name="windows_per_s")
        said = None if windows is None else f"{windows:,.0f}"
        rows.append((case(setting), setting.keys, _rate(scores, setting, OURS), said, *_inside(scores, setting)))
    return Table("7-keyed", "Figure 7 with keys: sustainable rate", head, tuple(rows))


def _table_4(scores: Scores) -> Table:
    head = ["slide", "B"]
    for protocol in ("soft", "hard"):
        head += [f"{protocol} average, theirs", "ours", f"{protocol} maximum, theirs", "ours"]
    rows: list[tuple[Value, ...]] = []
    for (every, batch), ours in scores.extents.items():
        theirs = published.TABLE_4[every, batch]
        pairs = (
            (theirs.soft, ours.soft),
            (theirs.soft_max, ours.soft_max),
            (theirs.hard, ours.hard),
            (theirs.hard_max, ours.hard_max),
        )
        rows.append((every, batch, *(f"{value:,.0f}" for pair in pairs for value in pair)))
    return Table("4", "Table 4: rows from asking for a change to its completion", tuple(head), tuple(rows))


def _latency(scores: Scores) -> Table:
    head = ("window", "varied", "B", "trigger, s", "rows of a batch", "mean latency, s", "longest, s", "batch time, s")
    rows: list[tuple[Value, ...]] = []
    for each in scores.results.select(program=latency.PROGRAM):
        trigger = f"{each['trigger_s']:g}" if each["trigger_s"] else "at once"
        times = [round(each[name], 2) for name in ("mean_s", "max_s", "batch_s")]
        by = {latency.BY_BATCH: "B", latency.BY_TRIGGER: "Spark's batch"}[each["by"]]
        rows.append((f"{each['length']:,}", by, each["batch"], trigger, round(each["batch_rows"]), *times))
    return Table("8", "Figure 8: latency of a window of Q1, slide 25", head, tuple(rows))


def _break_even(scores: Scores) -> Table:
    head = (
        "query",
        "window",
        "GPU and CPU, published",
        "one thread keeps up with all, from slide",
        "interpreted with one thread, from slide",
        "highest speed-up of all threads",
    )
    results = scores.results
    rows: list[tuple[Value, ...]] = []
    for query in ("q1", "q2"):
        lengths = sorted({each["length"] for each in results.select(program=devices.PROGRAM, query=query)})
        for length in lengths:
            slides = {each["every"] for each in results.select(program=devices.PROGRAM, query=query, length=length)}
            ups = [up for every in slides if (up := speed_up(scores, query, length, every)) is not None]
            threads = results.break_even(query, length, "numba", "numba-parallel")
            python = results.break_even(query, length, "numpy", "numba")
            theirs = f"about {round(published.BREAK_EVEN[query] * length):,}"
            said = ("beyond all measured" if each is None else f"{each:,}" for each in (threads, python))
            rows.append((query.upper(), f"{length:,}", theirs, *said, round(max(ups), 2) if ups else None))
    return Table("9", "Figure 9: break-even slide between devices at 1M rows/s", head, tuple(rows))


def speed_up(scores: Scores, query: str, length: int, every: int) -> float | None:
    """All threads over one, both capped by what the stream gives."""
    one, all_threads = (scores.results.capped(query, length, every, name) for name in ("numba", "numba-parallel"))
    return all_threads / one if one and all_threads else None


def _black_box(scores: Scores) -> Table:
    head = ("slide", "black box, MB/s", "incremental kernel, MB/s", "running sums, MB/s", "black box behind, %")
    rows: list[tuple[Value, ...]] = []
    for each in scores.results.select(program=black_box.PROGRAM):
        ways = (black_box.BLACK_BOX, black_box.INCREMENTAL, black_box.RUNNING)
        found = [each.get(f"{way} MB/s") for way in ways]
        penalty = scores.results.penalty(each["every"])
        behind = None if penalty is None else round(100 * penalty)
        rows.append((each["every"], *(None if value is None else round(value) for value in found), behind))
    return Table("11", "Figure 11: the price of the black box, windows of 1,024 rows", head, tuple(rows))


def _plumbing(scores: Scores) -> Table:
    head = ("query", "CPU s per million rows", "rows/s", "fixed s a batch")
    rows: list[tuple[Value, ...]] = []
    for who in (plumbing.IDENTITY, plumbing.UNKEYED, plumbing.KEYED):
        cpu, rate = (scores.results.plumbing(who, name) for name in ("cpu_s_per_million", "rows_per_s"))
        fixed_s = scores.results.fixed_s(who)
        if cpu is not None and rate is not None:
            rows.append((who, round(cpu, 2), f"{rate:,.0f}", None if fixed_s is None else round(fixed_s, 2)))
    return Table("plumbing", "What moving rows costs, with nothing computed", head, tuple(rows))


def _aggregates(scores: Scores) -> Table:
    head = ("windows of 10 s", "ours, s a batch", "Spark's, s a batch", "ours / Spark's", "CPU, ours / Spark's")
    rows: list[tuple[Value, ...]] = []
    for every_s in aggregates.SLIDES_S:
        pair = [
            scores.results.middle("batch_s", program=aggregates.PROGRAM, who=who, every_s=every_s)
            for who in (aggregates.OURS, aggregates.SPARK)
        ]
        ratios = [scores.results.aggregate(every_s, name) for name in ("batch_s", "cpu_s_per_million")]
        if any(value is not None for value in pair):
            values = (None if value is None else round(value, 2) for value in (*pair, *ratios))
            rows.append((f"every {every_s:g} s", *values))
    return Table("aggregates", "Sum and mean by key: ours beside Spark's own window()", head, tuple(rows))


def _planner(scores: Scores) -> Table:
    head = ("windows a call", "best device", "planner chose", "planner / best")
    ratios = dict(scores.results.planners())
    rows = tuple(
        (f"{each['windows']:,}", each["best"], each["chosen"], round(ratios[each["windows"]], 2))
        for each in scores.results.select(program=planner.PROGRAM)
        if each["windows"] in ratios
    )
    return Table("planner", "The planner beside the best single device", head, rows)


def _rate(scores: Scores, setting: Setting, who: str) -> Value:
    rate = scores.results.rate(setting, who)
    if rate is not None:
        return f"{rate:,.0f}"
    limit_s = scores.results.unfinished(setting, who)
    return None if limit_s is None else f"not in {limit_s:.0f} s"


def _gain(scores: Scores, setting: Setting, who: str) -> Value:
    gain = scores.results.gain(setting, who)
    if gain is not None:
        return f"{gain:.2f}x" if gain < 10 else f"{gain:.0f}x"
    limit_s = scores.results.unfinished(setting, who)
    return None if limit_s is None else f"not in {limit_s:.0f} s"


def _inside(scores: Scores, setting: Setting) -> tuple[Value, ...]:
    share, copies, megabytes = (
        scores.results.rate(setting, name=name) for name in ("kernel_share", "copies_a_row", "kept_mb")
    )
    return (
        None if share is None else round(100 * share),
        None if copies is None else round(copies, 2),
        None if megabytes is None else round(megabytes, 1),
    )


def _batch(scores: Scores, setting: Setting) -> Value:
    chosen = scores.results.best_batch(setting)
    return chosen if chosen is not None else f"{usual_batch(WindowSpec(setting.length, setting.every))} (own choice)"


def _over_flink(setting: Setting, theirs: published.Best) -> str:
    doubt = " (?)" if (setting.query, setting.length, setting.every) in published.UNCERTAIN else ""
    return f"{theirs.over_flink:g}x{doubt}"
