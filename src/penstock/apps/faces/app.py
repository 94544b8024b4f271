"""The person recogniser as an application of the suite."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, Self

from penstock.apps.faces.input import VIDEO
from penstock.apps.faces.vision import DENOISE
from penstock.apps.known_digests import KnownDigests
from penstock.apps.suite import video
from penstock.apps.suite.app import CHUNK_ROWS, SuiteApp
from penstock.apps.suite.results import one_of
from penstock.errors import BadInputError
from penstock.progress import Progress
from penstock.stages.stage import Stage

# An Arrow column of binary data holds 2 GB; this many frames are a third of it.
_MOST_CHUNK_ROWS = 1000


@dataclass(frozen=True)
class Faces(SuiteApp):
    """People in the frames of a video: 0 to 6 of a closed set of eight, in stretches, so that load swings.

    >>> app = Faces().configured("test", {"denoise": "nlm"})
    >>> [stage.name for stage in app.stages()]
    ['read', 'denoise', 'detect', 'recognise', 'mark']
    """

    name: ClassVar[str] = "faces"
    description: ClassVar[str] = "person recogniser: denoise, detect, recognise and mark people in 640x360 frames"
    items: ClassVar[Mapping[str, int]] = {
        "test": 480,
        "small": 3_000,
        "medium": 15_000,
        "large": 75_000,
        "huge": 375_000,
    }
    first: ClassVar[int] = 24
    own_options: ClassVar[Mapping[str, str]] = {
        "denoise": "median (default: a light stage) or nlm (non-local means: the heaviest stage)",
        "input": f"your own video of 640x360 (its first {video.MOST_FRAMES} frames, again and again as a class needs)",
    }
    digests: ClassVar[KnownDigests] = KnownDigests(Path(__file__).with_name("digests.json"), "faces-digests")

    def configured(self, size_class: str, options: Mapping[str, str]) -> Self:
        """The same application with these options; a default that is spelled out is the default."""
        chosen = {name: text for name, text in options.items() if (name, text) != ("denoise", DENOISE[0])}
        if chosen.get("input"):
            # Workers may run in another folder.
            chosen["input"] = str(Path(chosen["input"]).expanduser().absolute())
        return super().configured(size_class, chosen)

    def check(self) -> None:
        """Refuse options that cannot be, and a video that is none."""
        super().check()
        one_of(self.chosen, "denoise", DENOISE)
        if self.chunk_rows > _MOST_CHUNK_ROWS:
            reason = f"more than {_MOST_CHUNK_ROWS:,} frames do not fit in a column"
            raise BadInputError(CHUNK_ROWS, self.chunk_rows, reason, "write e.g. 8")
        if self.chosen.get("input") == "":
            raise BadInputError("input", "", "no path", "give the path of a video, or leave it out")
        if self.own_video is not None:
            video.ready(str(self.own_video))

    @property
    def own_video(self) -> Path | None:
        """The user's video, where one is given."""
        return Path(self.chosen["input"]) if "input" in self.chosen else None

    def stages(self) -> tuple[Stage, ...]:
        """Read, denoise, detect, recognise, mark."""
        from penstock.apps.faces.stages import stages
        from penstock.apps.suite.opencv import opencv

        opencv()
        return stages(one_of(self.chosen, "denoise", DENOISE), self.own_video)

    def make_input(self, seed: int, progress: Progress | None = None) -> Path:
        """The frames, and the faces that the recogniser learns; a video is decoded here, before Spark starts."""
        from penstock.apps.faces.gallery import make_gallery

        make_gallery()
        return VIDEO.ready(seed, progress) if self.own_video is None else video.ready(str(self.own_video), progress)

    def truth(self, directory: Path) -> Mapping[str, Any]:
        """How right the results are; nothing is known about the user's own video."""
        known = super().truth(directory)
        return known if self.own_video is None else {**known, "recall": None, "precision": None}

    def _digest_name(self, size_class: str, seed: int) -> str:
        name = super()._digest_name(size_class, seed)
        # The same path may hold another video tomorrow.
        return name if self.own_video is None else f"{name}-{video.key(str(self.own_video))}"
