"""What a controller is, and what else it may be able to do.

Each ability is a type of its own: `isinstance(controller, Tells)` asks for it. A wrapper passes on what the controller
inside it is able to do.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Protocol, runtime_checkable

from penstock.sample import BatchSample, Decision


class Controller(Protocol):
    """Turns one `BatchSample` into one `Decision`. Pure: no Spark, no clock, no I/O.

    `size` is the size now in force, in the gate's unit, kept real. A wrapper that corrects a decision assigns the
    corrected size, and the next decision starts from there. A sample that is not usable changes nothing.

    The loop takes a snapshot before each batch and goes back to it when a later report refines that batch; a restart
    begins with the last one. `penstock.control.memory.Remembers` gives a controller `snapshot()` and `restore()`, and
    one that offers neither is treated as if it had that base class.

    A registered controller is constructed as `Cls(slo, size, **settings)`. `penstock.testing.contract` checks all this.
    """

    size: float

    def decide(self, sample: BatchSample) -> Decision:
        """The size for the next batches, and why."""
        ...


@runtime_checkable
class Tells(Protocol):
    """Has to tell the user something, and not with every batch."""

    def news(self) -> str | None:
        """What to tell since the last call; asked after each decision, and told once."""
        ...


@dataclass(frozen=True)
class Change:
    """A slower loop has changed how batches run: `what` (width, device, composition, executors) is now `now`."""

    what: str
    now: str
    reason: str


@runtime_checkable
class Adapts(Protocol):
    """Learns what batches cost, and forgets it when they are run in another way."""

    def changed(self, change: Change) -> None:
        """Forget what no longer holds. The size stays: it is the best guess that there is."""
        ...


@runtime_checkable
class Waits(Protocol):
    """Decides when a batch starts instead of how large it is."""

    decides_waiting: ClassVar[bool]


@runtime_checkable
class DecidesAtAdmission(Protocol):
    """Sizes a batch as it is admitted, for those on their way with it: where batches overlap, which Spark's do not."""

    def decide_at_admission(self, at_s: float, waiting: float, idle: bool) -> Decision | None:
        """The decision on this one batch; None where the last one holds.

        With the time, with all that could be admitted then, in the gate's unit, and with whether the place was free
        before there was anything to admit.
        """
        ...


class DecideAtAdmission(Protocol):
    """What a source asks as it admits a batch while others are on their way."""

    def __call__(self, at_s: float, waiting: float, idle: bool) -> Decision | None:
        """As `DecidesAtAdmission.decide_at_admission`."""
        ...


def asked_at_admission(controller: Controller) -> DecideAtAdmission | None:
    """What to ask as each batch of a pipeline is admitted; None for a controller that has nothing to say then."""
    return controller.decide_at_admission if isinstance(controller, DecidesAtAdmission) else None


def news_of(controller: Controller) -> str | None:
    """What a controller has to tell the user since it was last asked; None for one that never does."""
    told = controller.news() if isinstance(controller, Tells) else None
    return told if isinstance(told, str) else None


def tell_change(controller: Controller, change: Change) -> None:
    """Let a controller forget what a slower loop has made untrue; one that learns nothing has nothing to forget."""
    if isinstance(controller, Adapts):
        controller.changed(change)
