"""All findings of the thesis that are looked for, in its order."""

from __future__ import annotations

from penstock.reproduce.finding import Finding, Found, look
from penstock.reproduce.thesis.findings_hits import HITS, PATTERNS
from penstock.reproduce.thesis.findings_other import DISTANCES, FIXED, PID
from penstock.reproduce.thesis.scores import Scores

FINDINGS: tuple[Finding[Scores], ...] = (*FIXED, *HITS, *PATTERNS, *DISTANCES, *PID)


def look_at_all(scores: Scores) -> Found:
    """Every finding with its outcome, in the order of the thesis."""
    return [(finding, look(finding, scores)) for finding in FINDINGS]
