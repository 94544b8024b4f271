"""Settings of all tests."""

from __future__ import annotations

from hypothesis import settings

# Other work on the machine must not fail a test, and a failure must say how to repeat it.
settings.register_profile("penstock", deadline=None, print_blob=True)
settings.load_profile("penstock")
