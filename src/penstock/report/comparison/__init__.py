"""The report of a comparison."""
