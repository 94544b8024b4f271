"""SLO hits and SLO distances (thesis, section 4.3), in percent.

With target t, tolerance h, measured values w(b) and batch sizes s(b) in items:

    B-SLH = share of batches with t (1 - h) <= w(b) <= t (1 + h)                 (4.2)
    I-SLH = the same share with each batch counted by its items                 (4.3)
    MAD-D = mean |w(b) - t| / t                                                 (4.4)
    SD-D  = sqrt(mean (w(b) - t)^2) / t

The thesis prints SD-D (4.5) with the division outside the root; its text and figures are the population form above.
On a bound, a hit is a value on the right side, the bound included, at any tolerance; the distance is how far a value
is beyond the bound, and 0 where the bound is met: being faster than asked is no error.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from penstock.errors import BadInputError
from penstock.slo import Kind, Slo

Numbers = Sequence[float] | npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class SloMetrics:
    """The four SLO metrics in percent; None where nothing was measured.

    >>> SloMetrics.of([1.0, 1.0, 1.5, 0.5], [10, 10, 10, 50], Slo.parse("1 s ± 10%"))
    SloMetrics(b_slh=50.0, i_slh=25.0, mad_d=25.0, sd_d=35.355...)
    """

    b_slh: float | None
    i_slh: float | None
    mad_d: float | None
    sd_d: float | None

    @classmethod
    def of(cls, values: Numbers, items: Numbers, slo: Slo, tolerance: float | None = None) -> SloMetrics:
        """From one value and one number of items a batch; values that are not finite are unknown and left out."""
        value, weight = _known(values, items)
        if not value.size:
            return cls(None, None, None, None)
        hit = hits(value, slo, tolerance)
        distance = distances(value, slo)
        total = float(weight.sum())
        return cls(
            b_slh=100.0 * float(hit.mean()),
            i_slh=100.0 * float(weight[hit].sum()) / total if total > 0 else None,
            mad_d=float(distance.mean()),
            sd_d=float(np.sqrt(np.square(distance).mean())),
        )


@dataclass(frozen=True, slots=True)
class Cumulative:
    """How the hit metrics developed: after each batch, the items so far and both metrics over all batches so far."""

    items: npt.NDArray[np.float64]
    b_slh: npt.NDArray[np.float64]
    i_slh: npt.NDArray[np.float64]


def hits(values: Numbers, slo: Slo, tolerance: float | None = None) -> npt.NDArray[np.bool_]:
    """Which values meet the SLO, at its own tolerance or at another one; edges belong to the band.

    >>> hits([0.89, 0.9, 1.1, 1.11], Slo.parse("1 s ± 10%")).tolist()
    [False, True, True, False]
    """
    band = slo if tolerance is None else replace(slo, tolerance=tolerance)
    value = np.asarray(values, dtype=np.float64)
    return (value >= band.low) & (value <= band.high)


def distances(values: Numbers, slo: Slo) -> npt.NDArray[np.float64]:
    """How far each value is from the target, in percent of it; on a bound, how far beyond it.

    >>> distances([0.5, 1.5], Slo.parse("1 s ± 10%")).tolist(), distances([0.5, 1.5], Slo.parse("<= 1 s")).tolist()
    ([50.0, 50.0], [0.0, 50.0])
    """
    error = 100.0 * (np.asarray(values, dtype=np.float64) - slo.target) / slo.target
    if slo.kind is Kind.AT_MOST:
        return np.maximum(error, 0.0)
    return np.maximum(-error, 0.0) if slo.kind is Kind.AT_LEAST else np.abs(error)


def cumulative(values: Numbers, items: Numbers, slo: Slo, tolerance: float | None = None) -> Cumulative:
    """B-SLH and I-SLH over all batches so far, against the items so far (thesis, figure 5.4).

    >>> series = cumulative([1.0, 2.0], [30, 10], Slo.parse("1 s ± 10%"))
    >>> series.items.tolist(), series.b_slh.tolist(), series.i_slh.tolist()
    ([30.0, 40.0], [100.0, 50.0], [100.0, 75.0])
    """
    value, weight = _known(values, items)
    hit = hits(value, slo, tolerance)
    items_so_far = np.cumsum(weight)
    hit_items = np.cumsum(weight * hit)
    i_slh = np.divide(100.0 * hit_items, items_so_far, out=np.zeros_like(hit_items), where=items_so_far > 0)
    return Cumulative(items_so_far, 100.0 * np.cumsum(hit) / np.arange(1, value.size + 1), i_slh)


def _known(values: Numbers, items: Numbers) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]]:
    value = np.asarray(values, dtype=np.float64)
    weight = np.asarray(items, dtype=np.float64)
    if value.shape != weight.shape:
        reason = f"{weight.size} numbers for {value.size} values"
        raise BadInputError("items", weight.size, reason, "give the items of each batch")
    known = np.isfinite(value)
    return value[known], weight[known]
