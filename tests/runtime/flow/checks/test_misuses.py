"""Targets, labels and advantages by which a loss trains what it is not meant to."""

from __future__ import annotations

import pytest

import gradwire.runtime.build as b
from gradwire.runtime.engine import Session
from gradwire.runtime.flow import diagnose
from gradwire.runtime.flow.tools.findings import LEAK, SWAPPED
from tests.examples.gallery import NAMES, diagram


def found(*losses):
    return diagnose(Session(b.build(*losses)))


def leaks(*losses):
    return {f.key: f.sentence for f in found(*losses) if f.complaint is LEAK}


def q_learning(target=lambda estimate: estimate, distance=b.mean_squared_error):
    weight = b.variable("w", [[0.1, 0.4], [0.3, 0.2]])
    chosen = b.pick_along(b.matmul(b.constant("s", [[1.0, 2.0]]), weight), b.constant("a", [1]))
    best = b.max(b.matmul(b.constant("s2", [[2.0, 1.0]]), weight), axis=1)
    estimate = b.add(b.constant("r", [1.0]), b.mul(0.9, best), name="estimate")
    return b.loss(distance(chosen, target(estimate), name="td"))


def actor_critic(weigh=lambda error: error, judge=True, logarithm=b.log, together=False):
    value = b.mul(b.variable("critic", 0.5), 1.0, name="value")
    error = b.sub(b.constant("return", 2.0), value, name="error")
    surprise = logarithm(b.sigmoid(b.variable("actor", 0.3)))
    policy = -b.mul(surprise, weigh(error), name="weighted")
    squared = b.square(error) if judge else b.mul(value, 0.0)
    if together:
        return [b.loss(b.add(policy, squared))]
    return [b.loss(policy, name="policy_loss"), b.loss(squared, name="value_loss")]


@pytest.mark.parametrize("distance", [b.mean_squared_error, b.mean_absolute_error, b.huber])
def test_a_target_that_is_trained_is_named_with_what_a_stop_would_change(distance):
    (said,) = leaks(q_learning(distance=distance)).values()
    assert said.startswith(
        "The gradient reaches td.target as well as td.prediction. If the target is meant as given, "
        "put a StopGradient on td.target: with it ∂loss/∂w is rms "
    )


def test_the_gradient_with_a_stop_is_that_of_the_diagram_with_one():
    said = leaks(q_learning())["td.target"]
    stopped = Session(b.build(q_learning(lambda estimate: b.stop_gradient(estimate))))
    gradient = stopped.backward().gradients["w"]
    assert f"is rms {(gradient**2).mean() ** 0.5:.3g} instead of rms" in said


def test_a_target_that_is_stopped_or_given_is_not_named():
    assert leaks(q_learning(lambda estimate: b.stop_gradient(estimate))) == {}
    assert leaks(q_learning(lambda estimate: b.constant("t", [2.0]))) == {}


def test_an_advantage_that_trains_the_critic_is_named():
    assert leaks(*actor_critic()) == {
        "weighted.b": "The gradient goes through error too, which is multiplied by a logarithm. If "
        "it is an advantage, put a StopGradient on weighted.b: with it ∂policy_loss/∂critic is "
        "None instead of −0.5544."
    }


def test_an_advantage_is_found_behind_a_sign_and_in_one_loss():
    assert list(leaks(*actor_critic(lambda error: -error))) == ["weighted.b"]
    assert list(leaks(*actor_critic(together=True))) == ["weighted.b"]


@pytest.mark.parametrize(
    "losses",
    [
        lambda: actor_critic(lambda error: b.stop_gradient(error)),
        lambda: actor_critic(judge=False),
        lambda: actor_critic(logarithm=b.square),
        lambda: actor_critic(lambda error: b.mul(error, 0.0) + 1.0),
    ],
    ids=["stopped", "no critic is fitted", "no logarithm", "no difference"],
)
def test_what_is_no_leaking_advantage_is_not_named(losses):
    assert leaks(*losses()) == {}


@pytest.mark.night
@pytest.mark.parametrize("name", NAMES)
def test_of_the_examples_those_lacking_their_stop_leak(name):
    lacking = {
        "dqn_target_unstopped": "error.target",
        "reinforce_baseline_unstopped": "weighted.b",
    }
    keys = [f.key for f in diagnose(Session(diagram(name))) if f.complaint is LEAK]
    assert keys == [key for example, key in lacking.items() if example == name]


def crossed(logits, labels):
    return b.loss(b.cross_entropy(logits, labels, name="entropy"))


def given(name="given"):
    return b.constant(name, [[0.0, 1.0]])


def predicted(name="scores", **parameters):
    return b.softmax(b.variable(name, [[1.0, 2.0]], **parameters))


def test_swapped_inputs_of_a_cross_entropy_are_named():
    (finding,) = found(crossed(given(), predicted()))
    assert finding.complaint is SWAPPED and finding.key == "entropy"
    assert finding.sentence == (
        "entropy trains by its labels alone, and no variable leads to its logits. If the two are "
        "swapped, exchange them: what is predicted goes to logits."
    )
    binary = b.binary_cross_entropy(given(), predicted(), given="probabilities")
    assert [f.complaint for f in found(b.loss(binary))] == [SWAPPED]


@pytest.mark.parametrize(
    ("logits", "labels"),
    [
        (lambda: b.variable("z", [[1.0, 2.0]]), given),
        (lambda: b.variable("z", [[1.0, 2.0]]), lambda: b.stop_gradient(predicted())),
        (lambda: b.variable("z", [[1.0, 2.0]], trainable=False), predicted),
    ],
    ids=["right way round", "distilled", "entropy against a frozen teacher"],
)
def test_inputs_that_may_be_meant_so_are_not_named(logits, labels):
    assert SWAPPED not in [f.complaint for f in found(crossed(logits(), labels()))]


def test_an_index_is_told_from_other_integers():
    cure = "An index has no gradient: interpolate between neighbouring elements"
    at = b.cast(b.variable("at", [0.2, 1.7]), dtype="int64", name="index")
    image = b.constant("image", [1.0, 4.0, 9.0])
    (finding,) = found(b.loss(b.sum(b.gather(image, at))))
    assert cure in finding.sentence
    (finding,) = found(b.loss(b.sum(b.gather(image, b.add(at, 1)))))
    assert cure in finding.sentence
    (finding,) = found(b.loss(b.sum(b.cast(at, dtype="float32"))))
    assert cure not in finding.sentence
    (finding,) = found(b.loss(b.sum(b.one_hot(at, depth=3))))
    assert cure not in finding.sentence


def scores(soft=lambda z: z):
    return soft(b.variable("scores", [[1.0, 2.0], [2.0, 1.0]]))


def hits(labels, soft=lambda z: z):
    best = b.arg_max(scores(soft), axis=1, name="best")
    return b.loss(b.mean(b.cast(b.equal(best, labels), dtype="float32")))


def test_an_accuracy_is_told_from_other_choices():
    cure = "An accuracy cannot be trained: train a CrossEntropy of the scores and the labels"
    (finding,) = found(hits(b.constant("labels", [1, 1])))
    assert cure in finding.sentence
    other = b.arg_max(b.variable("other", [[1.0, 2.0], [2.0, 1.0]]), axis=1)
    assert all(cure not in finding.sentence for finding in found(hits(other)))
    (finding,) = found(b.loss(b.sum(b.cast(b.arg_max(scores(), axis=1), dtype="float32"))))
    assert cure not in finding.sentence


def test_what_a_choice_is_made_of_is_named_where_it_is_soft():
    def chosen(soft):
        hot = b.one_hot(b.arg_max(scores(soft), axis=1, name="best"), depth=2)
        return b.loss(b.sum(b.mul(hot, [1.0, 2.0])))

    (finding,) = found(chosen(lambda z: b.softmax(z, name="share")))
    assert "share is soft already: use its output instead of that of best." in finding.sentence
    (finding,) = found(chosen(lambda z: b.mul(z, 2.0)))
    assert "is soft already" not in finding.sentence
    assert found(b.loss(b.sum(b.mul(b.softmax(scores()), [1.0, 2.0])))) == []


def test_a_way_past_a_limit_to_infinity_is_not_offered():
    def angle(limit):
        c = b.clip(b.variable("y", 10.0), min=-1.0, max=limit, name="limit")
        return found(b.loss(b.sqrt(1.0 - b.square(c))))

    assert "Straight through" not in " ".join(f.sentence for f in angle(1.0))
    assert "Straight through limit: −2.065." in " ".join(f.sentence for f in angle(0.9))
