"""What a sink is."""

from __future__ import annotations

from typing import Any, Protocol

from penstock.plan import BatchEcho
from penstock.sample import BatchSample, Decision


class Sink(Protocol):
    """Whoever gets the samples, decisions and events of one run of a query. The journal is one.

    A batch may come as several samples: estimates at the end of its jobs, last the confirmed one. Calls come in the
    order in which things happened, and none after `close`.
    """

    def sample(self, sample: BatchSample, *, control_s: float | None = None, obeyed: int | None = None) -> None:
        """What a batch did, how long the loop took to think about it, and the batch on which its limit was decided."""
        ...

    def decision(self, batch_id: int, decision: Decision, *, applied: bool) -> None:
        """What was decided on the sample of a batch, and whether a gate took it."""
        ...

    def echo(self, echo: BatchEcho) -> None:
        """What the workers of a batch told of the plan that they ran."""
        ...

    def event(self, name: str, **details: Any) -> None:
        """What else happened."""
        ...

    def close(self) -> None:
        """The run is over."""
        ...
