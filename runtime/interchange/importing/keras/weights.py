"""Reads a Keras file, a zip: its configuration, and the variables of layers in an HDF5 file."""

from __future__ import annotations

import io
import math
import zipfile
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from gradwire.blocks.errors import FileError
from gradwire.blocks.limits import MAX_CONSTANT
from gradwire.runtime.data.files.zips import open_zip
from gradwire.runtime.diagram.files.parsing import MAX_CHARACTERS, parse
from gradwire.runtime.diagram.files.regular import open_regular
from gradwire.runtime.diagram.files.storage import system_errors
from gradwire.runtime.interchange.importing.keras.recognition import CONFIG, WEIGHTS

if TYPE_CHECKING:
    from types import ModuleType

    import h5py

    from gradwire.blocks.values import Array
    from gradwire.runtime.interchange.importing.keras.model import Layer
    from gradwire.runtime.interchange.importing.stage import Stage
    from gradwire.runtime.interchange.importing.staged import Staged


MAX_WEIGHTS = 2 * 2**30
"""Bytes of the weights, at most."""
MAX_PARTS = 10_000
"""Parts of a zip file, at most."""
_MOST_DENSE = 100
"""How much larger a part may be than what is stored of it."""


def read_archive(path: Path) -> tuple[dict[str, object], bytes]:
    """The configuration and the weights of a model, the latter as an HDF5 file.

    Raises FileError where one is missing, or larger than can be read.
    """
    try:
        with (
            system_errors(path, "read"),
            open_regular(path) as file,
            open_zip(file, path, MAX_PARTS) as archive,
        ):
            config = _read_part(archive, CONFIG, MAX_CHARACTERS, path)
            weights = _read_part(archive, WEIGHTS, MAX_WEIGHTS, path)
    except (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, RuntimeError) as error:
        raise FileError("The file is no zip that can be read.", path=str(path)) from error
    try:
        document = parse(config.decode("utf-8"), f"{path}/{CONFIG}")
    except UnicodeDecodeError as error:
        raise FileError("The configuration is not UTF-8 text.", path=str(path)) from error
    if not isinstance(document, dict):
        raise FileError("The configuration is no object.", path=str(path))
    return document, weights


def _read_part(archive: zipfile.ZipFile, name: str, most: int, path: Path) -> bytes:
    """A part, of which no more is unpacked than the directory of the zip promises."""
    try:
        info = archive.getinfo(name)
    except KeyError as error:
        raise FileError(f"The file has no part {name!r}.", path=str(path)) from error
    if info.file_size > min(most, _MOST_DENSE * max(info.compress_size, 1)):
        raise FileError(
            f"The part {name!r} is too large, or too much larger than what is stored of it.",
            path=str(path),
            got=f"{info.file_size:,} bytes from {info.compress_size:,}",
        )
    with archive.open(info) as part:
        data = part.read(info.file_size + 1)
    if len(data) != info.file_size:
        raise FileError(f"The part {name!r} is not as long as the zip says.", path=str(path))
    return data


_KINDS = "fiub"
MAX_VARIABLES = 1_000
"""Variables of one layer, at most."""


class Weights:
    """The arrays of a file that is open; see ``opened``."""

    def __init__(self, file: h5py.File, h5py: ModuleType) -> None:
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

    def _member(self, group: object, name: str, place: str) -> object:
        """What a group has under a name, if it lies in the file itself; None for nothing."""
        if not isinstance(group, self._h5py.Group):
            raise FileError(f"The weights of {place!r} are not where they should be.")
        link = group.get(name, getlink=True)
        if link is None:
            return None
        if not isinstance(link, self._h5py.HardLink):
            raise FileError(f"The weights of {place!r} are a link to another place.")
        return group[name]

    def _array(self, dataset: object, place: str) -> Array:
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


_PORTS = {
    "kernel": "weight", "embeddings": "weight", "gamma": "weight", "scale": "weight",
    "beta": "bias", "moving_mean": "mean", "moving_variance": "variance",
}  # fmt: skip
"""Names of inputs of blocks for those of variables in Keras."""


class KerasVariables:
    """Variable blocks by layer and number; ``module`` is the path of the model being put up."""

    def __init__(self, stage: Stage, weights: Weights) -> None:
        self._stage = stage
        self._weights = weights
        self._read: dict[str, list[Array]] = {}
        self._made: dict[tuple[str, int], Staged] = {}
        self.module: tuple[str, ...] = ()
        self.frozen = False
        """Whether a model around the layer is not trained."""

    def get(
        self,
        layer: Layer,
        number: int,
        own: str,
        turned: Callable[[Array], Array] | None,
        inside: str,
        called: str,
        trainable: bool,
    ) -> Staged:
        """The variable with this number. Raises FileError where the file has none."""
        place = f"{layer.place}/{inside}" if inside else layer.place
        if (place, number) not in self._made:
            array = self.array(layer, number, inside)
            path = [*self.module, layer.name, *filter(None, called.split("/")), own]
            trained = trainable and not self.frozen and layer.config.flag("trainable", True)
            inner = f"{called.replace('/', '_')}_{own}" if called else _PORTS.get(own, own)
            self._made[place, number] = self._stage.variable(
                "/".join(path),
                array if turned is None else turned(array),
                trained and array.dtype.kind == "f",
                (*self.module, layer.name.partition("/")[0]),  # behind it, what it applies
                inner,
            )
        return self._made[place, number]

    def array(self, layer: Layer, number: int, inside: str = "") -> Array:
        """The numbers of a variable, for what is none in blocks. Raises FileError without any."""
        place = f"{layer.place}/{inside}" if inside else layer.place
        if place not in self._read:
            self._read[place] = self._weights.of(place)
        arrays = self._read[place]
        if number >= len(arrays):
            raise FileError(
                f"The file has no weights for the layer {layer.name!r}.",
                got=f"{len(arrays)} arrays",
            )
        return arrays[number]
