"""Stages: pure functions on Arrow data; nothing here knows Spark."""
