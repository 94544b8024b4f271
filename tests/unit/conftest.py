"""Unit tests run in milliseconds: none of them may start Spark."""

from __future__ import annotations

import importlib.util

import pytest


@pytest.fixture(autouse=True)
def _no_spark(monkeypatch: pytest.MonkeyPatch) -> None:
    if importlib.util.find_spec("pyspark") is None:
        return
    from pyspark import SparkContext
    from pyspark.sql import SparkSession

    def refuse(*args: object, **kwargs: object) -> None:
        raise RuntimeError("a test in tests/unit started Spark; move it to tests/spark, or use penstock.testing.fakes")

    monkeypatch.setattr(SparkSession.Builder, "getOrCreate", refuse)
    monkeypatch.setattr(SparkContext, "__init__", refuse)
