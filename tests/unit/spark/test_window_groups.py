"""Numbers of groups: one for each, and group g runs in task g of a shuffle."""

from __future__ import annotations

import numpy as np
import pytest

from penstock.spark.windows.groups import MODULUS, group_number, group_of, murmur3
from penstock.stages.windows.schedule import MOST_REPLICAS

NUMBERS = [group_number(group) for group in range(MODULUS)]


def test_every_group_has_a_number_of_its_own_and_is_found_by_it() -> None:
    assert len(set(NUMBERS)) == MODULUS == MOST_REPLICAS
    assert [group_of(number) for number in NUMBERS] == list(range(MODULUS))
    assert min(NUMBERS) >= 0
    assert max(NUMBERS) < 2**31


@pytest.mark.parametrize("tasks", [1, 2, 3, 4, 5, 6, 7, 8, 10, 12, 14, 16, 20, 24, 28, 48, 100, 200])
def test_group_g_runs_in_task_g_where_the_tasks_divide_the_modulus(tasks: int) -> None:
    assert (murmur3(np.array(NUMBERS, np.int32)) % tasks).tolist() == [group % tasks for group in range(MODULUS)]


def test_numbers_never_change_since_checkpoints_have_them() -> None:
    assert NUMBERS[:5] == [2122, 3179, 11025, 18539, 5907]
    assert sum(NUMBERS) == 70_408_337
