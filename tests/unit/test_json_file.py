"""Files that are never torn."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from penstock.json_file import read_json, write_json

TRY = """
import resource, sys
from penstock.json_file import write_json
resource.setrlimit(resource.RLIMIT_FSIZE, (100, 100))
try:
    write_json(sys.argv[1], {"text": "x" * 1000})
except OSError as error:
    print("refused", error.errno is not None)
"""


def test_a_disk_that_takes_only_a_part_leaves_the_file_as_it_was(tmp_path: Path) -> None:
    path = tmp_path / "plan.json"
    write_json(path, {"version": 1})
    said = subprocess.run([sys.executable, "-c", TRY, str(path)], capture_output=True, text=True, check=True)
    assert said.stdout.split() == ["refused", "True"]
    assert read_json(path) == {"version": 1}
    assert [each.name for each in tmp_path.iterdir()] == ["plan.json"]
