"""Laws of trees, on random ones: lifting is mapping by hand; a stop stops what it selects."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from gradwire.blocks.paths import path_text
from gradwire.runtime.build import Expression, block, build, constant, loss, variable
from gradwire.runtime.engine import Session
from gradwire.runtime.flow import State
from gradwire.runtime.flow.analyse import analyse

KEYS = st.text("ab/*%.: é", max_size=3)
PASSIVE = st.none() | st.sampled_from(["text", "", 7, True])
ARRAYS = st.lists(st.integers(-4, 4).map(float), min_size=1, max_size=3).map(np.array)


def containers(items: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    return st.dictionaries(KEYS, items, max_size=4) | st.lists(items, max_size=3)


TREES = containers(st.recursive(ARRAYS | PASSIVE, containers, max_leaves=12))
"""Nested dicts and lists of float64 arrays and of what is no array."""


@dataclass
class Drawn:
    """A tree as Packs of variables; the arrays, and the names of the variables, by path."""

    tree: Any
    prefix: str = "v"
    arrays: dict[tuple[str, ...], np.ndarray[Any, Any]] = field(default_factory=dict)
    variables: dict[tuple[str, ...], str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.out = self._expression(self.tree, ())

    def _expression(self, item: Any, path: tuple[str, ...]) -> Expression:
        if isinstance(item, np.ndarray):
            self.arrays[path] = item
            self.variables[path] = f"{self.prefix}{len(self.variables)}"
            return variable(self.variables[path], item, dtype="float64")
        if isinstance(item, dict):
            active = {k: v for k, v in item.items() if isinstance(v, dict | list | np.ndarray)}
            made = [self._expression(v, (*path, k)) for k, v in active.items()]
            extras = {path_text((k,)): v for k, v in item.items() if k not in active}
            return block("Pack", *made, keys=[path_text((k,)) for k in active], extras=extras)
        if not isinstance(item, list):  # in a sequence: taken out of a tree of its own
            return block("Pick", block("Pack", extras={"leaf": item}), path="leaf")
        return block("Pack", *(self._expression(v, (*path, str(i))) for i, v in enumerate(item)))

    def mapped(self, function: Any, item: Any = ...) -> Any:
        """The tree with its arrays replaced, by hand."""
        item = self.tree if item is ... else item
        if isinstance(item, dict):
            return {key: self.mapped(function, value) for key, value in item.items()}
        if isinstance(item, list):
            return [self.mapped(function, value) for value in item]
        return function(item) if isinstance(item, np.ndarray) else item


def same(a: Any, b: Any) -> bool:
    """Equal structure, order of keys aside, and equal bits."""
    if isinstance(a, dict) and isinstance(b, dict):
        return a.keys() == b.keys() and all(same(a[key], b[key]) for key in a)
    if isinstance(a, list) and isinstance(b, list):
        return len(a) == len(b) and all(map(same, a, b))
    if isinstance(a, np.ndarray) and isinstance(b, np.ndarray):
        return a.dtype == b.dtype and np.array_equal(a, b)
    return type(a) is type(b) and bool(a == b)


def squares(out: Expression, paths: list[tuple[str, ...]]) -> Expression:
    """Σ (i + 1) Σ leafᵢ² over the leaves at those paths."""
    total = constant("nothing", 0.0, dtype="float64")
    if paths:
        texts = [path_text(path) for path in paths]
        parts = block("Unpack", block("Square", out), paths=texts)
        for i, text in enumerate(texts):
            total = total + (i + 1.0) * block("Sum", parts[text])
    return total


@given(TREES)
def test_a_packed_tree_is_the_tree(tree: Any) -> None:
    drawn = Drawn(tree)
    drawn.out.node.name = "it"
    assert same(Session(build(drawn.out)).run().tree("it.out"), tree)


@given(TREES)
def test_lifting_one_tree_is_mapping_by_hand(tree: Any) -> None:
    drawn = Drawn(tree)
    out = block("Mul", block("Tanh", drawn.out), 3.0, name="it")
    run = Session(build(out)).run()
    assert same(run.tree("it.out"), drawn.mapped(lambda array: np.tanh(array) * 3.0))


@given(TREES)
def test_lifting_two_trees_is_mapping_by_hand(tree: Any) -> None:
    first = Drawn(tree)
    second = Drawn(first.mapped(lambda array: array - 0.5), prefix="w")
    run = Session(build(block("Mul", first.out, second.out, name="it"))).run()
    assert same(run.tree("it.out"), first.mapped(lambda array: array * (array - 0.5)))


@given(TREES, st.data())
def test_exactly_the_selected_leaves_get_none(tree: Any, data: st.DataObject) -> None:
    """By patterns that are paths of leaves or of containers; the flow says so before the run."""
    drawn = Drawn(tree)
    every = list(drawn.arrays)
    above = sorted({path[:n] for path in every for n in range(1, len(path) + 1)})
    chosen = data.draw(st.sets(st.sampled_from(above))) if above else set()
    invert = data.draw(st.booleans())
    selected = {
        path for path in every if any(path[: len(top)] == top for top in chosen) is not invert
    }
    stop = block(
        "StopGradient",
        drawn.out,
        only=[path_text(path) for path in sorted(chosen)],
        invert=invert,
        name="stop",
    )
    session = Session(build(loss(squares(stop, every), name="loss"), stop))
    run, flow = session.backward(["loss"]), analyse(session.program, ["loss"])
    assert same(run.tree("stop.out"), tree)
    leaves = flow.leaves("stop.x")
    for i, path in enumerate(every):
        gradient = run.gradients[drawn.variables[path]]
        assert (gradient is None) == (path in selected)
        if gradient is not None:
            np.testing.assert_array_equal(gradient, 2.0 * (i + 1.0) * drawn.arrays[path])
        expected = State.STOPPED if path in selected else State.CARRIES
        assert leaves[path_text(path)].state is expected
    assert flow.verdict("stop.x").leaves == (len(every) - len(selected), len(every))


@given(TREES, st.data())
def test_pruning_keeps_exactly_the_selected_leaves(tree: Any, data: st.DataObject) -> None:
    drawn = Drawn(tree)
    every = list(drawn.arrays)
    chosen = data.draw(st.sets(st.sampled_from(every))) if every else set()
    only = [path_text(path) for path in sorted(chosen)]
    stop = block("StopGradient", drawn.out, only=only, prune=True, name="stop")
    session = Session(build(stop, *([drawn.out] if every else [])))
    kept = [array for path, array in drawn.arrays.items() if path in chosen]
    out = [session.run().values[port] for port in session.program.leaf_ports("stop.out")]
    assert same(out, kept)
