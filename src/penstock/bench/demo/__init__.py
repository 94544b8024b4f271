"""The demonstrations: a backlog drained three ways, and a band held two ways."""
