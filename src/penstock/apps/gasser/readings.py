"""The stream of Q2: readings of the sensors on 22 players and a ball, each with its position on the field."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from penstock.apps.gasser.wander import HIGHEST, wander
from penstock.patterns.base import FloatArray
from penstock.patterns.hashing import hashed
from penstock.workloads.workload import Columns

READING_DDL = "id bigint, sensor int, x double, y double"
PLAYERS_AND_BALL = 23
BALL = 0
# Readings a second of the real game (table 2): 23 sensors have 500 each.
GAME_RATE_PER_S = 11_500

# The field, in mm from its middle.
HALF_LENGTH_MM, HALF_WIDTH_MM = 52_500, 34_000
# How far a player goes from his place; the ball goes everywhere.
_PLAYER_LENGTH_MM, _PLAYER_WIDTH_MM = 18_000, 12_000
# Somebody is elsewhere after 131,072 readings, 11 s of the real game.
_MOVE_BITS = 17
_SENSOR_STREAM, _PLACE_STREAM, _X_STREAM, _Y_STREAM = 301, 302, 310, 320


@dataclass(frozen=True)
class Readings:
    """Readings of so many sensors, drawn at random; sensor 0 is the ball.

    A player has a place on the field and moves around it; positions are whole millimetres from the middle. As the
    Nuremberg game is not ours to ship, this one is made up: smooth paths of the same rate and number.

    >>> readings = Readings()(np.arange(3), np.ones(3), seed=1)
    >>> readings["sensor"].tolist(), readings["x"].tolist()
    ([21, 18, 16], [-25618.0, -6988.0, -9545.0])
    """

    sensors: int = PLAYERS_AND_BALL

    def __call__(self, indices: NDArray[np.int64], costs: FloatArray, seed: int) -> Columns:
        """The columns of readings with these numbers."""
        sensors = (hashed(indices, seed, _SENSOR_STREAM) % np.uint64(self.sensors)).astype(np.int64)
        place = hashed(sensors, seed, _PLACE_STREAM)
        is_ball = sensors == BALL
        x, y = (
            _position(is_ball, (place >> np.uint64(shift)) & np.uint64(0xFFFF), half_mm, reach_mm, path)
            for shift, half_mm, reach_mm, path in (
                (0, HALF_LENGTH_MM, _PLAYER_LENGTH_MM, wander(sensors, indices, _MOVE_BITS, seed, _X_STREAM)),
                (16, HALF_WIDTH_MM, _PLAYER_WIDTH_MM, wander(sensors, indices, _MOVE_BITS, seed, _Y_STREAM)),
            )
        )
        return {"id": indices, "sensor": sensors.astype(np.int32), "x": x, "y": y}


def _position(
    is_ball: NDArray[np.bool_], place: NDArray[np.uint64], half_mm: int, reach_mm: int, path: NDArray[np.int64]
) -> FloatArray:
    """A coordinate in mm: the place, 16 random bits, lies so that nobody leaves the field."""
    room_mm = half_mm - reach_mm
    home_mm = (2 * room_mm * place.astype(np.int64) >> 16) - room_mm
    home_mm[is_ball] = 0
    return (home_mm + np.where(is_ball, half_mm, reach_mm) * path // HIGHEST).astype(np.float64)
