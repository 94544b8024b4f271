"""A table as data, which pages and the terminal show."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

Value = float | int | str | None


@dataclass(frozen=True)
class Table:
    """A table as data: numbers stay numbers, None is what there is not."""

    name: str
    title: str
    head: tuple[str, ...]
    rows: tuple[tuple[Value, ...], ...]

    def to_json(self) -> dict[str, Any]:
        """Ready for JSON."""
        return {"title": self.title, "head": list(self.head), "rows": [list(row) for row in self.rows]}

    def texts(self) -> list[list[str]]:
        """The rows as text."""
        return [[_text(value) for value in row] for row in self.rows]

    def markdown(self) -> str:
        """As a Markdown table, numbers to the right."""
        numeric = [any(isinstance(row[at], float | int) for row in self.rows) for at in range(len(self.head))]
        lines = [list(self.head), ["--:" if right else "---" for right in numeric], *self.texts()]
        return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def _text(value: Value) -> str:
    if value is None:
        return "-"
    return f"{value:.2f}" if isinstance(value, float) else str(value)
