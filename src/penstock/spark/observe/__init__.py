"""Observing queries: events of the JVM in, one `BatchSample` a batch out. Nothing here changes a query."""
