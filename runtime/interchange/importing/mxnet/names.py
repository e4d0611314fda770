"""Finds the modules of a network in the names of its nodes: ``stage1_unit2_conv1_weight``.

Symbols have no modules, but their names have the prefixes of those that made them. A part that
ends in a digit counts as the name of one where several nodes share it and none is called so.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Sequence
from typing import NamedTuple

from gradwire.runtime.interchange.importing.mxnet.symbol import ARGUMENT, Symbol, SymbolNode

_PART_ENDS = re.compile(r"(?<=[0-9])_(?=.)")
_FORWARD = "_fwd"
"""What Gluon puts behind the name of a layer's main node."""

_OF_BLOCKS = {
    "gamma": "weight", "beta": "bias", "moving_mean": "mean", "running_mean": "mean",
    "moving_var": "variance", "running_var": "variance",
}  # fmt: skip
"""Names of inputs of blocks for those of parameters."""


class NodePlace(NamedTuple):
    """Where a node is: the path of its module, and its name there."""

    module: tuple[str, ...]
    name: str


class Places:
    """The places of the nodes of a symbol, and the parameters that belong to a node alone."""

    def __init__(self, symbol: Symbol) -> None:
        operators = [node for node in symbol.nodes if node.operator != ARGUMENT]
        stems = {_stem(node) for node in operators}
        inside: dict[str, set[str]] = defaultdict(set)
        for stem in stems:
            for prefix in _prefixes(stem):
                inside[prefix].add(stem)
        self._modules = {p for p, nodes in inside.items() if len(nodes) > 1 and p not in stems}

    def of(self, node: SymbolNode) -> NodePlace:
        """The place of an operator's node."""
        stem, module, start = _stem(node), [], 0
        for prefix in _prefixes(stem):
            if prefix in self._modules:
                module.append(prefix[start:])
                start = len(prefix) + 1
        return NodePlace(tuple(module), stem[start:])


def own_name(node: SymbolNode, argument: str) -> str:
    """The name of a parameter within its node, ``weight`` for ``fc1_weight`` of ``fc1``, as blocks
    have it.

    Empty where the parameter's name doesn't begin with the node's.
    """
    prefix = _stem(node) + "_"
    own = argument.removeprefix(prefix) if argument.startswith(prefix) else ""
    return _OF_BLOCKS.get(own, own)


def _stem(node: SymbolNode) -> str:
    return node.name.removesuffix(_FORWARD)


def _prefixes(name: str) -> Sequence[str]:
    """The parts of a name that may be modules, shortest first, each with what is before it."""
    return [name[: end.start()] for end in _PART_ENDS.finditer(name)]
