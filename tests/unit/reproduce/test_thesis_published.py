"""The published data, against what the text of the thesis says of them, and its grid."""

from __future__ import annotations

import pytest

from penstock.bench.compare.grid import STEPPING
from penstock.reproduce.thesis import published
from penstock.reproduce.thesis.grid import ORACLES, THRESHOLDS, Grid, quick_grid


def test_published_tables_agree_with_the_prose_around_them() -> None:
    rows = [(h, name) for h in THRESHOLDS for name in STEPPING]
    assert sum(published.HITS[h][name][0].sample > 1 for h, name in rows) == 13
    assert all(published.HITS[h][name][1].sample == 1 for h, name in rows)
    assert all(published.DISTANCES[h][name][1].sample == 1 for h, name in rows)
    gap = published.hit(5, "pid", "i_slh") - published.hit(5, "pmbaf", "i_slh")
    assert gap == pytest.approx(1.4, abs=0.05)
    assert published.hit(15, "pid", "i_slh") - published.hit(15, "pmbaf", "i_slh") == pytest.approx(4.4, abs=0.05)
    assert published.distance(5, "pid", "mad_d") - published.distance(5, "pmbaf", "mad_d") == pytest.approx(1.73)
    assert published.distance(5, "pmbaf", "mad_d") / published.distance(5, "mbaf", "mad_d") == pytest.approx(
        0.6, abs=0.01
    )


def test_published_tables_at_some_places() -> None:
    assert published.HITS[15]["pbaf-wt"] == (published.Best(47.2, 20, 5), published.Best(54.8, 10, 1))
    assert published.DISTANCES[20]["pmbaf"] == (published.Best(17.98, 15, 1), published.Best(38.27, 5, 1))
    assert published.DEVIATIONS["pmbaf"] == (12.73, 1.39)
    assert published.PATTERNS["mbaf"] == (57.99, 19.32, 51.66, 28.73, 22.76)
    assert published.PID_DISTANCES["sd_d"] == published.BestPid(36.86, 1, 10, 5, 5)


def test_grid_has_the_combinations_of_the_thesis() -> None:
    configs = list(Grid().configs())
    assert len(configs) == len(set(configs))
    scored = sum(len(config.scored_at()) for config in configs if config.algorithm in STEPPING)
    assert scored == 400
    assert sum(config.algorithm == "pid" for config in configs) == 6 * 5 * 4 * 4
    assert {config.algorithm for config in configs} == {*STEPPING, "pid", *ORACLES}


def test_quick_grid_is_a_part_of_the_whole_and_much_smaller() -> None:
    whole, quick = set(Grid().cells()), set(quick_grid().cells())
    assert quick < whole
    assert len(quick) < len(whole) / 10
