"""The parts of JAX's programs (jaxprs) that the import reads, and its values of them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import field
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias, TypeGuard, runtime_checkable

import numpy as np

from gradwire.blocks.classes.dataclass import dataclass
from gradwire.blocks.values import DTYPES
from gradwire.runtime.interchange.importing.imported import UnsupportedError

if TYPE_CHECKING:
    from jax import Array as JaxArray

    from gradwire.blocks.block import Shape
    from gradwire.runtime.interchange.importing.stage import Stage
    from gradwire.runtime.interchange.importing.staged import Staged


Params: TypeAlias = Mapping[str, Any]
"""The parameters of a primitive, whose types are as many as there are primitives."""
Function: TypeAlias = "Callable[..., list[JaxArray]]"
"""A function of arrays, which may be tracers of JAX."""


CALLS = ("checkpoint", "closed_call", "core_call", "jit", "pjit", "remat", "remat2")
"""Primitives that only call a program."""
_PROGRAMS = ("jaxpr", "call_jaxpr", "fun_jaxpr")
DRAWING = frozenset({"random_bits", "random_gamma", "rng_bit_generator", "threefry2x32"})
"""Primitives that draw random numbers."""


class Aval(Protocol):
    """What is known of a value before a run."""

    shape: tuple[int, ...]
    dtype: object


class Atom(Protocol):
    """A variable or a literal of a jaxpr."""

    aval: Aval


@runtime_checkable
class Literal(Protocol):
    """A number that stands in a jaxpr itself."""

    aval: Aval
    val: JaxArray


class JaxPrimitive(Protocol):
    """An operation of JAX."""

    name: str
    multiple_results: bool

    def bind(self, *arguments: Any, **params: Any) -> Any: ...  # noqa: D102  is JAX's own

    def get_bind_params(self, params: Params) -> Any: ...  # noqa: D102  is JAX's own


class Equation(Protocol):
    """One application of a primitive."""

    primitive: JaxPrimitive
    params: Params
    invars: Sequence[Atom]
    outvars: Sequence[Atom]
    source_info: Any


class Jaxpr(Protocol):
    """A program: equations in order."""

    constvars: Sequence[Atom]
    invars: Sequence[Atom]
    outvars: Sequence[Atom]
    eqns: Sequence[Equation]


class ClosedJaxpr(Protocol):
    """A program with the arrays that it closes over."""

    jaxpr: Jaxpr
    consts: Sequence[JaxArray]


def dtype_of(atom: Atom) -> str:
    """The name of a value's dtype; that of keys is no dtype of blocks."""
    dtype = atom.aval.dtype
    return str(getattr(dtype, "name", dtype))


def is_float(dtype: object) -> bool:
    """Whether numbers of a dtype may carry gradient."""
    return str(getattr(dtype, "name", dtype)).startswith(("float", "bfloat"))


def evaluate(equation: Equation, arguments: Sequence[JaxArray]) -> list[JaxArray]:
    """The outputs of an equation, computed by JAX; the arguments may be its tracers."""
    found = equation.primitive.get_bind_params(equation.params)
    rules, params = found if isinstance(found, tuple) else ((), found)  # until JAX 0.7
    results = equation.primitive.bind(*rules, *arguments, **params)
    return list(results) if equation.primitive.multiple_results else [results]


def open_program(program: ClosedJaxpr | Jaxpr) -> Jaxpr:
    """A program without the arrays that it closes over."""
    return program.jaxpr if hasattr(program, "jaxpr") else program


def is_literal(atom: Atom) -> TypeGuard[Literal]:
    """Whether it is a number that stands in the program itself."""
    return isinstance(atom, Literal)


def function_of(program: ClosedJaxpr | Jaxpr) -> Function:
    """The program as a function of JAX."""
    from jax import extend

    closed = program if hasattr(program, "consts") else extend.core.ClosedJaxpr(program, ())
    function: Function = extend.core.jaxpr_as_fun(closed)
    return function


def inner_jaxprs(equation: Equation) -> list[Jaxpr]:
    """The programs that an equation runs: bodies, branches, and what it calls."""
    found: list[Jaxpr] = []
    for value in equation.params.values():
        for part in value if isinstance(value, tuple | list) else (value,):
            if hasattr(part, "jaxpr") or hasattr(part, "eqns"):
                found.append(open_program(part))
    return found


def live_equations(jaxpr: Jaxpr) -> list[Equation]:
    """The equations whose results the program needs."""
    needed = {atom for atom in jaxpr.outvars if not is_literal(atom)}
    live: list[Equation] = []
    for equation in reversed(jaxpr.eqns):
        if needed.intersection(equation.outvars):
            live.append(equation)
            needed.update(atom for atom in equation.invars if not is_literal(atom))
    return live[::-1]


def called(equation: Equation) -> ClosedJaxpr | Jaxpr:
    """The program that an equation calls."""
    found: ClosedJaxpr | Jaxpr = next(
        equation.params[key] for key in _PROGRAMS if key in equation.params
    )
    return found


def has_stop(equation: Equation) -> bool:
    """Whether it stops gradient, or runs a program that does."""
    return runs(equation, "stop_gradient")


def draws(equation: Equation) -> bool:
    """Whether it draws random numbers, or runs a program that does."""
    return runs(equation, *DRAWING)


def runs(equation: Equation, *names: str) -> bool:
    """Whether it is one of these primitives, or runs a program that has one."""
    if equation.primitive.name in names:
        return True
    return any(runs(inner, *names) for jaxpr in inner_jaxprs(equation) for inner in jaxpr.eqns)


@dataclass(eq=False)
class LazyBroadcast:
    """A value of blocks that is broadcast to ``shape`` only where something needs that.

    Elementwise blocks broadcast their inputs themselves, so ``x @ w + b`` needs no Broadcast for b.
    """

    narrow: Staged
    """Broadcasts to the shape by the rules of numpy."""
    shape: Shape
    _wide: Staged | None = field(default=None, repr=False)

    def wide(self, stage: Stage) -> Staged:
        """The value in its full shape."""
        if self._wide is None:
            padded = (1,) * (len(self.shape) - self.narrow.ndim) + self.narrow.shape
            x = self.narrow
            if padded == self.shape:
                x = stage.reshape(x, self.shape)
            self._wide = stage.broadcast(x, self.shape)
        return self._wide

    @property
    def is_constant(self) -> bool:
        """Whether it depends on no input and no variable."""
        return self.narrow.array is not None


@dataclass(eq=False, frozen=True)
class Held:
    """Numbers that no block carries, such as a random key; equations of them are run by JAX."""

    array: JaxArray


@dataclass(eq=False, frozen=True)
class RecordedEquation:
    """An equation that no block computes, with what it is given."""

    equation: Equation
    inputs: tuple[Operand, ...]


@dataclass(eq=False, frozen=True)
class OpaqueOutput:
    """An output of such an equation that no block carries, such as complex numbers."""

    piece: RecordedEquation
    index: int


Operand: TypeAlias = "LazyBroadcast | Held | OpaqueOutput"


def staged(x: Staged) -> LazyBroadcast:
    """A value as it is."""
    return LazyBroadcast(x, x.shape)


def held(stage: Stage, array: JaxArray) -> Operand:
    """Numbers from JAX, as a constant where blocks have their dtype."""
    dtype = str(array.dtype)
    if dtype == "bfloat16":
        return staged(stage.constant(np.asarray(array.astype("float32"))))
    return staged(stage.constant(np.asarray(array))) if dtype in DTYPES else Held(array)


def array_of(x: Operand) -> JaxArray | None:
    """The numbers of an operand, in its full shape; None where it depends on inputs."""
    if isinstance(x, OpaqueOutput):
        return None
    if not isinstance(x, LazyBroadcast):
        return x.array
    return None if x.narrow.array is None else np.broadcast_to(x.narrow.array, x.shape)


def block_dtype(dtype: str) -> str:
    """The dtype of blocks for one of JAX: bfloat16 is computed in float32.

    Raises UnsupportedError where blocks have none.
    """
    found = "float32" if dtype == "bfloat16" else dtype
    if found not in DTYPES:
        raise UnsupportedError(dtype, "no block carries such numbers")
    return found
