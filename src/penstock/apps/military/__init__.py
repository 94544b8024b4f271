"""The Military Server benchmark: drones look for the best place on a map for each military unit."""
