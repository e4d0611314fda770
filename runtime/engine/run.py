"""What a run gives: values, gradients and contributions. Immutable, and never aliased."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from runtime.engine.norms import rms_of_each, together_by_name

if TYPE_CHECKING:
    from blocks.block import Shape
    from blocks.trees import Tree
    from runtime.diagram.checks.diagnostics import Diagnostic
    from runtime.diagram.paths import PortPath

Array = NDArray[Any]


@dataclass(frozen=True)
class Run:
    """Results by path. None is no gradient, which is not a gradient of zero.

    - ``values``: by port (``mul1.out``), in the port's shape and dtype.
    - ``gradients``: dL/d(variable) by variable, or by port where a port was asked for; L is the
      sum of the heads, each times its output gradient.
    - ``adjoints``: dL/d(port) with all else held, by port, as asked for. At a StopGradient's
      output it is what arrives there and is thrown away.
    - ``contributions``: by wire (its target, ``mul1.a``): what this wire brings back; None where
      it carries nothing to a trainable variable. They add up to the adjoint of the wire's source.
    - ``losses``: the heads that backward started from.
    - ``trees``, ``wire_trees``: the structure of ports and wires that hold a tree, its leaves the
      names of their arrays, ``pack1.out:encoder/w``, under which all the above have them.
    """

    values: Mapping[str, Array] = field(default_factory=dict)
    gradients: Mapping[str, Array | None] = field(default_factory=dict)
    adjoints: Mapping[str, Array | None] = field(default_factory=dict)
    contributions: Mapping[str, Array | None] = field(default_factory=dict)
    losses: tuple[PortPath, ...] = ()
    measured: Mapping[str, float | None] = field(default_factory=dict)
    """Norms by wire that were asked for; see ``norms``."""
    trees: Mapping[str, Tree] = field(default_factory=dict)
    wire_trees: Mapping[str, Tree] = field(default_factory=dict)
    problems: tuple[Diagnostic, ...] = ()
    """Why some blocks of a partial session have no values."""

    @cached_property
    def norms(self) -> dict[str, float | None]:
        """Root mean square of what each wire brings back, to five digits or better; None where
        that is nothing. Of the wires whose norm or contribution was asked for; that of a tree is
        over all elements of the leaves that bring something back.
        """
        arrays = {w: a for w, a in self.contributions.items() if a is not None}
        sizes = rms_of_each(list(arrays.values())).tolist()
        found: dict[str, float | None] = dict.fromkeys(self.contributions)
        found |= dict(zip(arrays, sizes, strict=True))
        found |= self.measured
        trees = {
            wire: [(found[leaf], arrays[leaf].size) for leaf in leaves if leaf in arrays]
            for wire, tree in self.wire_trees.items()
            if (leaves := [leaf for leaf in tree.arrays.values() if leaf in self.contributions])
        }
        return found | together_by_name(trees) | dict(self.measured)

    def tree(self, port: str) -> Any:
        """The value of a port as nested dicts and lists of arrays, and of what is no array.

        Raises KeyError for a port without a value in this run.
        """
        if port not in self.trees:
            return self.values[port]
        return self.trees[port].plain(self.values.__getitem__)


@dataclass(frozen=True)
class Shapes:
    """Shapes without running: of sources by path, and of all ports that could be traced."""

    arguments: Mapping[str, Shape | None]
    ports: Mapping[str, Shape]


def accumulate(
    held: dict[str, Array | None], requests: Mapping[str, str], fresh: Mapping[str, Array | None]
) -> dict[str, Array | None]:
    """The gradients by variable as requested: "write" is the fresh one, "add" the one held and the
    fresh, "null" None. What is held becomes them, but for "null".
    """
    result: dict[str, Array | None] = {}
    for name, how in requests.items():
        gradient = fresh.get(name)
        before = held.get(name)
        if how == "add" and before is not None:
            gradient = np.array(before) if gradient is None else before + gradient
        result[name] = gradient
        if how != "null":
            held[name] = None if gradient is None else np.array(gradient)
    return result
