"""Computations as they are and rolled, side by side."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import jax
import numpy as np
from numpy.typing import NDArray

import gradwire as gw
from gradwire.runtime.calculus.dtypes import NUMPY
from gradwire.runtime.diagram.paths import PortPath
from gradwire.runtime.engine.compiled import Request, derive
from gradwire.runtime.engine.jax.repeats.evaluating import Failure, evaluate
from gradwire.runtime.engine.jax.repeats.parts import Loop, Part
from gradwire.runtime.engine.jax.repeats.rolling import Limits, rolled
from gradwire.runtime.engine.jax.rows.table import apply, failure
from gradwire.runtime.engine.plan.simplify import simplify

if TYPE_CHECKING:
    from gradwire.runtime.calculus import Value

Array = NDArray[Any]
FORCED = Limits(steps=3, saved=1, access=0, row=1)
"""Whatever repeats three times is rolled."""


class Computation(NamedTuple):
    """Outputs of a trace, what must be computed for them, and numbers for the leaves."""

    computed: list[tuple[Value, list[Value]]]
    outputs: list[Value]
    numbers: dict[Value, Array]

    def rolled(self, limits: Limits = FORCED) -> list[Part]:
        return rolled(self.computed, self.outputs, limits)

    def run(self, parts: Sequence[Part]) -> list[Array]:
        """The outputs by numpy, operation by operation, so that bits are comparable."""
        with jax.enable_x64(True), jax.disable_jit():
            env: dict[Value, Any] = dict(self.numbers)
            evaluate(parts, env, _by_kernel, _never)
            return [np.asarray(env[x]) for x in self.outputs]

    def compiled(self, parts: Sequence[Part]) -> list[Array]:
        """The outputs of one compiled program."""
        with jax.enable_x64(True):
            found, _ = jax.jit(lambda *x: self._outputs(parts, self._bound(x)))(*self._arrays)
            return [np.asarray(x) for x in found]

    def failures(self, parts: Sequence[Part]) -> list[Value]:
        """The values that failed."""
        with jax.enable_x64(True):
            found: list[Failure] = []
            flags = jax.jit(lambda *x: self._failed(parts, self._bound(x), found))(*self._arrays)
        pairs = zip(found, flags, strict=True)
        return [v for each, flag in pairs for v, bad in zip(each.values, flag, strict=True) if bad]

    def equations(self, parts: Sequence[Part]) -> list[str]:
        """The names of all operations of the program, those of loops once."""
        with jax.enable_x64(True):
            made = jax.make_jaxpr(lambda *x: self._outputs(parts, self._bound(x))[0])
            return list(_names(made(*self._arrays).jaxpr))

    @property
    def _arrays(self) -> list[Array]:
        return list(self.numbers.values())

    def _bound(self, arrays: Sequence[Any]) -> dict[Value, Any]:
        return dict(zip(self.numbers, arrays, strict=True))

    def _failed(
        self, parts: Sequence[Part], bound: Mapping[Value, Any], found: list[Failure]
    ) -> list[Any]:
        found[:] = self._outputs(parts, bound)[1]
        return [each.flags for each in found]

    def _outputs(
        self, parts: Sequence[Part], bound: Mapping[Value, Any]
    ) -> tuple[list[Any], Sequence[Failure]]:
        env = dict(bound)
        found = evaluate(parts, env, apply, failure)
        return [env[x] for x in self.outputs], found


def of_values(outputs: Sequence[Value], numbers: Mapping[Value, Array]) -> Computation:
    """A computation of values of a trace."""
    computed, same = simplify(outputs)
    needed = {v for v, _ in computed}
    bound = {v: np.asarray(x, NUMPY[v.dtype]) for v, x in numbers.items() if v in needed}
    return Computation(computed, list(dict.fromkeys(same.of(x) for x in outputs)), bound)


def of_diagram(diagram: gw.Diagram, *ports: str) -> Computation:
    """The losses of a diagram, the gradients of all variables, and the values of some ports."""
    session = gw.Session(diagram)
    program = session.program
    heads = tuple(program.heads())
    asked = Request((*heads, *map(PortPath, ports)), heads, wrt=tuple(program.trainable))
    results = derive(program, asked).results
    outputs = [v for table in results.values() for v in table.values() if v is not None]
    values = session.values
    numbers = {
        leaf.value: values[path] if path in values else leaf.source.tensor.array
        for path, leaf in program.leaves.items()
    }
    return of_values(outputs, numbers)


def loops(parts: Sequence[Part]) -> list[Loop]:
    """All loops, those within loops behind them."""
    found = [part for part in parts if isinstance(part, Loop)]
    return found + [inner for loop in found for inner in loops(loop.parts)]


def assert_same(computation: Computation, limits: Limits = FORCED) -> list[Part]:
    """Rolled, every output has the same bits; returns the parts."""
    parts = computation.rolled(limits)
    wanted = computation.run(computation.computed)
    for value, found, want in zip(computation.outputs, computation.run(parts), wanted, strict=True):
        assert (found.shape, found.dtype) == (want.shape, want.dtype), value
        assert np.array_equal(found, want, equal_nan=want.dtype.kind == "f"), value
    return parts


def _by_kernel(value: Value, arrays: Sequence[Any]) -> Array:
    # The order of sums depends on the layout.
    inputs = [np.array(x, order="C") for x in arrays]
    if value.primitive.view:
        return np.array(value.kernel(*inputs, **value.attributes))
    out = np.empty(value.shape, NUMPY[value.dtype])
    with np.errstate(all="ignore"):
        value.kernel(*inputs, out=out, **value.attributes)
    return out


def _never(value: Value, arrays: Sequence[Any]) -> None:
    return None


def _names(jaxpr: Any) -> Iterator[str]:
    for equation in jaxpr.eqns:
        yield equation.primitive.name
        for parameter in equation.params.values():
            inner = getattr(parameter, "jaxpr", None)
            if hasattr(inner, "eqns"):
                yield from _names(inner)
