"""Attributes of nodes: text in the file, numbers, flags and tuples to the operators."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping

from gradwire.blocks.classes.dataclass import dataclass
from gradwire.blocks.errors import FileError

_TUPLE = re.compile(r"[\[(](.*)[\])]", re.DOTALL)
_MOST_DIGITS = 18
_MOST_NUMBERS = 64


@dataclass(frozen=True)
class MXNetAttributes:
    """The attributes of one node, read as what an operator expects.

    Every method takes the default for an attribute that is missing or ``None``, and raises
    FileError for one that reads otherwise.
    """

    node: str
    texts: Mapping[str, str]

    def text(self, key: str, default: str = "") -> str:
        """The attribute as it is written."""
        text = self.texts.get(key, "None")
        return default if text == "None" else text

    def flag(self, key: str, default: bool = False) -> bool:
        """``True``, ``1`` and their like."""
        text = self.text(key, str(default)).lower()
        if text not in ("true", "false", "1", "0"):
            raise self._wrong(key, "True or False")
        return text in ("true", "1")

    def number(self, key: str, default: float = 0.0) -> float:
        """A finite number."""
        text = self.text(key)
        if not text:
            return default
        try:
            number = float(text)
        except ValueError:
            number = math.nan
        if not math.isfinite(number):
            raise self._wrong(key, "a number")
        return number

    def whole(self, key: str, default: int | None = None) -> int:
        """An integer; without a default it must be there."""
        text = self.text(key)
        if not text and default is not None:
            return default
        return self._whole(key, text)

    def wholes(self, key: str, default: tuple[int, ...] | None = None) -> tuple[int, ...]:
        """Integers, ``(2, 2)``; a single one counts as a tuple of one."""
        found = self.bounds(key, default)
        if any(number is None for number in found):
            raise self._wrong(key, "integers")
        return tuple(number for number in found if number is not None)

    def bounds(self, key: str, default: tuple[int, ...] | None = None) -> tuple[int | None, ...]:
        """Integers, some of which may be left open as ``None``."""
        text = self.text(key)
        if not text:
            if default is None:
                raise self._wrong(key, "integers")
            return default
        inside = _TUPLE.fullmatch(text.strip())
        parts = [part.strip() for part in (inside[1] if inside else text).split(",")]
        if parts[-1] == "":
            parts.pop()
        if len(parts) > _MOST_NUMBERS:
            raise self._wrong(key, f"at most {_MOST_NUMBERS} integers")
        return tuple(None if part == "None" else self._whole(key, part) for part in parts)

    def axes(self, key: str = "axis") -> tuple[int, ...] | None:
        """Axes; None for all of them, which ``()`` means too."""
        return self.wholes(key, ()) or None

    def _whole(self, key: str, text: str) -> int:
        digits = text.removesuffix("L")  # as Python 2 wrote long integers
        if len(digits) > _MOST_DIGITS or not re.fullmatch(r"[+-]?[0-9]+", digits):
            raise self._wrong(key, "an integer")
        return int(digits)

    def _wrong(self, key: str, expected: str) -> FileError:
        return FileError(
            f"The attribute {key!r} of the node {self.node!r} is wrong.",
            expected=expected,
            got=repr(self.texts.get(key, "nothing")[:80]),
        )
