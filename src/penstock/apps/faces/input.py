"""The frames of a composed video, and who is where in them: a pure function of (index, seed), by whole numbers alone.

A stretch is eight frames of one scene: as many people as its crowd says, each moving a little from frame to frame. Runs
go to and fro over a stretch for `STRETCH_ITEMS` items, then on to the next: load swings with the crowd.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from penstock.apps.faces.people import PEOPLE, Ints, Look, draw
from penstock.apps.suite.inputs import Input
from penstock.patterns.hashing import hashed

WIDTH, HEIGHT, SHADES = 640, 360, 3
FRAME_BYTES = WIDTH * HEIGHT * SHADES
CROWDS = (2, 4, 6, 3, 0, 1, 5, 6, 4, 1, 0, 3)
"""People in each stretch."""
STRETCH_FRAMES = 8
STRETCH_ITEMS = 48
FRAMES = len(CROWDS) * STRETCH_FRAMES

# Where people may be: slots of the frame, so that faces do not hide each other.
_ACROSS, _DOWN = 3, 2
_LEAST_SIDE, _SIDES = 70, 42
_BOXES = 10
_WHO, _WHERE, _SEEN, _FURNITURE, _WALL, _GRAIN = range(6)


@dataclass(frozen=True)
class Seen:
    """A person in a frame: the number of the person, and the box of the face in pixels."""

    person: int
    left: int
    top: int
    side: int


def frame_of(items: Ints) -> Ints:
    """The frame that each item of a run is: to and fro over a stretch, then the next stretch.

    >>> frame_of(np.array([0, 7, 8, 15, 16, 47, 48])).tolist()
    [0, 7, 7, 0, 0, 0, 8]
    """
    step = items % (2 * STRETCH_FRAMES)
    within = np.minimum(step, 2 * STRETCH_FRAMES - 1 - step)
    return np.asarray(items // STRETCH_ITEMS % len(CROWDS) * STRETCH_FRAMES + within, np.int64)


def people_in(index: int, seed: int) -> tuple[Seen, ...]:
    """Who is where in a frame.

    >>> [len(people_in(index, seed=1)) for index in (0, 8, 16, 32)]
    [2, 4, 6, 0]
    """
    stretch, step = divmod(index, STRETCH_FRAMES)
    crowd = CROWDS[stretch]
    who = np.argsort(_drawn(seed, _WHO, stretch, len(PEOPLE)))[:crowd]
    slots = np.argsort(_drawn(seed, _WHERE, stretch, _ACROSS * _DOWN))[:crowd]
    return tuple(_seen(*each, stretch, step, seed) for each in zip(who.tolist(), np.sort(slots).tolist(), strict=True))


def _seen(person: int, slot: int, stretch: int, step: int, seed: int) -> Seen:
    bits = int(_drawn(seed, _SEEN, stretch * _ACROSS * _DOWN + slot, 1)[0])
    side = _LEAST_SIDE + bits % _SIDES
    moved = step - STRETCH_FRAMES // 2
    across = (bits >> 8) % 17 - 8 + ((bits >> 16) % 7 - 3) * moved
    down = (bits >> 24) % 13 - 6 + ((bits >> 32) % 3 - 1) * moved
    left = (2 * (slot % _ACROSS) + 1) * WIDTH // (2 * _ACROSS) - side // 2 + across
    top = (2 * (slot // _ACROSS) + 1) * HEIGHT // (2 * _DOWN) - side // 2 + down
    return Seen(person, left, top, side)


def frame(index: int, seed: int) -> NDArray[np.uint8]:
    """A frame as rows of pixels of three shades: a wall, furniture, people, and the grain of a cheap camera.

    >>> frame(3, seed=1).shape, bool((frame(3, seed=1) == frame(3, seed=2)).all())
    ((360, 640, 3), False)
    """
    stretch = index // STRETCH_FRAMES
    canvas = _wall(stretch, seed)
    for bits in _drawn(seed, _FURNITURE, stretch, _BOXES).tolist():
        left, top = bits % WIDTH, (bits >> 10) % HEIGHT
        across, down = 20 + (bits >> 20) % 120, 10 + (bits >> 28) % 90
        shade = np.array([40 + (bits >> shift) % 150 for shift in (36, 44, 52)], np.int64)
        canvas[top : top + down, left : left + across] = shade
    for place, seen in enumerate(people_in(index, seed)):
        draw(canvas, PEOPLE[seen.person], seen.left, seen.top, seen.side, look(index * 16 + place, seed))
    return grained(canvas, index, seed)


def look(number: int, seed: int) -> Look:
    """How a face is seen this time."""
    bits = int(_drawn(seed, _SEEN, 1 << 20 | number, 1)[0])
    return Look(bits % 41 - 20, (bits >> 8) % 31 - 15, (bits >> 16) % 25 - 12, (bits >> 24) % 25 - 8)


def grained(canvas: Ints, index: int, seed: int) -> NDArray[np.uint8]:
    """Shades with the grain of a camera: a few more or fewer, and in 3 of 1,024 pixels black or white."""
    height, width, _ = canvas.shape
    bits = hashed(np.arange(height * width) + (index << 32), seed, _GRAIN).view(np.int64).reshape(height, width)
    noise = np.stack([(bits >> shift & 7) - (bits >> shift + 3 & 7) for shift in (0, 6, 12)], axis=2)
    shades: NDArray[np.uint8] = np.clip(canvas + noise, 0, 255).astype(np.uint8)
    struck = bits >> 20 & 1023
    shades[struck < 2] = 0
    shades[struck == 2] = 255
    return shades


def _wall(stretch: int, seed: int) -> Ints:
    """A lit wall: two nets of random shades, a coarse one and a fine one, with straight lines between their knots."""
    bits = int(_drawn(seed, _WALL, stretch, 1)[0])
    base = np.array([90 + (bits >> shift) % 70 for shift in (0, 8, 16)], np.int64)
    light = _net(160, 64, stretch * 2, seed) + _net(20, 26, stretch * 2 + 1, seed)
    canvas: Ints = base + light[:, :, np.newaxis]
    return canvas


def _net(cell: int, shades: int, number: int, seed: int) -> Ints:
    across, down = WIDTH // cell + 2, HEIGHT // cell + 2
    knots = (hashed(np.arange(across * down) + (number << 32), seed, _WALL) % np.uint64(shades)).astype(np.int64)
    knots = knots.reshape(down, across)
    (y, below), (x, right) = np.divmod(np.arange(HEIGHT), cell), np.divmod(np.arange(WIDTH), cell)
    rows = knots[y] * (cell - below)[:, np.newaxis] + knots[y + 1] * below[:, np.newaxis]
    net: Ints = (rows[:, x] * (cell - right) + rows[:, x + 1] * right) // cell**2 - shades // 2
    return net


def _drawn(seed: int, stream: int, number: int, count: int) -> Ints:
    """So many random numbers of 63 bits, the first for a number that none else of the stream has."""
    bits = hashed(np.arange(count) + (number << 8), seed, stream) >> np.uint64(1)
    return bits.astype(np.int64)


VIDEO = Input("faces", frame, FRAMES)
