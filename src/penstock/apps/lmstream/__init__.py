"""The six queries of LMStream (table III): windows over Linear Road position reports and over cluster task events.

Reading order: `stream.py` (what a stream of rows is), `positions.py` and `tasks.py` (the two), `trace_rows.py` (a real
one from a file), `queries.py` (the six), `app.py` (queries as applications), `reference.py` and `digest.py` (the
right answer without Spark).
"""
