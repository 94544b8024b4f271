"""How many windows a run computed, how fast, and how much of its time was the kernel's; from the workers' echoes."""

from __future__ import annotations

from dataclasses import replace

from penstock.journal import Recording
from penstock.score import throughput_per_s


def window_rates(recording: Recording) -> dict[str, float | None]:
    """`windows`, `windows_per_s` and `kernel_share`; nothing where no batch told of windows.

    Windows of all batches are counted. Their rate is over wall time, as that of rows is. The kernel's share is the
    kernel's seconds of the busiest task of each batch over the processing seconds of the batches; ignored ones, whose
    time says nothing, are left out of both.
    """
    echoes = {echo.batch_id: echo for echo in recording.echoes if "windows" in echo.counts}
    if not echoes:
        return {}
    windows = {batch_id: int(echo.counts["windows"]) for batch_id, echo in echoes.items()}
    samples = [replace(sample, items=windows.get(sample.batch_id, 0)) for sample in recording.samples]
    timed = [sample for sample in samples if sample.usable and sample.batch_id in echoes]
    busy_s = sum(sample.processing_s for sample in timed)
    kernel_s = sum(echoes[sample.batch_id].highest.get("kernel_s", 0.0) for sample in timed)
    return {
        "windows": sum(windows.values()),
        "windows_per_s": throughput_per_s(samples),
        "kernel_share": kernel_s / busy_s if busy_s > 0 else None,
    }
