"""Stages B, C and D as pure functions on Arrow record batches, to be fused or run one by one."""

from __future__ import annotations

from typing import Any

import numpy as np

from penstock.apps.military.items import COORDINATES, UNITS
from penstock.apps.military.terrain import terrain
from penstock.apps.military.units import FEATURES, LIMITS, WANTED, WEIGHTS
from penstock.stages.stage import Stage

# Numba and pyarrow are imported at use: listing the applications needs neither.

EXPLORED_DDL = "id bigint, coordinates binary, units binary, features binary"
CHOSEN_DDL = "id bigint, coordinates binary, units binary, features binary, choices binary"
RESULT_DDL = "id bigint, places binary, valid boolean, hash bigint"


def explored(batch: Any) -> Any:
    """Stage B: adds the features of every coordinate."""
    from penstock.apps.military import kernels
    from penstock.stages import arrow

    coordinates = arrow.matrix(batch, "coordinates", np.int32, COORDINATES)
    features = np.empty((len(coordinates), COORDINATES, len(FEATURES)), dtype=np.int32)
    kernels.explore(terrain(), arrow.vector(batch, "width"), coordinates, features)
    rows = features.reshape(len(features), COORDINATES * len(FEATURES))
    return batch.drop_columns(["width"]).append_column("features", arrow.packed(rows))


def chosen(batch: Any) -> Any:
    """Stage C: adds the index of the best coordinate for every unit."""
    from penstock.apps.military import kernels
    from penstock.stages import arrow

    features = arrow.matrix(batch, "features", np.int32, COORDINATES * len(FEATURES))
    units = arrow.matrix(batch, "units", np.uint8, UNITS)
    choices = np.empty((len(units), UNITS), dtype=np.uint8)
    kernels.choose(features.reshape(-1, COORDINATES, len(FEATURES)), units, WANTED, WEIGHTS, choices)
    return batch.append_column("choices", arrow.packed(choices))


def validated(batch: Any) -> Any:
    """Stage D: the place of every unit, whether the item is valid, and the hash of its result."""
    from penstock.apps.military import kernels
    from penstock.stages import arrow

    ids = arrow.vector(batch, "id")
    places = np.empty((len(ids), UNITS), dtype=np.int32)
    valid = np.empty(len(ids), dtype=np.bool_)
    hashes = np.empty(len(ids), dtype=np.uint64)
    kernels.validate(
        ids,
        arrow.matrix(batch, "coordinates", np.int32, COORDINATES),
        arrow.matrix(batch, "units", np.uint8, UNITS),
        arrow.matrix(batch, "features", np.int32, COORDINATES * len(FEATURES)).reshape(-1, COORDINATES, len(FEATURES)),
        arrow.matrix(batch, "choices", np.uint8, UNITS),
        LIMITS,
        places,
        valid,
        hashes,
    )
    return arrow.record_batch({"id": ids, "places": places, "valid": valid, "hash": hashes.view(np.int64)})


EXPLORE = Stage("explore", EXPLORED_DDL, explored)
CHOOSE = Stage("choose", CHOSEN_DDL, chosen)
VALIDATE = Stage("validate", RESULT_DDL, validated)
STAGES = (EXPLORE, CHOOSE, VALIDATE)
