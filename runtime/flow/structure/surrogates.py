"""Blocks that send back another gradient than their derivative, on purpose (badge ≈)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from blocks.library.gradient import GradientReversal, GradientScale
from blocks.library.losses import Loss

if TYPE_CHECKING:
    from blocks.block import Block
    from runtime.diagram.paths import InstancePath
    from runtime.flow.analyse import Flow


def surrogates(flow: Flow) -> tuple[InstancePath, ...]:
    """The blocks that do, by path: never one whose parameters make it send the derivative.

    A Loss with a scale of its own does; any other one where gradient comes back to it from
    behind, in place of which it sends its own.
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
    """Whether gradient of another loss comes to a Loss, which sends its own instead."""
    leaves = flow.program.leaf_ports(path.port("out"))
    return any(flow.arrives(port, loss) for port in leaves for loss in flow.losses if loss != port)
