"""The sizes of Kafka records from looks at their logs, and the rows that come to a number of bytes."""

from __future__ import annotations

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from penstock.spark.gates.kafka.log_sizes import ByteHistory, LogSize, parse_sizes
from penstock.spark.gates.kafka.partition_shares import rows_within, share

PART = ("rides", 0)
OTHER = ("rides", 1)


def history(*looks: tuple[int, int, int]) -> ByteHistory:
    made = ByteHistory()
    for look in looks:
        made.see({PART: LogSize(*look)})
    return made


def of(known: ByteHistory, start: int, stop: int) -> float:
    return known.between({PART: start}, {PART: stop})


def test_logs_of_several_topics_are_read() -> None:
    assert parse_sizes('{"a": {"0": [1, 5, 90]}, "b": {"3": [0, 7, 70]}}') == {
        ("a", 0): (1, 5, 90),
        ("b", 3): (0, 7, 70),
    }


def test_records_between_two_looks_have_the_bytes_that_the_log_grew_by() -> None:
    known = history((0, 100, 1000), (0, 200, 2000), (0, 210, 102_000))
    assert of(known, 100, 200) == 1000
    assert of(known, 200, 205) == 50_000
    assert of(known, 190, 201) == 100 + 10_000


def test_what_was_there_before_the_first_look_has_the_mean_of_the_log() -> None:
    assert of(history((50, 150, 3000)), 50, 60) == 300


def test_what_comes_after_the_last_look_is_like_what_came_before_it() -> None:
    assert of(history((0, 100, 1000), (0, 200, 11_000)), 200, 210) == 1000


def test_nothing_is_known_of_an_empty_topic_and_its_first_records_are_weighed() -> None:
    known = history((0, 0, 0))
    assert not known.known
    known.see({PART: LogSize(0, 10, 5000)})
    assert known.known
    assert of(known, 0, 10) == 5000


@pytest.mark.parametrize("look", [(50, 300, 900), (0, 300, 900), (50, 300, 9000)], ids=["start", "shrunk", "hidden"])
def test_where_something_was_deleted_records_count_as_those_before(look: tuple[int, int, int]) -> None:
    known = history((0, 100, 1000), (0, 200, 3000), look)
    assert of(known, 200, 300) == 100 * 20
    known.see({PART: LogSize(look[0], 310, look[2] + 500)})
    assert of(known, 300, 310) == 500


def test_a_deletion_while_nothing_comes_is_not_taken_for_small_records() -> None:
    known = history((0, 100, 10_000), (80, 100, 2000), (80, 110, 3000))
    assert of(known, 100, 110) == 1000


def test_bytes_that_run_ahead_of_the_end_belong_to_the_records_that_follow() -> None:
    known = history((0, 100, 1000), (0, 100, 51_000), (0, 200, 101_000))
    assert of(known, 100, 200) == 100_000


def test_a_topic_that_was_made_anew_begins_anew() -> None:
    assert of(history((0, 1000, 1_000_000), (0, 10, 100)), 0, 10) == 100


def test_a_look_that_makes_no_sense_changes_nothing() -> None:
    known = history((0, 100, 1000), (-1, 200, 2000), (0, 200, -5))
    assert known.ends == {PART: 100}


def test_offsets_without_records_are_not_nothing() -> None:
    assert of(history((0, 100, 1000), (0, 200, 1000)), 100, 200) == 100


def test_a_partition_nobody_has_looked_at_counts_as_the_others() -> None:
    assert history((0, 100, 2000)).between({}, {OTHER: 10}) == 200


def test_what_was_read_is_forgotten_and_the_rest_is_not() -> None:
    known = history(*((0, 10 * n, 100 * n + (900_000 if n > 50 else 0)) for n in range(1, 101)))
    before = of(known, 505, 990)
    known.forget({PART: 505})
    assert of(known, 505, 990) == pytest.approx(before)
    assert len(known._logs[PART]._offsets) < 55


def test_memory_is_bounded_and_a_change_of_sizes_outlives_the_thinning() -> None:
    known, size = ByteHistory(), 0
    for look in range(5000):
        known.see({PART: LogSize(0, 100 * look, size)})
        size += 100 * (10_000 if 1000 <= look < 1005 else 100)
    assert len(known._logs[PART]._offsets) <= 513
    assert of(known, 100_000, 100_500) == pytest.approx(500 * 10_000)
    assert of(known, 99_000, 100_000) == pytest.approx(1000 * 100, rel=0.01)


looks = st.lists(st.tuples(st.integers(0, 300), st.integers(0, 10**6), st.integers(0, 10)), min_size=1, max_size=700)


@given(looks, st.data())
def test_bytes_grow_with_the_offset_whatever_the_looks(steps: list[tuple[int, int, int]], data: st.DataObject) -> None:
    known, start, end, size = ByteHistory(), 0, 0, 0
    for rows, more, deleted in steps:
        end, size = end + rows, size + more
        if deleted > 8:
            start, size = (start + end) // 2, size // 2
        known.see({PART: LogSize(start, end, size)})
    a, b, c = sorted(data.draw(st.tuples(*(st.integers(0, end + 100) for _ in range(3)))))
    assert of(known, a, b) >= b - a - 1e-6 * max(size, 1)
    assert of(known, a, b) + of(known, b, c) == pytest.approx(of(known, a, c), rel=1e-6, abs=1e-3)


def test_a_limit_is_shared_as_spark_does() -> None:
    start, ends = {PART: 0, OTHER: 10}, {PART: 1000, OTHER: 11}
    assert share(100, start, ends) == {PART: 99, OTHER: 11}
    assert share(10**6, start, ends) == ends
    assert share(5, ends, ends) == ends


def test_the_rows_of_a_size_shrink_where_large_records_begin() -> None:
    known = history((0, 0, 0), (0, 1000, 100_000), (0, 2000, 10_100_000))
    rows = [rows_within(50_000, {PART: at}, {PART: 2000}, known) for at in (0, 1000)]
    assert rows == [500, 5]


def test_a_record_larger_than_the_size_is_still_admitted() -> None:
    assert rows_within(10, {PART: 0}, {PART: 5}, history((0, 5, 5000))) == 1


def test_where_all_fits_there_is_room_for_what_comes() -> None:
    assert rows_within(50_000, {PART: 95}, {PART: 100}, history((0, 100, 10_000))) == 500


sizes = st.lists(st.tuples(st.integers(1, 5000), st.integers(1, 10_000)), min_size=1, max_size=8)


@given(st.lists(sizes, min_size=1, max_size=4), st.floats(1, 1e9), st.data())
def test_the_rows_keep_within_the_size_and_more_would_not(
    logs: list[list[tuple[int, int]]], size: float, data: st.DataObject
) -> None:
    known, start, ends = ByteHistory(), {}, {}
    for number, pieces in enumerate(logs):
        end, weight = 0, 0
        known.see({("t", number): LogSize(0, 0, 0)})
        for rows, each in pieces:
            end, weight = end + rows, weight + rows * each
            known.see({("t", number): LogSize(0, end, weight)})
        start[("t", number)] = data.draw(st.integers(0, end))
        ends[("t", number)] = end
    waiting = known.between(start, ends)
    assume(waiting > size)
    rows = rows_within(size, start, ends, known)

    def taken(limit: int) -> float:
        return known.between(start, share(limit, start, ends))

    assert rows == 1 or taken(rows) <= size * (1 + 1e-9)
    assert taken(rows + max(1, rows // 500)) >= size * (1 - 1e-9)
