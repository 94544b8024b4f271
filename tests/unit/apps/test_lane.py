"""Lane detection: results by truth and digest, whatever the chunks; bad options and videos."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.apps.lane.app import Lane
from penstock.apps.lane.input import INPUT, make_frame
from penstock.apps.lane.lines import FAR_ROW, lanes, matched
from penstock.apps.lane.road import DISTINCT, KINDS, STRETCH, road
from penstock.apps.suite import opencv
from penstock.apps.suite.app import number_batch
from penstock.errors import BadInputError, MissingExtraError
from penstock.stages.arrow import record_batch
from penstock.stages.stage import run_stages

cv2 = pytest.importorskip("cv2")

SAMPLE = 32


@pytest.fixture(scope="module", autouse=True)
def _cache(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PENSTOCK_CACHE", str(tmp_path_factory.mktemp("cache")))
        yield


def rows_of(batch: Any, app: Lane | None = None) -> list[dict[str, int]]:
    (done,) = run_stages((app or Lane()).stages(), [batch])
    rows: list[dict[str, int]] = done.to_pylist()
    return rows


def test_digest_of_sample_is_the_committed_one() -> None:
    assert str(Lane().plain_digest(SAMPLE)) == Lane.digests.entries()["lane-test-1"]["sample"]
    assert Lane().known_digest("test") == Lane.digests.entries()["lane-test-1"]["whole"]
    assert Lane.digests.entries()["lane-test-1"]["whole"].startswith(f"{Lane.items['test']}-")


def test_results_do_not_depend_on_what_the_processor_can_do() -> None:
    batch = number_batch(STRETCH * 3, STRETCH * 3 + 4, seed=1)
    usual = rows_of(batch)
    cv2.setUseOptimized(False)
    try:
        assert rows_of(batch) == usual
    finally:
        cv2.setUseOptimized(True)


@settings(max_examples=5, deadline=None)
@given(st.lists(st.integers(0, 2 * DISTINCT), min_size=2, max_size=6), st.integers(1, 5))
def test_results_depend_neither_on_chunks_nor_on_order(ids: list[int], chunk_rows: int) -> None:
    def batch(some: list[int]) -> Any:
        return record_batch({"id": np.array(some), "seed": np.full(len(some), 1)})

    alone = [row for item in ids for row in rows_of(batch([item]))]
    backwards = ids[::-1]
    chunks = [backwards[start : start + chunk_rows] for start in range(0, len(ids), chunk_rows)]
    assert [row for chunk in chunks for row in rows_of(batch(chunk))] == alone[::-1]


def test_lanes_are_found_as_the_generator_knows_them() -> None:
    """Measured on seed 1: recall and precision 0.995.

    On seeds 11 to 18, on which no setting was chosen: both 0.997, lowest 0.984 and 0.987 (seed 13).
    """
    rows = rows_of(number_batch(0, DISTINCT, seed=1))
    found, expected, right = (sum(row[name] for row in rows) for name in ("found", "expected", "matched"))
    assert expected == STRETCH * sum(markings for markings, _, _ in KINDS)
    assert right >= 0.98 * expected
    assert right >= 0.98 * found


def test_frames_with_the_most_joints_are_not_the_ones_where_detection_fails() -> None:
    most = max(range(len(KINDS)), key=lambda kind: KINDS[kind][2])
    rows = rows_of(number_batch(STRETCH * most, STRETCH * (most + 1), seed=1))
    assert sum(row["matched"] for row in rows) >= 0.95 * sum(row["expected"] for row in rows)


def test_more_lines_are_more_edges_to_vote() -> None:
    def edges(index: int) -> int:
        batch = number_batch(index, index + 1, seed=1)
        for stage in Lane().stages()[:4]:
            batch = stage.run(batch)
        return sum(byte > 0 for byte in batch.column("region")[0].as_py())

    assert edges(STRETCH * 4 - 1) > 5 * edges(0)


def test_each_stage_gives_as_many_items_and_only_what_the_next_one_needs() -> None:
    batch = number_batch(5, 8, seed=2)
    for stage in Lane().stages():
        batch = stage.run(batch)
        assert batch.num_rows == 3
        assert batch.schema.names == [column.split()[0] for column in stage.output_ddl.split(", ")]
    empty = number_batch(5, 5, seed=2)
    assert [done.num_rows for done in run_stages(Lane().stages(), [empty])] == [0]


def test_frame_is_a_function_of_index_and_seed() -> None:
    assert (make_frame(17, 1) == make_frame(17, 1)).all()
    assert (make_frame(17, 1) != make_frame(17, 2)).any()
    assert (make_frame(17, 1) != make_frame(18, 1)).any()
    assert (INPUT.items(1)[17] == make_frame(17, 1)).all()


@pytest.mark.parametrize("seed", [1, 2, 2**40])
def test_markings_stay_apart_and_in_the_frame(seed: int) -> None:
    for index in range(DISTINCT):
        scene = road(index, seed)
        assert (np.diff(scene.near_x) >= 100).all()
        assert scene.near_x[0] >= 20
        assert scene.near_x[-1] < 620
        assert (np.diff(scene.x_at(FAR_ROW)) > 0).all()
        assert (scene.joint_slope == road(index + DISTINCT, seed).joint_slope).all()


def test_no_segments_or_flat_ones_are_no_lanes() -> None:
    assert lanes(np.empty((0, 4), np.int32)).shape == (0, 2)
    assert lanes(np.array([[0, 300, 639, 320], [7, 7, 7, 7]], np.int32)).shape == (0, 2)


def test_one_found_lane_matches_one_expected_lane_only() -> None:
    assert matched(np.array([100]), np.array([98, 102]), within_px=4) == 1
    assert matched(np.array([98, 102]), np.array([100]), within_px=4) == 1


@pytest.mark.parametrize(
    ("size_class", "options", "remedy"),
    [
        ("tiny", {}, "choose one of: test, small, medium, large, huge"),
        ("test", {"chunk-rows": "0"}, "write e.g. 1"),
        ("test", {"chunk-rows": "5000"}, "write e.g. 16"),
        ("test", {"input": "/no/such/video.mp4"}, "give the path of a video"),
    ],
)
def test_bad_options_are_refused_with_a_remedy(size_class: str, options: dict[str, str], remedy: str) -> None:
    with pytest.raises(BadInputError, match=remedy):
        Lane().configured(size_class, options)


def test_without_opencv_the_remedy_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(opencv, "find_spec", lambda name: None)
    with pytest.raises(MissingExtraError, match="opencv-contrib-python-headless is not installed; run: "):
        Lane().configured("test", {})


def video_file(path: Path, frames: int, width: int = 640, height: int = 360) -> Path:
    writer = cv2.VideoWriter(str(path), cv2.VideoWriter_fourcc(*"MJPG"), 30, (width, height))
    for index in range(frames):
        writer.write(cv2.resize(make_frame(index, 1), (width, height)))
    writer.release()
    return path


def test_own_video_gives_its_lanes_again_and_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    video_file(tmp_path / "road.avi", frames=3)
    monkeypatch.chdir(tmp_path)
    app = Lane().configured("test", {"input": "road.avi"})
    assert app.make_input(seed=1) is not None
    rows = rows_of(number_batch(0, 6, seed=1), app)
    assert [row["found"] for row in rows] == [2] * 6
    assert {row["expected"] for row in rows} == {0}
    assert app.truth(tmp_path)["precision"] is None
    assert app.known_digest("test") is None


def test_a_changed_video_is_decoded_anew(tmp_path: Path) -> None:
    path = video_file(tmp_path / "road.avi", frames=3)
    before = Lane().configured("test", {"input": str(path)}).make_input(seed=1)
    video_file(path, frames=2)
    assert Lane().configured("test", {"input": str(path)}).make_input(seed=1) != before


def test_videos_that_cannot_be_used_are_refused(tmp_path: Path) -> None:
    large = video_file(tmp_path / "large.avi", frames=1, width=320, height=240)
    cut = video_file(tmp_path / "cut.avi", frames=6)
    cut.write_bytes(cut.read_bytes()[: cut.stat().st_size // 2])
    empty, noise = tmp_path / "empty.avi", tmp_path / "noise.avi"
    empty.write_bytes(b"")
    noise.write_bytes(b"no video" * 1000)
    for path, said in (
        (large, "frames of 320x240, not 640x360; scale it: ffmpeg -i large.avi -vf scale=640:360"),
        (cut, r"cut off: \d frames of the 6 "),
        (empty, "an empty file; give"),
        (noise, "does not decode as a video; convert it: ffmpeg"),
        (tmp_path, "not a file; give"),
    ):
        with pytest.raises(BadInputError, match=said):
            Lane().configured("test", {"input": str(path)})
        assert not list(INPUT.path(0).parent.glob("*.bgr.*"))
