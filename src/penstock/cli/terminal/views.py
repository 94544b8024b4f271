"""The views of a run: live on a terminal, lines elsewhere, nothing where only the result counts."""

from __future__ import annotations

from types import TracebackType
from typing import Protocol, Self

from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.panel import Panel
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from penstock.bench.run import RunSpec, RunState
from penstock.cli.terminal.plot import band_plot, spark_row
from penstock.report.board import Board
from penstock.slo import Slo
from penstock.units import format_count

LINE_EVERY_S = 5.0
_COLUMNS = 60
_WIDTH = 84


class RunView(Protocol):
    """Shows the states of one run; a context manager."""

    def __enter__(self) -> Self:
        """Begin."""
        ...

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        """End."""
        ...

    def show(self, state: RunState) -> None:
        """The run is here now."""
        ...

    def say(self, text: str) -> None:
        """Something the user should know at once."""
        ...


def view_of(spec: RunSpec, console: Console) -> RunView:
    """The live view on a terminal, lines elsewhere."""
    slo = Slo.parse(spec.slo)
    return LiveView(title_of(spec, slo), slo, console) if console.is_terminal else LineView(slo, console)


def title_of(spec: RunSpec, slo: Slo) -> str:
    """A run in a few words.

    >>> title_of(RunSpec("military"), Slo.parse("1 s ± 10%"))
    'military  small  predictive  1 s ± 10%'
    """
    settings = " ".join(f"{key}={value}" for key, value in spec.settings.items())
    return "  ".join(filter(None, (spec.app, spec.size_class, spec.label or spec.controller, settings, str(slo))))


def share_line(state: RunState) -> str:
    """How many items are through.

    >>> from pathlib import Path
    >>> share_line(RunState("running", 12.0, 50_000, 200_000, Path("journal.jsonl")))
    '50k of 200k items (25%)'
    """
    if not state.items:
        return f"{format_count(state.items_done)} items"
    share = state.items_done / state.items
    return f"{format_count(state.items_done)} of {format_count(state.items)} items ({share:.0%})"


class SilentView:
    """Shows nothing."""

    def __enter__(self) -> Self:
        """Nothing begins."""
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        """Nothing ends."""

    def show(self, state: RunState) -> None:
        """Nothing is shown."""

    def say(self, text: str) -> None:
        """Nothing is said."""


class LineView(SilentView):
    """A line at every new phase, and every five seconds."""

    def __init__(self, slo: Slo, console: Console) -> None:
        self._board = Board(slo)
        self._console = console
        self._phase = ""
        self._due_s = 0.0

    def show(self, state: RunState) -> None:
        """Print a line where one is due."""
        if state.phase == self._phase and state.elapsed_s < self._due_s:
            return
        self._phase, self._due_s = state.phase, state.elapsed_s + LINE_EVERY_S
        self._board.follow(state.journal)
        self.say(f"[{state.elapsed_s:5.0f} s] {state.phase}{self._details(state)}")

    def say(self, text: str) -> None:
        """Print a line."""
        self._console.print(text, markup=False, highlight=False, soft_wrap=True)

    def _details(self, state: RunState) -> str:
        if not state.items_done:
            return ", no batch has ended yet" if state.phase == "running" else ""
        if state.phase != "running" or not self._board.samples:
            return f", {share_line(state)}"
        last, slo = self._board.samples[-1], self._board.slo
        value = slo.measure(last)
        measured = "?" if value is None else slo.format_value(value)
        batch = f"batch {last.batch_id}: {measured} at size {format_count(last.size)}"
        return f", {share_line(state)}, {batch}, {self._board.hits_line()}"


class LiveView:
    """One picture, drawn again as the run goes on; its last state stays on the screen."""

    def __init__(self, title: str, slo: Slo, console: Console) -> None:
        self._title = title
        self._board = Board(slo)
        self._live = Live(console=console, auto_refresh=False)
        self._notice = ""

    def __enter__(self) -> Self:
        """Take the screen."""
        self._live.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        """Give the screen back."""
        self._live.stop()

    def show(self, state: RunState) -> None:
        """Draw again."""
        self._board.follow(state.journal)
        self._live.update(self.render(state), refresh=True)

    def say(self, text: str) -> None:
        """Put a notice under the picture."""
        self._notice = text

    def render(self, state: RunState) -> RenderableType:
        """The whole picture."""
        board, samples = self._board, self._board.samples
        width = min(_WIDTH, self._live.console.width)
        columns = max(min(_COLUMNS, width - 18), 10)
        head = Table.grid(padding=(0, 1), expand=False)
        total = state.items if state.items_done else None
        bar = ProgressBar(total=total, completed=state.items_done, width=20, pulse=total is None)
        head.add_row(Text(f"{state.phase} {state.elapsed_s:.0f} s", style="bold"), bar, share_line(state))
        body = [
            band_plot(samples, board.slo, columns),
            spark_row("size", [sample.size for sample in samples], columns),
            spark_row("load", [sample.load or 0.0 for sample in samples], columns),
            Text(self._numbers(), style="bold"),
            Text(
                self._notice or (board.decision.reason if board.decision else ""), style="italic", overflow="ellipsis"
            ),
        ]
        return Panel(Group(head, *body), title=self._title, title_align="left", width=width)

    def _numbers(self) -> str:
        samples, slo = self._board.samples, self._board.slo
        if not samples:
            return "waiting for the first batch"
        last = samples[-1]
        value = slo.measure(last)
        measured = "?" if value is None else slo.format_value(float(f"{value:.3g}"))
        load = "" if last.load is None else f"   load {format_count(last.load)}"
        batch = f"batch {last.batch_id}: {measured}   size {format_count(last.size)}{load}"
        return f"{batch}   {self._board.hits_line()}"
