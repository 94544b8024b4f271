"""The closed set of people, and their faces drawn by whole numbers alone: the same bytes on every machine.

A face lies in a box of 1,000 units a side, which is what the detector finds: from the forehead to the chin. Hair, ears
and shoulders go beyond it. Parts are ellipses with soft edges, painted one over another.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

Ints: TypeAlias = NDArray[np.int64]
Colour: TypeAlias = tuple[int, int, int]
"""Blue, green, red."""

BOX = 1000
"""Units of a face's box."""
BEYOND = 280
"""Units that a drawn face goes beyond its box, on each side."""
_WHOLE = 256
_DARK: Colour = (22, 20, 24)
_WHITE: Colour = (200, 204, 208)
_LIPS: Colour = (70, 64, 130)
_SHIRT: Colour = (90, 80, 70)


@dataclass(frozen=True)
class Person:
    """What tells one person from another: shades (0 to 255) and the sizes of parts, in units of the box."""

    name: str
    skin: Colour
    hair: Colour
    head: int
    hairline: int
    eye_gap: int
    eye: int
    brow: int
    nose: int
    mouth: int
    lips: int
    moustache: int = 0
    beard: int = 0
    glasses: int = 0
    fringe: int = 0


PEOPLE = (
    Person("Ada", (150, 178, 222), (30, 44, 66), 400, 40, 175, 70, 16, 70, 120, 34, fringe=150),
    Person("Ben", (118, 150, 200), (26, 28, 32), 430, 60, 185, 62, 34, 100, 150, 22, moustache=46),
    Person("Cleo", (92, 122, 172), (18, 18, 20), 390, 30, 165, 84, 20, 84, 140, 52),
    Person("Dan", (160, 186, 228), (70, 110, 150), 440, 110, 195, 58, 24, 92, 170, 18, beard=60),
    Person("Eva", (140, 170, 216), (46, 74, 128), 395, 20, 180, 80, 12, 60, 100, 44, glasses=24),
    Person("Finn", (152, 180, 226), (120, 130, 140), 420, 130, 170, 54, 44, 110, 130, 20, glasses=36, moustache=30),
    Person("Gita", (80, 108, 156), (16, 16, 18), 410, 10, 200, 76, 28, 76, 160, 40, fringe=90),
    Person("Hugo", (130, 160, 206), (40, 50, 70), 450, 90, 205, 64, 50, 120, 180, 30, beard=120, moustache=40),
)


@dataclass(frozen=True)
class Look:
    """How a face is seen this time: light from one side (-40 to 40 shades), gaze and tilt of parts (units)."""

    light: int = 0
    gaze: int = 0
    sway: int = 0
    smile: int = 0


def draw(canvas: Ints, person: Person, left: int, top: int, side: int, look: Look) -> None:
    """Paint a face whose box is `side` pixels from (left, top), onto rows of pixels of three shades; it may be cut."""
    height, width, _ = canvas.shape
    reach = side * BEYOND // BOX
    rows = slice(max(top - reach, 0), min(top + side + reach, height))
    columns = slice(max(left - reach, 0), min(left + side + reach, width))
    x = ((2 * (np.arange(columns.start, columns.stop, dtype=np.int64) - left) + 1) * BOX // (2 * side))[np.newaxis, :]
    y = ((2 * (np.arange(rows.start, rows.stop, dtype=np.int64) - top) + 1) * BOX // (2 * side))[:, np.newaxis]
    _Face(canvas[rows, columns], x, y).paint(person, look)


@dataclass(frozen=True)
class _Face:
    part: Ints
    x: Ints
    y: Ints

    def paint(self, who: Person, look: Look) -> None:
        middle, features = 500, 500 + look.sway
        skin = who.skin
        self.spot(_SHIRT, (middle, 1560, 760, 480, 40))
        hair = self.blob(middle, 380, who.head + 70, 620 - who.hairline // 2, 60)
        self.over(who.hair, hair)
        self.spot(_scaled(skin, 80), (middle, 1020, 220, 330, 60))
        head = self.blob(middle, 470, who.head, 610, 50)
        self.over(skin, head)
        self.over(_scaled(skin, 74), head - np.minimum(head, self.blob(middle, 470, who.head - 10, 600, 420)))
        self.over(who.hair, np.minimum(hair, self.blob(middle, -230 + who.hairline, who.head + 60, 300, 60)))
        if who.fringe:
            self.over(who.hair, np.minimum(hair, self.blob(middle - 260, -60, 420, 150 + who.fringe, 80)))
        for sign in (-1, 1):
            self.spot(_scaled(skin, 112), (features + sign * 230, 620, 150, 110, 900), 180)
        if who.beard:
            ring = self.blob(middle, 940, who.head - 60, 150 + who.beard, 260)
            self.over(who.hair, np.minimum(head, ring), 215)
        for sign in (-1, 1):
            self.eye(features + sign * who.eye_gap, who, look)
        self.spot(_scaled(skin, 116), (features, 430, 42, 210, 800), 220)
        self.spot(_scaled(skin, 108), (features, 585, who.nose - 20, 56, 600), 200)
        self.spot(_scaled(skin, 48), (features, 642, who.nose, 24, 600), 220)
        self.spot(_scaled(skin, 66), (features, 905, 110, 30, 900), 150)
        if who.moustache:
            self.spot(who.hair, (features, 705, who.mouth + 20, who.moustache, 240), 240)
        self.spot(_LIPS, (features, 790, who.mouth + look.smile, who.lips, 260))
        self.spot(_DARK, (features, 788, who.mouth + look.smile - 14, who.lips // 3 + 4, 300), 200)
        self.lit(head, look.light)

    def eye(self, centre: int, who: Person, look: Look) -> None:
        self.spot(_scaled(who.skin, 58), (centre, 345, 150, 96, 900), 235)
        self.spot(_WHITE, (centre, 362, who.eye, who.eye * 2 // 5, 240), 200)
        self.spot(_DARK, (centre + look.gaze, 362, who.eye // 2, who.eye * 2 // 5, 240))
        self.spot(who.hair, (centre, 262, 128, who.brow, 300), 245)
        if who.glasses:
            glass = self.blob(centre, 365, 150 - who.glasses, 112 - who.glasses, 90)
            self.over(_DARK, np.maximum(self.blob(centre, 365, 150, 112, 90) - glass, 0))

    def blob(self, x: int, y: int, across: int, down: int, soft: int) -> Ints:
        """How much of each pixel an ellipse covers, of 256; its edge fades over `soft` thousandths of its radius^2."""
        far = (self.x - x) ** 2 * BOX // across**2 + (self.y - y) ** 2 * BOX // down**2
        covered: Ints = np.clip((BOX + soft - far) * _WHOLE // (2 * soft), 0, _WHOLE)
        return covered

    def spot(self, colour: Colour, ellipse: tuple[int, int, int, int, int], share: int = _WHOLE) -> None:
        """Paint an ellipse, touching only the pixels near it."""
        x, y, across, down, soft = ellipse
        near_x = np.flatnonzero((self.x[0] - x) ** 2 * BOX < (BOX + soft) * across**2)
        near_y = np.flatnonzero((self.y[:, 0] - y) ** 2 * BOX < (BOX + soft) * down**2)
        if len(near_x) and len(near_y):
            columns, rows = slice(near_x[0], near_x[-1] + 1), slice(near_y[0], near_y[-1] + 1)
            near = _Face(self.part[rows, columns], self.x[:, columns], self.y[rows])
            near.over(colour, near.blob(*ellipse), share)

    def over(self, colour: Colour, covered: Ints, share: int = _WHOLE) -> None:
        """Paint a colour where a shape covers."""
        weight = (covered * share >> 8)[:, :, np.newaxis]
        self.part[...] += (np.array(colour, np.int64) - self.part) * weight >> 8

    def lit(self, covered: Ints, light: int) -> None:
        """Light from one side: more shades there, fewer on the other."""
        self.part[...] += (covered * light * (self.x - BOX // 2) // BOX >> 8)[:, :, np.newaxis]


def _scaled(colour: Colour, percent: int) -> Colour:
    blue, green, red = (min(shade * percent // 100, 250) for shade in colour)
    return blue, green, red
