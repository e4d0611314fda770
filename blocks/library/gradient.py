"""Blocks that change where gradient goes and how much of it, and one that computes it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, ClassVar, Literal

from blocks.block import Block, Shape, TreeUse
from blocks.elementwise import Elementwise
from blocks.errors import Location, TraceError
from blocks.paths import Path, PathList, matches, path_text
from blocks.requirements import require_float
from blocks.trees import Tree, shown, stacked


class StopGradient(Elementwise):
    """Passes its input through and lets no gradient back, ``out = x``.

    Any shape and dtype; NaN and inf pass. It cuts this path only, never other uses of x, and
    all orders of derivative. What arrives at its output is thrown away.

    Of a tree it stops all leaves, or those that a pattern of ``only`` selects by their paths:
    ``encoder`` selects ``encoder/w`` and not ``encoder2/w``, ``*/b`` every b one level down,
    ``**/b`` those at any depth. The others pass with their gradient. Leaves that are no arrays
    pass. To let gradient through without a change of values, ``open`` it, or ``spare`` leaves.
    Raises TraceError where ``only`` or ``spare`` is given and x is one array.
    Source: ivy.Container.stop_gradient.
    """

    symbol: ClassVar[str] = "⊣"
    formula: ClassVar[str] = r"y = x, \qquad \bar{x} = \text{none}"
    trees: ClassVar[TreeUse] = "whole"

    open: bool = False
    """Let gradient through, as if no stop were here."""
    only: PathList | None = None
    """Patterns of the leaves to stop, as ``encoder/*, decoder/b``; null for all, [] for none."""
    invert: bool = False
    """Stop the leaves that no pattern selects, and let the selected ones pass."""
    prune: bool = False
    """Leave out of the tree what is not stopped; a sequence then counts from 0 again."""
    sequences: Literal["containers", "stacked"] = "containers"
    """What a sequence of arrays in a tree is: a container of leaves, or one leaf, its items
    stacked along a new first axis when it is stopped."""
    spare: PathList = ()
    """Patterns of leaves that are selected, and whose gradient passes all the same."""

    def label(self) -> str:
        if self.open:
            return "open"
        return f"spares {len(self.spare)}" if self.spare else self.symbol

    def forward(self, xp: Any, x: Any) -> Any:
        if isinstance(x, Tree):
            return self._stopped(xp, x)
        if self.only is not None or self.spare:
            raise TraceError(
                "The input is one array: there are no leaves to choose from.",
                location=Location(port="x"),
                next_step="Set only to null and spare to nothing, or put a Pack before it.",
            )
        return x if self.open else xp.stop_gradient(x)

    def taken(self, tree: Tree, stack: Callable[[list[Any]], Any]) -> Tree:
        """The tree with sequences as ``sequences`` says; its paths are those that are selected."""
        return stacked(tree, self._chosen, stack) if self.sequences == "stacked" else tree

    def _stopped(self, xp: Any, tree: Tree) -> Tree:
        self._tell_idle_patterns(xp, tree)
        result = self.taken(tree, xp.stack).map(
            lambda path, leaf: xp.stop_gradient(leaf) if self._stops(path) else leaf
        )
        return result.selected(self._chosen) if self.prune else result

    def _chosen(self, path: Path) -> bool:
        """Whether the leaf at a path is selected."""
        if self.only is None:
            return not self.invert
        return any(matches(pattern, path) for pattern in self.only) is not self.invert

    def _stops(self, path: Path) -> bool:
        spared = self.open or any(matches(pattern, path) for pattern in self.spare)
        return self._chosen(path) and not spared

    def _tell_idle_patterns(self, xp: Any, tree: Tree) -> None:
        for pattern in (*(self.only or ()), *self.spare):
            if not any(matches(pattern, path) for path in tree.leaves):
                xp.trace.remark(
                    f"The pattern {pattern!r} selects no leaf of "
                    f"{shown(map(path_text, tree.leaves)) or 'this empty tree'}.",
                    "idle-pattern",
                )


class GradientScale(Elementwise):
    """Passes its input through and multiplies the gradient by ``scale``, ``out = x``.

    A scale of 0 sends a gradient of 0, which is not a stop: a stop sends none.
    Raises DTypeError unless x is floating.
    """

    symbol: ClassVar[str] = "×∇"
    formula: ClassVar[str] = r"y = x, \qquad \bar{x} = s \, \bar{y}"
    surrogate: ClassVar[bool] = True

    scale: float = 1.0
    """Factor s on the gradient, dimensionless."""

    def label(self) -> str:
        return f"∇×{self.scale:g}"

    def forward(self, xp: Any, x: Any) -> Any:
        require_float(x, "x")
        return xp.surrogate(x, self.scale * x)


class GradientReversal(Elementwise):
    """Passes its input through and turns the gradient round, ``out = x``.

    What lies before it climbs where what lies behind it descends. Raises DTypeError unless x is
    floating. Source: Ganin & Lempitsky, Unsupervised domain adaptation by backpropagation, 2015.
    """

    symbol: ClassVar[str] = "⇄"
    formula: ClassVar[str] = r"y = x, \qquad \bar{x} = -s \, \bar{y}"
    surrogate: ClassVar[bool] = True

    scale: float = 1.0
    """Factor s of the reversed gradient, dimensionless; λ in the paper."""

    def label(self) -> str:
        return f"∇×{-self.scale:g}"

    def forward(self, xp: Any, x: Any) -> Any:
        require_float(x, "x")
        return xp.surrogate(x, -self.scale * x)


class StraightThrough(Elementwise):
    """Has the value of ``hard`` and the gradient of ``soft``, ``out = hard``.

    Both have one shape; hard is cast to the dtype of soft, so that a comparison or a one-hot
    choice may be the hard side. All gradient goes to soft, none to hard. Raises ShapeError where
    the shapes differ, DTypeError unless soft is floating.
    Source: Bengio et al., Estimating or propagating gradients through stochastic neurons, 2013.
    """

    symbol: ClassVar[str] = "≈"
    formula: ClassVar[str] = r"y = h, \qquad \bar{s} = \bar{y}"
    surrogate: ClassVar[bool] = True

    def forward(self, xp: Any, hard: Any, soft: Any) -> Any:
        require_float(soft, "soft")
        return xp.surrogate(xp.astype(hard, soft.dtype), soft)


class Gradient(Block):
    """The gradient itself as a value, ``out = d sum(of) / d wrt``, of wrt's shape and dtype.

    Differentiable again, to any order; stops on the way count. 0, with a warning, where no path
    that passes gradient leads from wrt to of. Raises DTypeError unless both are floating.
    """

    symbol: ClassVar[str] = "∇"
    formula: ClassVar[str] = r"y = \frac{\partial \sum_i f_i}{\partial w}"

    def infer(self, inputs: Mapping[str, Shape | None], output: Shape | None) -> dict[str, Shape]:
        return {"wrt": output} if output is not None and inputs.get("wrt", ()) is None else {}

    def forward(self, xp: Any, of: Any, wrt: Any) -> Any:
        return xp.gradient(of, wrt)
