"""All findings of the thesis that are looked for, and what the numbers of a grid say on each."""

from __future__ import annotations

from penstock.reproduce.outcomes import UNKNOWN, NoDataError, Outcome
from penstock.reproduce.thesis.finding import Finding
from penstock.reproduce.thesis.findings_distance import DISTANCES
from penstock.reproduce.thesis.findings_fixed import FIXED
from penstock.reproduce.thesis.findings_hits import HITS
from penstock.reproduce.thesis.findings_patterns import PATTERNS
from penstock.reproduce.thesis.findings_pid import PID
from penstock.reproduce.thesis.scores import Scores

FINDINGS: tuple[Finding, ...] = (*FIXED, *HITS, *PATTERNS, *DISTANCES, *PID)


def look(finding: Finding, scores: Scores) -> Outcome:
    """What the numbers say on a finding; a grid without its cells cannot tell. Any other error is a bug."""
    try:
        return finding.look(scores)
    except NoDataError as error:
        return Outcome(UNKNOWN, f"The grid has not the cells for it ({error}).", {}, {})


def look_at_all(scores: Scores) -> list[tuple[Finding, Outcome]]:
    """Every finding with its outcome, in the order of the thesis."""
    return [(finding, look(finding, scores)) for finding in FINDINGS]
