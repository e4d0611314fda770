"""Records that hold arrays are compared by identity or by a key: arrays have no truth value.

So do records that compare such records with them. Traced values are no arrays: they are keys, and
equal to themselves alone.
"""

import ast
import collections.abc
import dataclasses
import importlib
import sys
import types
import typing
from functools import cache
from pathlib import Path
from typing import Annotated, Any, Literal, NamedTuple, TypeVar

import numpy as np
import pydantic
import pytest
from numpy.typing import NDArray

from gradwire.blocks.classes import identity
from gradwire.blocks.classes.dataclass import dataclass
from gradwire.blocks.classes.identity import by_identity
from gradwire.blocks.values import Tensor
from gradwire.runtime.gc_pause import uncollected
from tests.test_house import MODULES, is_type_checking, name_of, text_of

FLOORS = ("gradwire.app", "gradwire.runtime", "gradwire.blocks")
WITHOUT_ARRAYS = {
    "gradwire.blocks.classes.ports.InputPort.default": "a number, None or a mark",
    "gradwire.runtime.calculus.trace.Remark.owner": "the path of a block",
    "gradwire.runtime.diagram.diff.Changed.before": "JSON",
    "gradwire.runtime.diagram.diff.Changed.after": "JSON",
    "gradwire.runtime.diagram.merging.Conflict.ours": "JSON",
    "gradwire.runtime.diagram.merging.Conflict.theirs": "JSON",
}
"""Fields of any type that are compared and have no arrays, each with what they have."""


class Foreign:
    """What is imported from an extra that is not installed."""


@cache
def names_in(module: str) -> dict[str, Any]:
    """What annotations of a module may name, with what it imports for them alone."""
    loaded = sys.modules[module]
    found = dict(vars(loaded))
    for node in ast.parse(Path(str(loaded.__file__)).read_text(encoding="utf-8")).body:
        for statement in node.body if is_type_checking(node) else ():
            try:
                exec(compile(ast.Module([statement], []), module, "exec"), found)
            except ModuleNotFoundError as error:
                require_foreign(error)
                found |= {alias.asname or alias.name: Foreign for alias in statement.names}
            except ImportError:  # which the other module has for annotations alone, too
                theirs = names_in(str(statement.module))
                found |= {name.asname or name.name: theirs[name.name] for name in statement.names}
    return found


@cache
def aliases() -> dict[str, str]:
    """The modules of all aliases that are text, or have text in them, by that text."""
    return {
        part.value: name_of(path)
        for path in MODULES
        if "TypeAlias" in text_of(path)
        for node in ast.walk(ast.parse(text_of(path)))
        if isinstance(node, ast.AnnAssign) and ast.unparse(node.annotation) == "TypeAlias"
        for part in ast.walk(node.value or node.target)
        if isinstance(part, ast.Constant) and isinstance(part.value, str)
    }


def require_foreign(error: ModuleNotFoundError) -> None:
    if (error.name or "").partition(".")[0] in ("gradwire", "tests"):
        raise error


def is_record(cls: type) -> bool:
    named = issubclass(cls, tuple) and hasattr(cls, "_fields")
    return dataclasses.is_dataclass(cls) or named or issubclass(cls, pydantic.BaseModel)


def compares_values(cls: type) -> bool:
    """Whether ``==`` goes by the fields, by a method that nobody wrote for this class."""
    code = getattr(cls.__eq__, "__code__", None)
    written = (sys.modules[cls.__module__].__file__, identity.__file__)
    return cls.__eq__ is not object.__eq__ and (code is None or code.co_filename not in written)


def compared_fields(cls: type) -> dict[str, Any]:
    """Annotations of the fields that ``==`` compares, as objects."""
    if dataclasses.is_dataclass(cls):
        names = {f.name for f in dataclasses.fields(cls) if f.compare}
    else:
        names = set(getattr(cls, "_fields", ()) or getattr(cls, "model_fields", ()))
    found = {}
    for base in reversed(cls.__mro__):
        for name in vars(base).get("__annotations__", {}).keys() & names:
            found[name] = resolved(base.__annotations__[name], base)
    return found


def resolved(annotation: Any, cls: type) -> Any:
    if isinstance(annotation, typing.ForwardRef):
        annotation = annotation.__forward_arg__
    if isinstance(annotation, str):
        return eval(annotation, names_in(cls.__module__), dict(vars(cls)))
    return annotation


def is_array(kind: type) -> bool:
    return hasattr(kind, "__array__") and not issubclass(kind, np.generic)


def arrays_in(annotation: Any, within: tuple[type | str, ...] = ()) -> str:
    """How values of a type lead to an array that is compared with them; empty if they don't."""
    origin, inner = typing.get_origin(annotation), typing.get_args(annotation)
    kind = origin or annotation
    if isinstance(annotation, typing.ForwardRef):
        annotation = annotation.__forward_arg__
    if isinstance(annotation, str):  # within an alias, which may name itself
        if annotation in within:
            return ""
        cls = next(each for each in reversed(within) if isinstance(each, type))
        names = names_in(aliases().get(annotation, cls.__module__))
        return arrays_in(eval(annotation, names), (*within, annotation))
    if annotation is Any:
        return "Any"
    if isinstance(annotation, TypeVar):
        return arrays_in(annotation.__bound__, within)
    if origin is Annotated:
        return arrays_in(inner[0], within)
    if origin in (typing.Union, types.UnionType):
        return next(filter(None, (arrays_in(each, within) for each in inner)), "")
    if not isinstance(kind, type) or origin is Literal or kind in within:
        return ""
    if is_array(kind):
        return kind.__name__
    if is_record(kind):
        return next(iter(arrays_of(kind, within)), "") if compares_values(kind) else ""
    if not issubclass(kind, collections.abc.Collection):
        return ""
    way = next(filter(None, (arrays_in(each, within) for each in inner)), "")
    return "" if way == "Any" and is_raw(kind, inner) else way


def is_raw(kind: type, inner: tuple[Any, ...]) -> bool:
    """Whether it is JSON, or the parameters of a block, in which arrays are Tensors."""
    key = inner[0].__origin__ if typing.get_origin(inner[0]) is Annotated else inner[0]
    return issubclass(kind, collections.abc.Mapping) and key is str


def arrays_of(cls: type, within: tuple[type | str, ...] = ()) -> list[str]:
    """The fields of a record that lead to arrays, and how."""
    found = {
        f"{cls.__module__}.{cls.__qualname__}.{name}": arrays_in(annotation, (*within, cls))
        for name, annotation in compared_fields(cls).items()
    }
    return [
        f"{name} > {way}"
        for name, way in found.items()
        if way and not (way == "Any" and name in WITHOUT_ARRAYS)
    ]


def records() -> list[type]:
    """All records of all modules, those inside other classes too."""
    found: dict[type, None] = {}
    for path in MODULES:
        if (name := name_of(path)).startswith(FLOORS) and path.stem != "__main__":
            try:
                module = importlib.import_module(name)
            except ModuleNotFoundError as error:
                require_foreign(error)
            else:
                collect(vars(module), name, found)
    return [cls for cls in found if is_record(cls)]


def collect(names: typing.Mapping[str, Any], module: str, found: dict[type, None]) -> None:
    for item in list(names.values()):
        if isinstance(item, type) and item.__module__ == module and item not in found:
            found[item] = None
            collect(vars(item), module, found)


@uncollected()
def test_no_record_compares_arrays():
    faulty = [way for cls in records() if compares_values(cls) for way in arrays_of(cls)]
    assert not faulty, (
        "These compare arrays: declare the records eq=False, or named tuples by_identity, or leave "
        f"the fields out by compare=False: {faulty}"
    )


def test_fields_of_any_type_without_arrays_are_there():
    fields = {
        f"{cls.__module__}.{cls.__qualname__}.{name}": annotation
        for cls in records()
        if compares_values(cls)
        for name, annotation in compared_fields(cls).items()
    }
    assert {fields[name] for name in WITHOUT_ARRAYS} == {Any}


@dataclass(frozen=True)
class Repair:
    gradient: "NDArray[Any] | None" = None


@dataclass(frozen=True)
class Found:
    sentence: str
    fix: Repair | None = None


@dataclass(frozen=True)
class Because:
    findings: "tuple[Found, ...]"


class Step(NamedTuple):
    writes: typing.Mapping[str, NDArray[Any]]


class Model(pydantic.BaseModel, arbitrary_types_allowed=True):
    table: NDArray[np.float64]


@dataclass
class Argument:
    array: Any


@pytest.mark.parametrize("cls", [Repair, Found, Because, Step, Model, Argument])
def test_arrays_are_found_directly_and_through_others(cls):
    assert compares_values(cls)
    assert arrays_of(cls)


@dataclass(frozen=True, eq=False)
class Same:
    gradient: "NDArray[Any] | None" = None


@by_identity
class Spot(NamedTuple):
    value: NDArray[Any]


@dataclass
class Keyed:
    array: NDArray[Any]

    def __eq__(self, other):
        return isinstance(other, Keyed) and np.array_equal(self.array, other.array)


@dataclass(frozen=True)
class Beside:
    name: str
    same: Same
    gradient: "NDArray[Any] | None" = dataclasses.field(default=None, compare=False)
    value: Tensor | None = None
    read: typing.Callable[[], NDArray[Any]] | None = None


@pytest.mark.parametrize("cls", [Same, Spot, Keyed])
def test_identity_and_own_equality_are_no_comparison_of_fields(cls):
    assert not compares_values(cls)


def test_what_is_not_compared_and_what_compares_by_itself_is_no_array():
    assert compares_values(Beside)
    assert arrays_of(Beside) == []
