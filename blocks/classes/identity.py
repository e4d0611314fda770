"""Records that are compared by identity, since what they hold can't be compared.

``==`` of two arrays is an array without a truth value, and that of traced values raises.
Dataclasses say ``eq=False``; named tuples are tuples, and would compare what they hold.
"""

from __future__ import annotations

from typing import TypeVar

T = TypeVar("T", bound=type)


def by_identity(cls: T) -> T:
    """The class of named tuples, each equal to itself alone."""
    cls.__eq__ = _is_same  # type: ignore[assignment,method-assign]  # the same for any class
    cls.__ne__ = object.__ne__  # type: ignore[method-assign,assignment]  # that of tuples compares
    cls.__hash__ = object.__hash__  # type: ignore[method-assign,assignment]  # a class hashes as it compares
    return cls


def _is_same(self: object, other: object) -> bool:
    """Not ``object.__eq__``, which leaves it to a plain tuple to compare the items."""
    return self is other
