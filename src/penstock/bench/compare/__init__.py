"""Controllers against each other: on Spark, or in virtual time."""
