"""What a machine, its Kafka and the user's own broker have and lack for Penstock."""
