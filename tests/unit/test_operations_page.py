"""docs/operations.md explains every event that the code can write into a journal."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from penstock.journal import Journal, read

ROOT = Path(__file__).parents[2]
SOURCE = ROOT / "src" / "penstock"
PAGE = ROOT / "docs" / "operations.md"
WRITERS = {"event", "_event", "_tell", "Advice"}
FAULTS = {"fault", "_fault"}


def calls() -> Iterator[tuple[str, ast.expr]]:
    """Every call in the parts that write events: the name of what is called, and its first argument."""
    rooms = [(SOURCE / room).rglob("*.py") for room in ("spark", "journal", "telemetry")]
    files = [SOURCE / "control" / "loop.py", *(file for room in rooms for file in room)]
    for file in files:
        for node in ast.walk(ast.parse(file.read_text())):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute | ast.Name) and node.args:
                yield node.func.attr if isinstance(node.func, ast.Attribute) else node.func.id, node.args[0]


def text(node: ast.expr) -> str | None:
    return node.value if isinstance(node, ast.Constant) and isinstance(node.value, str) else None


def written() -> set[str]:
    """Names of events: written out, or a part of ours that has failed."""
    names = {name for method, first in calls() if method in WRITERS and (name := text(first))}
    return names | {f"{part}-fault" for method, first in calls() if method in FAULTS and (part := text(first))}


def explained() -> set[str]:
    section = PAGE.read_text().split("## Events")[1].split("\n## ")[0]
    return {line.split("`")[1] for line in section.splitlines() if line.startswith("| `")}


def test_every_event_is_found_in_the_code():
    assert {"gave-up", "controller-fault", "gate-fault", "journal-lost", "idle-interval", "resumed"} <= written()


def test_every_event_is_explained_and_no_other():
    assert explained() == written()


def alerts(path: Path, *, loop_closed: bool) -> list[str]:
    """What the page's own lines find in a journal, while the query runs."""
    lines = PAGE.read_text().split("## Alerts")[1].split("```python")[1].split("```")[0]
    query = SimpleNamespace(isActive=True)
    known: dict[str, Any] = {"handle": SimpleNamespace(recording=lambda: read(path), query=query, active=loop_closed)}
    exec(lines, known)
    return [event.name for event in known["found"]]


def test_the_alert_finds_a_monitor_that_has_failed_and_a_query_that_nobody_steers(tmp_path: Path):
    journal = Journal.open(tmp_path / "j.jsonl", {})
    journal.event("monitor-fault", error="java.lang.IllegalStateException")
    assert alerts(tmp_path / "j.jsonl", loop_closed=True) == []
    journal.event("monitor-fault", error="the monitor has failed", traceback="Traceback ...")
    journal.event("detached", why="the monitor has failed")
    assert alerts(tmp_path / "j.jsonl", loop_closed=False) == ["monitor-fault", "detached"]
