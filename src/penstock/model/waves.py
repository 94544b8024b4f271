"""A period of a load that swings: a curve of a few sines, fitted to batches."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from penstock.model.shape import FARTHEST, Floats, Shape, sums

CELLS = 96
# Each wave is a sine and a cosine over the cells of a period; slow ones cost less than quick ones.
_WAVES = 6
_TURNS = 2 * math.pi * np.outer((np.arange(CELLS) + 0.5) / CELLS, np.arange(1, _WAVES + 1))
_BASIS = np.vstack((np.ones(CELLS), np.cos(_TURNS).T, np.sin(_TURNS).T))
_NORMS = (_BASIS**2).sum(axis=1)
_QUICKNESS = np.concatenate(([0.0], np.tile(np.arange(1.0, _WAVES + 1) ** 2, 2)))
_BORDERS = np.linspace(0.0, 2.0, CELLS + 1)
# How strongly each coefficient is held back, and the period near the given one: two periods of steps tell a period and
# a shape hardly apart.
_HELD = np.append(6e-3 * _QUICKNESS, 1.0)
_STEPS = 7
# No step of the fit is longer, and a shorter one is the last: of the coefficients, of the logarithm of the period.
_LONGEST = np.append(np.full(_NORMS.size, 1.0), 0.02)
_SETTLED = np.append(np.full(_NORMS.size, 0.02), 0.002)
# An error counts in full up to this, as a logarithm. No item is so much lighter or heavier than the others.
_WILD, _STEEPEST = 0.3, 6.0

Known = Callable[[Floats], Floats]
"""The work between each two of some places."""


def fit_waves(
    edges: Floats, works: Floats, fixed: float, period: float, known: Known | None = None
) -> tuple[Shape, float] | None:
    """The shape, with a period near the given one, that explains the work of batches, and the mean of its losses.

    None where nothing sensible does. A loss is the square of an error, as a logarithm, up to a limit.

    `edges` are the places where batches begin, and where the last one ends, at 0. It begins with the curve of the last
    period as its batches had it, or with the work between places that is `known` from before; then come a few steps of
    least squares on the logarithms of times, in which wild errors count less, and quick waves are held back.
    """
    seen = np.log(fixed + works)
    widths, heaviness = _cells(edges, works, period)
    before = sums(widths)
    if known is not None:
        heaviness = np.log(known(period * (before - 1)) / (widths * period))
    # The coefficients, and by how much the period is longer, as a logarithm.
    guess = np.append(_BASIS @ heaviness / _NORMS, 0.0)
    held = works.size * _HELD
    holding = np.diag(held)
    best, least = guess, math.inf
    for step in range(1, _STEPS + 1):
        slopes = _slopes(edges, widths, before, guess, period)
        times = fixed + slopes[0]
        errors = seen - np.log(times)
        # A sum is half the time of a mean.
        loss = float(np.add.reduce(np.minimum(errors * errors, FARTHEST))) / works.size
        if loss < least:
            best, least = guess, loss
        if step == _STEPS:
            break
        slopes /= times
        weighted = slopes * (_WILD / np.maximum(np.abs(errors), _WILD))
        try:
            move = np.linalg.solve(weighted @ slopes.T + holding, weighted @ errors - held * guess)
        except np.linalg.LinAlgError:
            break
        if not np.logical_or.reduce(np.abs(move) > _SETTLED):
            break
        guess = guess + np.minimum(np.maximum(move, -_LONGEST), _LONGEST)
    if not (math.isfinite(least) and np.isfinite(best).all()):
        return None
    return Shape(_period(best, period), widths, _heaviness(best)), least


def _heaviness(guess: Floats) -> Floats:
    mean = guess[0]
    heaviness: Floats = np.minimum(np.maximum(guess[:-1] @ _BASIS, mean - _STEEPEST), mean + _STEEPEST)
    return heaviness


def _period(guess: Floats, period: float) -> float:
    return period * math.exp(guess[-1])


def _cells(edges: Floats, works: Floats, period: float) -> tuple[Floats, Floats]:
    """Widths and heaviness of the last period, as its batches had it, in cells of equal measure.

    The measure is half items, half work: batches that hold a latency are as fine as the work is, and hits count
    items. So neither a few heavy items nor many light ones are lost in a cell.
    """
    total = sums(works)
    first = int(edges.searchsorted(-period, side="right"))
    items = np.concatenate(([0.0], edges[first:] + period))
    done = np.concatenate(([0.0], total[first:] - np.interp(-period, edges, total)))
    measure = items / period + done / done[-1]
    widths = np.diff(np.interp(_BORDERS, measure, items)) / period
    return widths, np.log(np.diff(np.interp(_BORDERS, measure, done)) / (widths * period))


def _slopes(edges: Floats, widths: Floats, before: Floats, guess: Floats, given: float) -> Floats:
    """How the work of each batch changes with each coefficient, and last with the logarithm of the period.

    With the first coefficient it changes by all of itself: the first row is the work.
    """
    heavy = np.exp(_heaviness(guess))
    period = _period(guess, given)
    done = sums(widths * heavy * _BASIS)
    places = edges / period
    whole = np.floor(places)
    phase = places - whole
    cell = before[1:-1].searchsorted(phase, side="right")
    rate = heavy[cell]
    within = (phase - before[cell]) * rate
    until = np.empty((_BASIS.shape[0] + 1, edges.size))
    by_wave = until[:-1]
    np.multiply(within, _BASIS.take(cell, axis=1), out=by_wave)
    by_wave += done.take(cell, axis=1)
    by_wave += whole * done[:, -1:]
    by_wave *= period
    until[-1] = until[0] - edges * rate
    return until[:, 1:] - until[:, :-1]
