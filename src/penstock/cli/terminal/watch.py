"""Does the work of a run in a thread of its own, so that this one can draw it and hear Ctrl-C."""

from __future__ import annotations

import os
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Future, wait
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import TypeVar

from penstock.bench.run import RunState, Tick
from penstock.cli.terminal.views import RunView

REFRESH_S = 0.2
INTERRUPTED = 130
_T = TypeVar("_T")


def watch(work: Callable[[Tick, threading.Event], _T], view: RunView) -> _T:
    """What the work returns, or the error it raises, with its states shown on the way.

    The first Ctrl-C asks it to stop, the second leaves at once. Spark puts its own Ctrl-C handler over ours when
    it starts in the main thread, which is one more reason for the work to have another.
    """
    stop, done = threading.Event(), Future[_T]()
    states: list[RunState] = []

    def run() -> None:
        try:
            done.set_result(work(states.append, stop))
        except BaseException as error:
            done.set_exception(error)

    def interrupt(number: int, frame: FrameType | None) -> None:
        if stop.is_set():
            raise KeyboardInterrupt
        stop.set()
        view.say("stopping; Ctrl-C again quits at once")

    before = signal.signal(signal.SIGINT, interrupt)
    try:
        with view:
            threading.Thread(target=run, name="penstock-run", daemon=True).start()
            # Also what is over before anybody has looked is shown once.
            finished = False
            while not finished:
                finished = bool(wait([done], timeout=REFRESH_S).done)
                _show_last(states, view)
    except KeyboardInterrupt:
        sys.stdout.flush()
        # An orderly exit would wait for Spark, which is what the user is tired of.
        os._exit(INTERRUPTED)
    finally:
        signal.signal(signal.SIGINT, before)
    return done.result()


def _show_last(states: list[RunState], view: RunView) -> None:
    if states:
        view.show(states[-1])
        del states[:-1]


@contextmanager
def stdout_to_stderr() -> Iterator[None]:
    """Whatever this process and its children print goes to stderr: stdout is for the result alone."""
    sys.stdout.flush()
    kept = os.dup(1)
    os.dup2(2, 1)
    try:
        yield
    finally:
        sys.stdout.flush()
        os.dup2(kept, 1)
        os.close(kept)


@contextmanager
def stderr_kept() -> Iterator[Callable[[Path], None]]:
    """Gives a function that sends stderr, of this process and its children, to a file until the end.

    The JVM writes straight to the terminal, through any picture that is drawn there.
    """
    kept = os.dup(2)
    sent: list[Path] = []

    def send(path: Path) -> None:
        if not sent:
            sent.append(path)
            with path.open("ab") as file:
                os.dup2(file.fileno(), 2)

    try:
        yield send
    finally:
        os.dup2(kept, 2)
        os.close(kept)
