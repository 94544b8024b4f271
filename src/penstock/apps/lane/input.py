"""Frames of a road, rendered by integer arithmetic alone: the same bytes on every machine, with every NumPy.

A point that is `near`/256 of the way from the horizon to the lower edge shows all widths at `near`/256 of their size
there. Coverage of a pixel by paint is in 1/256, so that edges are smooth.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from penstock.apps.lane.road import DISTINCT, HEIGHT, LAST_ROW, WIDTH, Road, road
from penstock.apps.suite.inputs import Input
from penstock.patterns.hashing import hashed

# Blue, green, red. Grass is about as bright as concrete: the edge of the road is no marking.
_SKY, _GRASS, _CONCRETE = (220, 180, 140), (88, 146, 108), (130, 126, 122)
_JOINT, _PAINT = (22, 22, 24), (236, 242, 244)
_MARKING_PX = 12
"""How wide a marking is at the lower edge."""
_VERGE_PX = 90
"""Over so much, at the lower edge, concrete turns to grass."""
# A dash is two thirds of this, in 1/64 of the nearest distance.
_DASH_PERIOD = 78
_NOISE_STREAM = 1 << 20

Ints = NDArray[np.int32]


def make_frame(index: int, seed: int) -> NDArray[np.uint8]:
    """Distinct frame `index`, 360 x 640 x 3, as blue, green, red.

    >>> make_frame(0, seed=1).shape
    (360, 640, 3)
    """
    scene = road(index, seed)
    near = _near(scene)
    concrete = _concrete(scene, near)
    frame = np.empty((HEIGHT, WIDTH, 3), np.int32)
    pale = np.arange(scene.horizon_y, dtype=np.int32)[:, None, None] // 5
    frame[: scene.horizon_y] = np.array(_SKY, np.int32) + pale
    ground = frame[scene.horizon_y :]
    ground[:] = _GRASS
    _lay(ground, concrete, _CONCRETE)
    _lay(ground, _joints(scene) * concrete >> 8, _JOINT)
    _lay(ground, _markings(scene, near), _PAINT)
    grain = hashed(np.arange(index * HEIGHT * WIDTH, (index + 1) * HEIGHT * WIDTH), seed, _NOISE_STREAM)
    frame += (grain & np.uint64(7)).astype(np.int32).reshape(HEIGHT, WIDTH, 1) - 3
    return frame.clip(0, 255).astype(np.uint8)


def _near(scene: Road) -> Ints:
    """How near each row from the horizon down is, as a column: 0 at the horizon, 256 at the lower edge."""
    rows = np.arange(HEIGHT - scene.horizon_y, dtype=np.int32)
    return (rows * 256 // (LAST_ROW - scene.horizon_y))[:, None]


def _concrete(scene: Road, near: Ints) -> Ints:
    """Coverage by the road, with soft verges."""
    middle = (int(scene.near_x[0]) + int(scene.near_x[-1])) // 2
    from_middle = abs(_columns() - scene.vanish_x * 256 - (middle - scene.vanish_x) * near)
    inside = (scene.half_width_px + _VERGE_PX) * near - from_middle
    return (inside * 256 // (_VERGE_PX * near + 1)).clip(0, 256)


def _joints(scene: Road) -> Ints:
    """Coverage by joints: lines across, thicker where they are nearer."""
    covered = np.zeros((HEIGHT - scene.horizon_y, WIDTH), np.int32)
    across = np.arange(WIDTH, dtype=np.int32) - WIDTH // 2
    rows = np.arange(scene.horizon_y, HEIGHT, dtype=np.int32)[:, None] * 256
    for row, slope in zip(scene.joint_y.tolist(), scene.joint_slope.tolist(), strict=True):
        half = 256 + 320 * max(row - scene.horizon_y, 0) // (LAST_ROW - scene.horizon_y)
        np.maximum(covered, half - abs(rows - row * 256 - slope * across) + 128, out=covered)
    return covered.clip(0, 256)


def _markings(scene: Road, near: Ints) -> Ints:
    """Coverage by markings: the outer ones solid, the others dashed."""
    covered = np.zeros((len(near), WIDTH), np.int32)
    distance = 64 * 256 // np.maximum(near, 1)
    painted = (distance + scene.dash_phase) % _DASH_PERIOD < _DASH_PERIOD * 2 // 3
    for number, near_x in enumerate(scene.near_x.tolist()):
        middle = scene.vanish_x * 256 + (near_x - scene.vanish_x) * near
        paint = _MARKING_PX * near // 2 - abs(_columns() - middle) + 128
        if 0 < number < len(scene.near_x) - 1:
            paint = np.where(painted, paint, 0)
        np.maximum(covered, paint.clip(0, 256) * int(scene.paint[number]) >> 8, out=covered)
    return covered


def _columns() -> Ints:
    return np.arange(WIDTH, dtype=np.int32) * 256


def _lay(ground: Ints, covered: Ints, colour: tuple[int, int, int]) -> None:
    """Cover the ground with a colour, by 1/256."""
    part = covered[:, :, None]
    ground += (np.array(colour, np.int32) - ground) * part >> 8


INPUT = Input("lane", make_frame, DISTINCT)
