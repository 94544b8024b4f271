"""Workloads: arrivals x cost x data."""
