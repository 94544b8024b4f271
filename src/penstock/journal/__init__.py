"""The append-only record of a run: samples, decisions and events, one JSON object a line.

The file at `path` is the one being written. When it is full it becomes `path.1`, later ones `path.2` and so on, so
the lowest number is the oldest. Every segment starts with a header, and so does every opening: the last header seen
holds for what follows it. A journal has one writer and any number of readers.
"""

from penstock.journal.last import last_size
from penstock.journal.reader import DecisionRecord, Event, Follower, Recording, read
from penstock.journal.records import VERSION, Record
from penstock.journal.writer import Journal

__all__ = ["VERSION", "DecisionRecord", "Event", "Follower", "Journal", "Record", "Recording", "last_size", "read"]
