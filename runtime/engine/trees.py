"""Runs a block's forward on trees: leaf by leaf, or on whole trees, as the block declares."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeAlias

from gradwire.blocks.errors import GradwireError, Location, TraceError
from gradwire.blocks.paths import Path, path_text
from gradwire.blocks.trees import Kind, Passive, Tree
from gradwire.runtime.calculus import Value
from gradwire.runtime.calculus.trace import kept_value

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from gradwire.blocks.block import Block

    Forward: TypeAlias = Callable[[Block, Any, Sequence[Any]], Any]
    """``forward(block, xp, inputs)``: what a block computes, one output or a tuple of them."""


def own_forward(block: Block, xp: Any, inputs: Sequence[Any]) -> Any:
    """What a block says that it computes."""
    return block.forward(xp, *inputs)


def results_of(
    block: Block,
    xp: Any,
    names: Sequence[str],
    arguments: Sequence[Any],
    forward: Forward = own_forward,
) -> list[Any]:
    """The result of ``forward`` for each output: a value or a tree.

    Raises GradwireError if the inputs don't fit, such as a tree for a block that takes none.
    """
    at = [i for i, argument in enumerate(arguments) if isinstance(argument, Tree)]
    if not at or block.trees == "whole":
        found = _forward(block, xp, arguments, forward)
    elif block.trees == "by leaf":
        found = _by_leaf(block, xp, names, arguments, forward)
    else:
        raise TraceError(
            f"{type(block).__name__} takes an array here, and this is a tree.",
            location=Location(port=names[at[0]]),
            expected="one array",
            got=_described(arguments[at[0]]),
            next_step="Put a Pick or an Unpack before it.",
        )
    return [_bare(result) for result in found]


def _forward(block: Block, xp: Any, arguments: Sequence[Any], forward: Forward) -> list[Any]:
    before = [(x, x.shape, x.dtype) for x in arguments if isinstance(x, Value)]
    results = forward(block, xp, arguments)
    results = results if isinstance(results, tuple) else (results,)
    expected = block.output_names()
    if len(results) != len(expected):
        raise GradwireError(
            f"{type(block).__name__}.forward returned {len(results)} values.",
            expected=f"{len(expected)}: {', '.join(expected)}",
        )
    for result in results:
        for value in result.arrays.values() if isinstance(result, Tree) else (result,):
            if isinstance(value, Value) and value.trace is not xp.trace:
                raise kept_value()
    for x, shape, dtype in before:
        if (x.shape, x.dtype) != (shape, dtype):
            x.shape, x.dtype = shape, dtype  # others read it, too
            raise TraceError(f"{type(block).__name__}.forward changed one of its inputs.")
    return list(results)


def _by_leaf(
    block: Block, xp: Any, names: Sequence[str], arguments: Sequence[Any], forward: Forward
) -> list[Any]:
    """One tree for each output, with the structure shared by all trees among the arguments."""
    trees = {n: a for n, a in zip(names, arguments, strict=True) if isinstance(a, Tree)}
    (first, model), *others = trees.items()
    for name, tree in others:
        if (difference := model.difference(tree)) is not None:
            raise TraceError(
                f"The trees at {first} and {name} differ: {difference}.",
                location=Location(port=name),
                expected=f"the structure of {first}",
                next_step="Pick what they have in common, or Merge what is missing.",
            )
    made: list[dict[Path, Any]] = [dict(model.nodes) for _ in block.output_names()]
    for path in model.arrays:
        chosen = [a.nodes[path] if isinstance(a, Tree) else a for a in arguments]
        try:
            results = _forward(block, xp, chosen, forward)
        except GradwireError as error:
            error.what = f"{error.what} This is at the leaf {path_text(path)}."
            raise
        for nodes, result in zip(made, results, strict=True):
            nodes[path] = result
    return [Tree(nodes) for nodes in made]


def _bare(result: Any) -> Any:
    """The result; for a tree that consists of one array, that array."""
    if isinstance(result, Tree) and not isinstance(result.nodes[()], Kind | Passive):
        return result.nodes[()]
    return result


def _described(tree: Tree) -> str:
    root = tree.nodes[()]
    if not isinstance(root, Kind):
        return f"{root.value!r}, which is not an array"
    count = len(tree.arrays)
    return f"a {root.value} of {count} array" + "s" * (count != 1)
