"""What the applications of the suite share: numbered items, inputs made once, stages in chunks, results with truth.

Reading order: `app` (an application of the suite), `inputs` (what its items are made of), `results` (what its last
stage gives). An application is a folder beside this one, and a line in `pyproject.toml`.
"""
