"""Lane detection as an application of the suite."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, Self

from numpy.typing import NDArray

from penstock.apps.known_digests import KnownDigests
from penstock.apps.lane.input import INPUT
from penstock.apps.lane.stages import lane_stages
from penstock.apps.suite import video
from penstock.apps.suite.app import CHUNK_ROWS, SuiteApp
from penstock.apps.suite.opencv import check_opencv
from penstock.errors import BadInputError
from penstock.progress import Progress
from penstock.stages.stage import Stage

INPUT_OPTION = "input"
# An Arrow column of binary values holds 2 GiB: twice this.
_MOST_CHUNK_ROWS = 1500


@dataclass(frozen=True)
class Lane(SuiteApp):
    """Lanes on frames of a rendered road, or of the user's own video.

    >>> [stage.name for stage in Lane().stages()]
    ['read', 'blur', 'canny', 'mask', 'hough', 'fit']
    """

    name: ClassVar[str] = "lane"
    description: ClassVar[str] = "lane detection on 640x360 frames: blur, Canny, mask, Hough, fit; 2 to 6 markings"
    items: ClassVar[Mapping[str, int]] = {
        "test": 3_840,
        "small": 28_800,
        "medium": 144_000,
        "large": 720_000,
        "huge": 3_600_000,
    }
    first: ClassVar[int] = 192
    own_options: ClassVar[Mapping[str, str]] = {
        INPUT_OPTION: f"a video of 640x360 frames instead of the rendered road; its first {video.MOST_FRAMES} frames, "
        "again and again; nothing is known of its lanes, so recall and precision are not told"
    }
    digests: ClassVar[KnownDigests] = KnownDigests(Path(__file__).with_name("digests.json"), "lane-digests")

    def configured(self, size_class: str, options: Mapping[str, str]) -> Self:
        """The same application with these options; workers have another folder, so a path is made absolute."""
        absolute = {name: str(Path(text).expanduser().absolute()) for name, text in _own_video(options).items()}
        return super().configured(size_class, {**options, **absolute})

    def check(self) -> None:
        """Refuse options that cannot be; decodes the video, where one is given."""
        super().check()
        check_opencv()
        if self.chunk_rows > _MOST_CHUNK_ROWS:
            reason = f"more than {_MOST_CHUNK_ROWS} frames at once take over 1 GB of memory"
            raise BadInputError(CHUNK_ROWS, self.chunk_rows, reason, "write e.g. 16")
        if self._video is not None:
            video.ready(self._video)

    def stages(self) -> tuple[Stage, ...]:
        """Read, blur, canny, mask, hough, fit."""
        return lane_stages(self._frames, truth=self._video is None)

    def make_input(self, seed: int, progress: Progress | None = None) -> Path | None:
        """Render the road, or decode the video."""
        return INPUT.ready(seed, progress) if self._video is None else video.ready(self._video, progress)

    def truth(self, directory: Path) -> Mapping[str, Any]:
        """Recall and precision of lanes; unknown for the user's own video."""
        if self._video is None:
            return super().truth(directory)
        return {"recall": None, "precision": None, "checked_items": 0}

    @property
    def _video(self) -> str | None:
        return self.chosen.get(INPUT_OPTION)

    def _frames(self, seed: int) -> NDArray[Any]:
        return INPUT.items(seed) if self._video is None else video.frames(self._video)

    def _digest_name(self, size_class: str, seed: int) -> str:
        if self._video is None:
            return super()._digest_name(size_class, seed)
        return f"{self.name}-{size_class}-video-{video.key(self._video)}"


def _own_video(options: Mapping[str, str]) -> Mapping[str, str]:
    return {INPUT_OPTION: options[INPUT_OPTION]} if INPUT_OPTION in options else {}
