"""All findings of the paper that are looked for, in its order. Their rules were written before the full run."""

from __future__ import annotations

from penstock.reproduce.lmstream.finding import Finding, look
from penstock.reproduce.lmstream.findings_latency import LATENCY
from penstock.reproduce.lmstream.findings_throughput import THROUGHPUT
from penstock.reproduce.lmstream.findings_time import TIME
from penstock.reproduce.lmstream.scores import Scores
from penstock.reproduce.outcomes import Outcome

FINDINGS: tuple[Finding, ...] = (*LATENCY, *THROUGHPUT, *TIME)


def look_at_all(scores: Scores) -> list[tuple[Finding, Outcome]]:
    """Every finding with its outcome."""
    return [(finding, look(finding, scores)) for finding in FINDINGS]
