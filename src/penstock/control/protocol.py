"""What a controller is."""

from __future__ import annotations

from typing import Protocol

from penstock.sample import BatchSample, Decision


class Controller(Protocol):
    """Turns one `BatchSample` into one `Decision`. Pure: no Spark, no clock, no I/O.

    `size` is the size now in force, in the gate's unit, kept real. A wrapper that corrects a decision assigns the
    corrected size, and the next decision starts from there. A sample that is not usable changes nothing. A controller
    can be deep-copied, cheaply: the loop copies it before each sample and goes back to the copy when one is refined.

    One that has to tell the user something, and not with every batch, may offer `news() -> str | None`: the loop asks
    after each decision, and what is answered is told once.

    One that can size a batch for those that are on their way with it may offer `decide_at_admission`. It is asked where
    batches overlap, which Spark's do not: see `DecideAtAdmission`.

    A registered controller is constructed as `Cls(slo, size, **settings)`. `penstock.testing.contract` checks all this.
    """

    size: float

    def decide(self, sample: BatchSample) -> Decision:
        """The size for the next batches, and why."""
        ...


class DecideAtAdmission(Protocol):
    """What a source asks as it admits a batch while others are on their way."""

    def __call__(self, at_s: float, waiting: float, idle: bool) -> Decision | None:
        """The decision on this one batch; None where the last one holds.

        With the time, with all that could be admitted then, in the gate's unit, and with whether the place was free
        before there was anything to admit.
        """
        ...


def asked_at_admission(controller: Controller) -> DecideAtAdmission | None:
    """What to ask as each batch of a pipeline is admitted; None for a controller that has nothing to say then."""
    ask = getattr(controller, "decide_at_admission", None)
    return ask if callable(ask) else None


def news_of(controller: Controller) -> str | None:
    """What a controller has to tell the user since it was last asked; None for one that never does."""
    ask = getattr(controller, "news", None)
    told = ask() if callable(ask) else None
    return told if isinstance(told, str) else None
