"""What the doctor says about blocks that work on trees, leaf by leaf."""

from __future__ import annotations

import gradwire.runtime.build as b
from gradwire.runtime.engine import Session
from gradwire.runtime.flow import diagnose


def tree(w, u):
    items = b.variable("w", w), b.variable("u", u)
    return b.pack(*items, keys=["w", "deep/u"], name="both")


def total(node):
    leaves = (b.sum(b.cast(b.pick(node, path=p), dtype="float32")) for p in ("w", "deep/u"))
    return b.loss(b.add(*leaves))


def said(node):
    return [f"{f.key}: {f.sentence}" for f in diagnose(Session(b.build(total(node))))]


def test_a_value_that_is_not_finite_is_made_of_the_same_leaf():
    assert said(b.log(tree([-1.0, 4.0], [200.0, 3.0]), name="f")) == [
        "f: f is NaN: log of −1 (element 0 of x:w). Keep its input above 0: clip it, or make it "
        "positive with Softmax or Softplus. That is why loss is not finite."
    ]


def test_a_gradient_that_is_not_finite_is_one_finding_of_its_leaf():
    assert said(b.sqrt(tree([0.0, 4.0], [2.0, 3.0]), name="f")) == [
        "f.x:w: First ∞ made in f (its slope is infinite here). Add a small number under the root. "
        "The wires behind it are victims."
    ]


def test_a_straight_through_is_advised_for_the_whole_tree():
    both = tree([0.4, 1.2], [2.0, 3.0])
    for sentence in said(b.cast(b.greater(both, 1.0, name="g"), dtype="float32", name="bits")):
        assert sentence.endswith(
            "or use a StraightThrough block. Past g it takes the whole tree (hard: bits, soft: "
            "both)."
        )
    hard = b.cast(b.greater(both, 1.0), dtype="float32")
    assert said(b.mul(b.straight_through(hard, both), 2.0)) == []


def test_where_only_one_leaf_is_compared_it_is_to_be_picked_first():
    hard = b.greater(tree([0.4, 1.2], [2.0, 3.0]), 1.0, name="g")
    picked = b.cast(b.pick(hard, path="w"), dtype="float32")
    (w, *_) = (f.sentence for f in diagnose(Session(b.build(b.loss(b.sum(picked))))))
    assert w.endswith("it would have to act on one leaf of a tree. Pick that leaf first.")
