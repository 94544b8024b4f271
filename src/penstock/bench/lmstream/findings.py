"""All findings of the paper that are looked for, in its order. Their rules were written before the full run."""

from __future__ import annotations

from penstock.bench.lmstream.finding import Finding, look
from penstock.bench.lmstream.findings_latency import LATENCY
from penstock.bench.lmstream.findings_throughput import THROUGHPUT
from penstock.bench.lmstream.findings_time import TIME
from penstock.bench.lmstream.scores import Scores
from penstock.bench.outcomes import Outcome

FINDINGS: tuple[Finding, ...] = (*LATENCY, *THROUGHPUT, *TIME)


def look_at_all(scores: Scores) -> list[tuple[Finding, Outcome]]:
    """Every finding with its outcome."""
    return [(finding, look(finding, scores)) for finding in FINDINGS]
