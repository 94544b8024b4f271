"""The six stages: read, blur, canny, mask, hough, fit; each takes a record batch of items and gives one of as many.

What an item is on the way: frame (640 x 360, 3 bytes a pixel), grey, edges, edges of the region (from `FAR_ROW` down),
segments, lanes.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache, partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from penstock.apps.lane.lines import FAR_ROW, lanes, matched
from penstock.apps.lane.road import HEIGHT, LAST_ROW, WIDTH, road
from penstock.apps.suite.opencv import opencv
from penstock.apps.suite.results import RESULT_DDL, results
from penstock.stages.stage import Stage

Frames = Callable[[int], NDArray[Any]]
"""Gives the distinct frames that belong to a seed."""

FRAME_BYTES = HEIGHT * WIDTH * 3
REGION_ROWS = HEIGHT - FAR_ROW
WITHIN_PX = 4
"""A lane is right when its column in the last row errs by so much at most."""

_BLUR = (5, 5)
_CANNY_LOW, _CANNY_HIGH = 60, 150
_HOUGH_PX, _HOUGH_ANGLE = 1, np.pi / 360
_HOUGH_VOTES, _HOUGH_LEAST_PX, _HOUGH_GAP_PX = 30, 25, 8
# How much of the region's upper row is looked at, left and right of the middle.
_REGION_HALF_PX = 170


def lane_stages(frames: Frames, *, truth: bool) -> tuple[Stage, ...]:
    """The stages over these frames; `truth` where the generator made them."""
    return (
        Stage("read", "id bigint, seed bigint, frame binary", partial(read, frames)),
        Stage("blur", "id bigint, seed bigint, grey binary", blur),
        Stage("canny", "id bigint, seed bigint, edges binary", canny),
        Stage("mask", "id bigint, seed bigint, region binary", mask),
        Stage("hough", "id bigint, seed bigint, segments binary", hough),
        Stage("fit", RESULT_DDL, partial(fit, truth=truth)),
    )


def read(frames: Frames, batch: Any) -> Any:
    """Item i is distinct frame i modulo their number; one alone stays where it is mapped."""
    from penstock.stages import arrow

    if not batch.num_rows:
        return batch.append_column("frame", arrow.packed(np.empty((0, FRAME_BYTES), np.uint8)))
    distinct = frames(int(arrow.vector(batch, "seed")[0]))
    places = arrow.vector(batch, "id") % len(distinct)
    chosen = distinct[places[0] : places[0] + 1] if len(places) == 1 else distinct[places]
    return batch.append_column("frame", arrow.packed(chosen.reshape(len(places), FRAME_BYTES)))


def blur(batch: Any) -> Any:
    """Grey, and smooth over 5 x 5 pixels."""
    cv2 = opencv()

    def one(frame: NDArray[np.uint8]) -> NDArray[np.uint8]:
        grey = cv2.cvtColor(frame.reshape(HEIGHT, WIDTH, 3), cv2.COLOR_BGR2GRAY)
        smooth: NDArray[np.uint8] = cv2.GaussianBlur(grey, _BLUR, 0)
        return smooth

    return _pixels(batch, "frame", FRAME_BYTES, "grey", HEIGHT * WIDTH, one)


def canny(batch: Any) -> Any:
    """Edges: 255 on them, 0 elsewhere."""
    cv2 = opencv()

    def one(grey: NDArray[np.uint8]) -> NDArray[np.uint8]:
        edges: NDArray[np.uint8] = cv2.Canny(grey.reshape(HEIGHT, WIDTH), _CANNY_LOW, _CANNY_HIGH)
        return edges

    return _pixels(batch, "grey", HEIGHT * WIDTH, "edges", HEIGHT * WIDTH, one)


def mask(batch: Any) -> Any:
    """Edges in the region of interest; rows above it are left behind."""
    region = _region()

    def one(edges: NDArray[np.uint8]) -> NDArray[np.uint8]:
        return edges.reshape(HEIGHT, WIDTH)[FAR_ROW:] & region

    return _pixels(batch, "edges", HEIGHT * WIDTH, "region", REGION_ROWS * WIDTH, one)


def hough(batch: Any) -> Any:
    """Segments on edges, by the probabilistic Hough transform: rows of x1, y1, x2, y2, four bytes each."""
    import pyarrow as pa

    from penstock.stages import arrow

    cv2 = opencv()
    found = []
    for edges in arrow.matrix(batch, "region", np.uint8, REGION_ROWS * WIDTH):
        image = edges.reshape(REGION_ROWS, WIDTH)
        segments = cv2.HoughLinesP(
            image, _HOUGH_PX, _HOUGH_ANGLE, _HOUGH_VOTES, minLineLength=_HOUGH_LEAST_PX, maxLineGap=_HOUGH_GAP_PX
        )
        found.append(b"" if segments is None else segments.astype(np.int32).tobytes())
    return batch.drop_columns(["region"]).append_column("segments", pa.array(found, pa.binary()))


def fit(batch: Any, *, truth: bool) -> Any:
    """Lanes of segments; their columns in the last row and in `FAR_ROW` are the result."""
    from penstock.stages import arrow

    ids, seeds = arrow.vector(batch, "id"), arrow.vector(batch, "seed")
    found, expected, right = [], [], []
    for item, seed, bytes_ in zip(ids.tolist(), seeds.tolist(), batch.column("segments").to_pylist(), strict=True):
        segments = np.frombuffer(bytes_, np.int32).reshape(-1, 4) + np.array([0, FAR_ROW, 0, FAR_ROW], np.int32)
        found.append(lanes(segments))
        markings = road(item, seed).near_x if truth else np.empty(0, np.int64)
        expected.append(len(markings))
        right.append(matched(found[-1][:, 0], markings, WITHIN_PX))
    return results(ids, found, [len(each) for each in found], expected, right)


def _pixels(
    batch: Any, name: str, width: int, new_name: str, new_width: int, one: Callable[[Any], NDArray[np.uint8]]
) -> Any:
    """One column of pixels made from another, image by image."""
    from penstock.stages import arrow

    made = np.empty((batch.num_rows, new_width), np.uint8)
    for row, image in enumerate(arrow.matrix(batch, name, np.uint8, width)):
        made[row] = one(image).ravel()
    return batch.drop_columns([name]).append_column(new_name, arrow.packed(made))


@lru_cache(maxsize=1)
def _region() -> NDArray[np.uint8]:
    """255 inside the region of interest: a trapezium that is as wide as the frame below."""
    rows, columns = np.arange(REGION_ROWS)[:, None], np.arange(WIDTH)[None, :]
    half = _REGION_HALF_PX + (WIDTH // 2 - _REGION_HALF_PX) * rows // (LAST_ROW - FAR_ROW)
    inside: NDArray[np.bool_] = abs(2 * columns - WIDTH + 1) <= 2 * half
    return np.where(inside, 255, 0).astype(np.uint8)
