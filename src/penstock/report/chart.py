"""A chart in a page: a plotly figure, what it shows in words, and the views that a reader can choose.

Colours are names of the page's style sheet, `var(--hit)`: the script of the page puts the colours of the light, dark or
printed page in their place.
"""

from __future__ import annotations

import html
import json
import textwrap
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any, ClassVar

from penstock.errors import MissingExtraError

HIT, MISS, BAND, LOAD, FAINT = (f"var(--{name})" for name in ("hit", "miss", "band", "load", "faint"))
INK, PAPER, ITEMS, BATCHES = (f"var(--{name})" for name in ("ink", "paper", "items", "batches"))
_HOVER_COLUMNS = 72


@dataclass(frozen=True)
class ChartView:
    """One choice of what a chart shows: changes of its layout and of its `traces`, as Plotly calls what it draws."""

    label: str
    restyle: Mapping[str, Any] = field(default_factory=dict)
    relayout: Mapping[str, Any] = field(default_factory=dict)
    traces: Sequence[int] | None = None


@dataclass(frozen=True)
class Chart:
    """A figure with its name in the page and its description; the first of its views is the one drawn."""

    template: ClassVar[str] = "chart.html"

    name: str
    figure: Any
    label: str
    views: Sequence[ChartView] = ()

    @property
    def height(self) -> int:
        """In pixels."""
        return self.figure.layout.height or 320

    def content(self) -> dict[str, Any]:
        """The figure as data for the script of the page."""
        drawn = json.loads(self.figure.to_json())
        return {"data": drawn["data"], "layout": drawn["layout"], "views": [asdict(view) for view in self.views]}


def plotly_js() -> str:
    """The script that draws, whole."""
    graph_objects()
    from plotly.offline import get_plotlyjs

    return str(get_plotlyjs())


def graph_objects() -> Any:
    """The package that makes figures."""
    try:
        from plotly import graph_objects as go
    except ModuleNotFoundError as error:
        raise MissingExtraError("plotly", "report") from error
    return go


def figure(height: int, **layout: Any) -> Any:
    """An empty figure: one panel, no title; the page says what it shows."""
    drawn = graph_objects().Figure(layout={"height": height, "margin": {"l": 64, "r": 16, "t": 28, "b": 44}, **layout})
    # The look is the page's; plotly's own template would only be carried along.
    drawn.layout.template = "none"
    return drawn


def stacked_panels(heights: Sequence[float], height: int) -> Any:
    """A figure of panels above each other on one time axis."""
    graph_objects()
    from plotly.subplots import make_subplots

    drawn = make_subplots(
        rows=len(heights), cols=1, shared_xaxes=True, vertical_spacing=0.045, row_heights=list(heights)
    )
    drawn.update_layout(height=height, margin={"l": 64, "r": 16, "t": 62, "b": 44}, template="none")
    return drawn


def hover_text(lines: Sequence[object]) -> str:
    """Lines for a hover box, long ones folded; nothing in them is taken for markup.

    >>> hover_text(["batch 3", "size < 4"])
    'batch 3<br>size &lt; 4'
    """
    folded = [piece for line in lines for piece in textwrap.wrap(str(line), _HOVER_COLUMNS) or [""]]
    return "<br>".join(html.escape(piece) for piece in folded)
