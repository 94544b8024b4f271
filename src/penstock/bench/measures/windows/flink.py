"""PyFlink's sliding count window, in an environment of its own; skipped with a word where it cannot be installed."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

from penstock.bench.measures.windows.cases import Setting
from penstock.bench.measures.windows.job import Record
from penstock.bench.measures.windows.machine import Machine
from penstock.errors import PenstockError

PACKAGE = "apache-flink==2.3.0"
_INSTALL_S = 1200
_WINDOWS = 20


def measure(machine: Machine, setting: Setting) -> Record:
    """The rate over some windows; starting and filling do not count, but are within the limit."""
    python = environment()
    if isinstance(python, str):
        return {"skipped": python}
    limit_s = machine.size.limit_s
    seconds = _seconds(python, setting, _WINDOWS, limit_s)
    if seconds is None:
        return {"unfinished": limit_s}
    window_s = seconds / (_WINDOWS - 1)
    return {"rows_per_s": setting.every / window_s, "windows_per_s": 1 / window_s, "windows": _WINDOWS}


def environment() -> Path | str:
    """Its Python, made at first use in the user's cache; or why there is none."""
    from platformdirs import user_cache_path

    folder = user_cache_path("penstock") / "flink"
    python, ready = folder / "bin" / "python", folder / "ready"
    if ready.exists():
        return python
    print("  ... installing PyFlink in an environment of its own (some minutes)", file=sys.stderr, flush=True)
    commands = ([sys.executable, "-m", "venv", str(folder)], [str(python), "-m", "pip", "install", "-q", PACKAGE])
    for command in commands:
        try:
            done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=_INSTALL_S)
        except (OSError, subprocess.TimeoutExpired) as error:
            return f"cannot be installed ({type(error).__name__})"
        if done.returncode:
            return f"cannot be installed ({(done.stderr.strip().splitlines() or ['?'])[-1][:200]})"
    ready.touch()
    return python


def _seconds(python: Path, setting: Setting, windows: int, limit_s: float) -> float | None:
    """Seconds from the first full window to the last of so many, or None where the job took longer than the limit."""
    job = Path(__file__).with_name("flink_job.py")
    kernels = Path(__file__).with_name("numpy_kernels.py")
    given = [setting.query, str(setting.length), str(setting.every), str(windows), str(kernels)]
    # Nothing of ours is imported there, but the file of kernels.
    env = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    try:
        done = subprocess.run(
            [str(python), str(job), *given], capture_output=True, text=True, check=False, timeout=limit_s, env=env
        )
    except subprocess.TimeoutExpired:
        return None
    if done.returncode:
        lines = done.stderr.strip().splitlines() or ["?"]
        causes = [line for line in lines if line.startswith("Caused by")]
        raise PenstockError(f"PyFlink: {(causes or lines)[-1][:250]}")
    return float(json.loads(done.stdout.strip().splitlines()[-1])["seconds"])
