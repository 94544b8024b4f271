import os
import pickle
from pathlib import Path

import numpy as np
import pytest

from penstock.errors import BadInputError
from penstock.patterns import Arrivals, parse
from penstock.patterns.trace import Trace


def write(folder: Path, text: str) -> str:
    path = folder / "trace.csv"
    path.write_text(text)
    return str(path)


def test_numbers_and_dates_as_timestamps_give_the_same_trace(tmp_path: Path):
    numbers = Trace(write(tmp_path, "timestamp,value\n100,1\n160,2\n280,3\n340,9\n"))
    dates = Trace(
        write(
            tmp_path,
            "timestamp,value\n2024-01-01 00:00:00,1\n2024-01-01T00:01:00Z,2\n2024-01-01 00:03,3\n2024-01-01 00:04,9\n",
        )
    )
    x = np.array([0.0, 59.0, 60.0, 179.0, 180.0, 240.0, 299.0, 300.0])
    assert list(numbers.value(x)) == [1, 1, 2, 2, 3, 9, 9, 1]
    assert list(dates.value(x)) == [1, 1, 2, 2, 3, 9, 9, 1]
    assert numbers.integral(300.0) == 60 + 240 + 180 + 540


def test_without_usable_timestamps_rows_are_one_apart(tmp_path: Path):
    for header, stamps in (("value", ("", "")), ("timestamp,value", ("monday,", "tuesday,"))):
        trace = Trace(write(tmp_path, f"{header}\n{stamps[0]}4\n{stamps[1]}6\n"))
        assert trace.extent == 2.0
        assert trace.integral(2.0) == 10.0


def test_period_and_max_rescale_the_whole(tmp_path: Path):
    trace = Trace(write(tmp_path, "timestamp,load\n0,5\n300,20\n"), column="load", period=60.0, max=1000.0)
    assert trace.extent == 60.0
    assert list(trace.value(np.array([0.0, 29.9, 30.0, 59.9]))) == [250.0, 250.0, 1000.0, 1000.0]


def test_at_its_end_a_trace_repeats_or_holds(tmp_path: Path):
    path = write(tmp_path, "value\n1\n5\n")
    assert Trace(path).value(2.0) == 1.0
    assert Trace(path, repeat=False).value(1e6) == 5.0
    assert Trace(path, repeat=False).inverse(16.0) == 4.0


def test_a_pickled_trace_needs_no_file(tmp_path: Path):
    path = write(tmp_path, "value\n1\n5\n")
    packed = pickle.dumps(Trace(path))
    Path(path).unlink()
    assert pickle.loads(packed).integral(2.0) == 6.0


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ("", "trace column"),
        ("value\n", "without rows"),
        ("timestamp,load\n1,2\n", "choose from: timestamp, load"),
        ("value\n1\nmany\n", "trace line 3 = 'many'"),
        ("value\n1\n-2\n", "trace line 3 = '-2'"),
        ("value\nnan\n", "trace line 2 = 'nan'"),
        ("timestamp,value\n5,1\n9,1\n9,1\n", "trace line 4 = '9'"),
    ],
)
def test_a_file_that_is_no_trace_is_refused_in_one_line(tmp_path: Path, text: str, named: str):
    with pytest.raises(BadInputError) as caught:
        Trace(write(tmp_path, text))
    assert named in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_binary_file_or_a_folder_is_refused(tmp_path: Path):
    (tmp_path / "noise.bin").write_bytes(b"\xff\xfe\x00\x80" * 100)
    for path in (tmp_path / "noise.bin", tmp_path):
        with pytest.raises(BadInputError, match="trace path"):
            Trace(str(path))


def test_a_trace_of_zeros_cannot_be_scaled(tmp_path: Path):
    with pytest.raises(BadInputError, match="trace max"):
        Trace(write(tmp_path, "value\n0\n0\n"), max=5.0)


def test_a_recorded_request_rate_drives_arrivals():
    folder = os.environ.get("PENSTOCK_DATA")
    path = Path(folder or ".") / "elb-request-count.csv"
    if not folder or not path.exists():
        pytest.skip("PENSTOCK_DATA names no folder with elb-request-count.csv")
    pattern = parse(f'trace:path="{path}",period=60s,max=5k')
    assert pattern.value(np.linspace(0.0, 60.0, 100_000)).max() == pytest.approx(5000.0)
    arrivals = Arrivals(pattern)
    times = arrivals.arrival_s(np.arange(arrivals.arrived_by(120.0)))
    assert (np.diff(times) >= 0).all()
    assert times[-1] <= 120.0
