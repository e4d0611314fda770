"""Arguments and results of a function: what is a variable or an input, and what each is called."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from gradwire.blocks.classes.dataclass import dataclass
from gradwire.runtime.interchange.importing.jax.jaxprs import is_float

if TYPE_CHECKING:
    from jax import Array as JaxArray
    from jax.tree_util import PyTreeDef


@dataclass(frozen=True, eq=False)
class ArgumentLeaf:
    """One array among the arguments."""

    path: tuple[str, ...]
    """Where it is: the argument's name, then keys; for variables the keys alone."""
    array: JaxArray
    is_variable: bool

    @property
    def name(self) -> str:
        """The path as text, ``encoder/w``."""
        return "/".join(self.path)


@dataclass(frozen=True, eq=False)
class TracedArguments:
    """Arrays to trace by, and how to call the function with others in their place."""

    leaves: Sequence[ArgumentLeaf]
    _places: Sequence[int]
    _all: Sequence[object]
    _tree: PyTreeDef

    def call(self, function: Callable[..., object], arrays: Sequence[JaxArray]) -> object:
        """The function's result, with these arrays for the leaves."""
        import jax

        everything = list(self._all)
        for place, array in zip(self._places, arrays, strict=True):
            everything[place] = array
        return function(*jax.tree.unflatten(self._tree, everything))


def read_arguments(function: Callable[..., object], arguments: Sequence[object]) -> TracedArguments:
    """The arrays in trees of arguments.

    Float arrays of the first argument are variables, other arrays and Python floats inputs. What
    else there is, such as functions, booleans and whole numbers, stays as it is.
    """
    import jax

    found, tree = jax.tree_util.tree_flatten_with_path(
        tuple(arguments), is_leaf=lambda value: value is None
    )
    names = _names(function, len(arguments))
    leaves, places = [], []
    for place, (path, value) in enumerate(found):
        if not isinstance(value, jax.Array | np.ndarray | np.generic):
            continue
        first, *keys = path
        own = tuple(key_text(key) for key in keys)
        variable = first.idx == 0 and is_float(value.dtype)
        named = (names[first.idx], *own)
        if variable and own and not own[0].isdecimal():
            named = own
        leaves.append(ArgumentLeaf(named, jax.numpy.asarray(value), variable))
        places.append(place)
    return TracedArguments(_unprefixed(leaves), places, [value for _, value in found], tree)


def _names(function: Callable[..., object], count: int) -> list[str]:
    """The names of a function's parameters; numbered where it has none."""
    try:
        found = list(inspect.signature(function).parameters.values())
    except (TypeError, ValueError):
        found = []
    names = [p.name for p in found if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
    return [*names, *(f"x{index}" for index in range(len(names), count))][:count]


def key_text(key: object) -> str:
    """A part of a path of a tree, as text."""
    for attribute in ("key", "name", "idx"):
        if hasattr(key, attribute):
            return str(getattr(key, attribute))
    return str(key)


def _unprefixed(leaves: list[ArgumentLeaf]) -> list[ArgumentLeaf]:
    """Without what Flax puts around the paths of all variables: ``params`` and ``value``."""
    paths = [leaf.path for leaf in leaves if leaf.is_variable]
    start = int(all(len(path) > 1 and path[0] == "params" for path in paths))
    end = -1 if all(len(path) > 1 and path[-1] == "value" for path in paths) else None
    return [replace(x, path=x.path[start:end]) if x.is_variable else x for x in leaves]


def named_results(results: object) -> Mapping[str, JaxArray]:
    """The arrays in a tree of results, or what stands for them, by their paths.

    A single float that comes first is called ``loss``.
    """
    import jax

    found = jax.tree_util.tree_flatten_with_path(results)[0]
    named = {_result_name([key_text(key) for key in path]): value for path, value in found}
    first = next(iter(named), "")
    if first in ("out", "out_0") and named[first].size == 1 and is_float(named[first].dtype):
        return {"loss": named[first]} | {n: x for n, x in named.items() if n != first}
    return named


def _result_name(path: list[str]) -> str:
    name = "/".join(path)
    return f"out_{name}" if name[:1].isdecimal() else name or "out"
