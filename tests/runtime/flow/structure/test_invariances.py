"""Shifts that no loss changes with: a softmax ignores them, or a norm takes them away."""

from __future__ import annotations

import numpy as np
import pytest

import gradwire.runtime.build as b
from gradwire.runtime.engine import Session
from gradwire.runtime.flow import diagnose, observe
from gradwire.runtime.flow.words.states import State

DRAW = np.random.default_rng(0)
DATA = {shape: DRAW.normal(size=shape) for shape in ((2, 5, 4), (2, 3, 5, 5), (6, 4), (1, 4))}


def data(*shape, name="data"):
    return b.constant(name, DATA[shape], dtype="float64")


def trained(name, *shape):
    return b.variable(name, DRAW.normal(size=shape), dtype="float64")


def dense(x, name, units=4, **own):
    weight = own.get("weight", trained(f"{name}_w", units, 4))
    return b.linear(x, weight, own.get("bias", trained(f"{name}_b", units)), name=name)


def weighed(x):
    """A loss that gives each element a weight of its own."""
    return b.loss(b.sum(b.mul(b.square(x), b.sin(b.add(x, 0.3)))))


def heads(x):
    """``(batch, sequence, features)`` as ``(batch, heads, sequence, features)``."""
    return b.transpose(b.reshape(x, shape=(2, 5, 2, 2)), perm=(0, 2, 1, 3))


def attention(mask=None, **own):
    x = data(2, 5, 4)
    q, k, v = (dense(x, name, **own) for name in "qkv")
    return weighed(b.attention(q, k, v, mask=mask, name="attend"))


def by_hand(hidden=None, axis=-1):
    x = data(2, 5, 4)
    q, k, v = (heads(dense(x, name)) for name in "qkv")
    scores = b.div(b.matmul(q, b.transpose(k, perm=(0, 1, 3, 2))), 1.4)
    if hidden is not None:
        later = b.constant("later", np.triu(np.ones((5, 5), bool), 1))
        scores = b.where(later, hidden, scores)
    return weighed(b.matmul(b.softmax(scores, axis=axis, name="soft"), v))


def summed():
    x = data(2, 5, 4)
    q, k, v = (dense(x, name) for name in "qkv")
    scores = b.einsum(q, k, subscripts="bqd,bkd->bqk")
    return weighed(b.einsum(b.softmax(scores, name="soft"), v, subscripts="bqk,bkd->bqd"))


def pooled(axis=1):
    x = data(2, 5, 4)
    scores = dense(x, "k", units=1)
    return weighed(b.mul(b.softmax(scores, axis=axis, name="soft"), x))


def normed(norm, before=lambda x: x, **parameters):
    return weighed(norm(before(dense(data(6, 4), "k")), name="norm", **parameters))


def convolved(norm, before=lambda x: x, **parameters):
    filters = trained("k_w", 4, 3, 3, 3)
    x = b.conv2d(data(2, 3, 5, 5), filters, trained("k_b", 4), name="k")
    return weighed(norm(before(x), name="norm", **parameters))


def classes():
    logits = b.add(dense(data(6, 4), "z"), trained("k_b", 1))
    return b.loss(b.cross_entropy(logits, b.constant("y", [0, 1, 2, 3, 0, 1]), name="entropy"))


SOFT, MEAN = "the softmax of {} ignores what is added", "{} takes away the mean"
INVARIANT = {
    "attention": (attention, SOFT.format("attend")),
    "by hand": (by_hand, SOFT.format("soft")),
    "hidden": (lambda: by_hand(hidden=-1e9), SOFT.format("soft")),
    "einsum": (summed, SOFT.format("soft")),
    "pooling": (pooled, SOFT.format("soft")),
    "one number for all classes": (classes, SOFT.format("entropy")),
    "batch norm": (lambda: normed(b.batch_norm), MEAN.format("norm")),
    "scaled": (lambda: normed(b.batch_norm, lambda x: b.mul(2.0, -x)), MEAN.format("norm")),
    "images": (lambda: convolved(b.batch_norm), MEAN.format("norm")),
    "instance norm": (lambda: convolved(b.group_norm, groups=4), MEAN.format("norm")),
    "layer norm over pixels": (lambda: convolved(b.layer_norm, axes=(2, 3)), MEAN.format("norm")),
}


@pytest.mark.parametrize(("loss", "reason"), INVARIANT.values(), ids=INVARIANT)
def test_a_shift_that_is_removed_has_a_reason_and_no_alarm(loss, reason):
    session = Session(b.build(loss()))
    observed = observe(session)
    largest = max(np.abs(g).max() for g in observed.run().gradients.values() if g is not None)
    assert np.abs(observed.gradient("k_b")).max() < 1e-12 * largest
    verdict = observed.variable("k_b")
    assert verdict.state in (State.CARRIES, State.ZERO)
    if verdict.state is State.CARRIES:
        assert verdict.sentence.startswith("∂loss/∂k_b is 0, and ") and reason in verdict.sentence
    assert observed.invariance("k_b").startswith(reason)
    (wire,) = (wire for wire, source in session.program.wire_sources.items()
               if source == "k_b.out")  # fmt: skip
    assert observed.state(wire) is verdict.state
    assert "k_b" not in [finding.key for finding in diagnose(session)]


def shared_with_value():
    x, bias = data(2, 5, 4), trained("k_b", 4)
    q, k, v = dense(x, "q"), dense(x, "k", bias=bias), dense(x, "v", bias=bias)
    return weighed(b.attention(q, k, v))


def paired():
    x = data(2, 5, 4)
    scores = b.einsum(dense(x, "q"), dense(x, "k"), subscripts="bkd,bkd->bk")
    return weighed(b.softmax(scores))


def dropped(x):
    return b.mul(x, b.constant("kept", DRAW.integers(0, 2, (6, 4)).astype(float)))


OTHERS = {
    "replaced by 0": lambda: by_hand(hidden=0.0),
    "mixed": lambda: weighed(b.softmax(dense(b.add(data(6, 4), trained("k_b", 1)), "z"))),
    "weighed by row": paired,
    "rows merged": lambda: weighed(b.softmax(b.reshape(dense(data(6, 4), "k"), shape=(24,)))),
    "running statistics": lambda: normed(
        b.batch_norm,
        mode="running",
        mean=b.constant("m", [0.1] * 4, dtype="float64"),
        variance=b.constant("v", [1.1] * 4, dtype="float64"),
    ),
    "other axis": lambda: by_hand(axis=-2),
    "pooling over features": lambda: pooled(axis=-1),
    "shared with the value": shared_with_value,
    "layer norm": lambda: normed(b.layer_norm),
    "rms norm": lambda: normed(b.rms_norm),
    "squashed": lambda: normed(b.batch_norm, b.tanh),
    "dropped": lambda: normed(b.batch_norm, dropped),
    "groups": lambda: convolved(b.group_norm, groups=2),
    "layer norm over all": lambda: convolved(b.layer_norm, axes=(1, 2, 3)),
    "read besides": lambda: b.loss(
        b.add(b.sum(b.square(b.softmax(x := dense(data(6, 4), "k", units=1), axis=0))), b.sum(x))
    ),
}


@pytest.mark.parametrize("loss", OTHERS.values(), ids=OTHERS)
def test_a_shift_that_is_not_removed_has_no_reason(loss):
    observed = observe(Session(b.build(loss())))
    assert observed.invariance("k_b") == ""
    assert " only rounding" not in observed.variable("k_b").sentence


def test_a_loss_before_the_softmax_has_a_gradient():
    shift = b.mul(trained("k_b"), 2.0, name="shift")
    x = b.add(trained("x", 5), shift)
    diagram = b.build(weighed(b.softmax(x)))
    assert observe(Session(diagram)).invariance("k_b")
    assert observe(Session(diagram), ["shift.out"]).invariance("k_b") == ""
