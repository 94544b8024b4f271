"""What happened in a run, in a few sentences."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from penstock.report import words
from penstock.report.batches import Batch
from penstock.score import Response
from penstock.score.saso import HELD_BATCHES, LOAD_JUMP, STABLE_SHARE
from penstock.slo import Metric, Slo, Verdict


def sentences(slo: Slo, batches: Sequence[Batch], metrics: Mapping[str, Any]) -> list[str]:
    """How much was met, on which side the rest was, the worst batch, and the best and worst part."""
    counted = [batch for batch in batches if batch.verdict is not Verdict.UNKNOWN]
    if not counted:
        return [
            f"No batch of this run can be counted: {words.number_of(len(batches), 'batch', 'batches')} in the journal."
        ]
    what = "throughput" if slo.metric is Metric.THROUGHPUT else "latency"
    items = (
        f"{words.percent(metrics['i_slh'])} of {words.short(metrics['items'])} items were in batches with a {what} "
        f"{words.band(slo)}{_misses(slo, counted)}."
    )
    return [f"{words.kept(metrics['met'], slo)}.", *_asked(slo, metrics), items, *_more(slo, counted, metrics)]


def _asked(slo: Slo, metrics: Mapping[str, Any]) -> list[str]:
    told = [words.bounded(metrics["percentile"], slo)]
    if slo.also is not None:
        also = metrics["also"]
        told.append(
            f"The second objective, {slo.also}, was met by {words.percent(also['b_slh'])} of the batches, both by "
            f"{words.percent(also['both']['b_slh'])}. Where both cannot hold, the second gives way."
        )
    return [sentence for sentence in told if sentence]


def settling_words(changes: Sequence[Response]) -> str:
    """What the table of responses holds, and how many of them settled."""
    settled = sum(change.settling_batches is not None for change in changes)
    stable = sum(change.stable for change in changes)
    return (
        f"The load changed {words.number_of(len(changes), 'time')} (a new part, or {LOAD_JUMP:.0%} from one batch to "
        f"the next): {settled:,} settled, which is {HELD_BATCHES} hits in a row before the next change, and {stable:,} "
        f"stayed stable, which is at least {STABLE_SHARE:.0%} hits from then on."
    )


def _misses(slo: Slo, counted: Sequence[Batch]) -> str:
    missed = [batch.value or 0.0 for batch in counted if not slo.holds(batch.value or 0.0)]
    if not missed:
        return ""
    high = sum(value > slo.high for value in missed)
    low = len(missed) - high
    sides = ("too much", "too little") if slo.metric is Metric.THROUGHPUT else ("too slow", "too fast")
    told = [
        f"{words.number_of(number, 'batch', 'batches')} {'was' if number == 1 else 'were'} {side}"
        for number, side in zip((high, low), sides, strict=True)
        if number
    ]
    return "; " + " and ".join(told)


def _more(slo: Slo, counted: Sequence[Batch], metrics: Mapping[str, Any]) -> list[str]:
    harm = -1 if slo.metric is Metric.THROUGHPUT else 1
    worst = max(counted, key=lambda batch: harm * (batch.value or 0.0))
    where = f" in {worst.sample.part}" if worst.sample.part else ""
    verb = "had" if slo.metric is Metric.THROUGHPUT else "took"
    told = f"The {'slowest' if harm > 0 else 'weakest'} batch, number {worst.sample.batch_id}{where}, {verb} "
    told += f"{words.measured(worst.value, slo)}."
    rated = {part: block["i_slh"] for part, block in metrics["patterns"].items() if block["i_slh"] is not None}
    if len(set(rated.values())) > 1:
        best, least = max(rated, key=rated.__getitem__), min(rated, key=rated.__getitem__)
        told += f" It did best in {best} ({words.percent(rated[best])} of the items) and worst in {least} "
        told += f"({words.percent(rated[least])})."
    return [told]
