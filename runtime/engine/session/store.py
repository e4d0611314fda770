"""The values of a session's sources: those that were set, and initial values."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from itertools import takewhile
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from gradwire.blocks.block import Shape, Source
from gradwire.blocks.errors import FeedError, Location
from gradwire.blocks.nearest import did_you_mean
from gradwire.blocks.values import Tensor, fitted
from gradwire.runtime.data.rows import Phase, Stream
from gradwire.runtime.engine.plan.memory import machine_bytes, not_enough

if TYPE_CHECKING:
    from gradwire.blocks.values import Array, PortLiteral
    from gradwire.runtime.calculus import Value
    from gradwire.runtime.engine.program import Leaf


_DRAWN = 20
"""Bytes for an element while numbers are drawn: two of float64 and one of float32."""


class ValueStore:
    """Values by path of the source, in the source's dtype and an allowed shape."""

    def __init__(self, sources: Mapping[str, Source | Stream]) -> None:
        self.sources = sources
        self._assigned: dict[str, Array] = {}
        self._followed: Mapping[str, Array] = {}
        self._behind = False
        self.version = 0
        """Incremented whenever a value may have changed."""
        self.shapes_version = 0
        """Incremented whenever what was set may have other shapes, or names."""
        self.step_number = 0
        self.phase: Phase = "training"
        """The rows that data sets give: those for training, or those for validation."""
        self._initial: dict[str, dict[Shape, Array | None]] = {}
        self._changes: dict[str, int] = {}
        """The versions at which single values changed last, the newest at the end."""
        self._all_changed = 0
        """The version at which any number of them changed last."""

    @property
    def assigned(self) -> dict[str, Array]:
        """Values that were set or trained; they override those in the diagram. Nobody modifies the
        arrays.
        """
        self._catch_up()
        return self._assigned

    def set(self, name: str, value: ArrayLike) -> None:
        """Assign a value; raises FeedError."""
        before = self.assigned.get(name)
        new = _copied(value, before)
        self._assign(name, before, self.convert(name, value) if new is None else new)

    def adopt(self, name: str, array: Array) -> None:
        """Assign an array that the caller has made for this, of the source's dtype and shape."""
        array.setflags(write=False)
        self._assign(name, self.assigned.get(name), array)

    def _assign(self, name: str, before: Array | None, new: Array) -> None:
        if before is None or before.shape != new.shape:
            self.shapes_version += 1
        self.assigned[name] = new
        self._changed([name])

    def follow(self, arrays: Mapping[str, Array]) -> None:
        """Values that are updated in place from now on, by path: copied when they are read after
        ``moved`` was called, so that hundreds of updates between two readings cost nothing.
        """
        if arrays is not self._followed:
            self._catch_up()
            self._followed = arrays
            self.shapes_version += 1

    def _catch_up(self) -> None:
        if self._behind:
            self._assigned |= {path: array.copy() for path, array in self._followed.items()}
            self._behind = False

    def moved(self) -> None:
        """The followed values have new numbers."""
        self._behind = True
        self.version += 1
        self._all_changed = self.version

    def rebind(self, sources: Mapping[str, Source | Stream], changed: Collection[str]) -> None:
        """Replace the sources, and discard the values of leaves whose numbers changed."""
        self.sources = sources
        for path in changed:
            self.assigned.pop(path, None)
            self._initial.pop(path, None)
        self.shapes_version += 1
        self._changed(changed)

    def _changed(self, paths: Iterable[str]) -> None:
        self.version += 1
        for path in paths:
            self._changes.pop(path, None)
            self._changes[path] = self.version

    def changed_since(self, version: int) -> list[str] | None:
        """The paths of the values that may have changed since a version; None for all."""
        if version < self._all_changed:
            return None
        newest = takewhile(lambda change: change[1] > version, reversed(self._changes.items()))
        return [path for path, _ in newest]

    def convert(self, name: str, value: ArrayLike) -> Array:
        """The value as an array of its source's dtype; raises FeedError if it doesn't fit."""
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

    def convert_all(
        self, feeds: Mapping[str, ArrayLike], canonical: Callable[[str], str]
    ) -> dict[str, Array]:
        """Feeds as arrays, by canonical path; raises FeedError as ``convert``, and for two of one.

        A variable that uses of a page share has several paths, but takes one value.
        """
        fed: dict[str, Array] = {}
        for name, value in feeds.items():
            path = canonical(name)
            if path in fed:
                raise FeedError(
                    f"{name} is fed twice.",
                    location=Location(block=name),
                    expected="one value for a variable that uses of a page share",
                    next_step="Feed it under only one of its paths.",
                )
            fed[path] = self.convert(path, value)
        return fed

    def check_shape(self, name: str, shape: Shape) -> None:
        """Raise FeedError if the source can't have this shape."""
        allowed = self.source(name).open_shape
        if allowed is None:
            return
        if len(allowed) != len(shape) or any(
            n not in (None, m) for n, m in zip(allowed, shape, strict=True)
        ):
            raise FeedError(
                "The value has the wrong shape.",
                location=Location(block=name),
                expected=f"[{', '.join('any' if n is None else str(n) for n in allowed)}]",
                got=str(list(shape)),
            )

    def value(self, path: str, leaf: Leaf) -> Array | None:
        """The value of a leaf that is not fed: of a data set the batch of this step and phase.

        Initial values are computed once per shape. An array that is returned again is unchanged.
        """
        assigned = self.assigned
        if path in assigned:
            return assigned[path]
        if isinstance(leaf.source, Stream):
            return leaf.source.batch(self.step_number, self.phase)
        initial, shape = self._initial.setdefault(path, {}), leaf.value.shape
        if shape not in initial:
            source = leaf.source
            data = _initial_of(source, leaf.value, path)
            initial[shape] = None if data is None else np.asarray(data)
        return initial[shape]

    def source(self, name: str) -> Source | Stream:
        """The source with this name; raises FeedError that suggests similar names."""
        try:
            return self.sources[name]
        except KeyError:
            raise FeedError(
                f"There is no variable, constant, input or data {name!r}.",
                expected="one of " + ", ".join(self.sources) if self.sources else None,
                next_step=did_you_mean(name, self.sources),
            ) from None


def _copied(value: ArrayLike, before: Array | None) -> Array | None:
    """An array to keep, of one with the dtype and shape of that before; None of anything else,
    which takes checks.
    """
    if before is None or type(value) is not np.ndarray:
        return None
    if value.dtype != before.dtype or value.shape != before.shape:
        return None
    copy = value.copy()
    copy.setflags(write=False)
    return copy


def _initial_of(source: Source | PortLiteral, value: Value, path: str) -> Array | None:
    """The initial array of a source; raises RunError if there is not enough memory for it."""
    if not isinstance(source, Source):
        return source.array
    needed = value.size * _DRAWN
    if needed > machine_bytes():
        raise not_enough(value, needed, ", while its numbers are drawn")
    try:
        return source.data(value.shape, path)
    except MemoryError:
        raise not_enough(value) from None


def shapes_of(arrays: Mapping[str, Array]) -> dict[str, Shape]:
    """The shapes of arrays, by the same names."""
    return {name: array.shape for name, array in arrays.items()}
