"""What the views show of a run: the journal's records, folded as they come."""

from __future__ import annotations

import math
from pathlib import Path

from penstock.journal import Follower, Record
from penstock.journal.records import to_decision, to_sample
from penstock.sample import BatchSample, Decision
from penstock.score import Met, SloMetrics
from penstock.slo import Slo, Verdict


class Board:
    """Follows the journal of a run; each batch is there once, as it is known best.

    >>> board = Board(Slo.parse("1 s ± 10%"))
    >>> board.take({"kind": "sample", "batch_id": 0, "size": 10, "items": 10, "processing_s": 2.0, "confirmed": False})
    >>> board.take({"kind": "sample", "batch_id": 0, "size": 10, "items": 10, "processing_s": 1.0})
    >>> board.take({"kind": "decision", "batch_id": 0, "size": 12, "reason": "below the band"})
    >>> len(board.samples), board.metrics().b_slh, board.decision.reason
    (1, 100.0, 'below the band')
    """

    def __init__(self, slo: Slo) -> None:
        self.slo = slo
        self.decision: Decision | None = None
        self._batches: dict[int, BatchSample] = {}
        self._follower: Follower | None = None

    @property
    def samples(self) -> list[BatchSample]:
        """The batches so far, in order."""
        return list(self._batches.values())

    def follow(self, journal: Path) -> None:
        """Take what the journal has new."""
        if self._follower is None:
            self._follower = Follower(journal)
        for record in self._follower.poll():
            self.take(record)

    def take(self, record: Record) -> None:
        """Fold one record in; one that cannot be read is passed over, the report will count it."""
        try:
            if record["kind"] == "sample":
                sample = to_sample(record)
                known = self._batches.get(sample.batch_id)
                if known is None or sample.confirmed or not known.confirmed:
                    self._batches[sample.batch_id] = sample
            elif record["kind"] == "decision":
                self.decision = to_decision(record)
        except (KeyError, TypeError, ValueError):
            return

    def metrics(self) -> SloMetrics:
        """The hits so far."""
        counted = [sample for sample in self.samples if self.slo.verdict(sample) is not Verdict.UNKNOWN]
        values = [math.nan if (value := self.slo.measure(sample)) is None else value for sample in counted]
        return SloMetrics.of(values, [sample.items for sample in counted], self.slo)

    def hits_line(self) -> str:
        """How many batches met the objective so far, then the hits of the thesis; of two objectives, of the first."""
        met, metrics = Met.of(self.samples, self.slo), self.metrics()
        hits = f"B-SLH {percent(metrics.b_slh)}   I-SLH {percent(metrics.i_slh)}"
        return f"{met.batches} of {met.counted} met   {hits}"


def percent(value: float | None) -> str:
    """A percentage for people.

    >>> percent(81.25), percent(None)
    ('81.2%', '-')
    """
    return "-" if value is None else f"{value:.1f}%"
