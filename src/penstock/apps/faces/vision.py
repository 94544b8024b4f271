"""What OpenCV does for the stages, on one thread of its own: Spark has a task on every core already."""

from __future__ import annotations

import os
import threading
from typing import Any

import numpy as np
from numpy.typing import NDArray

from penstock.apps.suite.opencv import opencv

Grey = NDArray[np.uint8]

MEDIAN, NON_LOCAL = "median", "nlm"
DENOISE = (MEDIAN, NON_LOCAL)
_CASCADE = "haarcascade_frontalface_alt2.xml"
# The detector's pyramid: shrink factor a level, overlapping hits that a box needs, least pixels a side.
_STEP, _NEIGHBOURS, _LEAST_SIDE = 1.1, 3, 48
# Non-local means: strength in shades, and how many pixels a side are compared and searched.
_STRENGTH, _COMPARED, _SEARCHED = 7, 7, 13
_own = threading.local()


def denoised(frame: NDArray[np.uint8], how: str) -> Grey:
    """The frame in shades of grey, without grain: by the median of 3 x 3 pixels, or by non-local means."""
    cv2 = opencv()
    grey = cv2.cvtColor(frame, cv2.COLOR_BGR2GRAY)
    if how == NON_LOCAL:
        clean: Grey = cv2.fastNlMeansDenoising(grey, None, _STRENGTH, _COMPARED, _SEARCHED)
    else:
        clean = cv2.medianBlur(grey, 3)
    return clean


def detected(grey: Grey, least_side: int = _LEAST_SIDE) -> NDArray[np.int32]:
    """The boxes of faces, a row each: left, top, width, height; from top to bottom.

    Source: Viola, Jones 2001, with the cascade `frontalface_alt2` that comes with OpenCV.
    """
    found = _cascade().detectMultiScale(grey, _STEP, _NEIGHBOURS, minSize=(least_side, least_side))
    boxes = np.asarray(found, np.int32).reshape(-1, 4)
    return boxes[np.lexsort((boxes[:, 2], boxes[:, 0], boxes[:, 1]))]


def _cascade() -> Any:
    # A cascade keeps the frame at hand in itself: each thread has its own.
    if not hasattr(_own, "cascade"):
        cv2 = opencv()
        _own.cascade = cv2.CascadeClassifier(os.path.join(cv2.data.haarcascades, _CASCADE))
    return _own.cascade
