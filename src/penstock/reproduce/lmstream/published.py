"""What LMStream publishes of its evaluation: table IV, and the few numbers of its text (sec. V-B).

Figures 6 to 9 have no numbers in them, so most of what is published is a sentence; `findings` holds those.
"""

from __future__ import annotations

QUERIES = ("lr1s", "lr1t", "lr2s", "cm1s", "cm1t", "cm2s")
TRIGGER_S = 10.0

# Sec. V-B: the most that the average latency falls, in percent, and the most that throughput gains, each in one query.
LATENCY_CUT = ("lr1t", 70.7)
THROUGHPUT_GAIN = ("lr1s", 1.74)

# Table IV: percent of the time of a query under LMStream.
STEPS = ("buffering", "construct", "map_device", "processing", "optimisation")
TIME_SHARES = {
    "lr1s": (18.555, 0.036, 0.182, 81.011, 0.216),
    "lr1t": (28.12, 0.457, 0.014, 70.45, 0.96),
    "lr2s": (93.274, 0.334, 0.003, 6.387, 0.001),
    "cm1s": (51.279, 0.697, 0.006, 47.925, 0.093),
    "cm1t": (13.13, 0.54, 0.0264, 82.648, 3.655),
    "cm2s": (77.123, 0.43, 0.007, 22.437, 0.003),
}

# What figures 6 and 7 are said to show of LMStream against its baseline.
LATENCY = {
    "lr1s": "lower",
    "lr1t": f"-{LATENCY_CUT[1]}%",
    "lr2s": "lower",
    "cm1s": "about equal",
    "cm1t": "lower",
    "cm2s": "lower",
}
THROUGHPUT = {
    "lr1s": f"{THROUGHPUT_GAIN[1]}x",
    "lr1t": "equal",
    "lr2s": "higher",
    "cm1s": "about equal",
    "cm1t": "equal",
    "cm2s": "higher",
}


def share(query: str, step: str) -> float:
    """The percent of a query's time that a step took.

    >>> share("cm1t", "buffering"), round(sum(TIME_SHARES["lr1t"]), 1)
    (13.13, 100.0)
    """
    return TIME_SHARES[query][STEPS.index(step)]
