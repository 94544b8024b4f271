"""Where we win, tie and lose, in plain words, from the measurements."""

from __future__ import annotations

from penstock.bench.measures.windows.cases import Setting
from penstock.bench.measures.windows.peers import COMPILED, FLINK, NUMPY, PANDAS, SPARK
from penstock.bench.measures.windows.results import TIE
from penstock.reproduce.gasser.scores import Scores, case

_NAMES = {
    SPARK: "plain PySpark (exploded windows)",
    FLINK: "PyFlink's count window",
    NUMPY: "a NumPy loop in one process",
    COMPILED: "a loop in one process that calls the same compiled kernel",
    PANDAS: "pandas rolling with Numba (one column, one output)",
}


def verdict(scores: Scores) -> str:
    """A line for each peer: in how many cases we are faster, about as fast, slower, and by how much."""
    lines = []
    for who, name in _NAMES.items():
        gains = scores.gains(who)
        never = [setting for setting in scores.results.settings() if scores.results.unfinished(setting, who)]
        if gains or never:
            lines.append(f"- Against {name}: {_counted(gains)}{_never(scores, who, never)}.")
    if text := _crossing(scores):
        lines.append(f"- {text}")
    return "\n".join(lines) or "- Nothing was measured."


def outcome(gain: float) -> str:
    """Win, tie or lose.

    >>> outcome(3.0), outcome(0.95), outcome(0.2)
    ('win', 'tie', 'lose')
    """
    return "win" if gain > TIE else "lose" if gain < 1 / TIE else "tie"


def _counted(gains: dict[Setting, float]) -> str:
    said = []
    for kind in ("win", "tie", "lose"):
        some = {setting: gain for setting, gain in gains.items() if outcome(gain) == kind}
        if not some:
            continue
        if kind == "tie":
            said.append(f"**tie** in {len(some)}")
            continue
        factors = {setting: gain if kind == "win" else 1 / gain for setting, gain in some.items()}
        most = max(factors, key=factors.__getitem__)
        text = f"**{kind}** in {len(some)} of {len(gains)} cases, by {min(factors.values()):.1f} to "
        said.append(f"{text}{factors[most]:.1f} times ({case(most)})")
    return "; ".join(said) or "no case to compare"


def _never(scores: Scores, who: str, never: list[Setting]) -> str:
    if not never:
        return ""
    limit_s = scores.results.unfinished(never[0], who)
    return f"; {len(never)} more it did not finish within {limit_s:.0f} s"


def _crossing(scores: Scores) -> str:
    """From which w/s on we pass the loop in one process: the kernel's work must outweigh what Spark costs."""
    said = []
    for query in ("q1", "q2"):
        gains = scores.gains(COMPILED, query)
        if not gains:
            continue
        ahead = [setting.length / setting.every for setting, gain in gains.items() if gain > 1]
        behind = [setting.length / setting.every for setting, gain in gains.items() if gain <= 1]
        passed = [ratio for ratio in ahead if ratio > max(behind, default=0.0)]
        text = f"in all cases from w/s = {min(passed):,.0f} on" if passed else "in no range of w/s that was measured"
        said.append(f"{query.upper()} {text}")
    return f"We pass the compiled loop in one process: {'; '.join(said)}." if said else ""
