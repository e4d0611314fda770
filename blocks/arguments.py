"""Says which argument of a public function is wrong, where a call fails because of it.

A call that goes well is not looked at, so that checking costs nothing.
"""

from __future__ import annotations

import builtins
import collections.abc
import inspect
import typing
from collections.abc import Callable, Collection, Mapping
from functools import wraps
from types import UnionType
from typing import Any, Literal, ParamSpec, TypeVar, Union, get_args, get_origin

from gradwire.blocks.errors import GradwireError, RunError

P = ParamSpec("P")
R = TypeVar("R")


def explained(function: Callable[P, R]) -> Callable[P, R]:
    """The function; where it fails, the error names an argument that is not of its annotated type.

    Errors of Gradwire pass, and so do those of calls whose arguments are right.
    """
    signature = inspect.signature(function)

    @wraps(function)
    def call(*args: P.args, **kwargs: P.kwargs) -> R:
        try:
            return function(*args, **kwargs)
        except GradwireError:
            raise
        except Exception as error:
            wrong = _first_wrong(function, signature, args, kwargs)
            if wrong is None:
                raise
            name, wanted, value = wrong
            raise RunError(
                f"{function.__name__} can't use this as {name!r}.",
                expected=wanted,
                got=f"{type(value).__name__} {value!r:.60}",
            ) from error

    return call


def _first_wrong(
    function: Callable[..., object],
    signature: inspect.Signature,
    args: tuple[object, ...],
    kwargs: Mapping[str, object],
) -> tuple[str, str, object] | None:
    """Name, wanted type and value of the first argument that does not fit; None where all do."""
    try:
        given = signature.bind(*args, **kwargs).arguments
    except TypeError:
        return None  # Python says what is missing or unknown
    from numpy import typing as npt  # which takes long to import

    names = _Names(vars(builtins) | vars(collections.abc) | vars(typing) | vars(npt))
    names |= inspect.unwrap(function).__globals__
    for name, value in given.items():
        parameter = signature.parameters[name]
        if parameter.annotation is parameter.empty:
            continue
        wanted = str(parameter.annotation)
        kind = eval(wanted, {}, names)  # annotations are texts: every module postpones them
        each = value if parameter.kind is parameter.VAR_POSITIONAL else [value]
        if parameter.kind is not parameter.VAR_KEYWORD:
            for one in each:
                if not _fits(one, kind):
                    return name, wanted, one
    return None


class _ByName(type):
    """A class of which only the name is known: that of a class that only type checkers import."""

    def __instancecheck__(cls, value: object) -> bool:
        return any(base.__name__ == cls.__name__ for base in type(value).__mro__)


class _Names(dict[str, Any]):
    """The names that an annotation uses; one that is missing is a class of that name."""

    def __missing__(self, name: str) -> type:
        return _ByName(name, (), {})


def _fits(value: Any, kind: Any) -> bool:
    """Whether a value is of a type; True where that can't be told."""
    origin, inner = get_origin(kind), get_args(kind)
    if kind is Any:
        return True
    if kind is None:
        return value is None
    if origin in (Union, UnionType):
        return any(_fits(value, part) for part in inner)
    if origin is Literal:
        return any(type(value) is type(part) and value == part for part in inner)
    if kind is float:
        return isinstance(value, int | float)
    try:
        return isinstance(value, origin or kind) and _holds(value, inner)
    except TypeError:  # of no class, of an array without a length
        return not isinstance(value, Collection)


def _holds(value: object, inner: tuple[object, ...]) -> bool:
    """Whether what is inside a collection fits; a text is a collection as a whole."""
    if not inner or isinstance(value, str) or not isinstance(value, Collection):
        return True
    if isinstance(value, Mapping) and len(inner) == 2:
        return all(_fits(key, inner[0]) and _fits(value[key], inner[1]) for key in value)
    return all(_fits(part, inner[0]) for part in value)
