"""The variables of layers: each put up once, with the numbers of the file."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from gradwire.blocks.errors import FileError

if TYPE_CHECKING:
    from gradwire.blocks.values import Array
    from gradwire.runtime.interchange.importing.keras.model import Layer
    from gradwire.runtime.interchange.importing.keras.weights import Weights
    from gradwire.runtime.interchange.importing.stage import Stage
    from gradwire.runtime.interchange.importing.staged import Staged

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
