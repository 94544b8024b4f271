"""A real Kafka broker on loopback, for tests, `doctor --kafka` and benches: its jars, the process, records for it."""
