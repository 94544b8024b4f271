"""The published evaluation of adaptive micro-batching, run again in virtual time.

Reading order: `published` (its tables), `grid` (what is run), `cells` (running it, with a cache), `scores` (best of the
grid), `tables`, `findings`, `figures`, `page`, and `reproduce`, which puts them together.
"""
