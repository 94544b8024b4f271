"""Runs, measures and results."""
