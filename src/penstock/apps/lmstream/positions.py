"""Linear Road: position reports of vehicles on expressways, each vehicle about every 30 seconds."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from penstock.apps.lmstream.stream import Indices, Stream
from penstock.apps.lmstream.trace_rows import Field, read_int, read_second
from penstock.patterns.hashing import hashed
from penstock.workloads.workload import Columns

HIGHWAYS = 2
SEGMENTS = 100
SEGMENT_FEET = 5280
REPORT_EVERY_S = 30

_ROAD_FEET = SEGMENTS * SEGMENT_FEET
_REPORTS_A_TRIP = 12
_JAM_S = 120
_ENTRY_LANE, _EXIT_LANE = 0, 4
_FIRST_VEHICLE = 1_000_000
# In 30 s: from 25 to 80 miles an hour.
_SLOWEST_FEET, _FASTEST_FEET = 1100, 3520
# Fields of Linear Road's other kinds of input; a position report (kind 0) has -1 in all of them.
_UNUSED = ("query", "fromSegment", "toSegment", "dayOfWeek", "minute", "day")
_ORDER_STREAM, _TRIP_STREAM, _PHASE_STREAM, _JAM_STREAM, _NOISE_STREAM = range(201, 206)

DDL = (
    "timestamp bigint, kind int, vehicle int, speed int, highway int, lane int, direction int, segment int, "
    "position int, " + ", ".join(f"{name} int" for name in _UNUSED)
)


def make(indices: Indices, seconds: Indices, seed: int, rows: int) -> Columns:
    """Position reports, `rows` of them a second.

    There are 30 vehicles on the road for every report a second, and they report in turn; the order is shuffled anew
    in blocks of about four seconds, so that a vehicle's reports are 30 s apart give or take four. A trip is 12
    reports on one highway in one direction; then another vehicle enters in its place. Speed is that of the segment:
    three in eight are jammed, and which ones changes every two minutes.
    """
    vehicles = REPORT_EVERY_S * rows
    block_bits = (4 * rows).bit_length() - 1
    # Exclusive or with one number a block is a shuffle of the block that needs no table.
    shuffle = hashed(indices >> block_bits, seed, _ORDER_STREAM).view(np.int64) & ((1 << block_bits) - 1)
    rounds, slots = np.divmod(indices ^ shuffle, vehicles)
    phase = (hashed(slots, seed, _PHASE_STREAM) % np.uint64(_REPORTS_A_TRIP)).astype(np.int64)
    trips, reports = np.divmod(rounds + phase, _REPORTS_A_TRIP)
    vehicle = _FIRST_VEHICLE + trips * vehicles + slots

    trip = hashed(vehicle, seed, _TRIP_STREAM)
    highway = _below(trip, HIGHWAYS)
    direction = _below(trip >> np.uint64(8), 2)
    stride = _SLOWEST_FEET + _below(trip >> np.uint64(16), _FASTEST_FEET - _SLOWEST_FEET + 1)
    entry = _below(trip >> np.uint64(32), _ROAD_FEET)
    position = (entry + (1 - 2 * direction) * reports * stride) % _ROAD_FEET
    segment = position // SEGMENT_FEET

    place = ((seconds // _JAM_S * HIGHWAYS + highway) * 2 + direction) * SEGMENTS + segment
    jammed = _below(hashed(place, seed, _JAM_STREAM), 8) < 3
    noise = hashed(indices, seed, _NOISE_STREAM)
    speed = np.where(jammed, 10, 45) + _below(noise, 36)
    lane = 1 + _below(noise >> np.uint64(32), 3)
    lane[reports == 0] = _ENTRY_LANE
    lane[reports == _REPORTS_A_TRIP - 1] = _EXIT_LANE
    return _columns(
        vehicle=vehicle,
        speed=speed,
        highway=highway,
        lane=lane,
        direction=direction,
        segment=segment,
        position=position,
    )


def complete(fields: Columns) -> Columns:
    """The columns of a trace's fields: the segment follows from the position, and what a trace lacks is unused."""
    position = np.asarray(fields["position"])
    columns = {name: np.asarray(column) for name, column in fields.items() if name not in ("timestamp", "position")}
    return {
        "timestamp": fields["timestamp"],
        **_columns(**columns, segment=position // SEGMENT_FEET, position=position),
    }


def _columns(**columns: NDArray[np.int64]) -> Columns:
    rows = len(columns["vehicle"])
    unused = dict.fromkeys(_UNUSED, np.full(rows, -1, dtype=np.int32))
    return {
        "kind": np.zeros(rows, dtype=np.int32),
        **{name: column.astype(np.int32) for name, column in columns.items()},
        **unused,
    }


def _below(bits: NDArray[np.uint64], limit: int) -> NDArray[np.int64]:
    """Numbers from 0 to limit - 1, from the low bits."""
    return (bits % np.uint64(limit)).astype(np.int64)


POSITIONS = Stream(
    name="Linear Road position reports",
    schema_ddl=DDL,
    row_bytes=63.7,
    make=make,
    fields=(
        Field("timestamp", read_second, "int64"),
        *(Field(name, read_int, "int32") for name in ("vehicle", "speed", "highway", "lane", "direction", "position")),
    ),
    complete=complete,
)
