"""The road of each frame: where its markings are, which is the truth, and the joints that cross it, which is the work.

Frames come in stretches of 12 with one kind of road, so that the load swings over item numbers. Markings run straight
from the lower edge of the frame to a vanishing point; joints are dark lines across the road. All numbers are whole.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from penstock.patterns.hashing import hashed

WIDTH, HEIGHT = 640, 360
LAST_ROW = HEIGHT - 1
STRETCH = 12
"""Frames of one road kind in a row."""

# Markings, joints across in the first frame of the stretch and in the last.
KINDS = ((2, 0, 0), (3, 0, 2), (4, 2, 10), (6, 10, 20), (5, 6, 0), (2, 0, 0), (4, 8, 18), (6, 4, 0))
DISTINCT = STRETCH * len(KINDS)
# Between two markings at the lower edge, by how many markings there are.
_SPACING_PX = {2: 330, 3: 220, 4: 165, 5: 130, 6: 104}


@dataclass(frozen=True)
class Road:
    """The road of one frame; a marking goes through (`near_x[i]`, the last row) and the vanishing point."""

    near_x: NDArray[np.int64]
    vanish_x: int
    horizon_y: int
    half_width_px: int
    """Of the road, at the lower edge."""
    paint: NDArray[np.int64]
    """How much of the concrete the paint of each marking still covers, in 1/256."""
    dash_phase: int
    """How far dashes have come, in 1/64 of the nearest distance; the outer markings are solid."""
    joint_y: NDArray[np.int64]
    """Where joints cross the middle of the frame."""
    joint_slope: NDArray[np.int64]
    """Rows a joint falls in 256 columns."""

    def x_at(self, row: int) -> NDArray[np.int64]:
        """Where markings are in a row, rounded down to whole pixels."""
        fallen, span = row - self.horizon_y, LAST_ROW - self.horizon_y
        return self.vanish_x + (self.near_x - self.vanish_x) * fallen // span


def road(index: int, seed: int) -> Road:
    """The road of item `index`, which is that of a distinct frame: a pure function of both.

    >>> [len(road(index, seed=1).near_x) for index in range(0, DISTINCT, STRETCH)]
    [2, 3, 4, 6, 5, 2, 4, 6]
    >>> road(30, seed=1).near_x.tolist() == road(30, seed=2).near_x.tolist()
    False
    """
    index %= DISTINCT
    stretch, frame = divmod(index, STRETCH)
    markings, first_joints, last_joints = KINDS[stretch]
    vanish, horizon, middle, sway, speed, tilt = _draws(
        seed, stretch, [(296, 344), (134, 146), (304, 336), (-2, 2), (5, 11), (-24, 24)]
    )
    spacing = _SPACING_PX[markings]
    centre = middle + sway * (frame - STRETCH // 2)
    joints = first_joints + (last_joints - first_joints) * frame // (STRETCH - 1)
    return Road(
        near_x=centre + (2 * np.arange(markings) - (markings - 1)) * spacing // 2,
        vanish_x=vanish + sway * (frame - STRETCH // 2) // 2,
        horizon_y=horizon,
        half_width_px=(markings - 1) * spacing // 2 + 45,
        paint=np.array(_draws(seed, 2 * DISTINCT + stretch, [(170, 256)] * markings), np.int64),
        dash_phase=frame * speed,
        joint_y=_joint_rows(joints, frame * speed),
        joint_slope=tilt + np.array(_draws(seed, DISTINCT + index, [(-2, 2)] * joints), np.int64),
    )


def _joint_rows(joints: int, moved: int) -> NDArray[np.int64]:
    """Rows of joints, closer together far away; the nearest one leaves below as another comes."""
    nearness = np.arange(joints) * 16 + moved % 16
    scale = 16 * max(joints, 1)
    return 180 + 185 * nearness * (nearness + scale) // (2 * scale * scale)


def _draws(seed: int, stream: int, ranges: list[tuple[int, int]]) -> list[int]:
    """A whole number of each range, ends included."""
    bits = hashed(np.arange(len(ranges)), seed, stream).tolist()
    return [low + number % (high - low + 1) for number, (low, high) in zip(bits, ranges, strict=True)]
