from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from penstock.spark.gates.kafka.end_offsets import OffsetHistory, between, parse_offsets

PART = ("rides", 0)


def history(*looks: tuple[float, int]) -> OffsetHistory:
    made = OffsetHistory()
    for at_s, end in looks:
        made.see(at_s, {PART: end})
    return made


def test_offsets_of_several_topics_are_read_and_none_are_none():
    assert parse_offsets('{"a": {"0": 5}, "b": {"3": 7}}') == {("a", 0): 5, ("b", 3): 7}
    assert parse_offsets(None) == {}


def test_a_partition_that_is_new_counts_from_its_beginning_and_none_counts_backwards():
    assert between({("a", 0): 5}, {("a", 0): 9, ("a", 1): 2}) == 6
    assert between({("a", 0): 9}, {("a", 0): 5}) == 0


def test_between_two_looks_records_have_come_evenly():
    known = history((10.0, 0), (12.0, 200))
    assert known.arrival_s(PART, 0) == 10.0
    assert known.arrival_s(PART, 100) == 11.0
    assert known.arrival_s(PART, 200) is None


def test_a_record_that_was_there_at_the_first_look_is_at_least_that_old():
    assert history((10.0, 500), (12.0, 600)).arrival_s(PART, 3) == 10.0


def test_an_idle_hour_makes_the_record_after_it_no_older():
    known = history((0.0, 100))
    known.see(3600.0, {PART: 150}, same_until_s=3599.9)
    assert known.arrival_s(PART, 100) == 3599.9


def test_the_oldest_record_of_a_batch_is_the_oldest_of_its_partitions():
    known = OffsetHistory()
    for at_s, ends in ((0.0, (0, 0)), (1.0, (100, 0)), (2.0, (100, 100))):
        known.see(at_s, {("a", 0): ends[0], ("a", 1): ends[1]})
    start = {("a", 0): 50, ("a", 1): 50}
    assert known.oldest_s(start, {("a", 0): 100, ("a", 1): 100}) == 0.5
    # A partition of which nothing was taken tells nothing.
    assert known.oldest_s(start, {("a", 0): 50, ("a", 1): 100}) == 1.5


def test_looks_that_come_late_or_from_a_clock_that_was_set_back_change_nothing():
    known = history((10.0, 100), (11.0, 200))
    known.see(5.0, {PART: 50})
    known.see(12.0, {})
    assert known.arrival_s(PART, 150) == 10.5


def test_a_batch_that_saw_more_than_a_look_just_before_it_is_believed():
    known = history((10.0, 100), (11.0, 200))
    known.see(10.99, {PART: 210})
    assert known.arrival_s(PART, 205) == 11.0


def test_the_rate_is_that_of_the_last_ten_seconds():
    looks = [(float(second), 10 * second) for second in range(100)]
    assert history(*looks, (109.0, 990 + 1000)).rate_per_s == 100.0
    assert history((1.0, 5)).rate_per_s is None


@given(st.lists(st.integers(0, 50), min_size=2, max_size=3000))
def test_memory_is_bounded_and_ages_stay_in_order(steps: list[int]):
    known, end = OffsetHistory(), 0
    for second, step in enumerate(steps):
        end += step
        known.see(float(second), {PART: end})
    assert len(known._at_s) <= 1024
    ages = [known.arrival_s(PART, offset) for offset in range(0, end, max(end // 20, 1))]
    assert ages == sorted(ages)


def test_what_was_read_long_ago_is_forgotten():
    known = history(*((float(second), 100 * second) for second in range(900)))
    known.oldest_s({PART: 85_000}, {PART: 89_000})
    assert len(known._at_s) < 60
    assert known.arrival_s(PART, 85_000) == 850.0
