"""One call of a layer, as what puts up its blocks sees it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from gradwire.blocks.classes.dataclass import dataclass
from gradwire.blocks.errors import FileError
from gradwire.runtime.interchange.importing.imported import UnsupportedError
from gradwire.runtime.interchange.importing.staged import Staged

if TYPE_CHECKING:
    from gradwire.blocks.values import Array
    from gradwire.runtime.interchange.importing.keras.config import Config
    from gradwire.runtime.interchange.importing.keras.images import Layouts
    from gradwire.runtime.interchange.importing.keras.model import Layer
    from gradwire.runtime.interchange.importing.keras.variables import KerasVariables
    from gradwire.runtime.interchange.importing.stage import Stage


@dataclass(frozen=True, eq=False)
class LayerCall:
    """A layer with its stage and arguments, in which values stand for entries."""

    stage: Stage
    layer: Layer
    arguments: Sequence[Any]
    keywords: Mapping[str, Any]
    variables: KerasVariables
    layouts: Layouts
    training: bool = False

    @property
    def config(self) -> Config:
        """The settings of the layer."""
        return self.layer.config

    def x(self, number: int = 0) -> Staged:
        """An argument that is a value; raises FileError where it is none."""
        given = self.arguments[number] if number < len(self.arguments) else None
        if isinstance(given, list) and len(given) == 1:
            given = given[0]
        if not isinstance(given, Staged):
            raise FileError(f"The layer {self.layer.name!r} gets no value as input {number}.")
        return given

    def xs(self) -> list[Staged]:
        """The values in the first argument, a list."""
        given = self.arguments[0] if self.arguments else None
        if not isinstance(given, list) or not all(isinstance(x, Staged) for x in given):
            raise FileError(f"The layer {self.layer.name!r} gets no list of values.")
        return given

    def variable(
        self,
        number: int,
        own: str,
        turned: Callable[[Array], Array] | None = None,
        inside: str = "",
        called: str = "",
        trainable: bool = True,
    ) -> Staged:
        """A variable of the layer: its number, and its name in Keras.

        ``turned`` gives the numbers as blocks have them; ``inside`` is the part of the layer that
        has it, ``called`` what that part is called.
        """
        return self.variables.get(self.layer, number, own, turned, inside, called, trainable)

    def constant(self, key: str, default: float, dtype: str) -> Staged:
        """Numbers among the settings, one or a list of them."""
        given = self.config.json(key)
        if not isinstance(given, list):
            return self.stage.constant(np.asarray(self.config.number(key, default), dtype))
        try:
            return self.stage.constant(np.array(given, dtype))
        except (TypeError, ValueError) as error:
            raise FileError(
                f"The setting {key!r} of the layer {self.layer.name!r} is wrong.",
                expected="numbers",
                got=repr(given)[:80],
            ) from error

    def block(self, kind: str, *inputs: Staged | None, **parameters: Any) -> Staged:
        """A block of the layer."""
        return self.stage.block(kind, *inputs, **parameters)

    def unsupported(self, why: str) -> UnsupportedError:
        """The error of a setting that no block can express."""
        return UnsupportedError(f"The {self.layer.kind} layer {self.layer.name!r}", why)


Result: TypeAlias = "Staged | tuple[Staged, ...]"
Operator: TypeAlias = Callable[[LayerCall], "Staged | tuple[Staged, ...]"]
"""Puts up the blocks of a layer and gives its outputs."""
