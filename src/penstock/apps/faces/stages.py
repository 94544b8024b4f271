"""The stages as pure functions on Arrow record batches: read, denoise, detect, recognise, mark.

Each takes a batch of k items and gives a batch of k items, so they can run merged or one by one. The colour frame goes
along to the last stage, which marks people on it.
"""

from __future__ import annotations

from functools import lru_cache, partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from penstock.apps.faces import gallery, vision
from penstock.apps.faces.input import FRAME_BYTES, FRAMES, HEIGHT, VIDEO, WIDTH, Seen, frame_of, people_in
from penstock.apps.faces.people import PEOPLE
from penstock.apps.suite import video
from penstock.apps.suite.opencv import opencv
from penstock.apps.suite.results import RESULT_DDL, results
from penstock.stages import arrow
from penstock.stages.stage import Stage

READ_DDL = "id bigint, seed bigint, frame binary"
DENOISED_DDL = f"{READ_DDL}, clean binary"
DETECTED_DDL = f"{DENOISED_DDL}, boxes binary"
RECOGNISED_DDL = f"{READ_DDL}, boxes binary, people binary"
_MARK = (0, 255, 0)


def stages(how: str, own_video: Path | None = None) -> tuple[Stage, ...]:
    """The pipeline that denoises in this way, over the generated video or the user's own."""
    return (
        Stage("read", READ_DDL, partial(read, own_video)),
        Stage("denoise", DENOISED_DDL, partial(denoise, how)),
        Stage("detect", DETECTED_DDL, detect),
        Stage("recognise", RECOGNISED_DDL, recognise),
        Stage("mark", RESULT_DDL, partial(mark, own_video is None)),
    )


def read(own_video: Path | None, batch: Any) -> Any:
    """Adds the frame of each item, from a file that is mapped into memory."""
    ids, seeds = arrow.vector(batch, "id"), arrow.vector(batch, "seed")
    frames = np.empty((len(ids), FRAME_BYTES), np.uint8)
    if own_video is not None:
        own = video.frames(str(own_video))
        frames[:] = own[ids % len(own)].reshape(-1, FRAME_BYTES)
    else:
        for seed in np.unique(seeds).tolist():
            chosen = seeds == seed
            frames[chosen] = VIDEO.items(seed)[frame_of(ids[chosen])].reshape(-1, FRAME_BYTES)
    return batch.append_column("frame", arrow.packed(frames))


def denoise(how: str, batch: Any) -> Any:
    """Adds the frame in shades of grey, without grain."""
    clean = [vision.denoised(frame, how).ravel() for frame in _frames(batch)]
    return batch.append_column("clean", arrow.packed(np.reshape(clean, (-1, WIDTH * HEIGHT)).astype(np.uint8)))


def detect(batch: Any) -> Any:
    """Adds the boxes of faces."""
    return batch.append_column("boxes", _ragged([vision.detected(clean) for clean in _clean(batch)]))


def recognise(batch: Any) -> Any:
    """Adds who is in each box; the grey frame is no longer needed."""
    pairs = zip(_clean(batch), _boxes(batch), strict=True)
    people = [gallery.recognised(clean, boxes) for clean, boxes in pairs]
    return batch.append_column("people", _ragged(people)).drop_columns(["clean"])


def mark(truth_known: bool, batch: Any) -> Any:
    """The result of each item, then its marked frame: drawing differs between releases, so nothing drawn is hashed."""
    ids, seeds = arrow.vector(batch, "id"), arrow.vector(batch, "seed").tolist()
    boxes, people = _boxes(batch), [np.frombuffer(each, np.int32) for each in batch.column("people").to_pylist()]
    wanted: list[tuple[Seen, ...]] = [()] * len(ids)
    if truth_known:
        wanted = [truth(*each) for each in zip(frame_of(ids).tolist(), seeds, strict=True)]
    values = [np.column_stack([*each]).astype(np.int64) for each in zip(boxes, people, strict=True)]
    matched = [len(matches(*each)) for each in zip(boxes, people, wanted, strict=True)]
    done = results(ids, values, [len(each) for each in people], [len(each) for each in wanted], matched)
    for each in zip(_frames(batch), boxes, people, strict=True):
        marked(*each)
    return done


@lru_cache(maxsize=FRAMES)
def truth(index: int, seed: int) -> tuple[Seen, ...]:
    """Who is where in a frame, remembered."""
    return people_in(index, seed)


def matches(boxes: NDArray[np.int32], people: NDArray[np.int32], wanted: tuple[Seen, ...]) -> list[Seen]:
    """Who was recognised at the right place: a box of about the size, its middle within a quarter of a face.

    >>> box, wanted = np.array([[98, 52, 110, 110]], np.int32), (Seen(3, 100, 50, 100),)
    >>> len(matches(box, np.array([3], np.int32), wanted)), len(matches(box, np.array([4], np.int32), wanted))
    (1, 0)
    """

    def right(seen: Seen) -> NDArray[np.bool_]:
        off = np.abs(2 * boxes[:, :2] + boxes[:, 2:] - [2 * seen.left + seen.side, 2 * seen.top + seen.side])
        alike = (boxes[:, 2] * 3 >= seen.side * 2) & (boxes[:, 2] * 2 <= seen.side * 3)
        at_place: NDArray[np.bool_] = (off * 2 <= seen.side).all(axis=1) & alike & (people == seen.person)
        return at_place

    return [seen for seen in wanted if right(seen).any()]


def marked(frame: NDArray[np.uint8], boxes: NDArray[np.int32], people: NDArray[np.int32]) -> NDArray[np.uint8]:
    """A copy of a frame with a box and a name around every face."""
    cv2, drawn = opencv(), frame.copy()
    for (left, top, width, height), person in zip(boxes.tolist(), people.tolist(), strict=True):
        cv2.rectangle(drawn, (left, top), (left + width, top + height), _MARK, 2)
        cv2.putText(drawn, PEOPLE[person].name, (left, top - 6), cv2.FONT_HERSHEY_SIMPLEX, 0.6, _MARK, 2, cv2.LINE_AA)
    return drawn


def _frames(batch: Any) -> NDArray[np.uint8]:
    return arrow.matrix(batch, "frame", np.uint8, FRAME_BYTES).reshape(-1, HEIGHT, WIDTH, 3)


def _clean(batch: Any) -> NDArray[np.uint8]:
    return arrow.matrix(batch, "clean", np.uint8, WIDTH * HEIGHT).reshape(-1, HEIGHT, WIDTH)


def _boxes(batch: Any) -> list[NDArray[np.int32]]:
    return [np.frombuffer(each, np.int32).reshape(-1, 4) for each in batch.column("boxes").to_pylist()]


def _ragged(rows: list[NDArray[np.int32]]) -> Any:
    """A binary column of as many numbers as each item has."""
    import pyarrow as pa

    return pa.array([row.tobytes() for row in rows], pa.binary())
