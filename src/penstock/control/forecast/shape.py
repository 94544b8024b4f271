"""What items cost over a period of a load that comes back: a curve of a few sines, fitted to batches."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

CELLS = 96
# Each wave is a sine and a cosine over the work of a period; slow ones cost less than quick ones.
_WAVES = 6
_TURNS = 2 * math.pi * np.outer((np.arange(CELLS) + 0.5) / CELLS, np.arange(1, _WAVES + 1))
_BASIS = np.column_stack((np.ones(CELLS), np.cos(_TURNS), np.sin(_TURNS)))
_NORMS = (_BASIS**2).sum(axis=0)
_QUICKNESS = np.concatenate(([0.0], np.tile(np.arange(1.0, _WAVES + 1) ** 2, 2)))
_RIDGE = 6e-3
# How strongly the period is held near the given one: two periods of steps tell a period and a shape hardly apart.
_HELD = 1.0
_STEPS = 7
# No step of the fit is longer, and a shorter one is the last: of a coefficient, of the logarithm of the period.
_LONGEST, _LONGEST_PERIOD = 1.0, 0.02
_SETTLED, _SETTLED_PERIOD = 0.02, 0.002
# An error counts in full up to this, as a logarithm. No item is so much lighter or heavier than the others.
_WILD, _STEEPEST = 0.3, 6.0
# A forecast reaches so many periods ahead.
HORIZON = 2
# Beyond an error of 30% a batch is off the target, and how far makes no forecast better than another.
FARTHEST = 0.1


class Shape:
    """The work of items over a period, in cells of equal work: where items are heavy, a cell has fewer of them.

    So cells are as fine as batches are, which a controller that holds a latency cuts to about equal work.

    >>> shape = Shape(period=1000.0, heaviness=np.log(np.repeat([1.0, 4.0], CELLS // 2)))
    >>> round(shape.work(0.0, 800.0)), round(shape.work(800.0, 1000.0)), round(shape.size_for(900.0, 800.0))
    (800, 800, 300)
    """

    def __init__(self, period: float, heaviness: Floats) -> None:
        """With the logarithm of an item's work in each cell."""
        self.period = period
        lightness = np.exp(-heaviness)
        self._cell = period / float(lightness.sum())
        self._places = np.concatenate(([0.0], np.cumsum(lightness))) * self._cell

    def work(self, begin: float, end: float) -> float:
        """Of the items between two places."""
        return self._until(end) - self._until(begin)

    def size_for(self, work: float, begin: float) -> float:
        """How many items from a place on come to so much work, up to two periods of them."""
        periods, rest = divmod((self._until(begin) + work) / self._cell, CELLS)
        cell = min(int(rest), CELLS - 1)
        width = self._places[cell + 1] - self._places[cell]
        end = periods * self.period + self._places[cell] + (rest - cell) * width
        return min(float(end) - begin, HORIZON * self.period)

    def _until(self, place: float) -> float:
        periods, phase = divmod(place, self.period)
        cell = min(int(self._places.searchsorted(phase, side="right")) - 1, CELLS - 1)
        part = (phase - self._places[cell]) / (self._places[cell + 1] - self._places[cell])
        return float(periods * CELLS + cell + part) * self._cell


def fit(edges: Floats, works: Floats, fixed: float, period: float) -> tuple[Shape, float] | None:
    """The shape, with a period near the given one, that explains the work of batches, and the mean of its losses.

    None where nothing sensible does. A loss is the square of an error, as a logarithm, up to a limit.

    `edges` are the places where batches begin, and where the last one ends, at 0. It begins with the curve of the last
    period as its batches had it; then come a few steps of least squares on the logarithms of times, in which wild
    errors count less, and quick waves are held back.
    """
    seen = np.log(fixed + works)
    coefficients = _BASIS.T @ _last_period(edges, works, period) / _NORMS
    held = works.size * np.concatenate((_RIDGE * _QUICKNESS, [_HELD]))
    stretch, best = 0.0, None
    for _ in range(_STEPS):
        forecasts, slopes = _forecasts(edges, _heaviness(coefficients), period * math.exp(stretch))
        errors = seen - np.log(fixed + forecasts)
        loss = float(np.minimum(errors * errors, FARTHEST).mean())
        if best is None or loss < best[0]:
            best = loss, coefficients.copy(), stretch
        slopes /= (fixed + forecasts)[:, None]
        weighted = slopes * (_WILD / np.maximum(np.abs(errors), _WILD))[:, None]
        pull = weighted.T @ errors - held * np.append(coefficients, stretch)
        try:
            move = np.linalg.solve(weighted.T @ slopes + np.diag(held), pull)
        except np.linalg.LinAlgError:
            break
        if not (np.abs(move[:-1]).max() > _SETTLED or abs(move[-1]) > _SETTLED_PERIOD):
            break
        coefficients += np.clip(move[:-1], -_LONGEST, _LONGEST)
        stretch += min(max(float(move[-1]), -_LONGEST_PERIOD), _LONGEST_PERIOD)
    assert best is not None
    loss, coefficients, stretch = best
    if not (math.isfinite(loss) and np.isfinite(coefficients).all()):
        return None
    return Shape(period * math.exp(stretch), _heaviness(coefficients)), loss


def _heaviness(coefficients: Floats) -> Floats:
    return np.clip(_BASIS @ coefficients, coefficients[0] - _STEEPEST, coefficients[0] + _STEEPEST)


def _last_period(edges: Floats, works: Floats, period: float) -> Floats:
    """How heavy items were in each cell of the last period, by the batch that each cell was in."""
    first = max(int(edges.searchsorted(-period, side="right")) - 1, 0)
    done = np.cumsum(works[first:])
    batches = done.searchsorted((np.arange(CELLS) + 0.5) / CELLS * done[-1])
    heaviness: Floats = np.log(works[first:] / np.diff(edges[first:]))[np.minimum(batches, done.size - 1)]
    return heaviness


def _forecasts(edges: Floats, heaviness: Floats, period: float) -> tuple[Floats, Floats]:
    """The work of each batch; and how it changes with each coefficient and with the logarithm of the period.

    With r the lightness of a cell (1 / the work of an item), R its sum before the cell and T over all cells, the work
    up to a place at the phase p of its period, in cell c after w whole periods, is

        period ((w CELLS + c) / T + (p - R / T) / r)
    """
    lightness = np.exp(-heaviness)
    total = float(lightness.sum())
    before = np.concatenate(([0.0], np.cumsum(lightness)))
    places = edges / period
    whole = np.floor(places)
    phase = places - whole
    cell = np.minimum(before.searchsorted(phase * total, side="right") - 1, CELLS - 1)
    light, cells = lightness[cell], whole * CELLS + cell
    within = (phase - before[cell] / total) / light
    until = period * (cells / total + within)
    # What a coefficient moves of each lightness, of the sums before each cell, and of their total.
    moved = np.concatenate((np.zeros((1, _BASIS.shape[1])), np.cumsum(-lightness[:, None] * _BASIS, axis=0)))
    slopes = period * (
        np.outer((before[cell] / light - cells) / total**2, moved[-1])
        - moved[cell] / (total * light)[:, None]
        + within[:, None] * _BASIS[cell]
    )
    stretched = until - edges / light
    return np.diff(until), np.diff(np.column_stack((slopes, stretched)), axis=0)
