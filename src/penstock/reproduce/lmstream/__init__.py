"""The published evaluation of LMStream, run again on Spark: six queries, a fixed trigger against dynamic batching.

Reading order: `published` (its numbers and words), `plan` (what is run), `runs` (running it, resumable), `scores` (what
is measured of a run), `tables`, `finding` and `findings`, `figures`, `page`, and `reproduce`, which puts them together.
"""
