from __future__ import annotations

import json
import math
import re
import sys
import threading
from collections.abc import Iterator
from contextlib import nullcontext
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest

from penstock.bench import comparison as comparisons
from penstock.bench import demo
from penstock.bench.report import page as page_module
from penstock.bench.report import words
from penstock.bench.report.batches import batches_of, owners_of, thinned
from penstock.bench.report.chart import Chart, figure, plotly_js
from penstock.bench.report.run_charts import spread_chart
from penstock.bench.report.run_data import load_run
from penstock.bench.report.write import write_report
from penstock.bench.run import RunSpec, Tick
from penstock.cli import main as cli
from penstock.errors import BadInputError, MissingExtraError
from penstock.journal import Journal, Recording, read
from penstock.journal.reader import DecisionRecord
from penstock.metrics import summarise
from penstock.sample import BatchSample, Decision, Status
from penstock.slo import Slo

pytest.importorskip("plotly")

HOLD = "1 s ± 10%"
EVIL = "</script><script>alert(1)</script><img src=x onerror=alert(2)>"
VOID = {"meta", "input", "br"}
PLOTLY = "/* the script that draws */"


class Outline(HTMLParser):
    """Reads a page strictly: every element that is opened must be closed, in order."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.texts: list[str] = []
        self.data: dict[str, str] = {}

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        inside = self.open[-1] if self.open else ""
        if inside == "script":
            if name := self.tags[-1][1].get("data-chart"):
                self.data[name] = self.data.get(name, "") + data
        elif inside != "style":
            self.texts.append(data)

    @property
    def text(self) -> str:
        return " ".join(self.texts)

    def chart(self, name: str) -> dict[str, Any]:
        return dict(json.loads(self.data[name]))

    def points(self, name: str) -> list[dict[str, Any]]:
        return list(self.chart(name)["data"])


def outline(path: Path) -> Outline:
    text = path.read_text(encoding="utf-8")
    assert text.count(PLOTLY) == 1
    page = Outline()
    page.feed(text)
    page.close()
    assert page.open == []
    return page


@pytest.fixture(autouse=True, scope="module")
def small() -> Iterator[None]:
    """Plotly's script is 5 MB, the same on every page, and none of our business in most of the tests."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(page_module, "plotly_js", lambda: PLOTLY)
        yield


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory, small: None) -> Outline:
    """The report of `SAMPLES`, read."""
    return outline(write_report(journal_in(tmp_path_factory.mktemp("page") / "run", SAMPLES)))


def batch(number: int, latency_s: float = 1.0, **fields: Any) -> BatchSample:
    defaults: dict[str, Any] = {"load": 10.0 + number, "part": "low" if number < 4 else "high"}
    defaults |= {"durations_s": {"planning": 0.1, "processing": latency_s - 0.1}, "started_s": 2.0 * number}
    return BatchSample(number, 100, 100, processing_s=latency_s, **(defaults | fields))


LATENCIES_S = [0.4, 1.0, 1.05, 1.5, 0.95, 1.0, 1.02, 9.0]
SAMPLES = [batch(0, 0.4, status=Status.WARM_UP), *(batch(n, s) for n, s in enumerate(LATENCIES_S) if n)]


def journal_in(
    folder: Path, samples: list[BatchSample], reason: str = "within the band", header: dict[str, Any] | None = None
) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    given = {"slo": HOLD, "controller": "pmbaf", "unit": "rows"} if header is None else header
    with Journal.open(folder / "journal.jsonl", given) as journal:
        for sample in samples:
            journal.sample(sample, control_s=0.002)
            journal.decision(sample.batch_id, Decision(120, f"{reason} {sample.batch_id}"), applied=True)
    return folder


def call(*arguments: str) -> int:
    with pytest.raises(SystemExit) as ended:
        cli.main(arguments)
    return ended.value.code if isinstance(ended.value.code, int) else 0


def test_the_page_loads_nothing_from_anywhere(page: Outline) -> None:
    for tag, attributes in page.tags:
        assert tag not in {"link", "img", "iframe", "object", "embed", "base"}
        assert "src" not in attributes
        assert (attributes.get("href") or "#").startswith("#")
    policy = next(
        a["content"] for t, a in page.tags if t == "meta" and a.get("http-equiv") == "Content-Security-Policy"
    )
    assert policy is not None
    assert policy.startswith("default-src 'none'")
    assert "http" not in policy


def test_the_script_that_draws_is_inside_whole(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(page_module, "plotly_js", plotly_js)
    script = plotly_js()
    assert "</script" not in script
    assert write_report(journal_in(tmp_path / "run", SAMPLES)).read_text().count(script) == 1


def test_plotly_is_told_not_to_offer_its_servers(tmp_path: Path) -> None:
    written = write_report(journal_in(tmp_path / "run", SAMPLES)).read_text()
    assert "showSendToCloud: false" in written
    assert 'plotlyServerURL: ""' in written
    assert "https://" not in written


def test_the_numbers_are_those_of_the_journal(page: Outline) -> None:
    summary = summarise(SAMPLES, Slo.parse(HOLD))
    assert summary["i_slh"] == pytest.approx(500 / 7)
    for value in (summary["i_slh"], summary["b_slh"], summary["mad_d"], summary["sd_d"]):
        assert words.percent(value) in page.texts
    for rank in ("p50", "p95", "p99"):
        assert words.duration(summary["latency_s"][rank]) in page.texts
    assert words.rate(summary["throughput_per_s"]) in page.texts
    assert "5 of 7 batches met the objective, 2 were too slow." in page.text


def test_charts_draw_every_batch_once_hits_and_misses_apart_in_colour_and_shape(page: Outline) -> None:
    named = {trace["name"]: trace for trace in page.points("trace") if trace.get("name")}
    assert {name: len(trace["x"]) for name, trace in named.items()} == {
        "hit": 5,
        "miss": 1,
        "miss, above the axis": 1,
        "not counted": 1,
    }
    looks = [(trace["marker"]["color"], trace["marker"]["symbol"]) for trace in named.values()]
    assert len({colour for colour, _ in looks}) == 3
    assert len({shape for _, shape in looks}) == 4
    assert page.points("cumulative")[0]["y"][-1] == pytest.approx(100 * 5 / 7, abs=0.01)
    assert [round(each, 1) for each in page.points("patterns-chart")[0]["y"]] == [66.7, 75.0]


def test_pointing_at_a_batch_shows_all_about_it_and_its_decision(page: Outline) -> None:
    miss = next(trace for trace in page.points("trace") if trace.get("name") == "miss")
    assert miss["text"] == [
        "batch 3: 1.5 s, miss<br>size 100<br>load 13, low<br>decided: 120, because within the band 3"
    ]


def test_a_batch_above_the_axis_stands_at_its_own_height_in_the_full_view(page: Outline) -> None:
    chart = page.chart("trace")
    near, full = chart["views"]
    top = chart["layout"]["yaxis"]["range"][1]
    assert top < 9.0
    assert [chart["data"][at]["y"] for at in near["traces"]] == near["restyle"]["y"]
    assert max(max(ys) for ys in near["restyle"]["y"]) <= top
    assert full["restyle"]["y"][1] == [9.0]
    assert full["relayout"]["yaxis.range"][1] > 9.0


def test_the_band_is_drawn_where_the_slo_has_it(page: Outline) -> None:
    shapes = page.chart("trace")["layout"]["shapes"]
    assert (0.9, 1.1) in [(shape["y0"], shape["y1"]) for shape in shapes]


def test_text_of_a_journal_never_becomes_markup(tmp_path: Path) -> None:
    samples = [batch(n, part=EVIL) for n in range(3)]
    header = {"slo": HOLD, "controller": EVIL, "app": EVIL, "labels": {EVIL: EVIL}}
    folder = journal_in(tmp_path / "run", samples, reason=EVIL, header=header)
    with Journal.open(folder / "journal.jsonl", header) as journal:
        journal.event(EVIL, why=EVIL)
    (folder / "summary.json").write_text(json.dumps({"spec": {EVIL: EVIL}}))
    page = outline(write_report(folder))
    tags = [tag for tag, _ in page.tags]
    assert "img" not in tags
    # Ours, plotly's, and one for each chart.
    assert tags.count("script") == 2 + len(page.data)
    assert EVIL in page.text
    text = next(trace for trace in page.points("trace") if trace.get("name") == "hit")["text"][0]
    assert "<img" not in text
    assert "&lt;img" in text


def test_no_text_in_a_figure_can_end_its_script() -> None:
    drawn = figure(100)
    drawn.add_scatter(x=[1], y=[1], name=EVIL)
    written = Chart("x", drawn, "a chart").render()
    assert written.count("</script>") == 1
    page = Outline()
    page.feed(written)
    assert page.points("x")[0]["name"] == EVIL


def test_each_decision_is_listed_and_the_replaced_one_is_marked(tmp_path: Path) -> None:
    folder = tmp_path / "run"
    folder.mkdir()
    with Journal.open(folder / "journal.jsonl", {"slo": HOLD}) as journal:
        journal.decision(-1, Decision(100, "first size"), applied=True)
        journal.sample(batch(0, 0.9, confirmed=False))
        journal.decision(0, Decision(110, "estimate"), applied=True)
        journal.sample(batch(0, 1.0))
        journal.decision(0, Decision(105, "confirmed"), applied=False)
    page = outline(write_report(folder))
    rows = [attributes for tag, attributes in page.tags if tag == "tr" and {"class", "data-at"} & attributes.keys()]
    assert rows == [{"class": "replaced"}, {"data-at": "0"}]
    assert [text for text in page.texts if text in ("applied", "replaced", "not applied")] == [
        "applied",
        "replaced",
        "not applied",
    ]


def test_of_batches_with_one_id_the_one_that_had_started_owns_the_decision() -> None:
    samples = [batch(0, started_s=10.0), batch(0, started_s=500.0)]
    decisions = [DecisionRecord(0, Decision(5, "old"), True, 11.0), DecisionRecord(0, Decision(6, "new"), True, 501.0)]
    recording = Recording(samples=samples, decisions=decisions)
    assert owners_of(recording) == [0, 1]
    found = batches_of(recording, Slo.parse(HOLD))
    assert [each.decision.decision.reason for each in found if each.decision] == ["old", "new"]


def test_faults_stand_above_everything_else(tmp_path: Path) -> None:
    folder = journal_in(tmp_path / "run", SAMPLES)
    with Journal.open(folder / "journal.jsonl", {"slo": HOLD}) as journal:
        journal.event("gave-up", why="nothing usable came")
        journal.event("detached", why="over")
    page = outline(write_report(folder))
    assert "gave-up: nothing usable came" in page.texts
    assert next(a["id"] for tag, a in page.tags if tag == "section") == "events"


def test_an_ordinary_end_is_no_alarm(tmp_path: Path) -> None:
    folder = journal_in(tmp_path / "run", SAMPLES)
    with Journal.open(folder / "journal.jsonl", {"slo": HOLD}) as journal:
        journal.event("detached", why="over")
    page = outline(write_report(folder))
    assert not [a for tag, a in page.tags if a.get("class") == "notice"]


def test_a_summary_that_disagrees_with_its_journal_is_told(tmp_path: Path) -> None:
    folder = journal_in(tmp_path / "run", SAMPLES)
    (folder / "summary.json").write_text(json.dumps({"i_slh": 99.0, "digest_ok": False, "interrupted": True}))
    text = outline(write_report(folder)).text
    assert "summary.json and the journal disagree on I-SLH: 99.0% and 71.4%" in text
    assert "The output is wrong" in text
    assert "stopped before the end" in text


@pytest.mark.parametrize(("digest_ok", "said"), [(True, "correct"), (None, "not checked"), ("odd", "not checked")])
def test_the_state_of_the_output_is_told(tmp_path: Path, digest_ok: object, said: str) -> None:
    folder = journal_in(tmp_path / "run", SAMPLES)
    (folder / "summary.json").write_text(json.dumps({"digest_ok": digest_ok}))
    assert said in outline(write_report(folder)).texts


BARE: dict[str, Any] = {"load": None, "part": None, "durations_s": {}, "started_s": None}


@pytest.mark.parametrize(
    ("slo", "samples", "charts"),
    [
        (HOLD, [], set()),
        (HOLD, [batch(0, status=Status.WARM_UP)], {"trace"}),
        (HOLD, [batch(0)], {"trace", "cumulative", "patterns-chart", "spread-chart", "phases-chart"}),
        (HOLD, [batch(n, **BARE) for n in range(3)], {"trace", "cumulative", "spread-chart"}),
        (HOLD, [batch(0, math.nan, **BARE), BatchSample(1, 0, 0, 0.1, status=Status.EMPTY)], set()),
        (HOLD, [batch(0, **BARE), batch(1, math.inf, **BARE)], {"trace", "cumulative", "spread-chart"}),
        ("<= 2 s end-to-end", [batch(0, **BARE), batch(1, wait_s=math.nan, **BARE)], set()),
        (
            "<= 2 s end-to-end",
            [batch(n, wait_s=0.5 * n, **BARE) for n in range(6)],
            {"trace", "cumulative", "spread-chart"},
        ),
        (">= 50/s", [batch(n, 1.0 + n, **BARE) for n in range(6)], {"trace", "cumulative", "spread-chart"}),
        ("3 ms ± 1%", [batch(n, 1.0 + n, **BARE) for n in range(6)], {"trace", "cumulative", "spread-chart"}),
    ],
)
def test_missing_fields_break_nothing(tmp_path: Path, slo: str, samples: list[BatchSample], charts: set[str]) -> None:
    page = outline(write_report(journal_in(tmp_path / "run", samples, header={"slo": slo})))
    assert set(page.data) == charts
    for name in charts:
        # JSON has no NaN; what browsers read must not have it either.
        json.loads(page.data[name], parse_constant=lambda text: pytest.fail(text))


def test_an_empty_run_says_so(tmp_path: Path) -> None:
    page = outline(write_report(journal_in(tmp_path / "run", [])))
    assert "No batch of this run can be counted: 0 batches in the journal." in page.texts
    assert page.data == {}


def test_a_long_run_stays_small_and_says_what_it_left_out(tmp_path: Path) -> None:
    folder = tmp_path / "run"
    folder.mkdir()
    with Journal.open(folder / "journal.jsonl", {"slo": HOLD}) as journal:
        for n in range(10_000):
            journal.sample(batch(n, 5.0 if n == 7777 else 1.0 + 0.0001 * (n % 1500), durations_s={}))
            journal.decision(n, Decision(100, f"latency is within 900 ms to 1.1 s: size stays at {n}"), applied=True)
    written = write_report(folder)
    page = outline(written)
    assert written.stat().st_size < 2_500_000
    drawn = sum(len(trace["x"]) for trace in page.points("trace") if trace.get("name"))
    assert 2000 < drawn <= 3000
    assert f"{drawn:,} of 10,000 batches are drawn" in page.text
    # The one peak is not lost, and the shares are nearly those of the run.
    above = next(trace for trace in page.points("trace") if trace.get("name") == "miss, above the axis")
    assert "batch 7777" in above["text"][0]
    hits = next(trace for trace in page.points("trace") if trace.get("name") == "hit")
    b_slh = summarise(read(folder / "journal.jsonl").samples, Slo.parse(HOLD))["b_slh"]
    assert 100 * len(hits["x"]) / drawn == pytest.approx(b_slh, abs=12)
    assert "The first 2,000 decisions are listed; 8,000 more are in the journal." in page.texts
    assert sum(tag == "tr" for tag, _ in page.tags) < 2100


def test_thinning_keeps_the_order_and_the_first() -> None:
    found = batches_of(Recording(samples=[batch(n) for n in range(1000)]), Slo.parse(HOLD))
    places = [each.place for each in thinned(found, 100)]
    assert places == sorted(set(places))
    assert places[0] == 0
    assert len(places) <= 101


def test_the_spread_counts_every_item_once_and_band_edges_as_hits(tmp_path: Path) -> None:
    latencies = [0.9, 1.0, 1.1, 1.11, 50.0, 0.01]
    run = load_run(journal_in(tmp_path / "run", [batch(n, s) for n, s in enumerate(latencies)]) / "journal.jsonl")
    drawn = spread_chart(run.counted, run.slo).figure
    shares = {trace.name: sum(trace.y) for trace in drawn.data}
    assert shares["hit"] == pytest.approx(50.0, abs=0.01)
    assert [x for x, y in zip(drawn.data[0].x, drawn.data[0].y, strict=True) if y] == [-7.5, 2.5, 7.5]
    assert shares["miss"] == pytest.approx(50.0, abs=0.01)


def comparison_in(folder: Path, rows: list[dict[str, Any]]) -> Path:
    """Test data, made up; no run gave these numbers."""
    folder.mkdir(parents=True, exist_ok=True)
    about = {"app": "test data", "class": "made up", "slo": HOLD, "command": EVIL}
    comparisons.write(folder, comparisons.comparison(rows, about))
    return folder


def summary(i_slh: float) -> dict[str, Any]:
    block = {"i_slh": i_slh, "b_slh": i_slh - 5, "mad_d": 100 - i_slh, "sd_d": 110 - i_slh}
    at = dict.fromkeys(("5%", "10%", "15%", "20%"), block)
    more = {"throughput_per_s": 1000.0, "latency_s": {"p95": 1.2}, "batches": 80}
    return {**block, **more, "at": at, "patterns": {"wave": block, "spike": block}}


def rows() -> list[dict[str, Any]]:
    return [
        comparisons.row("faf", [summary(40.0), summary(41.0), summary(42.0)], folders=["r1/faf"]),
        comparisons.row("pmbaf", [summary(80.0), summary(82.0), summary(84.0)], folders=["r1/pmbaf", "r2/pmbaf"]),
        comparisons.row("pid", [summary(81.0), summary(81.5), summary(82.0)]),
        comparisons.row(f"one {EVIL}", [summary(60.0)]),
        comparisons.row("oracle", [summary(95.0), summary(96.0)], limit=True),
        comparisons.row("lost", []),
    ]


def test_a_comparison_ranks_sets_oracles_apart_and_says_where_it_cannot_tell(tmp_path: Path) -> None:
    page = outline(write_report(comparison_in(tmp_path / "c", rows())))
    assert "pmbaf has the best I-SLH: 82.0% (76.6% to 87.4%) over 3 runs." in page.text
    assert re.search(r"These runs cannot tell it from pid and one ", page.text)
    assert "Worse beyond these intervals: faf." in page.text
    assert "Not run, and so not ranked: lost." in page.texts
    chart = page.chart("intervals")
    ticks = dict(zip(chart["layout"]["yaxis"]["ticktext"], chart["layout"]["yaxis"]["tickvals"], strict=True))
    assert sorted(ticks, key=ticks.__getitem__, reverse=True)[:2] == ["pmbaf", "pid"]
    assert min(ticks, key=ticks.__getitem__) == "oracle"
    dots = {trace["name"]: trace for trace in chart["data"] if trace["visible"]}
    assert dots["best"]["x"] == [82.0]
    assert dots["best"]["error_x"]["arrayminus"] == dots["best"]["error_x"]["array"] == [pytest.approx(5.37, abs=0.01)]
    assert dots["cannot tell"]["x"] == [81.5, 60.0]
    assert dots["oracle"]["x"] == [95.5]


def test_views_of_a_comparison_show_one_measure_each(tmp_path: Path) -> None:
    chart = outline(write_report(comparison_in(tmp_path / "c", rows()))).chart("intervals")
    assert [view["label"] for view in chart["views"]] == ["I-SLH", "B-SLH", "MAD-D", "SD-D", "p95", "throughput"]
    shown = [view["restyle"]["visible"] for view in chart["views"]]
    assert all(sum(column) == 1 for column in zip(*shown, strict=True))
    assert [trace["visible"] for trace in chart["data"]] == shown[0]
    mad = chart["views"][2]["relayout"]
    assert "less is better" in mad["xaxis.title.text"]
    assert mad["yaxis.ticktext"][:2] == ["pmbaf", "pid"]


def test_traces_of_single_runs_are_there_where_their_journals_are(tmp_path: Path) -> None:
    folder = comparison_in(tmp_path / "c", rows())
    assert "small-multiples" not in outline(write_report(folder)).data
    journal_in(folder / "r1" / "faf", SAMPLES)
    write_report(folder / "r1" / "faf")
    (folder / "r1" / "pmbaf").mkdir()
    (folder / "r1" / "pmbaf" / "journal.jsonl").write_text("torn")
    page = outline(write_report(folder))
    assert [len(trace["x"]) for trace in page.points("small-multiples")] == [7]
    assert "faf, I-SLH 71.4%" in page.data["small-multiples"]
    assert [a["href"] for tag, a in page.tags if tag == "a" and not str(a["href"]).startswith("#")] == [
        "r1/faf/report.html"
    ]


def test_a_comparison_with_holes_is_still_a_page(tmp_path: Path) -> None:
    unknown = {"mean": None, "low": None, "high": None, "values": None}
    holes = [
        {"controller": "a", "runs": 1, "limit": False, "i_slh": {"mean": 50.0, "low": None, "high": None}},
        {"controller": "b", "runs": None, "i_slh": unknown, "at": {"5%": None}, "patterns": {"wave": None}},
        {"against_best": "best"},
    ]
    folder = tmp_path / "c"
    folder.mkdir()
    (folder / "comparison.json").write_text(json.dumps({"kind": "comparison", "version": 1, "rows": holes}))
    page = outline(write_report(folder / "comparison.json"))
    assert "50.0%" in page.texts
    (folder / "comparison.json").write_text(json.dumps({"kind": "comparison", "version": 1, "about": None, "rows": []}))
    assert "Nothing can be ranked" in outline(write_report(folder)).text


def test_text_of_a_comparison_never_becomes_markup(tmp_path: Path) -> None:
    page = outline(write_report(comparison_in(tmp_path / "c", rows())))
    assert "img" not in [tag for tag, _ in page.tags]
    assert "<img" not in "".join(page.data.values())


def test_command_writes_beside_the_run_or_where_it_is_told(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    folder = journal_in(tmp_path / "run", SAMPLES)
    assert call("report", str(folder)) == 0
    assert capfd.readouterr().out == f"{folder / 'report.html'}\n"
    assert (folder / "report.html").exists()
    assert call("report", str(folder / "journal.jsonl"), "--out", str(tmp_path / "new" / "x.html")) == 0
    assert (tmp_path / "new" / "x.html").exists()


def test_a_journal_of_another_name_gets_a_page_of_that_name(tmp_path: Path) -> None:
    folder = journal_in(tmp_path / "run", SAMPLES)
    other = (folder / "journal.jsonl").rename(folder / "query-7.jsonl")
    assert write_report(other) == folder / "query-7.html"


def test_bad_input_is_one_line_and_exit_2(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    empty = tmp_path / "empty"
    empty.mkdir()
    strange = tmp_path / "strange.json"
    strange.write_text('{"kind": "other"}')
    good = journal_in(tmp_path / "run", SAMPLES)
    blocked = tmp_path / "file"
    blocked.write_text("")
    no_slo = journal_in(tmp_path / "bare", SAMPLES, header={"controller": "x"})
    for arguments, reason in (
        ([str(tmp_path / "absent")], "is not there"),
        ([str(empty)], "holds neither journal.jsonl nor comparison.json"),
        ([str(strange)], "not a comparison"),
        ([str(blocked)], "no journal is there"),
        ([str(no_slo)], "names no objective"),
        ([str(good), "--out", str(blocked / "x.html")], "cannot be written"),
    ):
        assert call("report", *arguments) == 2
        said = capfd.readouterr()
        assert said.out == ""
        assert said.err.count("\n") == 1
        assert reason in said.err


def test_missing_plotly_names_the_extra(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "plotly", None)
    with pytest.raises(MissingExtraError, match=re.escape("pip install 'penstock[report]'")):
        write_report(journal_in(tmp_path / "run", SAMPLES))


def test_the_demonstration_ends_with_the_report_of_the_adaptive_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def run(spec: RunSpec, out: Path, tick: Tick, stop: threading.Event) -> dict[str, Any]:
        journal_in(out, SAMPLES, header={"slo": spec.slo, "controller": spec.controller})
        return {"interrupted": False, "items": 800, "batches": 8}

    monkeypatch.setattr(demo, "run", run)
    for drawing in ("check", "draw", "draw_pair"):
        monkeypatch.setattr(demo, drawing, lambda *given: None)
    monkeypatch.setattr(demo, "session", lambda master: nullcontext())
    found = demo.demonstrate(tmp_path, lambda spec, job: job(lambda state: None, threading.Event()))
    assert found.report == tmp_path / "adaptive.html"
    assert demo.SPEC.controller in outline(found.report).texts


def test_the_demonstration_asks_for_plotly_before_it_runs_anything(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("matplotlib")
    monkeypatch.setitem(sys.modules, "plotly", None)
    with pytest.raises(MissingExtraError, match="plotly"):
        demo.demonstrate(tmp_path, lambda spec, job: pytest.fail("a run was spent"))


def test_a_simulated_run_says_that_it_is_one(tmp_path: Path) -> None:
    page = outline(write_report(journal_in(tmp_path / "run", SAMPLES, header={"slo": HOLD, "plant": "thesis"})))
    assert "Penstock · report of a simulated run" in page.texts
    assert "items a second of virtual time" in page.texts


def test_numbers_are_written_as_people_read_them() -> None:
    assert words.duration(0.97634) == "976 ms"
    assert words.count(899785.4) == "899,785"
    assert words.band(Slo.parse(">= 50k/s")) == "at least 50k/s"
    assert (words.percent(math.nan), words.rate(None), words.measured(None, Slo.parse(HOLD))) == ("–", "–", "–")


def test_a_future_comparison_is_refused(tmp_path: Path) -> None:
    (tmp_path / "comparison.json").write_text('{"kind": "comparison", "version": 2}')
    with pytest.raises(BadInputError, match="version 2"):
        write_report(tmp_path)
