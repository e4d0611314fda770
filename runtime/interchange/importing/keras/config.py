"""Settings of a layer, read as what it expects."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from gradwire.blocks.classes.dataclass import dataclass
from gradwire.blocks.errors import FileError


@dataclass(frozen=True)
class Config:
    """The settings of one layer. Methods raise FileError for a setting of another type.

    A setting that is missing or null has the default.
    """

    settings: Mapping[str, Any]

    def json(self, key: str) -> Any:
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

    def _value(self, key: str, default: Any) -> Any:
        value = self.settings.get(key)
        return default if value is None else value

    def _wrong(self, key: str, expected: str) -> Any:
        name = str(self.settings.get("name", ""))[:80]
        raise FileError(
            f"The setting {key!r} of the layer {name!r} is wrong.",
            expected=expected,
            got=repr(self.settings.get(key))[:80],
        )
