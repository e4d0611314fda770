"""The values of a session's sources: what was set, what is fed, what they start from."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from difflib import get_close_matches
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from blocks.block import Shape, Source
from blocks.errors import FeedError, Location
from blocks.values import Tensor, fitted

if TYPE_CHECKING:
    from runtime.engine.program import Leaf

Array = NDArray[Any]


class Store:
    """Values by path of the source, in the source's dtype and a shape that it allows."""

    def __init__(self, sources: Mapping[str, Source]) -> None:
        self.sources = sources
        self.held: dict[str, Array] = {}
        """What was set; it stays, over the value in the diagram."""
        self.version = 0
        """Changes with every value that is set."""
        self.step_number = 0
        self._initial: dict[str, dict[Shape, Array | None]] = {}

    def set(self, name: str, value: ArrayLike) -> None:
        """Hold a value; raises FeedError."""
        self.held[name] = self.checked(name, value)
        self.version += 1

    def renumber(self, sources: Mapping[str, Source], changed: Collection[str]) -> None:
        """Read the leaves that changed anew: what was set for them is over."""
        self.sources = sources
        for path in changed:
            self.held.pop(path, None)
            self._initial.pop(path, None)
        self.version += 1

    def checked(self, name: str, value: ArrayLike) -> Array:
        """The value as an array of its source's dtype; raises FeedError where it doesn't fit."""
        source = self.source(name)
        try:
            array = fitted(Tensor(value), source.leaf_dtype).array
        except (ValueError, TypeError) as error:
            raise FeedError(
                f"The value can't be used: {error}.",
                location=Location(block=name),
                expected=f"numbers of {source.leaf_dtype}",
            ) from error
        self.check_shape(name, array.shape)
        return array

    def check_shape(self, name: str, shape: Shape) -> None:
        """Raises FeedError where a source can't have that shape."""
        wanted = self.source(name).open_shape
        if wanted is None:
            return
        if len(wanted) != len(shape) or any(
            n not in (None, m) for n, m in zip(wanted, shape, strict=True)
        ):
            raise FeedError(
                "The value has the wrong shape.",
                location=Location(block=name),
                expected=f"[{', '.join('any' if n is None else str(n) for n in wanted)}]",
                got=str(list(shape)),
            )

    def value(self, path: str, leaf: Leaf) -> Array | None:
        """What a leaf is bound to without a feed: drawn or copied once per shape."""
        if path in self.held:
            return self.held[path]
        initial, shape = self._initial.setdefault(path, {}), leaf.value.shape
        if shape not in initial:
            source = leaf.source
            drawn = source.data(shape, path) if isinstance(source, Source) else source.array
            initial[shape] = None if drawn is None else np.asarray(drawn)
        return initial[shape]

    def source(self, name: str) -> Source:
        """The block of that name; raises FeedError with the nearest names."""
        try:
            return self.sources[name]
        except KeyError:
            near = get_close_matches(name, self.sources, n=3)
            raise FeedError(
                f"There is no variable, constant or input {name!r}.",
                expected="one of " + ", ".join(self.sources) if self.sources else None,
                next_step=f"Did you mean {', '.join(near)}?" if near else None,
            ) from None


def shapes_of(arrays: Mapping[str, Array]) -> dict[str, Shape]:
    """Shapes by the same names."""
    return {name: array.shape for name, array in arrays.items()}
