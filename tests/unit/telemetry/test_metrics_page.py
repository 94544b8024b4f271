"""docs/metrics.md and the Grafana dashboard name what a running exporter serves."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from penstock.sample import BatchSample, Code, Decision
from penstock.slo import Slo
from penstock.telemetry.endpoint import exporter_for
from penstock.telemetry.query import PARTS, Query

ROOT = Path(__file__).parents[3]
PAGE = (ROOT / "docs" / "metrics.md").read_text()
DASHBOARD = json.loads((ROOT / "contrib" / "grafana" / "penstock.json").read_text())
NAME = re.compile(r"\bpenstock_[a-z_]+")
SUFFIXES = re.compile(r"_(bucket|sum|count)$")


@pytest.fixture
def served(free_port: int, scrape) -> dict[str, set[str]]:
    """The names that are really served for a query with all there is to tell, each with its labels."""
    exporter = exporter_for(free_port)
    assert exporter is not None
    both = Slo.parse("<= 1 s & >= 10/s")
    numbers = exporter.open(Query("id-1", "orders", "KafkaV2[Subscribe[orders]]", "rows", both))
    numbers.decision(-1, Decision(100, "first size", code=Code.FIRST), applied=True)
    numbers.sample(BatchSample(0, 100, 100, 0.8, wait_s=0.1, backlog=5, durations_s={"wal": 0.1}))
    names: dict[str, set[str]] = {}
    for name, labels in scrape(free_port):
        names.setdefault(name, set()).update(label for label, _ in labels)
    return names


def expressions(panels: list[dict[str, Any]]) -> list[str]:
    return [target["expr"] for panel in panels for target in panel["targets"]]


def rows() -> dict[str, set[str]]:
    """The table of metrics: each name with its labels."""
    section = PAGE.split("## The metrics")[1].split("\n## ")[0]
    cells = [line.split("|") for line in section.splitlines() if line.startswith("| `penstock_")]
    return {NAME.findall(cell[1])[0]: set(re.findall(r"`(\w+)`", cell[3])) for cell in cells}


def test_every_panel_of_the_dashboard_asks_for_what_is_served(served: dict[str, set[str]]):
    for expression in expressions(DASHBOARD["panels"]):
        names = NAME.findall(expression)
        assert names
        assert set(names) <= set(served), expression


def test_the_dashboard_shows_every_metric(served: dict[str, set[str]]):
    shown = {SUFFIXES.sub("", name) for text in expressions(DASHBOARD["panels"]) for name in NAME.findall(text)}
    assert shown == {SUFFIXES.sub("", name) for name in served}


def test_the_dashboard_groups_by_labels_that_are_served(served: dict[str, set[str]]):
    for expression in expressions(DASHBOARD["panels"]):
        known = set().union(*(served[name] for name in NAME.findall(expression)))
        grouped = {label.strip() for group in re.findall(r"by \(([^)]*)\)", expression) for label in group.split(",")}
        assert grouped | set(re.findall(r"(\w+)=~", expression)) <= known, expression


def test_the_dashboard_lets_one_choose_the_data_source_and_the_queries(served: dict[str, set[str]]):
    variables = {each["name"]: each for each in DASHBOARD["templating"]["list"]}
    assert variables["datasource"]["type"] == "datasource"
    name, label = re.fullmatch(r"label_values\((\w+), (\w+)\)", variables["query"]["query"]["query"]).groups()
    assert label in served[name]
    assert all(panel["datasource"]["uid"] == "${datasource}" for panel in DASHBOARD["panels"])


def test_the_table_names_all_metrics_with_their_labels_and_no_other(served: dict[str, set[str]]):
    families: dict[str, set[str]] = {}
    for name, labels in served.items():
        families.setdefault(SUFFIXES.sub("", name), set()).update(labels - {"le"})
    assert rows() == families


def test_the_names_that_others_build_on_are_served(served: dict[str, set[str]]):
    wanted = (
        "batch_duration_seconds_bucket batch_phase_seconds_sum record_age_seconds limit admitted_items_total backlog "
        "slo_target_seconds slo_met_total slo_missed_total decisions_total faults_total build_info"
    )
    assert {f"penstock_{name}" for name in wanted.split()} <= set(served)


def test_the_three_alert_rules_ask_for_what_is_served(served: dict[str, set[str]]):
    rules = PAGE.split("## Alerts")[1].split("```yaml")[1].split("```")[0]
    alerts = rules.split("- alert:")[1:]
    assert len(alerts) == 3
    for alert in alerts:
        names = NAME.findall(alert)
        assert names
        assert set(names) <= set(served)


def test_the_page_explains_every_code_and_every_part():
    section = PAGE.split("## Codes")[1].split("\n## ")[0]
    explained = [re.findall(r"`(\w+)`", line.split("|")[1]) for line in section.splitlines() if line.startswith("| `")]
    assert {code for codes in explained for code in codes} == set(Code)
    faults = next(line for line in PAGE.splitlines() if line.startswith("| `penstock_faults_total`"))
    assert set(PARTS) <= set(re.findall(r"`(\w+)`", faults))
