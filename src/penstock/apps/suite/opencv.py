"""OpenCV at use: applications are listed without it, and its own threads are off in workers."""

from __future__ import annotations

import os
from functools import lru_cache
from importlib.util import find_spec
from typing import Any

from penstock.errors import MissingExtraError

_PACKAGE, _EXTRA = "opencv-contrib-python-headless", "suite"


@lru_cache(maxsize=1)
def opencv() -> Any:
    """OpenCV with its contributed modules, on one thread: Spark has a task on every core already."""
    # It and its decoder would write lines of their own about a video that does not decode.
    os.environ.setdefault("OPENCV_FFMPEG_LOGLEVEL", "-8")
    try:
        import cv2
    except ImportError as error:
        raise MissingExtraError(_PACKAGE, _EXTRA) from error
    if not hasattr(cv2, "ximgproc"):  # the plain wheel
        raise MissingExtraError(_PACKAGE, _EXTRA)
    cv2.setNumThreads(1)
    cv2.utils.logging.setLogLevel(cv2.utils.logging.LOG_LEVEL_SILENT)
    return cv2


def check_opencv() -> None:
    """Refuse to go on where it is not installed; does not load it."""
    if find_spec("cv2") is None:
        raise MissingExtraError(_PACKAGE, _EXTRA)
