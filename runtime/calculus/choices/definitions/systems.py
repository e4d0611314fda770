"""What other systems compute for a block where it differs: a second rule by system.

A definition is written in the operations of a system, which are ours but for those that differ in
value or derivative. PyTorch's and JAX's are run against these systems in the tests; TensorFlow's
and MXNet's are from their source and documentation.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from gradwire.runtime.calculus.choices.definitions import jax, mxnet, pytorch, tensorflow
from gradwire.runtime.calculus.dtypes import is_float
from gradwire.runtime.calculus.value import Value

if TYPE_CHECKING:
    from gradwire.blocks.block import Block

_SYSTEMS: dict[str, Any] = {
    "PyTorch": pytorch, "JAX": jax, "TensorFlow": tensorflow, "MXNet": mxnet,
}  # fmt: skip


def defines(system: str, block: str) -> bool:
    """Whether a system has a definition of its own of a block type."""
    return block in _SYSTEMS[system].DEFINITIONS


def forward_in(system: str, block: Block, xp: Any, inputs: Sequence[Any]) -> Any:
    """What ``block.forward(xp, *inputs)`` is in a system: another value, or another gradient.

    Blocks without a definition, and those of no float, are what they are here.
    """
    definition = _SYSTEMS[system].DEFINITIONS.get(block.type_name())
    if definition is None or not any(isinstance(x, Value) and is_float(x.dtype) for x in inputs):
        return block.forward(xp, *inputs)
    return definition(_SYSTEMS[system].Operations(xp.trace), block, *inputs)
