"""A bar for many short runs in virtual time."""

from __future__ import annotations

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn


class Bar:
    """The progress on stderr; its thread starts with the first report, as by then all processes are forked."""

    def __init__(self) -> None:
        console = Console(stderr=True)
        self._progress = Progress(
            TextColumn("{task.description}"),
            BarColumn(),
            MofNCompleteColumn(),
            TimeElapsedColumn(),
            TextColumn("left"),
            TimeRemainingColumn(),
            console=console,
            transient=True,
            # Where nobody watches, Rich would still end it with an empty line.
            disable=not console.is_terminal,
        )
        self._task = self._progress.add_task("runs", total=None)

    def __enter__(self) -> Bar:
        return self

    def __exit__(self, *_: object) -> None:
        self._progress.stop()

    def runs(self, done: int, of: int) -> None:
        """Runs done."""
        self._progress.update(self._task, completed=done, total=of)
        self._progress.start()

    def figure(self, name: str) -> None:
        """The figure that is drawn next."""
        self._progress.update(self._task, description=f"figure {name}")
