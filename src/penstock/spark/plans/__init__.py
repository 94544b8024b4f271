"""How a plan reaches the workers of a running query, and what they echo of it."""
