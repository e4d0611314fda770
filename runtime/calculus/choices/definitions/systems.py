"""What other systems compute for a block where it differs: a second rule by system.

A definition is written in the operations of a system, which are ours but for those that differ in
value or derivative. PyTorch's and JAX's are run against these systems in the tests; TensorFlow's
and MXNet's are from their source and documentation.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from gradwire.runtime.calculus.choices.definitions import jax, mxnet, pytorch, tensorflow
from gradwire.runtime.calculus.dtypes import is_float
from gradwire.runtime.calculus.value import Value

if TYPE_CHECKING:
    from gradwire.blocks.block import Block
    from gradwire.runtime.calculus.choices.definitions.operations import Definition
    from gradwire.runtime.calculus.namespace import Namespace

_SYSTEMS: dict[str, tuple[type[Namespace], Mapping[str, Definition]]] = {
    "PyTorch": (pytorch.TorchOperations, pytorch.DEFINITIONS),
    "JAX": (jax.JaxOperations, jax.DEFINITIONS),
    "TensorFlow": (tensorflow.TensorFlowOperations, tensorflow.DEFINITIONS),
    "MXNet": (mxnet.MXNetOperations, mxnet.DEFINITIONS),
}


def defines(system: str, block: str) -> bool:
    """Whether a system has a definition of its own of a block type."""
    return block in _SYSTEMS[system][1]


def forward_in(system: str, block: Block, xp: Namespace, inputs: Sequence[object]) -> object:
    """What ``block.forward(xp, *inputs)`` is in a system: another value, or another gradient.

    Blocks without a definition, and those of no float, are what they are here.
    """
    operations, definitions = _SYSTEMS[system]
    definition = definitions.get(block.type_name())
    if definition is None or not any(isinstance(x, Value) and is_float(x.dtype) for x in inputs):
        return block.forward(xp, *inputs)
    return definition(operations(xp.trace), block, *inputs)
