"""Gasser's published evaluation, run again without a GPU: windows with any function, here on Spark.

Reading order: `published` (its numbers), `extents` (table 4, computed), `scores` (what was measured, from
`penstock.bench.measures.windows`), `tables`, `findings`, `wanted` (what we asked of ourselves), `verdict` (where we
win, tie and lose), `figures`, `page`, and `reproduce`, which puts them together.
"""
