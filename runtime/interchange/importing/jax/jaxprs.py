"""The parts of JAX's programs (jaxprs) that the import reads, and how JAX runs them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol, TypeAlias, runtime_checkable

Params: TypeAlias = Mapping[str, Any]
"""The parameters of a primitive, whose types are as many as there are primitives."""


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
    val: Any


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
    consts: Sequence[Any]


def dtype_of(atom: Atom) -> str:
    """The name of a value's dtype; that of keys is no dtype of blocks."""
    dtype = atom.aval.dtype
    return str(getattr(dtype, "name", dtype))


def evaluate(equation: Equation, arguments: Sequence[Any]) -> list[Any]:
    """The outputs of an equation, computed by JAX; the arguments may be its tracers."""
    found = equation.primitive.get_bind_params(equation.params)
    rules, params = found if isinstance(found, tuple) else ((), found)  # until JAX 0.7
    results = equation.primitive.bind(*rules, *arguments, **params)
    return list(results) if equation.primitive.multiple_results else [results]


def open_program(program: ClosedJaxpr | Jaxpr) -> Jaxpr:
    """A program without the arrays that it closes over."""
    return program.jaxpr if hasattr(program, "jaxpr") else program


def is_literal(atom: Atom) -> bool:
    """Whether it is a number that stands in the program itself."""
    return isinstance(atom, Literal)


def function_of(program: ClosedJaxpr | Jaxpr) -> Callable[..., list[Any]]:
    """The program as a function of JAX."""
    from jax import extend

    closed = program if hasattr(program, "consts") else extend.core.ClosedJaxpr(program, ())
    function: Callable[..., list[Any]] = extend.core.jaxpr_as_fun(closed)
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
