"""A deadline for calls into code that is not ours: a controller that hangs is a fault, and nothing waits for it."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Generic, TypeVar

Answer = TypeVar("Answer")

DECISION_S = 5.0
"""Deadline of one decision (s). The default controller takes 0.1 ms; a busy machine may stop a thread for a second."""


class _Call(threading.Thread, Generic[Answer]):
    """One call, in a daemon thread: one that hangs must not keep the program from ending."""

    def __init__(self, work: Callable[[], Answer]) -> None:
        super().__init__(name="penstock-decision", daemon=True)
        self._work = work
        self.answer: Answer | None = None
        self.error: BaseException | None = None

    def run(self) -> None:
        """The call; whatever it raises is kept for the caller."""
        try:
            self.answer = self._work()
        except BaseException as error:  # also SystemExit: a plug-in may raise anything
            self.error = error


class Deadline:
    """Runs one call at a time and waits for it at most `limit_s`.

    A call that is late goes on in its thread, which Python cannot end, and its answer is dropped. Until it has ended
    every further call is refused at once, so that a controller that hangs costs one thread and one wait.

    >>> deadline = Deadline(limit_s=10)
    >>> deadline.call(lambda: 6 * 7)
    42
    """

    def __init__(self, limit_s: float | None = None) -> None:
        self.limit_s = DECISION_S if limit_s is None else limit_s
        self._late: _Call[object] | None = None

    def call(self, work: Callable[[], Answer]) -> Answer:
        """What `work` returns or raises; TimeoutError where it is late, or where the last late call still runs."""
        if self._late is not None and self._late.is_alive():
            raise TimeoutError("an earlier decision has not ended yet")
        self._late = None
        call: _Call[Answer] = _Call(work)
        call.start()
        call.join(self.limit_s)
        if call.is_alive():
            self._late = call  # type: ignore[assignment]
            raise TimeoutError(f"no decision within {self.limit_s:g} s")
        if call.error is not None:
            raise RuntimeError(repr(call.error)) if not isinstance(call.error, Exception) else call.error
        return call.answer  # type: ignore[return-value]
