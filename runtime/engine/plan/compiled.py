"""What one kind of request needs: which values to compute, and the plan that computes them."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

from blocks.errors import HeadError, Location
from runtime.calculus import Value, sweep
from runtime.calculus.dtypes import is_float
from runtime.calculus.primitives.base import LEAF
from runtime.engine.flatten import block_of
from runtime.engine.gc_pause import uncollected
from runtime.engine.norms import norm_of
from runtime.engine.plan.passes import DEFAULT
from runtime.engine.plan.plan import Plan

if TYPE_CHECKING:
    from collections.abc import Sequence

    from runtime.engine.plan.passes import Lowering
    from runtime.engine.program import Program


class Request(NamedTuple):
    """What is asked of a run, as far as it decides which arithmetic is needed; all by path."""

    ports: tuple[str, ...]
    heads: tuple[str, ...] = ()
    seeded: frozenset[str] = frozenset()
    wrt: tuple[str, ...] = ()
    adjoints: tuple[str, ...] = ()
    contributions: tuple[str, ...] = ()
    norms: tuple[str, ...] = ()


@dataclass
class Compiled:
    """A plan and where in the trace each result is; None where no path connects."""

    plan: Plan
    values: dict[str, Value]
    gradients: dict[str, Value | None] = field(default_factory=dict)
    adjoints: dict[str, Value | None] = field(default_factory=dict)
    contributions: dict[str, Value | None] = field(default_factory=dict)
    norms: dict[str, Value | None] = field(default_factory=dict)
    seeds: dict[str, Value] = field(default_factory=dict)


@uncollected()
def compile_request(
    program: Program,
    request: Request,
    without: frozenset[Value] = frozenset(),
    lowerings: Sequence[Lowering] = DEFAULT,
) -> Compiled:
    """Append the derivatives that the request needs to the trace, and plan it all.

    ``without`` are values that can't be computed (an input that was not fed, and what depends on
    it); they and all that needs them are left out. Raises HeadError for a head that has no
    gradient or needs an output gradient.
    """
    seeds = {head: _seed(program, head, request) for head in request.heads}
    targets = {name: program.ports[port_name(program, name)] for name in request.wrt}
    ports = {port: program.ports[port] for port in request.adjoints}
    keys = [key for key in (*request.contributions, *request.norms) if key in program.wires]
    wires = {key: program.wires[key] for key in keys if program.wires[key] in program.reached}
    heads = [(program.ports[head], seed) for head, seed in seeds.items()]
    found = sweep(heads, [*targets.values(), *ports.values(), *wires.values()])
    bad = _depending(program, without) if without else set()

    def usable(value: Value | None) -> Value | None:
        return None if value is None or value in bad else value

    compiled = Compiled(
        plan=Plan([]),
        values={p: v for p in request.ports if (v := usable(program.ports[p])) is not None},
        gradients={name: usable(found.get(value)) for name, value in targets.items()},
        adjoints={name: usable(found.get(value)) for name, value in ports.items()},
        contributions={key: usable(found.get(wires[key])) if key in wires else None
                       for key in request.contributions},
        seeds={head: seed for head, seed in seeds.items() if seed.primitive is LEAF},
    )  # fmt: skip
    for key in request.norms:
        arrived = usable(found.get(wires[key])) if key in wires else None
        compiled.norms[key] = None if arrived is None else norm_of(arrived)
    results = [compiled.gradients, compiled.adjoints, compiled.contributions, compiled.norms]
    asked = [v for result in results for v in result.values() if v is not None]
    compiled.plan = Plan([*compiled.values.values(), *asked], lowerings)
    return compiled


def port_name(program: Program, name: str) -> str:
    """The port that a variable's path or a port's name stands for."""
    return name if name in program.ports else f"{name}.out"


def _seed(program: Program, head: str, request: Request) -> Value:
    value = program.ports[head]
    location = Location(block=block_of(head), port=head.partition(".")[2])
    if not is_float(value.dtype):
        raise HeadError(
            f"Backward can't start at values of {value.dtype}: they have no gradient.",
            location=location,
            next_step="Start at a float, or Cast before.",
        )
    if head in request.seeded:
        trace = program.trace
        return trace.apply(LEAF, shape=value.shape, dtype=value.dtype)
    if value.shape and not program.block(block_of(head)).head:
        raise HeadError(
            f"Backward needs a number to start from, and this has shape {list(value.shape)}.",
            location=location,
            expected="a scalar, a Loss block, or an output gradient of that shape",
            next_step=f"Reduce it (Sum, Mean), put a Loss behind it, or give "
            f"out_gradients={{{head!r}: …}}.",
        )
    return program.trace.xp.ones_like(value)


def _depending(program: Program, without: frozenset[Value]) -> set[Value]:
    """All values that need one of ``without``."""
    bad = set(without)
    for value in program.trace.values:
        if any(
            source in bad and slot not in value.primitive.unread
            for slot, source in enumerate(value.inputs)
        ):
            bad.add(value)
    return bad
