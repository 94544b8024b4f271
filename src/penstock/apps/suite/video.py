"""The user's own video: decoded once, on the driver, into a file of raw frames that every process maps into memory."""

from __future__ import annotations

import hashlib
import os
import threading
from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from penstock.apps.suite.inputs import inputs_folder
from penstock.apps.suite.opencv import opencv
from penstock.errors import BadInputError
from penstock.progress import Progress

WIDTH, HEIGHT = 640, 360
MOST_FRAMES = 600
"""Frames from a video's start that are used: 0.4 GB as raw bytes."""
_CONVERT = f"ffmpeg -i {{name}} -vf scale={WIDTH}:{HEIGHT} scaled.mp4"


def key(path: str) -> str:
    """What tells this video from others, and from itself after it was changed."""
    try:
        about = Path(path).stat()
    except OSError as error:
        remedy = "give the path of a video; on a cluster it is at the same place on every machine"
        raise BadInputError("input", path, "no such file", remedy) from error
    return hashlib.sha256(f"{path} {about.st_size} {about.st_mtime_ns}".encode()).hexdigest()[:24]


def ready(path: str, progress: Progress | None = None) -> Path:
    """The file of its raw frames, made now where it is not there; refuses a video that cannot be used."""
    raw = inputs_folder() / f"video-{key(path)}.bgr"
    if raw.exists():
        return raw
    _check_file(path)
    raw.parent.mkdir(parents=True, exist_ok=True)
    unfinished = raw.with_name(f"{raw.name}.{os.getpid()}-{threading.get_ident()}")
    try:
        with unfinished.open("wb") as file:
            for frame in _decoded(path, progress):
                file.write(frame.tobytes())
        unfinished.replace(raw)
    finally:
        unfinished.unlink(missing_ok=True)
    return raw


def frames(path: str) -> NDArray[Any]:
    """Its frames, read-only, mapped into memory."""
    return _mapped(ready(path))


@lru_cache(maxsize=4)
def _mapped(raw: Path) -> NDArray[Any]:
    return np.memmap(raw, np.uint8, "r").reshape(-1, HEIGHT, WIDTH, 3)


def _check_file(path: str) -> None:
    if not Path(path).is_file():
        raise BadInputError("input", path, "not a file", "give the path of a video")
    if not Path(path).stat().st_size:
        raise BadInputError("input", path, "an empty file", "give the path of a video")


def _decoded(path: str, progress: Progress | None) -> Iterator[NDArray[np.uint8]]:
    """The first frames of a video; refuses it at the first that cannot be used."""
    cv2 = opencv()
    convert = _CONVERT.format(name=Path(path).name)
    video = cv2.VideoCapture(path, cv2.CAP_FFMPEG)
    try:
        promised, number = int(video.get(cv2.CAP_PROP_FRAME_COUNT)), 0
        while number < MOST_FRAMES:
            there, frame = video.read()
            if not there:
                break
            height, width = frame.shape[:2]
            if (height, width) != (HEIGHT, WIDTH):
                reason = f"frames of {width}x{height}, not {WIDTH}x{HEIGHT}"
                raise BadInputError("input", path, reason, f"scale it: {convert}")
            number += 1
            yield frame
            if progress is not None:
                progress(number, max(number, min(promised, MOST_FRAMES)))
    finally:
        video.release()
    if not number:
        raise BadInputError("input", path, "does not decode as a video", f"convert it: {convert}")
    if number < min(promised, MOST_FRAMES):
        reason = f"cut off: {number} frames of the {promised} it should have"
        raise BadInputError("input", path, reason, f"copy it again, or convert what there is: {convert}")
