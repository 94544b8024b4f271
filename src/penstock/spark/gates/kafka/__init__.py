"""Kafka: gates in rows and in bytes, and what the offsets of a topic tell of its records."""
