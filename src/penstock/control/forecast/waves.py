"""A period of a load that swings: a curve of a few sines, fitted to batches."""

from __future__ import annotations

import math

import numpy as np

from penstock.control.forecast.shape import FARTHEST, Floats, Shape

CELLS = 96
# Each wave is a sine and a cosine over the cells of a period; slow ones cost less than quick ones.
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


def fit_waves(edges: Floats, works: Floats, fixed: float, period: float) -> tuple[Shape, float] | None:
    """The shape, with a period near the given one, that explains the work of batches, and the mean of its losses.

    None where nothing sensible does. A loss is the square of an error, as a logarithm, up to a limit.

    `edges` are the places where batches begin, and where the last one ends, at 0. It begins with the curve of the last
    period as its batches had it; then come a few steps of least squares on the logarithms of times, in which wild
    errors count less, and quick waves are held back.
    """
    seen = np.log(fixed + works)
    widths, heaviness = _cells(edges, works, period)
    coefficients = _BASIS.T @ heaviness / _NORMS
    held = works.size * np.concatenate((_RIDGE * _QUICKNESS, [_HELD]))
    holding = np.diag(held)
    stretch, best = 0.0, None
    for step in range(1, _STEPS + 1):
        forecasts, slopes = _forecasts(edges, widths, _heaviness(coefficients), period * math.exp(stretch))
        errors = seen - np.log(fixed + forecasts)
        loss = float(np.minimum(errors * errors, FARTHEST).mean())
        if best is None or loss < best[0]:
            best = loss, coefficients.copy(), stretch
        if step == _STEPS:
            break
        slopes /= (fixed + forecasts)[:, None]
        weighted = slopes * (_WILD / np.maximum(np.abs(errors), _WILD))[:, None]
        pull = weighted.T @ errors - held * np.append(coefficients, stretch)
        try:
            move = np.linalg.solve(weighted.T @ slopes + holding, pull)
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
    return Shape(period * math.exp(stretch), widths, _heaviness(coefficients)), loss


def _heaviness(coefficients: Floats) -> Floats:
    return np.clip(_BASIS @ coefficients, coefficients[0] - _STEEPEST, coefficients[0] + _STEEPEST)


def _cells(edges: Floats, works: Floats, period: float) -> tuple[Floats, Floats]:
    """Widths and heaviness of the last period, as its batches had it, in cells of equal measure.

    The measure is half items, half work: batches that hold a latency are as fine as the work is, and hits count
    items. So neither a few heavy items nor many light ones are lost in a cell.
    """
    total = np.concatenate(([0.0], np.cumsum(works)))
    inside = edges > -period
    items = np.concatenate(([0.0], edges[inside] + period))
    done = np.concatenate(([0.0], total[inside] - np.interp(-period, edges, total)))
    measure = items / period + done / done[-1]
    borders = np.linspace(0.0, 2.0, CELLS + 1)
    widths = np.diff(np.interp(borders, measure, items)) / period
    return widths, np.log(np.diff(np.interp(borders, measure, done)) / (widths * period))


def _forecasts(edges: Floats, widths: Floats, heaviness: Floats, period: float) -> tuple[Floats, Floats]:
    """The work of each batch; and how it changes with each coefficient and with the logarithm of the period."""
    heavy = np.exp(heaviness)
    before = np.concatenate(([0.0], np.cumsum(widths)))
    done = np.concatenate((np.zeros((1, _BASIS.shape[1])), np.cumsum((widths * heavy)[:, None] * _BASIS, axis=0)))
    places = edges / period
    whole = np.floor(places)
    phase = places - whole
    cell = np.minimum(before.searchsorted(phase, side="right") - 1, CELLS - 1)
    within = (phase - before[cell]) * heavy[cell]
    # The first column of the basis is 1: what it moves is the work itself.
    until = period * (whole[:, None] * done[-1] + done[cell] + within[:, None] * _BASIS[cell])
    stretched = until[:, 0] - edges * heavy[cell]
    slopes = np.diff(np.column_stack((until, stretched)), axis=0)
    return slopes[:, 0].copy(), slopes
