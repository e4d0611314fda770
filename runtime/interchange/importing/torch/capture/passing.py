"""A backward pass of PyTorch that is measured as it goes, without keeping a gradient."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import field
from functools import partial
from typing import TYPE_CHECKING, TypeAlias, TypeVar

from gradwire.blocks.classes.dataclass import dataclass
from gradwire.runtime.interchange.importing.torch.capture.arrays import in_short
from gradwire.runtime.interchange.importing.torch.inspection import nodes_behind

if TYPE_CHECKING:
    from gradwire.runtime.calculus.measuring import Measured
    from gradwire.runtime.interchange.importing.torch.capture.known import Port
    from gradwire.runtime.interchange.importing.torch.types import Gradients, Node, Tensor

K = TypeVar("K")
Short: TypeAlias = "Callable[[Tensor], Measured]"
"""Measures a gradient."""
_ARRANGING = ("PermuteBackward", "ReshapeAliasBackward", "TBackward", "TransposeBackward",
              "UnsafeViewBackward", "ViewBackward")  # fmt: skip
"""Nodes that send on the numbers that come to them, in another arrangement."""


@dataclass(eq=False)
class GradientSum:
    """Gradients that come to one place from several, by their root mean squares."""

    total: float = 0.0
    terms: list[float] = field(default_factory=list)


@dataclass(eq=False)
class Passed:
    """What has arrived in one pass."""

    leaves: dict[int, Measured] = field(default_factory=dict)
    """At leaves, by their identity."""
    inner: dict[Port, Measured] = field(default_factory=dict)
    """At intermediate results, by what these are given as."""
    sums: list[GradientSum] = field(default_factory=list)


@contextmanager
def passing(
    root: Tensor,
    leaves: Iterable[Tensor],
    results: Iterable[tuple[Port, Node, int]],
    scale: float = 1.0,
) -> Iterator[Passed]:
    """Measure what gradient of ``root``, divided by its ``scale``, arrives meanwhile at leaves and
    at ``results``, which are what to call them, their nodes and the numbers of the nodes' outputs.
    """
    passed = Passed()
    short = partial(_in_short, scale)
    handles = [
        leaf.register_hook(partial(_note, short, passed.leaves, id(leaf))) for leaf in leaves
    ]
    handles += [
        node.register_prehook(partial(_note_at, short, passed.inner, key, number))
        for key, node, number in results
        if not node.name().startswith(_ARRANGING)
    ]
    for target, number, readers in _forks(root.grad_fn):
        found = GradientSum()
        passed.sums.append(found)
        handles.append(target.register_prehook(partial(_note_total, short, found, number)))
        for node in dict.fromkeys(node for node, _ in readers):
            places = [place for reader, place in readers if reader is node]
            handles.append(node.register_hook(partial(_note_terms, short, found, places)))
    try:
        yield passed
    finally:
        for handle in handles:
            handle.remove()


def may_go(root: Tensor, leaves: Iterable[Tensor]) -> bool:
    """Whether ``back`` does what differentiating by the leaves alone does."""
    hooks = (getattr(leaf, "_post_accumulate_grad_hooks", None) for leaf in leaves)
    return root.requires_grad and not any(hooks) and not recomputes(root.grad_fn)


def back(root: Tensor, leaves: Sequence[Tensor]) -> None:
    """Differentiate, and let the gradient of each leaf go as soon as hooks have seen it."""
    handles = [leaf.register_post_accumulate_grad_hook(_let_go) for leaf in leaves]
    try:
        with gradients_aside(leaves):
            root.sum().backward()
    finally:
        for handle in handles:
            handle.remove()


@contextmanager
def gradients_aside(leaves: Sequence[Tensor]) -> Iterator[None]:
    """Let leaves have no gradients meanwhile, and theirs again afterwards."""
    before = [leaf.grad for leaf in leaves]
    for leaf in leaves:
        leaf.grad = None
    try:
        yield
    finally:
        for leaf, gradient in zip(leaves, before, strict=True):
            leaf.grad = gradient


def _let_go(leaf: Tensor) -> None:
    leaf.grad = None


def _in_short(scale: float, gradient: Tensor) -> Measured:
    found = in_short(gradient)
    if scale == 1:
        return found
    return found._replace(size=found.size / scale, projection=found.projection / scale)


def _note(short: Short, found: dict[K, Measured], key: K, gradient: Tensor | None) -> None:
    if gradient is not None:
        found[key] = short(gradient)


def _note_at(
    short: Short, found: dict[K, Measured], key: K, number: int, gradients: Gradients
) -> None:
    _note(short, found, key, gradients[number])


def _note_total(short: Short, found: GradientSum, number: int, gradients: Gradients) -> None:
    if gradients[number] is not None:
        found.total = short(gradients[number]).size


def _note_terms(
    short: Short, found: GradientSum, places: Sequence[int], sent: Gradients, _: object
) -> None:
    found.terms += [short(sent[place]).size for place in places if sent[place] is not None]


def _forks(root: Node | None) -> list[tuple[Node, int, list[tuple[Node, int]]]]:
    """The nodes of a graph, with the number of one of their outputs, to which several inputs of
    nodes send gradient, and these.
    """
    readers: dict[tuple[Node, int], list[tuple[Node, int]]] = {}
    for node in nodes_behind(root):
        for place, edge in enumerate(node.next_functions):
            if edge[0] is not None:
                readers.setdefault(edge, []).append((node, place))
    return [(*edge, found) for edge, found in readers.items() if len(found) > 1]


def recomputes(node: Node | None) -> bool:
    """Whether a graph has a reentrant checkpoint."""
    return any(x.name() == "CheckpointFunctionBackward" for x in nodes_behind(node))
