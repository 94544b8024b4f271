"""Where samples, decisions and events go: the journal, and the numbers that Prometheus asks for."""
