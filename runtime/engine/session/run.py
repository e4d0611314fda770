"""The result of a run: values, gradients and contributions. Immutable, and never aliased."""

from __future__ import annotations

from collections.abc import Mapping, MutableMapping
from dataclasses import field
from functools import cached_property
from itertools import islice
from typing import TYPE_CHECKING, Any

import numpy as np

from gradwire.blocks.classes.dataclass import dataclass
from gradwire.runtime.briefly import MOST, few, lines
from gradwire.runtime.engine.norms import combined_rms_by_name, rms, rms_of_each
from gradwire.runtime.engine.plan.sparse_rows import compact
from gradwire.runtime.engine.session.later import rows_among

if TYPE_CHECKING:
    from gradwire.blocks.block import Shape
    from gradwire.blocks.trees import Tree
    from gradwire.blocks.values import Array
    from gradwire.runtime.diagram.checks.diagnostics import Diagnostic
    from gradwire.runtime.diagram.paths import PortPath
    from gradwire.runtime.engine.plan.sparse_rows import SparseRows


@dataclass(frozen=True, eq=False)
class Run:
    """Results by path. None means no gradient, which is not the same as a gradient of zero.

    - ``values``: by port (``mul1.out``), in the port's shape and dtype.
    - ``gradients``: dL/d(variable) by variable, or by port if a port was requested; L is the sum
      of the heads, each multiplied by its output gradient.
    - ``adjoints``: dL/d(port) by requested port, everything else being constant. At the output of
      a StopGradient it is the gradient that arrives there and is discarded.
    - ``contributions``: by wire (its target, ``mul1.a``), the gradient that it carries back; None
      if it carries nothing to a trainable variable. The contributions of all wires that leave a
      port add up to its adjoint.
    - ``losses``: the heads that backward started from.
    - ``seeds``: the output gradients that were given, by head; the others are 1.
    - ``step``: the step number that random blocks counted by.
    - ``trees``, ``wire_trees``: the structure of ports and wires that carry a tree. Its leaves are
      the names, such as ``pack1.out:encoder/w``, of its arrays in all of the above.
    """

    values: Mapping[str, Array] = field(default_factory=dict)
    gradients: Mapping[str, Array | None] = field(default_factory=dict)
    adjoints: Mapping[str, Array | None] = field(default_factory=dict)
    contributions: Mapping[str, Array | None] = field(default_factory=dict)
    losses: tuple[PortPath, ...] = ()
    seeds: Mapping[PortPath, Array] = field(default_factory=dict)
    step: int = 0
    measured: Mapping[str, float | None] = field(default_factory=dict)
    """Requested norms by wire; see ``norms``."""
    trees: Mapping[str, Tree] = field(default_factory=dict)
    wire_trees: Mapping[str, Tree] = field(default_factory=dict)
    problems: tuple[Diagnostic, ...] = ()
    """The reasons why some blocks of a partial session have no values."""

    def __repr__(self) -> str:
        losses = [f"{loss.block} = {float(np.sum(self.values[loss])):.4g}" for loss in self.losses]
        gradients = []
        for name, gradient in islice(self.gradients.items(), MOST):
            gradients.append(f"{name}: {None if gradient is None else f'rms {rms(gradient):.4g}'}")
        more = [""] * (len(self.gradients) - len(gradients))  # only counted
        head = f"<Run: {few(losses, 'loss', 'losses')}; gradients of"
        return lines(head, [*gradients, *more]) + ">"

    @classmethod
    def of(cls, fields: dict[str, Any]) -> Run:
        """A run with all of these fields, in a fifth of the time that __init__ takes."""
        run = object.__new__(cls)
        object.__setattr__(run, "__dict__", fields)
        return run

    @property
    def sparse(self) -> Mapping[str, SparseRows]:
        """Gradients as rows, by variable: those of large tables from which few rows were looked up.

        ``gradients`` has them as arrays, which are made when they are read. Empty on JAX.
        """
        return rows_among(self.gradients)

    @cached_property
    def norms(self) -> dict[str, float | None]:
        """Root mean square of each requested contribution, to five digits or better.

        None for a wire that carries no gradient back. The norm of a tree is over all elements of
        the leaves that carry one.
        """
        arrays = {w: a for w, a in compact(self.contributions).items() if a is not None}
        sizes = rms_of_each(list(arrays.values())).tolist()
        found: dict[str, float | None] = dict.fromkeys(self.contributions)
        found |= dict(zip(arrays, sizes, strict=True))
        found |= self.measured
        trees = {
            wire: [(found[leaf], arrays[leaf].size) for leaf in leaves if leaf in arrays]
            for wire, tree in self.wire_trees.items()
            if (leaves := [leaf for leaf in tree.arrays.values() if leaf in self.contributions])
        }
        return found | combined_rms_by_name(trees) | dict(self.measured)

    def tree(self, port: str) -> Any:
        """The value of a port as nested dicts and lists of arrays and other leaves.

        Raises KeyError for a port that has no value in this run.
        """
        if port not in self.trees:
            return self.values[port]
        return self.trees[port].plain(self.values.__getitem__)


@dataclass(frozen=True)
class InferredShapes:
    """Inferred shapes: of sources by path, and of all ports that could be traced."""

    arguments: Mapping[str, Shape | None]
    ports: Mapping[str, Shape]


def accumulate(
    total: Mapping[str, Array | None],
    requests: Mapping[str, str],
    fresh: Mapping[str, Array | None],
    into: MutableMapping[str, Array | None] | None,
) -> dict[str, Array | None]:
    """Gradients by variable: for "write" the fresh one, for "add" its sum with that in ``total``,
    for "null" None.

    Copies of them, except for "null", are stored ``into`` the accumulated gradients, if given.
    """
    result: dict[str, Array | None] = {}
    for name, how in requests.items():
        gradient = fresh.get(name)
        before = total.get(name) if how == "add" else None
        if before is not None:
            gradient = np.array(before) if gradient is None else before + gradient
        result[name] = gradient
        if into is not None and how != "null":
            into[name] = None if gradient is None else np.array(gradient)
    return result
