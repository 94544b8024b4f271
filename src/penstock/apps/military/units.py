"""What each type of military unit wants of the ground: one row a type."""

from __future__ import annotations

import numpy as np

NAMES = ("infantry", "armour", "artillery", "air defence", "radar", "logistics", "hospital", "command post")
FEATURES = ("height", "relief", "roughness", "exposure")

# Wanted features, in the units of stage B: heights 0..4095, roughness in sixteenths of a step between neighbours.
WANTED = np.array(
    [
        [1900, 500, 160, 150],
        [1500, 200, 60, 50],
        [2200, 300, 90, 100],
        [2400, 250, 80, 200],
        [2900, 600, 120, 400],
        [1400, 100, 50, 40],
        [1600, 100, 50, 20],
        [2100, 300, 100, 80],
    ],
    dtype=np.int32,
)

# How much each feature weighs in a type's score.
WEIGHTS = np.array(
    [
        [1, 2, 6, 1],
        [1, 3, 9, 2],
        [2, 2, 4, 2],
        [3, 1, 2, 4],
        [5, 1, 1, 4],
        [1, 4, 8, 3],
        [1, 4, 9, 6],
        [2, 2, 3, 2],
    ],
    dtype=np.int32,
)

# The highest relief and roughness on which a unit of the type can stand.
LIMITS = np.array(
    [[800, 200], [700, 90], [800, 130], [900, 180], [1200, 230], [700, 85], [700, 85], [800, 130]],
    dtype=np.int32,
)
