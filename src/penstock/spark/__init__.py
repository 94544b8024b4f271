"""The adapter to Spark: session, source, gates, monitor, attach."""
