"""Engines by name, for sessions."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, NamedTuple, TypeAlias

from gradwire.blocks.errors import Location, RunError
from gradwire.blocks.nearest import did_you_mean
from gradwire.runtime import extras
from gradwire.runtime.diagram.checks.diagnostics import Diagnostic
from gradwire.runtime.engine.plan.numpy_engine import MOST_THREADS, NumpyEngine
from gradwire.runtime.engine.plan.passes import select_passes

if TYPE_CHECKING:
    from gradwire.runtime.engine.engine import Engine
    from gradwire.runtime.engine.program import Program

EngineName: TypeAlias = Literal["numpy", "jax"]
NAMES: tuple[EngineName, ...] = ("numpy", "jax")


class EngineChoice(NamedTuple):
    """Which engine to open, in words that another process can be told."""

    name: str = "numpy"
    device: str | None = None
    threads: int | None = None
    divide_weights: bool = False
    """Whether several devices share large variables too, of which each has all otherwise."""

    def open(self) -> Engine:
        """The engine; raises what ``open_engine`` does."""
        how = {"divide_weights": True} if self.divide_weights else {}
        return open_engine(self.name, device=self.device, threads=self.threads, **how)


def open_engine(
    engine: str | Engine,
    *,
    fast: bool | None = None,
    device: str | None = None,
    threads: int | None = None,
    divide_weights: bool | None = None,
) -> Engine:
    """The engine of this name, or that engine itself; see ``Session`` and ``EngineChoice`` for the
    other arguments.

    Raises RunError for a name, device or number of threads that can't be, for an argument that an
    engine does not take, and if the package of an engine is missing.
    """
    if not isinstance(engine, str):
        _refuse("An engine that is made already", fast=fast, device=device, threads=threads)
        return engine
    if engine not in NAMES:
        raise RunError(
            f"There is no engine {engine!r}.",
            expected="one of " + ", ".join(NAMES),
            next_step=did_you_mean(engine, NAMES),
        )
    if threads is not None and (
        not isinstance(threads, int) or isinstance(threads, bool) or not 0 < threads <= MOST_THREADS
    ):
        raise RunError(
            "The number of threads can't be used.",
            expected=f"an integer from 1 to {MOST_THREADS:,}",
            got=repr(threads)[:80],
        )
    if engine == "numpy":
        device = None if device == "cpu" else device
        _refuse("The NumPy engine", device=device, divide_weights=divide_weights)
        return NumpyEngine(select_passes(fast), threads)
    _refuse("The JAX engine", fast=fast)
    extras.require("jax", "The JAX engine")
    from gradwire.runtime.engine.jax.jax_engine import JaxEngine

    return JaxEngine(device, threads, divide_weights=bool(divide_weights))


def fitting(engine: Engine, program: Program) -> tuple[Engine, list[Diagnostic]]:
    """The engine for a program: the NumPy engine, and a diagnostic that says why, where that engine
    is unfit for it.
    """
    why = engine.unfit(program.trace.values[: program.forward_end])
    if why is None:
        return engine, []
    told = Diagnostic(
        "warning",
        Location(),
        f"NumPy computes this diagram: {why}.",
        next_step="Compute with arrays instead of single numbers to gain by another engine.",
        code="unfit-engine",
    )
    return NumpyEngine(select_passes()), [told]


def _refuse(what: str, **arguments: object) -> None:
    """Raise RunError if one of the arguments was given."""
    for name, given in arguments.items():
        if given is not None:
            raise RunError(f"{what} takes no {name}.", got=f"{name}={given!r}"[:80])
