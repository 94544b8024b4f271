"""The pattern of day and night: a sine (SPBench, algorithm 2)."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from penstock.patterns.base import FloatArray
from penstock.patterns.swing import Swing

# Halving alone would reach neighbouring floats in about 55 steps; Newton's usually take a handful.
_MOST_STEPS = 70


@dataclass(frozen=True)
class Wave(Swing):
    """A sine between min and max that starts halfway, rising.

    With m the middle, a half the range and P the period: value `m + a sin(2πx/P)`, area `m x + a P/π sin²(πx/P)`.

    >>> Wave(min=100.0, max=300.0, period=40.0).value(np.array([0.0, 10.0, 20.0, 30.0])).round(9)
    array([200., 300., 200., 100.])
    """

    name: ClassVar[str] = "wave"
    summary: ClassVar[str] = "a sine that starts halfway, rising: min, max, period"

    @property
    def total(self) -> float:
        """Infinite, unless the wave is flat at zero."""
        return math.inf if self.max > 0 else 0.0

    @property
    def _middle(self) -> float:
        return (self.min + self.max) / 2

    def _value(self, x: FloatArray) -> FloatArray:
        swing = (self.max - self.min) / 2 * np.sin(2 * np.pi * self._phase(x))
        return np.clip(self._middle + swing, self.min, self.max)

    def _integral(self, x: FloatArray) -> FloatArray:
        cycles = np.floor(x / self.period)
        inside = self._within_cycle(np.clip(x - cycles * self.period, 0.0, self.period))
        return cycles * self._middle * self.period + inside

    def _inverse(self, y: FloatArray) -> FloatArray:
        area = self._middle * self.period
        cycles = np.maximum(np.ceil(y / area) - 1, 0)
        target = np.clip(y - cycles * area, 0.0, area)
        x: FloatArray = cycles * self.period + self._solve(target)
        return x

    def _phase(self, x: FloatArray) -> FloatArray:
        phase = x / self.period
        return phase - np.floor(phase)

    def _within_cycle(self, u: FloatArray) -> FloatArray:
        bulge = (self.max - self.min) / 2 * self.period / np.pi
        return self._middle * u + bulge * np.sin(np.pi * u / self.period) ** 2

    def _solve(self, target: FloatArray) -> FloatArray:
        low, high = np.zeros_like(target), np.full_like(target, self.period)
        u = np.minimum(target / self._middle, self.period)
        pending = np.arange(len(target))
        for _ in range(_MOST_STEPS):
            here = u[pending]
            error = self._within_cycle(here) - target[pending]
            low[pending] = np.where(error < 0, here, low[pending])
            high[pending] = np.where(error < 0, high[pending], here)
            slope = self._value(here)
            newton = here - np.divide(error, slope, out=np.full_like(here, np.inf), where=slope > 0)
            # A step that leaves the bracket is no better than halving it; where the wave touches zero many do.
            inside = (newton >= low[pending]) & (newton <= high[pending])
            u[pending] = np.where(inside, newton, (low[pending] + high[pending]) / 2)
            pending = pending[np.abs(u[pending] - here) > 2 * np.spacing(self.period)]
            if not pending.size:
                break
        return u
