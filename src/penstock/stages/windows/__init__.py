"""Sliding windows on Arrow data: which rows go to which group, what a group keeps, which windows are complete.

Reading order: `spec` (what a window is), `schedule` (Gasser's sliding batches, as groups), `switch` (how they change
while the stream runs), `blocks` (rows on their way to a group), then what a group does with them: `numbered` (rows that
carry their number), `counted` (rows counted within their key), `timed` (rows within a span of time).
"""
