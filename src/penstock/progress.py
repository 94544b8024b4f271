"""How far long work is, told to whoever waits for it."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

Progress: TypeAlias = Callable[[int, int], None]
"""Called with how many are done and how many there are."""

Say: TypeAlias = Callable[[str], None]
"""Called with a line for people."""
