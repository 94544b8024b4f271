"""After an outage: a backlog in Kafka, drained by plain Spark and by attached queries."""
