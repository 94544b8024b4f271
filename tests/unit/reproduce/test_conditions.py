"""The sections on conditions and parts: every row, and what makes it."""

from __future__ import annotations

from pathlib import Path

import pytest

from penstock.reproduce.results import conditions
from penstock.sim.run import LIVE_SLO, SimSpec, prepare


@pytest.fixture
def page(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    path = tmp_path / "results.md"
    monkeypatch.setattr(conditions, "PAGE", path)
    return path


@pytest.mark.parametrize("name", conditions.CONDITIONS)
def test_every_condition_can_be_simulated(name: str) -> None:
    fields = conditions.CONDITIONS[name]
    ready = prepare(SimSpec(conditions.PLANT, slo=LIVE_SLO, **fields))
    assert ready.load.costs.size == fields.get("items", ready.load.costs.size) > 100_000
    assert ready.arrival.size == (ready.load.costs.size if "arrivals" in fields else 0)


def test_the_page_has_a_row_for_every_condition() -> None:
    page = conditions.PAGE.read_text(encoding="utf-8")
    assert [name for name in conditions.CONDITIONS if f"| {name} |" not in page] == []


def test_the_parts_have_a_row_each_beside_the_oracles(page: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(conditions, "PARTS", {"predictive": "all of it", "predictive:admit=cost": "with costs"})
    conditions.write_parts(seeds=1)
    text = page.read_text()
    rows = [line.split(" | ")[0] for line in text.splitlines() if line.startswith("| ")]
    assert rows[2:] == ["| all of it", "| with costs", "| oracle", "| oracle-causal", "| oracle-reported"]
    assert "--controllers predictive,predictive:admit=cost --seeds 1" in text


def test_a_condition_says_its_options_and_no_folder(page: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    trace = page.parent / "elb-request-count.csv"
    trace.write_text("timestamp,value\n" + "".join(f"{second},{20 + second % 7}\n" for second in range(60)))
    monkeypatch.setenv("PENSTOCK_DATA", str(page.parent))
    monkeypatch.setattr(conditions, "_TRACES", {trace.name: "30k"})
    monkeypatch.setattr(conditions, "CONDITIONS", {"late": {"delay": 3, "noise": 2.0, "items": 30_000}})
    monkeypatch.setattr(conditions, "OTHERS", ("das",))
    conditions.write_conditions(seeds=1)
    text = page.read_text()
    assert "| late | `--delay 3 --noise 2x --items 30k` |" in text
    assert "trace:path=elb-request-count.csv,period=1s,max=30k" in text
    assert str(page.parent) not in text
