"""The settings that `NAME:best` searches: those of the thesis in items, and ours for a live query in percent."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

STEPPING = ("faf", "pbaf", "pbaf-wt", "mbaf", "pmbaf")
"""The controllers that take steps."""
SAMPLES = (1, 5, 10, 20)
# By whether the query is live.
STEPS: dict[bool, Sequence[Any]] = {False: (1, 5, 10, 15, 20), True: ("5%", "10%", "20%", "35%", "50%", "80%")}
GAINS: dict[bool, dict[str, Sequence[Any]]] = {
    False: {"kp": (0, 5, 10, 15, 20, 30), "ki": (5, 15, 25, 35, 50), "kd": (0, 0.5, 3, 5)},
    True: {"kp": ("0%", "15%", "30%", "50%"), "ki": ("20%", "40%", "60%", "80%", "100%"), "kd": ("0%", "10%", "30%")},
}
