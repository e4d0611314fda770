"""Blocks that deliberately send back a gradient other than their derivative (badge ≈)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from blocks.library.gradient import GradientReversal, GradientScale
from blocks.library.losses import Loss

if TYPE_CHECKING:
    from blocks.block import Block
    from runtime.diagram.paths import InstancePath
    from runtime.flow.analyse import Flow


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
