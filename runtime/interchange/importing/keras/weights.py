"""Reads the weights of a model: arrays in an HDF5 file, by the place of their layer."""

from __future__ import annotations

import io
import math
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import numpy as np

from gradwire.blocks.errors import FileError
from gradwire.blocks.limits import MAX_CONSTANT

if TYPE_CHECKING:
    from gradwire.blocks.values import Array

_KINDS = "fiub"
MAX_VARIABLES = 1_000
"""Variables of one layer, at most."""


class Weights:
    """The arrays of a file that is open; see ``opened``."""

    def __init__(self, file: Any, h5py: Any) -> None:
        self._file = file
        self._h5py = h5py

    def of(self, place: str) -> list[Array]:
        """The variables of the layer at a place, ``layers/dense``, in Keras's order.

        Raises FileError for links out of the file, and for sizes that are not those of the data.
        """
        with _errors_of_hdf5():
            return list(self._arrays(place))

    def _arrays(self, place: str) -> Iterator[Array]:
        group = self._file
        for part in (*place.split("/"), "vars"):
            group = self._member(group, part, place)
            if group is None:
                return
        for number in range(MAX_VARIABLES):
            dataset = self._member(group, str(number), place)
            if dataset is None:
                return
            yield self._array(dataset, place)

    def _member(self, group: Any, name: str, place: str) -> Any:
        """What a group has under a name, if it lies in the file itself; None for nothing."""
        if not isinstance(group, self._h5py.Group):
            raise FileError(f"The weights of {place!r} are not where they should be.")
        link = group.get(name, getlink=True)
        if link is None:
            return None
        if not isinstance(link, self._h5py.HardLink):
            raise FileError(f"The weights of {place!r} are a link to another place.")
        return group[name]

    def _array(self, dataset: Any, place: str) -> Array:
        if not isinstance(dataset, self._h5py.Dataset) or dataset.shape is None:
            raise FileError(f"The weights of {place!r} are no array.")
        size = math.prod(dataset.shape) * dataset.dtype.itemsize
        stored = dataset.id.get_storage_size()
        plain = dataset.chunks is None and not dataset.is_virtual and not dataset.external
        if not plain or dataset.dtype.kind not in _KINDS or stored != size:
            raise FileError(
                f"The weights of {place!r} are not stored as plain numbers.",
                expected=f"{size:,} bytes for {dataset.shape}",
                got=f"{stored:,}",
            )
        if math.prod(dataset.shape) > MAX_CONSTANT:
            raise FileError(f"The weights of {place!r} are too large.", got=str(dataset.shape))
        return np.asarray(dataset[()])


@contextmanager
def opened(data: bytes) -> Iterator[Weights]:
    """The weights in the bytes of an HDF5 file. Raises FileError where they are none."""
    import h5py

    with _errors_of_hdf5():
        file = h5py.File(io.BytesIO(data), "r")
    with file:
        yield Weights(file, h5py)


@contextmanager
def _errors_of_hdf5() -> Iterator[None]:
    try:
        yield
    except (OSError, RuntimeError, KeyError, ValueError, TypeError) as error:
        raise FileError("The weights are no HDF5 file that can be read.") from error
