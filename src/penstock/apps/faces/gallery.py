"""What the recogniser learns: every person of the closed set on small flat canvases, as the detector sees them.

Faces are cut out once and kept in the user's cache; a process learns them from there in a tenth of a second. Kept are
the faces and not the learned model: its histograms are tens of times larger, and slower to load than to compute.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from penstock.apps.faces.input import grained, look
from penstock.apps.faces.people import PEOPLE, draw
from penstock.apps.faces.vision import MEDIAN, Grey, denoised, detected
from penstock.apps.suite.inputs import Input
from penstock.apps.suite.opencv import opencv

SIDE = 96
"""Pixels a side of a face that is learned or recognised."""
VIEWS = 12
"""Canvases of each person."""
# Its own seed: what is learned is none of the faces of a run.
_SEED = 23
_LEAST_FACE, _FACES = 70, 42


def view(number: int, seed: int) -> NDArray[np.uint8]:
    """Face `number` of the gallery, cut out where the detector finds it: person `number // VIEWS`."""
    person, turn = divmod(number, VIEWS)
    side = _LEAST_FACE + turn * _FACES // VIEWS
    margin = side * 3 // 10
    canvas = np.full((side + 2 * margin, side + 2 * margin, 3), 90 + 7 * turn, np.int64)
    draw(canvas, PEOPLE[person], margin, margin, side, look(number, seed))
    grey = denoised(grained(canvas, number, seed), MEDIAN)
    boxes = detected(grey, side * 8 // 10)
    box = boxes[0] if len(boxes) else np.array([margin, margin, side, side], np.int32)
    return cut(grey, box)


def cut(grey: Grey, box: NDArray[np.int32]) -> NDArray[np.uint8]:
    """The face in a box, in the size that is learned; by whole numbers, so it has the same bytes everywhere."""
    cv2 = opencv()
    left, top, width, height = box.tolist()
    face: NDArray[np.uint8] = cv2.resize(
        grey[top : top + height, left : left + width], (SIDE, SIDE), interpolation=cv2.INTER_LINEAR_EXACT
    )
    return face


@lru_cache(maxsize=1)
def gallery() -> Input:
    """The faces that are learned; another release of OpenCV makes its own."""
    return Input(f"faces-people-opencv-{opencv().__version__}", view, VIEWS * len(PEOPLE))


@lru_cache(maxsize=1)
def recogniser() -> Any:
    """Local binary patterns histograms of all faces, learned once a process.

    Source: Ahonen, Hadid, Pietikäinen 2004. A face is the person whose histograms are nearest by chi-square.
    """
    model = opencv().face.LBPHFaceRecognizer_create()
    faces = np.array(gallery().items(_SEED))
    model.train(list(faces), np.arange(len(faces), dtype=np.int32) // VIEWS)
    return model


def recognised(grey: Grey, boxes: NDArray[np.int32]) -> NDArray[np.int32]:
    """The number of the person in each box. Distances are fractions that differ between machines: none is kept."""
    model = recogniser()
    return np.array([model.predict(cut(grey, box))[0] for box in boxes], np.int32)


def make_gallery() -> None:
    """Cut the faces out now, where they are not kept yet."""
    gallery().ready(_SEED)
