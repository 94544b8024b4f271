"""The lag guard on files with a watermark: the age of what a batch took is known before the next one is planned."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import TYPE_CHECKING

from penstock.spark.attach import attach
from penstock.spark.reader import gated

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

OLD_S = 100.0


def test_near_max_lag_the_very_next_batch_of_watermarked_files_is_larger(
    spark: SparkSession, start, until, sizes, tmp_path: Path
) -> None:
    staging, folder = tmp_path / "staging", tmp_path / "in"
    staging.mkdir()
    folder.mkdir()
    for number in range(60):
        at = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(time.time() - OLD_S))
        (staging / f"{number:03}.json").write_text(json.dumps({"at": at, "number": number}) + "\n")
    staging.rename(folder / "000")
    rows = gated(spark.readStream).schema("at timestamp, number int").json(str(folder / "*"))
    query = start(rows.withWatermark("at", "1 hour"))
    journal = tmp_path / "j.jsonl"
    handle = attach(query, "1 s", "fixed", size=2, max_lag="2 min", journal=journal, warm_up_batches=0)
    until(lambda: sum(sizes(query)) == 60)
    query.stop()
    handle.detach()
    records = [json.loads(line) for line in journal.read_text().splitlines()]
    estimates = [each for each in records if each["kind"] == "sample" and not each["confirmed"]]
    assert all(each["wait_s"] > OLD_S / 2 for each in estimates)
    recording = handle.recording()
    seen = {sample.batch_id: sample.size for sample in recording.samples}
    decided = {each.batch_id: each.decision.size for each in recording.decisions if each.applied}
    assert "lag-guard" in [event.name for event in recording.events]
    # Every batch that had enough to take obeyed what was decided on the one right before it.
    obeying = [batch_id for batch_id in sorted(seen)[2:-1] if batch_id in recording.obeyed]
    assert len(obeying) >= 2
    for batch_id in obeying:
        assert recording.obeyed[batch_id] == batch_id - 1
        assert seen[batch_id] == decided[batch_id - 1] == 2 * seen[batch_id - 1]
