"""Images of scenes, drawn by whole numbers alone: the same on every machine and with every library version.

A family is a background with objects on it. An arrangement of a family moves, resizes and recolours every object, puts
strangers in the place of some, and has light and noise of its own: images of one family are alike, never the same.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from penstock.patterns.hashing import hashed

WIDTH, HEIGHT = 128, 96
Bits = NDArray[np.uint64]
Whole = NDArray[np.int64]

# Random draws: so many for each row; a row for each object, one for the background, one for light and noise.
_DRAWS, _ROWS, _BACKGROUND, _LIGHT = 16, 24, 22, 23
_SEVENTHS_STRANGE = 2  # of seven objects, so many are strangers
_MOVED_X, _MOVED_Y, _RECOLOURED, _LIT = 32, 24, 42, 20  # at most, in pixels and in levels of 255
_LEAST_SCALE, _MOST_SCALE = 75, 130  # per cent
_EDGE = 14  # pixels to the edge of the image, before an object is moved
_NOISE = 14  # levels, at most, to either side


@dataclass(frozen=True)
class Crowd:
    """How many objects a scene has, and how large they are: half their width and height in pixels."""

    fewest: int
    most: int
    smallest: int
    largest: int
    patterned: bool
    """Whether some objects have a second colour, in stripes or checks."""


SIMPLE, BUSY = Crowd(1, 4, 12, 26, patterned=False), Crowd(12, 21, 7, 15, patterned=True)


def scene(family: int, arrangement: int, seed: int, crowd: Crowd) -> NDArray[np.uint8]:
    """An arrangement of a family, as pixels (height, width, 3).

    >>> one, other = scene(3, 0, 1, BUSY), scene(3, 1, 1, BUSY)
    >>> one.shape, bool((one == scene(3, 0, 1, BUSY)).all()), bool((one == other).all())
    ((96, 128, 3), True, False)
    """
    usual = _draws(seed, family << 20)
    own = _draws(seed, (family << 20) + arrangement + 1)
    light = _between(own[_LIGHT, :3], -_LIT, _LIT)
    image = _background(usual[_BACKGROUND], own[_BACKGROUND]) + light
    for row in range(int(_between(usual[_LIGHT, 0], crowd.fewest, crowd.most))):
        stranger = int(_between(own[row, 0], 1, 7)) <= _SEVENTHS_STRANGE
        _draw(image, own[row, ::-1] if stranger else usual[row], own[row], crowd, light)
    pixels: NDArray[np.uint8] = np.clip(image + _noise(own[_LIGHT]), 0, 255).astype(np.uint8)
    return pixels


def _draws(seed: int, stream: int) -> Bits:
    return hashed(np.arange(_ROWS * _DRAWS), seed, stream).reshape(_ROWS, _DRAWS)


def _between(bits: Bits | np.uint64, low: int, high: int) -> Whole:
    """Whole numbers from low to high, both included."""
    return np.asarray(np.asarray(bits) % np.uint64(high - low + 1)).astype(np.int64) + low


def _background(usual: Bits, own: Bits) -> Whole:
    """A slope from one colour at the top to another at the bottom."""
    top, bottom = (_between(usual[part], 40, 215) + _between(own[part], -12, 12) for part in (slice(3), slice(3, 6)))
    down = np.arange(HEIGHT)[:, None]
    slope = top + (bottom - top) * down // (HEIGHT - 1)
    return np.repeat(slope[:, None], WIDTH, axis=1)


def _noise(own: Bits) -> Whole:
    """Noise of every pixel and channel, as strong as this arrangement has it."""
    level = int(_between(own[3], 2, _NOISE))
    bits = hashed(np.arange(HEIGHT * WIDTH), int(own[4] >> np.uint64(1)))
    shifts = np.array([0, 20, 40], np.uint64)
    return _between(bits[:, None] >> shifts & np.uint64(0xFFFFF), -level, level).reshape(HEIGHT, WIDTH, 3)


def _draw(image: Whole, usual: Bits, own: Bits, crowd: Crowd, light: Whole) -> None:
    """Draw an object over what is there: the family's draws say what it is, the arrangement's how it is moved."""
    x = int(_between(usual[0], _EDGE, WIDTH - _EDGE) + _between(own[1], -_MOVED_X, _MOVED_X))
    y = int(_between(usual[1], _EDGE, HEIGHT - _EDGE) + _between(own[2], -_MOVED_Y, _MOVED_Y))
    scale = int(_between(own[3], _LEAST_SCALE, _MOST_SCALE))
    across, up = (int(half) * scale // 100 for half in _between(usual[2:4], crowd.smallest, crowd.largest))
    top, bottom = max(y - up, 0), min(y + up + 1, HEIGHT)
    left, right = max(x - across, 0), min(x + across + 1, WIDTH)
    if top >= bottom or left >= right:
        return
    dy, dx = np.arange(top, bottom)[:, None] - y, np.arange(left, right)[None] - x
    colour = _between(usual[4:7], 10, 245) + _between(own[4:7], -_RECOLOURED, _RECOLOURED) + light
    other = colour + _between(usual[7:10], -60, 60) * crowd.patterned
    painted = np.where(_second(int(usual[10] % np.uint64(4)), dx, dy)[..., None], other, colour)
    inside = _inside(int(usual[11] % np.uint64(3)), dx, dy, across, up)
    image[top:bottom, left:right][inside] = painted[inside]


def _inside(shape: int, dx: Whole, dy: Whole, across: int, up: int) -> NDArray[np.bool_]:
    """Which pixels an ellipse, a rectangle or a triangle covers, by their distance from its middle."""
    if shape == 0:
        return (dx * up) ** 2 + (dy * across) ** 2 <= (across * up) ** 2
    if shape == 1:
        return np.ones((len(dy), dx.shape[1]), np.bool_)
    return np.abs(dx) * 2 * up <= (dy + up) * across


def _second(pattern: int, dx: Whole, dy: Whole) -> NDArray[np.bool_]:
    """Where the second colour is: in stripes, in checks, or nowhere."""
    if pattern > 1:
        return np.zeros((len(dy), dx.shape[1]), np.bool_)
    stripes = np.repeat(dx & 4 > 0, len(dy), axis=0)
    return stripes if pattern == 0 else stripes ^ (dy & 4 > 0)
