"""What is inside of nested lists and tuples, as arguments and results are."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any


def each(nested: object) -> Iterator[Any]:
    """All that is inside and is neither a list nor a tuple, in order."""
    if isinstance(nested, list | tuple):
        for x in nested:
            yield from each(x)
    else:
        yield nested


def mapped(function: Callable[[Any], Any], nested: object) -> Any:
    """What a function makes of each, in lists for lists and tuples."""
    if isinstance(nested, list | tuple):
        return [mapped(function, x) for x in nested]
    return function(nested)
