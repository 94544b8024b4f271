"""A period of a load that jumps between two levels: when it jumps, and what items cost on each, fitted to batches."""

from __future__ import annotations

import itertools
import math

import numpy as np

from penstock.model.shape import FARTHEST, Floats, Shape

# Each round moves the rise, the length of the heavy part and the period, or leaves them; in parts of the period.
_MOVES = np.array(list(itertools.product((-1.0, 0.0, 1.0), repeat=3)))
_STAY = len(_MOVES) // 2
_SCALES = (1 / 16, 1 / 32, 1 / 64, 1 / 128, 1 / 256)
_ROUNDS = 2
_HOPELESS = 2.0
# A guess that foresees less of a batch's work than this is far off however little it is.
_LEAST_SHARE = 1e-3


def fit_steps(
    edges: Floats, works: Floats, fixed: float, period: float, rival: float = math.inf
) -> tuple[Shape, float] | None:
    """The two levels, with a period near the given one, that explain the work of batches, and the mean of its losses.

    As `penstock.model.waves.fit_waves`, whose curve is too soft for a jump: here a batch across it tells
    where within it the load has jumped. For each guess of where the load rises, how long it stays and the period, the
    levels a and b follow by least squares from

        work = a light + b heavy,    relative to the batch's time

    with the items that each batch has of both; the search around the best guess grows finer and finer. Where it is far
    from the loss of a `rival`, it ends with nothing.
    """
    sizes = np.diff(edges)
    heaviness = np.log(works / sizes)
    heavy = heaviness > (heaviness.min() + heaviness.max()) / 2
    turns = np.flatnonzero(heavy[1:] != heavy[:-1]) + 1
    rises, falls = turns[heavy[turns]], turns[~heavy[turns]]
    if not (rises.size and falls.size):
        return None
    rise = edges[rises[-1]] + sizes[rises[-1]] / 2
    best = np.array([rise, (edges[falls[-1]] - rise) % period, period])
    # A longer period moves the oldest jumps most.
    reach = np.array([period, period, period / max(-edges[0] / period - 0.5, 1.0)])
    times = fixed + works
    shares = works / times
    loss, levels = math.inf, (0.0, 0.0)
    for scale in _SCALES:
        for _ in range(_ROUNDS):
            guesses = best + _MOVES * (scale * reach)
            losses, low, high = _losses(edges, sizes, works, times, shares, fixed, guesses)
            least = int(losses.argmin())
            if not losses[least] < loss:
                break
            loss, best, levels = float(losses[least]), guesses[least], (float(low[least]), float(high[least]))
            # Finer guesses make it somewhat better, not this much.
            if loss > _HOPELESS * rival:
                return None
            if least == _STAY:
                break
        if loss == math.inf:
            return None
    rise, stay, period = best.tolist()
    return _shape(rise, stay, period, levels), loss


def _losses(
    edges: Floats, sizes: Floats, works: Floats, times: Floats, shares: Floats, fixed: float, guesses: Floats
) -> tuple[Floats, Floats, Floats]:
    """Of each guess; infinite where it makes no sense. And its two levels."""
    rise, stay, period = guesses.T[:, :, None]
    places = (edges - rise) / period
    whole = np.floor(places)
    places -= whole
    places *= period
    until = np.minimum(places, stay, out=places)
    whole *= stay
    until += whole
    heavy = until[:, 1:] - until[:, :-1]
    light = sizes - heavy
    light_shares, heavy_shares = light / times, heavy / times
    both = np.einsum("gb,gb->g", light_shares, heavy_shares)
    lights = np.einsum("gb,gb->g", light_shares, light_shares)
    heavies = np.einsum("gb,gb->g", heavy_shares, heavy_shares)
    by_light, by_heavy = light_shares @ shares, heavy_shares @ shares
    determinant = lights * heavies - both * both
    low = (heavies * by_light - both * by_heavy) / determinant
    high = (lights * by_heavy - both * by_light) / determinant
    light *= low[:, None]
    heavy *= high[:, None]
    light += heavy
    foreseen = np.maximum(light, _LEAST_SHARE * works, out=light)
    foreseen += fixed
    errors = np.divide(times, foreseen, out=foreseen)
    np.log(errors, out=errors)
    errors *= errors
    losses = np.add.reduce(np.minimum(errors, FARTHEST, out=errors), axis=1) / works.size
    stays, periods = guesses[:, 1], guesses[:, 2]
    sensible = (low > 0) & (high > low) & (stays > 0) & (stays < periods) & (losses < math.inf)
    losses[~sensible] = math.inf
    return losses, low, high


def _shape(rise: float, stay: float, period: float, levels: tuple[float, float]) -> Shape:
    """From where the batches end, at 0."""
    low, high = levels
    since = -rise % period
    if since < stay:
        parts = (stay - since, high), (period - stay, low), (since, high)
    else:
        parts = (period - since, low), (stay, high), (since - stay, low)
    widths, heaviness = np.array(parts).T
    return Shape(period, widths / period, np.log(heaviness))
