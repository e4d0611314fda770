"""Calls of rows of a system's table, with what the system itself gives: values and gradients."""

from __future__ import annotations

import zlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from gradwire.blocks.errors import GradwireError
from gradwire.runtime.engine import Session
from gradwire.runtime.interchange.importing.stage import Stage
from gradwire.runtime.interchange.importing.staged import Staged

_REFUSALS = (GradwireError, ArithmeticError, AssertionError, AttributeError, LookupError,
             TypeError, ValueError)  # fmt: skip
"""What a row may end with that is called as its system never would."""
RNG = np.random.default_rng(0)


def _normal(*shape: int, dtype: str = "f4") -> NDArray[Any]:
    return RNG.standard_normal(shape).astype(dtype)


ARRAYS: dict[str, NDArray[Any]] = {
    "matrix": _normal(3, 4), "other": _normal(3, 4), "shares": RNG.random((3, 4), "f4") * 0.8 + 0.1,
    "four": _normal(4), "three": _normal(3), "cube": _normal(2, 3, 4), "single": np.float32(0.7),
    "whole": RNG.integers(-5, 6, (3, 4)), "indices": RNG.integers(0, 3, (3, 4)),
    "order": np.array([0, 2, 1]), "truth": RNG.random((3, 4)) > 0.5,
    "int32": RNG.integers(-5, 6, (2, 3)).astype("i4"), "square": _normal(4, 4),
    "tall": _normal(4, 3), "image": _normal(2, 4, 6, 5), "deep": _normal(1, 8, 4, 4),
    "signal": _normal(2, 3, 8), "volume": _normal(1, 2, 4, 3, 4), "ones": _normal(2, 1, 3, 1),
    "equal": np.array([[1, 2, 2, 1], [0, 3, 0, 3], [1, 1, 1, 0]], "f4"),
    "double": _normal(3, 4, dtype="f8"), "empty": np.zeros((0, 4), "f4"),
    "nothing": np.zeros(0, "f4"), "rising": np.array([1, 2, 3, 4], "f4"),
    "half": _normal(2, 3, dtype="f2"), "index": np.array(2), "pair": np.array([1, 0]),
    "positive": RNG.random(4, "f4") + 0.5, "positive too": RNG.random(4, "f4") + 0.2,
    "kernel": _normal(3, 4, 2, 3), "special": np.array([0, np.inf, -np.inf, np.nan], "f4"),
    "bytes": np.array([1, 250, 7], "u1"), "spread": _normal(3, 4) * 4,
    "definite": (np.eye(3) * 3 + 1).astype("f4"), "triangle": np.tril(_normal(3, 3) + 2),
    "right": _normal(3, 2),
}  # fmt: skip
"""Numbers that calls are guessed of, by what they are like."""


def random(*key: Any) -> np.random.Generator:
    """The same numbers for the same key, in every run."""
    return np.random.default_rng(zlib.crc32(repr(key).encode()))


def pick(draw: np.random.Generator, several: Sequence[Any]) -> Any:
    """One of several."""
    return several[int(draw.integers(len(several)))]


class Given:
    """The inputs of a call, put up by the numbers that they are."""

    def __init__(self, draw: np.random.Generator) -> None:
        self.stage, self.draw = Stage(), draw
        self.arrays: dict[int, NDArray[Any]] = {}
        """The numbers of every input, by the identity of its value."""
        self.variables: list[Staged] = []
        self.made: list[Staged] = []
        """Variables that a layer has, by number."""
        self.turned: dict[int, Callable[[NDArray[Any]], NDArray[Any]]] = {}
        """What has been done to the numbers of a variable, by its identity."""
        self._known: dict[str, Staged] = {}

    def __call__(self, name: str, constant: bool | None = None) -> Staged:
        """The input with numbers of a name; of five, one is constant unless it is said."""
        if name not in self._known:
            if constant is None:
                constant = self.draw.random() < 0.2
            self._known[name] = self.of(ARRAYS[name], f"x{len(self._known)}", constant)
        return self._known[name]

    def of(self, array: Any, name: str = "", constant: bool = False) -> Staged:
        """An input with these numbers; floats are variables."""
        array = np.asarray(array)
        if constant or not name:
            x = self.stage.constant(array)
        elif array.dtype.kind == "f" and array.dtype != np.float16:
            x = self.stage.variable(name, array)
            self.variables.append(x)
        else:
            x = self.stage.input(name, array)
        self.arrays[id(x)] = array
        return x


class Found(NamedTuple):
    """What a call gives: arrays, None for what is no value, and gradients of the variables."""

    values: Sequence[NDArray[Any] | None]
    gradients: Mapping[int, NDArray[Any] | None]
    """By the place of the variable; empty where the call gives no floats."""

    def shaped(self) -> Found:
        """With zeros for all numbers, and no gradients."""
        return Found([None if x is None else np.zeros_like(x) for x in self.values], {})


class Refused(Exception):
    """A call that a system, or a row, does not take."""


def weights(y: NDArray[Any]) -> NDArray[Any]:
    """What the elements of an output count in the sum that gradients are of."""
    return np.asarray(np.cos(np.arange(y.size)).reshape(y.shape) + 1.5, y.dtype)


def flat(found: Any) -> list[Any]:
    """All results of a call in one list."""
    if isinstance(found, list | tuple):
        return [y for several in found for y in flat(several)]
    return [found]


def by_row(given: Given, row: Callable[[], Any], slopes: bool = True, known: bool = True) -> Found:
    """What a row gives for inputs; raises Refused where it takes them not.

    Zeros stand for numbers that are not ``known``, because they are drawn.
    """
    stage = given.stage
    try:
        with np.errstate(all="ignore"):
            several = flat(row())
            values = [
                None
                if not isinstance(y, Staged)
                else stage.example(y)
                if known
                else np.zeros(y.shape, y.dtype)
                for y in several
            ]
            if any(
                isinstance(y, Staged) and x is None for y, x in zip(several, values, strict=True)
            ):
                return _by_session(given, several)
            total = None
            for y, value in zip(several, values, strict=True):
                if value is None or value.dtype.kind != "f" or y.array is not None:
                    continue
                part = stage.block("Sum", y * stage.constant(weights(value)))
                total = part if total is None else total + stage.cast(part, total.dtype)
            gradients = {}
            if (
                slopes
                and total is not None
                and "float16" not in {x.dtype for x in values if x is not None}
            ):
                for place, x in enumerate(given.variables):
                    gradients[place] = stage.example(stage.block("Gradient", total, x))
    except Refused:
        raise
    except _REFUSALS as error:
        raise Refused(f"{type(error).__name__}: {error}") from error
    return Found(values, gradients)


def _by_session(given: Given, several: Sequence[Any]) -> Found:
    """What a diagram gives in a run, where a loop computes it."""
    stage = given.stage
    for number, y in enumerate(several):
        stage.output(y, f"y{number}")
    made = stage.finish()
    session, ports = Session(made.diagram), [made.outputs[f"y{i}"] for i in range(len(several))]
    values = session.run(ports=ports).values
    counts = {port: weights(values[port]) for port in ports}
    wrt = {
        place: f"{made.parameters[x.source.parameter]}.out"
        for place, x in enumerate(given.variables)
        if x.source is not None and x.source.parameter in made.parameters
    }
    done = session.backward(ports, out_gradients=counts, wrt=list(wrt.values()), accumulate=False)
    gradients = {place: done.gradients.get(port) for place, port in wrt.items()}
    return Found([np.asarray(values[port]) for port in ports], gradients)


def difference(found: Found, wanted: Found, tolerance: float = 1e-4) -> str:
    """What is another in one than in the other; empty where nothing is."""
    if len(found.values) != len(wanted.values):
        return f"{len(found.values)} results, not {len(wanted.values)}"
    pairs = [
        (f"result {i}", *pair)
        for i, pair in enumerate(zip(*(x.values for x in (found, wanted)), strict=True))
    ]
    pairs += [
        (f"gradient {i}", found.gradients[i], wanted.gradients[i])
        for i in found.gradients
        if i in wanted.gradients
    ]
    for what, a, b in pairs:
        if what.startswith("gradient") and (a is None or b is None):
            one = a if b is None else b
            if one is not None and np.any(one):
                return f"{what} is None on one side, {one.ravel()[:4]} on the other"
            continue
        if a is None or b is None:
            continue
        if a.shape != b.shape:
            return f"{what}: the shape {a.shape}, not {b.shape}"
        if a.dtype != b.dtype:
            return f"{what}: {a.dtype}, not {b.dtype}"
        near = 2e-3 if a.dtype == np.float16 else tolerance
        one, other = (np.asarray(x, "f8") for x in (a, b))
        close = np.isclose(one, other, rtol=near, atol=near / 5, equal_nan=True)
        if not close.all():
            place = np.argmin(close)
            return f"{what}: {one.ravel()[place]:.7g}, not {other.ravel()[place]:.7g}"
    return ""


class Case(NamedTuple):
    """A guessed call: what it is, what the row makes of it, and what the system does."""

    shown: str
    found: Callable[[], Found]
    wanted: Callable[[Found], Found]
    """Gets what the row gave: gradients are of what both give."""
    drawn: bool = False
    """Whether numbers are drawn, so that only shapes and dtypes are compared."""
    tolerance: float = 1e-4


class Tally(NamedTuple):
    """How the calls of a row ended."""

    equal: int
    refused: int
    """By the row, or by the system."""
    different: Sequence[str]


def compare(cases: Iterable[Case], name: str) -> Tally:
    """Make the calls of a row; what differs is said."""
    equal, refused, different = 0, 0, []
    for case in cases:
        try:
            found = case.found()
            wanted = case.wanted(found)
        except Refused:
            refused += 1
            continue
        pair = [x.shaped() if case.drawn else x for x in (found, wanted)]
        said = difference(*pair, case.tolerance)
        if said:
            different.append(f"{name} {case.shown}: {said}")
        else:
            equal += 1
    return Tally(equal, refused, different)
