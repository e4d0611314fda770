"""Blocks that compare one number with nothing: said with place and cure, and no others."""

from __future__ import annotations

import numpy as np
import pytest

import gradwire.runtime.build as b
from gradwire.runtime.engine import Session
from gradwire.runtime.flow import diagnose, observe
from gradwire.runtime.flow.tools.causes import causes
from gradwire.runtime.flow.words.states import State

DRAW = np.random.default_rng(0)


def trained(*shape, name="w"):
    return b.variable(name, DRAW.normal(size=shape), dtype="float64")


def weighed(x):
    """A loss that gives each element a weight of its own."""
    return b.loss(b.sum(b.mul(x, b.sin(b.add(x, 0.3)))))


def angle(n):
    units = b.constant("units", DRAW.normal(size=(3, n)), dtype="float64")
    return weighed(b.cosine_similarity(trained(3, n), units, name="it"))


def entropy(n):
    labels = b.constant("labels", np.zeros(3, dtype=np.int64))
    return b.loss(b.cross_entropy(trained(3, n), labels, name="it"))


def attention(n):
    q = b.constant("q", DRAW.normal(size=(3, 4)), dtype="float64")
    v = b.constant("v", DRAW.normal(size=(n, 4)), dtype="float64")
    return weighed(b.attention(q, trained(n, 4), v, name="it"))


KINDS = {
    "softmax": (
        lambda n: weighed(b.softmax(trained(3, n), name="it")),
        "it has one element along its axis, which is always 1",
        "Set its axis to the one along which the elements compete",
    ),
    "log_softmax": (
        lambda n: weighed(b.log_softmax(trained(n, 3), axis=0, name="it")),
        "it has one class, whose logarithm is always 0",
        "Give it logits of two classes or more",
    ),
    "cross_entropy": (
        entropy,
        "it has one class, and is 0 whatever its logits are",
        "use BinaryCrossEntropy for one logit",
    ),
    "attention": (attention, "it has one key, whose weight is always 1", "two keys or more"),
    "batch_norm": (
        lambda n: weighed(b.batch_norm(trained(n, 3), name="it")),
        "it normalises each number by itself: that leaves 0",
        "Give it two numbers or more per channel by a larger batch",
    ),
    "layer_norm": (
        lambda n: weighed(b.layer_norm(trained(3, n), name="it")),
        "it normalises each number by itself: that leaves 0",
        "Normalise along axes of more than one number",
    ),
    "group_norm": (
        lambda n: weighed(b.group_norm(trained(2, 4, n), groups=4, name="it")),
        "it normalises each number by itself: that leaves 0",
        "Use fewer groups",
    ),
    "rms_norm": (
        lambda n: weighed(b.rms_norm(trained(3, n), name="it")),
        "it divides each number by its own size: only its sign is left",
        "Normalise along axes of more than one number",
    ),
    "cosine_similarity": (
        angle,
        "it compares single numbers, of which only the signs count",
        "Move the axis of the vectors to the end",
    ),
}


@pytest.mark.parametrize(("loss", "reason", "cure"), KINDS.values(), ids=KINDS)
def test_one_number_is_said_with_its_cure(loss, reason, cure):
    session = Session(b.build(loss(1)))
    cause = causes(diagnose(session))[0]
    assert cause.culprit == "it"
    said = " ".join([cause.sentence, *(finding.sentence for finding in cause.findings)])
    assert reason in said and cure in said
    observed = observe(session)
    if observed.variable("w").state is State.ZERO:
        assert reason.removeprefix("it ") in observed.variable("w").sentence
        assert cure in observed.variable("w").cure


@pytest.mark.parametrize("loss", [kind[0] for kind in KINDS.values()], ids=KINDS)
def test_two_numbers_are_fine(loss):
    assert diagnose(Session(b.build(loss(2)))) == []


def test_a_way_around_does_not_hide_it():
    x = trained(3, 1)
    (finding,) = diagnose(Session(b.build(weighed(b.add(x, b.layer_norm(x, name="it"))))))
    assert (finding.complaint.name, finding.key) == ("single", "it")


@pytest.mark.parametrize(
    "others",
    [
        lambda x: b.stop_gradient(b.layer_norm(x)),
        lambda x: b.batch_norm(
            x,
            mode="running",
            mean=b.constant("m", [0.1], dtype="float64"),
            variance=b.constant("v", [1.1], dtype="float64"),
        ),
    ],
    ids=["no gradient", "running statistics"],
)
def test_what_is_not_compared_or_not_trained_is_fine(others):
    x = trained(1, 1)
    found = diagnose(Session(b.build(weighed(b.add(x, others(x))))))
    assert "single" not in {finding.complaint.name for finding in found}


def inside(x):
    """What is in front of the blocks, through a step that is not linear."""
    return b.tanh(b.linear(x, trained(4, 4, name="w")))


def data():
    return b.constant("x", DRAW.normal(size=(6, 4)), dtype="float64")


def soft(axis=-1):
    return b.softmax(inside(data()), axis=axis, name="it")


def stopped():
    x = soft()
    return b.add(b.sum(x), b.mean(b.square(b.stop_gradient(x))))


def read_besides_nothing():
    x = inside(data())
    b.sum(b.softmax(x, name="it"), name="unread")
    return x


ROWS = np.arange(6.0)[:, None]
TOTALS = {
    "mean": lambda: b.mean(soft()),
    "rows first": lambda: b.mean(b.sum(soft(), axis=-1)),
    "columns first": lambda: b.sum(b.mean(soft(), axis=0)),
    "scaled": lambda: b.sum(-2.0 * soft() / 3.0),
    "weights of rows": lambda: b.sum(b.mul(soft(), b.constant("rows", ROWS, dtype="float64"))),
    "reshaped": lambda: b.sum(b.reshape(soft(), shape=(24,))),
    "shifted": lambda: b.mean(soft() - b.constant("y", np.eye(6, 4), dtype="float64")),
    "along the batch": lambda: b.sum(b.sum(soft(0), axis=0) * b.constant("c", [1.0, 2, 3, 4])),
    "read besides, behind a stop": stopped,
    "a loss of several": soft,
    "batch norm": lambda: b.mean(b.batch_norm(inside(data()), name="it")),
    "layer norm": lambda: b.sum(b.layer_norm(inside(data()), name="it")),
}


@pytest.mark.parametrize("made", TOTALS.values(), ids=TOTALS)
def test_a_total_that_never_changes_is_the_only_complaint(made):
    session = Session(b.build(b.loss(made())))
    (found,) = diagnose(session)
    assert (found.complaint.name, found.key, found.culprit) == ("constant_total", "it", "it")
    assert "so no loss changes with it. Let the loss read its elements" in found.sentence
    observed = observe(session)
    assert np.abs(observed.gradient("w")).max() < 1e-15 and "adds it all up" in (
        observed.invariance("w")
    )


READ_OTHERWISE = {
    "squares": lambda: b.sum(b.square(soft())),
    "weights of columns": lambda: b.sum(soft() * b.constant("c", [1.0, 2.0, 3.0, 4.0])),
    "other axis": lambda: b.sum(b.square(b.sum(soft(), axis=0))),
    "part of it": lambda: b.sum(b.slice(soft(), begin=(0, 0), size=(6, 2))),
    "read besides": lambda: b.add(b.sum(x := soft()), b.mean(b.square(x))),
    "its input is read": lambda: b.add(
        b.sum(b.softmax(x := inside(data()), name="it")), b.mean(b.square(x))
    ),
    "nobody reads the sum": lambda: b.mean(b.square(read_besides_nothing())),
    "a layer norm with weights": lambda: b.sum(
        b.layer_norm(inside(data()), b.variable("g", [1.0, 2.0, 3.0, 4.0]), name="it")
    ),
}


@pytest.mark.parametrize("made", READ_OTHERWISE.values(), ids=READ_OTHERWISE)
def test_a_total_that_may_change_has_no_such_reason(made):
    session = Session(b.build(b.loss(made())))
    observed = observe(session)
    assert np.abs(observed.gradient("w")).max() > 1e-6
    assert observed.invariance("w") == ""


def test_a_repair_that_opens_the_way_to_a_constant_total_is_not_offered():
    session = Session(b.build(b.loss(b.mean(b.stop_gradient(soft(), name="sg")))))
    (found,) = diagnose(session)
    assert found.key == "w" and found.fix.rms is None and not found.fix.helps
    assert found.sentence.endswith(
        "Without sg: it would be 0, because what it gives adds up to 1 whatever it is given, and "
        "mean1 adds it all up."
    )
