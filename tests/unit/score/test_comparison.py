"""The format of a comparison, its verdicts and its tables."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from penstock.cli.terminal.comparison import comparison_table
from penstock.errors import BadInputError
from penstock.sample import BatchSample
from penstock.score import summarise
from penstock.score.comparison import METRICS, comparison, load, row, write
from penstock.slo import Slo

SLO = Slo.parse("1 s ± 10%")


def summary(*seconds: float) -> dict[str, Any]:
    """Of a run with one batch a latency, the first half of them in part a, the rest in part b."""
    half = len(seconds) // 2
    parts = ["a" if i < half else "b" for i in range(len(seconds))]
    return summarise([BatchSample(i, 10, 10, s, part=parts[i]) for i, s in enumerate(seconds)], SLO)


def row_of(name: str, *hits: float, limit: bool = False) -> dict[str, Any]:
    """A row whose runs had these I-SLH."""
    return row(name, [{"i_slh": hit, "mad_d": 100.0 - hit} for hit in hits], limit=limit)


def verdicts(*rows: dict[str, Any], metric: str = "i_slh") -> list[str]:
    return [each["against_best"] for each in comparison(rows, {}, metric)["rows"]]


def test_a_row_has_the_means_of_real_summaries_whole_and_by_part_and_tolerance() -> None:
    found = row("pid", [summary(1.0, 1.0, 2.0, 2.0), summary(1.0, 1.0, 1.0, 1.15)], folders=["r1/pid", "r2/pid"])
    assert found["i_slh"]["values"] == [50.0, 75.0]
    assert found["patterns"]["a"]["i_slh"]["mean"] == 100.0
    assert found["patterns"]["b"]["b_slh"]["values"] == [0.0, 50.0]
    assert found["at"]["20%"]["i_slh"]["values"] == [50.0, 100.0]
    assert found["p95_s"]["values"] == [2.0, 1.15]
    assert found["batches"]["mean"] == 4.0
    assert (found["runs"], found["folders"]) == (2, ["r1/pid", "r2/pid"])


def test_a_part_that_one_run_lacks_counts_where_it_was_seen() -> None:
    found = row("pid", [{"patterns": {"a": {"i_slh": 50.0}}}, {"patterns": {}}])
    assert found["patterns"]["a"]["i_slh"]["values"] == [50.0]


def test_rows_are_told_from_the_best_only_where_intervals_do_not_meet() -> None:
    rows = [row_of("far", 10.0, 12.0), row_of("near", 78.0, 81.0), row_of("top", 80.0, 82.0)]
    assert verdicts(*rows) == ["below", "cannot tell", "best"]


def test_one_run_each_cannot_tell() -> None:
    assert verdicts(row_of("a", 90.0), row_of("b", 10.0)) == ["best", "cannot tell"]


def test_an_oracle_is_out_of_the_ranking_even_where_it_wins() -> None:
    assert verdicts(row_of("oracle", 99.0, 99.0, limit=True), row_of("a", 50.0, 51.0)) == ["oracle", "best"]


def test_what_was_not_run_says_so() -> None:
    assert verdicts(row_of("a"), row_of("oracle", limit=True), row_of("b", 1.0)) == ["not run", "not run", "best"]
    assert verdicts(row_of("a")) == ["not run"]


def test_the_lowest_distance_is_the_best_one() -> None:
    assert verdicts(row_of("far", 10.0, 12.0), row_of("top", 80.0, 82.0), metric="mad_d") == ["below", "best"]


def test_an_unknown_metric_is_refused() -> None:
    with pytest.raises(BadInputError, match="i_slh"):
        comparison([], {}, "beauty")


def test_written_and_loaded_it_is_the_same_and_plain_json(tmp_path: Path) -> None:
    found = comparison([row("pid", [summary(1.0, 1.1, 0.3, 1.0)])], {"slo": str(SLO)})
    path = write(tmp_path, found)
    assert path == tmp_path / "comparison.json"
    assert load(tmp_path) == load(path) == found == json.loads(json.dumps(found, allow_nan=False))


@pytest.mark.parametrize("text", ["", "[]", '{"kind": "run"}', '{"kind": "comparison", "version": 99}'])
def test_what_is_no_comparison_is_refused(tmp_path: Path, text: str) -> None:
    (tmp_path / "comparison.json").write_text(text)
    with pytest.raises(BadInputError):
        load(tmp_path)
    with pytest.raises(BadInputError):
        load(tmp_path / "absent.json")


def test_the_tables_show_every_row_its_verdict_and_its_parts() -> None:
    rows = [row("pid", [summary(1.0, 1.0, 2.0, 2.0)] * 2), row("faf", []), row_of("oracle", 99.0, limit=True)]
    console = Console(width=200)
    with console.capture() as captured:
        console.print(comparison_table(comparison(rows, {"app": "military", "slo": str(SLO)})))
    lines = [line.split() for line in captured.get().splitlines() if line.strip()]
    assert ["military", "1", "s", "±", "10%"] in lines
    named = {line[0]: line for line in reversed(lines)}
    assert named["pid"][-1] == "best"
    assert "50.0" in named["pid"]
    assert named["faf"][-2:] == ["not", "run"]
    assert named["oracle"][-1] == "oracle"
    assert ["controller", "a", "b"] in lines


def test_a_row_without_runs_has_every_metric_unknown() -> None:
    found = row("faf", [])
    assert all(found[name] == {"mean": None, "low": None, "high": None, "values": []} for name in METRICS)


def test_an_interval_stays_within_what_its_measure_can_be() -> None:
    found = row("a", [{"i_slh": 1.0, "mad_d": 300.0}, {"i_slh": 99.0, "mad_d": 10.0}])
    assert (found["i_slh"]["low"], found["i_slh"]["high"]) == (0.0, 100.0)
    assert found["mad_d"]["low"] == 0.0
    assert found["mad_d"]["high"] > 300.0
