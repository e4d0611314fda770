"""Finds NaN and infinities in the values of a run."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from gradwire.runtime.diagram.paths import PortPath
from gradwire.runtime.engine.norms import NormBatch, batched, batches

if TYPE_CHECKING:
    from collections.abc import Mapping

    from gradwire.blocks.values import Array
    from gradwire.runtime.engine.program import Program


class _Floats(NamedTuple):
    """The ports of a run whose values are floats, and which of them can be searched together."""

    ports: list[str]
    batches: list[NormBatch]


def _floats_of(values: Mapping[str, Array]) -> _Floats:
    floats = {port: array for port, array in values.items() if array.dtype.kind in "fc"}
    return _Floats(list(floats), batched(floats.values()))


def ports_not_finite(
    program: Program, values: Mapping[str, Array]
) -> tuple[frozenset[PortPath], frozenset[PortPath]]:
    """The ports whose values are not finite, and those of them whose values have NaN."""
    # Dtypes follow from the program, but feeds may have other sizes.
    about = "float values", tuple(values), tuple([array.size for array in values.values()])
    ports, known = program.derived(about, lambda: _floats_of(values))
    arrays = [values[port] for port in ports]
    wild: list[int] = []
    nans: list[int] = []
    for places, rows in batches(arrays, known):
        if rows is None:
            wild += [place for place in places if not is_finite(arrays[place])]
            nans += [place for place in places if has_nan(arrays[place])]
        elif not (finite := np.isfinite(rows)).all():
            wild += np.array(places)[~finite.all(axis=1)].tolist()
            nans += np.array(places)[np.isnan(rows).any(axis=1)].tolist()
    return (
        frozenset(PortPath(ports[place]) for place in wild),
        frozenset(PortPath(ports[place]) for place in nans),
    )


def is_finite(array: Array | None) -> bool:
    """Whether an array has neither NaN nor infinities; what has no floats has none."""
    return array is None or array.dtype.kind not in "fc" or bool(np.isfinite(array).all())


def has_nan(array: Array | None) -> bool:
    """Whether an array has NaN; what has no floats has none."""
    return array is not None and array.dtype.kind in "fc" and bool(np.isnan(array).any())
