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
