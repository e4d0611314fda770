"""One call of a layer, and its settings, as what puts up its blocks sees them."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NoReturn, TypeAlias

import numpy as np

from gradwire.blocks.classes.dataclass import dataclass
from gradwire.blocks.errors import FileError
from gradwire.runtime.interchange.importing.imported import UnsupportedError
from gradwire.runtime.interchange.importing.staged import Staged

if TYPE_CHECKING:
    from gradwire.blocks.values import Array
    from gradwire.runtime.interchange.importing.keras.images import Layouts
    from gradwire.runtime.interchange.importing.keras.model import Layer
    from gradwire.runtime.interchange.importing.keras.weights import KerasVariables
    from gradwire.runtime.interchange.importing.stage import Stage


@dataclass(frozen=True)
class Config:
    """The settings of one layer. Methods raise FileError for a setting of another type.

    A setting that is missing or null has the default.
    """

    settings: Mapping[str, object]

    def json(self, key: str) -> object:
        """The setting as it is; None where it is missing."""
        return self.settings.get(key)

    def text(self, key: str, default: str) -> str:
        """A string."""
        value = self._value(key, default)
        return value if isinstance(value, str) else self._wrong(key, "text")

    def flag(self, key: str, default: bool) -> bool:
        """A boolean."""
        value = self._value(key, default)
        return value if isinstance(value, bool) else self._wrong(key, "true or false")

    def whole(self, key: str, default: int | None = None) -> int:
        """An integer; without a default it must be there."""
        value = self._value(key, default)
        if isinstance(value, bool) or not isinstance(value, int) or abs(value) > 2**40:
            self._wrong(key, "an integer")
        return int(value)

    def number(self, key: str, default: float) -> float:
        """A finite number."""
        value = self._value(key, default)
        if (
            isinstance(value, bool)
            or not isinstance(value, int | float)
            or not math.isfinite(value)
        ):
            self._wrong(key, "a number")
        return float(value)

    def list(self, key: str) -> list[Any]:
        """A list; empty where it is missing."""
        value = self._value(key, [])
        return value if isinstance(value, list) else self._wrong(key, "a list")

    def wholes(self, key: str, count: int, default: int | None = None) -> tuple[int, ...]:
        """As many integers as wanted; a single one counts for all."""
        value = self._value(key, default)
        if isinstance(value, int):
            return (self.whole(key, default),) * count
        numbers = value if isinstance(value, list) else self._wrong(key, "integers")
        if len(numbers) != count or not all(type(n) is int and abs(n) < 2**40 for n in numbers):
            self._wrong(key, f"{count} integers")
        return tuple(numbers)

    def _value(self, key: str, default: object) -> object:
        value = self.settings.get(key)
        return default if value is None else value

    def _wrong(self, key: str, expected: str) -> NoReturn:
        name = str(self.settings.get("name", ""))[:80]
        raise FileError(
            f"The setting {key!r} of the layer {name!r} is wrong.",
            expected=expected,
            got=repr(self.settings.get(key))[:80],
        )


@dataclass(frozen=True, eq=False)
class LayerCall:
    """A layer with its stage and arguments, in which values stand for entries."""

    stage: Stage
    layer: Layer
    arguments: Sequence[object]
    keywords: Mapping[str, object]
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

    def unsupported(self, why: str) -> UnsupportedError:
        """The error of a setting that no block can express."""
        return UnsupportedError(f"The {self.layer.kind} layer {self.layer.name!r}", why)


Result: TypeAlias = "Staged | tuple[Staged, ...]"
Operator: TypeAlias = Callable[[LayerCall], Result]
"""Puts up the blocks of a layer and gives its outputs."""
