"""Finds blocks that deliberately send back a gradient other than their derivative (badge ≈)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gradwire.blocks.classes.dataclass import dataclass
from gradwire.blocks.importing.kinds import is_kind
from gradwire.blocks.library.gradient import GradientReversal, GradientScale
from gradwire.blocks.library.losses import Loss

if TYPE_CHECKING:
    from gradwire.blocks.block import Block
    from gradwire.runtime.diagram.paths import InstancePath, PortPath
    from gradwire.runtime.engine.program import Program
    from gradwire.runtime.flow.analyse import Flow


STEPS = ("Round", "Floor", "Ceil", "Sign")
"""Blocks that pass gradient, which is always 0."""


@dataclass(frozen=True, slots=True)
class Surrogate:
    """A straight-through estimator written as ``soft + stop(hard − soft)`` or, if only soft is
    stopped (``is_partial``), as ``hard − stop(soft) + soft``.
    """

    stop: InstancePath
    hard: PortPath
    soft: PortPath
    is_partial: bool = False

    @property
    def advice(self) -> str:
        """Identifies the pattern, and says what to do instead of opening the stop."""
        hard, soft = self.hard.block, self.soft.block
        form = f"{soft} + {self.stop}({hard} − {soft})"
        other = f" For a gradient of {hard}, add a loss that reads it before {self.stop}."
        if self.is_partial:
            form, other = f"{hard} − {self.stop}({soft}) + {soft}", ""
        return (
            f"{form} is a straight-through estimator: leave the stop closed, or use a "
            f"StraightThrough block (hard: {hard}, soft: {soft}).{other}"
        )


def surrogate_of(flow: Flow, stop: InstancePath) -> Surrogate | None:
    """The straight-through estimator that contains a StopGradient, or None."""
    stopped = _inputs(flow.program, stop).get("x")
    if stopped is None:
        return None
    return _of_difference(flow.program, stop, stopped) or _of_soft(flow, stop, stopped)


def _of_difference(program: Program, stop: InstancePath, stopped: PortPath) -> Surrogate | None:
    """``soft + stop(hard − soft)``."""
    if not _is(program, stopped.block, "Sub"):
        return None
    terms = _inputs(program, stopped.block)
    if len(terms) < 2:
        return None
    hard, soft = terms["a"], terms["b"]
    sums = _readers(program, stop.port("out"), "Add")
    return Surrogate(stop, hard, soft) if any(soft in inputs.values() for inputs in sums) else None


def _of_soft(flow: Flow, stop: InstancePath, soft: PortPath) -> Surrogate | None:
    """``hard − stop(soft) + soft``, in either order, if hard passes no gradient back."""
    program, out = flow.program, stop.port("out")
    for path in _reading(program, out, "Sub"):
        taken = _inputs(program, path)
        if taken.get("b") != out or len(taken) < 2:
            continue
        for terms in _readers(program, path.port("out"), "Add"):
            others = [port for port in terms.values() if port != path.port("out")]
            hard = taken["a"] if others == [soft] else others[0] if taken["a"] == soft else None
            if hard is not None and _is_hard(flow, hard):
                return Surrogate(stop, hard, soft, is_partial=True)
    return None


def _is_hard(flow: Flow, port: PortPath) -> bool:
    """Whether no gradient, or only a gradient of 0, flows back from a port."""
    wires = (wire for wire, source in flow.program.wire_sources.items() if source == port)
    steps = any(_is(flow.program, port.block, kind) for kind in STEPS)
    return steps or not any(map(flow.trained_upstream, wires))


def _reading(program: Program, port: PortPath, kind: str) -> list[InstancePath]:
    """The blocks of a kind that read a port."""
    wires = (wire for wire, source in program.wire_sources.items() if source == port)
    found = dict.fromkeys(program.wire_targets[wire] for wire in wires)
    return [path for path in found if _is(program, path, kind)]


def _readers(program: Program, port: PortPath, kind: str) -> list[dict[str, PortPath]]:
    """The inputs of the blocks of a kind that read a port, by name."""
    return [_inputs(program, path) for path in _reading(program, port, kind)]


def _is(program: Program, path: InstancePath, kind: str) -> bool:
    return path in program.instances and is_kind(program.block(path), kind)


def _inputs(program: Program, path: InstancePath) -> dict[str, PortPath]:
    """The ports that a block reads, by input."""
    wires = program.instances[path].wires.items()
    return {name: program.flat.source(source) for name, (_, source) in wires}


def surrogates(flow: Flow) -> tuple[InstancePath, ...]:
    """The surrogate blocks, except those whose parameters make the gradient the derivative.

    A Loss is one if it has a scale, or if the gradient of another loss arrives at it, which it
    replaces by its own.
    """
    return flow.program.derived(("surrogates", flow.losses), lambda: _surrogates(flow))


def _surrogates(flow: Flow) -> tuple[InstancePath, ...]:
    return tuple(
        path
        for path, instance in flow.program.instances.items()
        if instance.block.surrogate
        and (_deviates(instance.block) or (instance.block.head and _ignores(flow, path)))
    )


def _deviates(block: Block) -> bool:
    match block:
        case Loss():
            return block.scale != 1.0 or block.normalization != "none"
        case GradientScale():
            return block.scale != 1.0
        case GradientReversal():
            return block.scale != -1.0
        case _:
            return True


def _ignores(flow: Flow, path: InstancePath) -> bool:
    """Whether the gradient of another loss arrives at a Loss, which replaces it."""
    leaves = flow.program.leaf_ports(path.port("out"))
    return any(map(flow.comes_back, leaves))
