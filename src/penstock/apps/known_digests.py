"""Where known digests are kept: committed with the source, or in the user's cache once they were computed.

In the committed file each digest of a whole class stands beside the digest of a small sample that a test recomputes, so
that the file cannot outlive the code it speaks of.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from pathlib import Path

from platformdirs import user_cache_path

from penstock.apps.digest import Digest
from penstock.json_file import write_json, write_whole


@dataclass(frozen=True)
class KnownDigests:
    """The digests of an application: by name in a JSON file, and in a folder of the user's cache."""

    committed: Path
    folder: str

    def entries(self) -> dict[str, dict[str, str]]:
        """What the committed file says: for each name the digest of the whole and of the sample."""
        entries: dict[str, dict[str, str]] = json.loads(self.committed.read_text(encoding="utf-8"))
        return entries

    def find(self, name: str, about: object = None) -> str | None:
        """A digest computed before. `about` is what else a cached one depends on: of anything else it is unknown."""
        if found := self.entries().get(name):
            return found["whole"]
        cached = self._cached(name, about)
        return cached.read_text(encoding="utf-8").strip() if cached.exists() else None

    def remember(self, name: str, digest: str, about: object = None) -> None:
        """Keep a digest in the user's cache directory."""
        path = self._cached(name, about)
        path.parent.mkdir(parents=True, exist_ok=True)
        write_whole(path, digest + "\n")

    def commit(self, name: str, whole: Digest, sample: Digest) -> None:
        """Put a digest in the committed file."""
        entries = self.entries() | {name: {"whole": str(whole), "sample": str(sample)}}
        write_json(self.committed, dict(sorted(entries.items())), indent=2)

    def _cached(self, name: str, about: object) -> Path:
        key = hashlib.sha256(repr((name, about)).encode()).hexdigest()[:24]
        return user_cache_path("penstock") / self.folder / f"{key}.digest"
