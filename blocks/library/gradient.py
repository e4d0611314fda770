"""Blocks that stop, scale or replace gradient, and one that computes it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal

from pydantic import Field

from gradwire.blocks.block import Block, Shape, TreeUse
from gradwire.blocks.elementwise import Elementwise
from gradwire.blocks.errors import Location, TraceError
from gradwire.blocks.limits import MAX_COMPARISONS
from gradwire.blocks.path_lists import PathList  # noqa: TC001  # pydantic needs it at run time
from gradwire.blocks.paths import Path, effort, matches, path_text
from gradwire.blocks.requirements import require_float
from gradwire.blocks.trees import Tree, shown, stacked

if TYPE_CHECKING:
    from gradwire.blocks.symbolic import Namespace, Value


class StopGradient(Elementwise):
    """Passes its input through but stops the gradient, ``out = x``.

    Any shape and dtype; NaN and inf pass. It cuts only this path, for derivatives of all orders;
    other uses of x keep their gradient. The gradient that arrives at its output is discarded.

    On a tree it stops all leaves, or those whose paths match a pattern in ``only``: ``encoder``
    matches ``encoder/w`` but not ``encoder2/w``, ``*/b`` any b one level down, ``**/b`` any b at
    any depth. The other leaves keep their gradient; leaves that are not arrays pass. ``open`` and
    ``spare`` let gradient through without changing any value.
    Raises TraceError if ``only`` or ``spare`` is given and x is a single array.
    Source: ivy.Container.stop_gradient.
    """

    symbol: ClassVar[str] = "⊣"
    formula: ClassVar[str] = r"y = x, \qquad \bar{x} = \text{none}"
    trees: ClassVar[TreeUse] = "whole"

    open: bool = False
    """Let gradient through, as if there were no stop."""
    only: PathList | None = None
    """Patterns of the leaves to stop: ``encoder/*, decoder/b``; null for all, [] for none."""
    invert: bool = False
    """Stop the leaves that match no pattern, and let the others pass."""
    prune: bool = False
    """Remove leaves that are not selected from the tree; sequences are renumbered from 0."""
    sequences: Literal["containers", "stacked"] = "containers"
    """How to treat a sequence of arrays in a tree: as a container of leaves, or as one leaf, which
    is stacked along a new first axis when it is selected."""
    spare: PathList = ()
    """Patterns of selected leaves whose gradient passes nevertheless."""

    def label(self) -> str:
        if self.open:
            return "open"
        return f"spares {len(self.spare)}" if self.spare else self.symbol

    def forward(self, xp: Namespace, x: Value | Tree) -> Value | Tree:
        if isinstance(x, Tree):
            return self._stopped(xp, x)
        if self.only is not None or self.spare:
            raise TraceError(
                "The input is a single array and has no leaves to select.",
                location=Location(port="x"),
                next_step="Set only to null and spare to nothing, or put a Pack before it.",
            )
        return x if self.open else xp.stop_gradient(x)

    def selectable(self, tree: Tree, stack: Callable[[list[Any]], object]) -> Tree:
        """The tree to whose paths the patterns apply, with sequences stacked if so configured."""
        return stacked(tree, self._chosen, stack) if self.sequences == "stacked" else tree

    def _stopped(self, xp: Namespace, tree: Tree) -> Tree:
        self._require_few_comparisons(tree)
        self._report_idle_patterns(xp, tree)
        result = self.selectable(tree, xp.stack).map(
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

    def _require_few_comparisons(self, tree: Tree) -> None:
        needed = effort((*(self.only or ()), *self.spare), tree.leaves)
        if needed > MAX_COMPARISONS:
            raise TraceError(
                "There are too many patterns for so large a tree.",
                expected=f"at most {MAX_COMPARISONS:,} comparisons of parts",
                got=f"{needed:,}",
                next_step="Select containers instead of leaves, and use ** in few patterns.",
            )

    def _report_idle_patterns(self, xp: Namespace, tree: Tree) -> None:
        for pattern in (*(self.only or ()), *self.spare):
            if not any(matches(pattern, path) for path in tree.leaves):
                xp.trace.remark(
                    f"The pattern {pattern!r} matches no leaf of "
                    f"{shown(map(path_text, tree.leaves)) or 'this empty tree'}.",
                    "idle-pattern",
                )


class GradientScale(Elementwise):
    """Passes its input through and multiplies the gradient by ``scale``, ``out = x``.

    A scale of 0 is not a stop: it sends a gradient of 0, a stop sends none.
    Raises DTypeError unless x is floating.
    """

    symbol: ClassVar[str] = "×∇"
    formula: ClassVar[str] = r"y = x, \qquad \bar{x} = s \, \bar{y}"
    surrogate: ClassVar[bool] = True

    scale: float = 1.0
    """Factor s on the gradient, dimensionless."""

    def label(self) -> str:
        return f"∇×{self.scale:g}"

    def forward(self, xp: Namespace, x: Value) -> Value:
        require_float(x, "x")
        return xp.surrogate(x, self.scale * x)


class GradientReversal(Elementwise):
    """Passes its input through and reverses the sign of the gradient, ``out = x``.

    Variables upstream of it ascend the loss that variables downstream of it descend. Raises
    DTypeError unless x is floating.
    Source: Ganin & Lempitsky, Unsupervised domain adaptation by backpropagation, 2015.
    """

    symbol: ClassVar[str] = "−∇"
    formula: ClassVar[str] = r"y = x, \qquad \bar{x} = -s \, \bar{y}"
    surrogate: ClassVar[bool] = True

    scale: float = 1.0
    """Factor s of the reversed gradient, dimensionless; λ in the paper."""

    def label(self) -> str:
        return f"∇×{-self.scale:g}"

    def forward(self, xp: Namespace, x: Value) -> Value:
        require_float(x, "x")
        return xp.surrogate(x, -self.scale * x)


class GradientClip(Elementwise):
    """Passes its input through and limits the size of the gradient, ``out = x``.

    A gradient whose norm over all elements is above the limit is scaled down to it and keeps its
    direction, unless it has NaN or infinities, which pass; by value, each element is clipped on its
    own. A smaller gradient passes unchanged. In a recurrence, put one into every step. Raises
    DTypeError unless x is floating.
    Source: Pascanu et al., On the difficulty of training recurrent neural networks, 2013.
    """

    symbol: ClassVar[str] = "∇≤"
    formula: ClassVar[str] = (
        r"y = x, \qquad \bar{x} = \min(1, c / \lVert \bar{y} \rVert) \, \bar{y}"
    )
    surrogate: ClassVar[bool] = True

    limit: Annotated[float, Field(gt=0)] = 1.0
    """Largest norm, or largest absolute value, c; in the units of the gradient."""
    by: Literal["norm", "value"] = "norm"
    """What is limited: the norm over all elements, or the absolute value of each."""

    def label(self) -> str:
        return f"‖∇‖≤{self.limit:g}" if self.by == "norm" else f"|∇|≤{self.limit:g}"

    def forward(self, xp: Namespace, x: Value) -> Value:
        require_float(x, "x")
        return xp.clip_gradient(x, self.limit, self.by)


class StraightThrough(Elementwise):
    """Has the value of ``hard`` but sends its gradient to ``soft``, ``out = hard``.

    Both have the same shape; hard is cast to the dtype of soft, so it may be a comparison or a
    one-hot choice. All gradient goes to soft, none to hard. Raises ShapeError if the shapes differ,
    DTypeError unless soft is floating.
    Source: Bengio et al., Estimating or propagating gradients through stochastic neurons, 2013.
    """

    symbol: ClassVar[str] = "≈"
    formula: ClassVar[str] = r"y = h, \qquad \bar{s} = \bar{y}"
    surrogate: ClassVar[bool] = True

    def forward(self, xp: Namespace, hard: Value, soft: Value) -> Value:
        require_float(soft, "soft")
        return xp.surrogate(xp.astype(hard, soft.dtype), soft)


class Gradient(Block):
    """The gradient as a value, ``out = d sum(of) / d wrt``, with the shape and dtype of wrt.

    Differentiable to any order; stops between wrt and of apply. If no path that passes gradient
    leads from wrt to of, it is 0, with a warning. Raises DTypeError unless both are floating.
    """

    symbol: ClassVar[str] = "∇"
    formula: ClassVar[str] = r"y = \frac{\partial \sum_i f_i}{\partial w}"

    def infer(self, inputs: Mapping[str, Shape | None], output: Shape | None) -> dict[str, Shape]:
        return {"wrt": output} if output is not None and inputs.get("wrt", ()) is None else {}

    def forward(self, xp: Namespace, of: Value, wrt: Value) -> Value:
        return xp.gradient(of, wrt)
