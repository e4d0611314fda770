"""Blocks that deliberately send back a gradient other than their derivative (badge ≈)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from blocks.library.arithmetic import Add, Sub
from blocks.library.gradient import GradientReversal, GradientScale
from blocks.library.losses import Loss

if TYPE_CHECKING:
    from blocks.block import Block
    from runtime.diagram.paths import InstancePath, PortPath
    from runtime.engine.program import Program
    from runtime.flow.analyse import Flow


@dataclass(frozen=True, slots=True)
class Surrogate:
    """A straight-through estimator written as ``soft + stop(hard − soft)``."""

    stop: InstancePath
    hard: PortPath
    soft: PortPath

    @property
    def advice(self) -> str:
        """What it is, and what to do instead of opening the stop."""
        hard, soft = self.hard.block, self.soft.block
        return (
            f"{soft} + {self.stop}({hard} − {soft}) is a straight-through estimator: leave the "
            f"stop closed, or use a StraightThrough block (hard: {hard}, soft: {soft}). For a "
            f"gradient of {hard}, add a loss that reads it before {self.stop}."
        )


def surrogate_of(program: Program, stop: InstancePath) -> Surrogate | None:
    """The straight-through estimator that a StopGradient is part of, if it is."""
    difference = _inputs(program, stop).get("x")
    if difference is None or not _is(program, difference.block, Sub):
        return None
    taken = _inputs(program, difference.block)
    if len(taken) < 2:
        return None
    hard, soft, out = taken["a"], taken["b"], stop.port("out")
    readers = (
        program.wire_targets[wire] for wire, port in program.wire_sources.items() if port == out
    )
    sums = (_inputs(program, at).values() for at in readers if _is(program, at, Add))
    return Surrogate(stop, hard, soft) if any(soft in terms for terms in sums) else None


def _is(program: Program, path: InstancePath, kind: type[Block]) -> bool:
    return path in program.instances and isinstance(program.block(path), kind)


def _inputs(program: Program, path: InstancePath) -> dict[str, PortPath]:
    """The ports that a block reads, by input."""
    wires = program.instances[path].wires.items()
    return {name: program.flat.source(source) for name, (_, source) in wires}


def surrogates(flow: Flow) -> tuple[InstancePath, ...]:
    """These blocks, by path, except those whose parameters make the two equal.

    A Loss is one if it has a scale of its own, or if the gradient of another loss arrives at it,
    which it replaces with its own.
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
    return any(flow.arrives(port, loss) for port in leaves for loss in flow.losses if loss != port)
