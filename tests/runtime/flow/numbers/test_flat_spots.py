"""Why a block sends 0 back: its slope, a sum that cancels, or a number too small for its dtype."""

from __future__ import annotations

import re
from functools import reduce

import numpy as np
import pytest

import gradwire.runtime.build as b
from gradwire.runtime.engine import Session
from gradwire.runtime.flow import diagnose, observe, with_fix
from gradwire.runtime.flow.words.states import State


def softmax_summed():
    return b.loss(b.sum(b.softmax(b.variable("x", [1.0, 2.0, 4.0]), name="soft")))


def softmax_of_one():
    return b.loss(b.sum(b.square(b.softmax(b.variable("x", [3.0]), name="soft"))))


def softmax_across_one_row():
    soft = b.softmax(b.variable("x", [[3.0, 1.0]]), axis=0, name="soft")
    return b.loss(b.sum(b.square(soft)))


def angle_of_nothing():
    point = b.reshape(b.variable("x", [0.0]), shape=[])
    return b.loss(b.mul(b.arctan2(point, 0.0 * point, name="angle"), 2.0))


def softmax_of_equal_scores():
    return b.loss(b.sum(b.square(b.softmax(b.variable("x", [1.0, 1.0]), name="soft"))))


def nothing_divided():
    return b.loss(b.div(0.0, b.variable("x", 2.0), name="share"))


def scores_of_equal_values():
    share = b.softmax(b.variable("x", [0.3, 0.1]), name="share")
    return b.loss(b.square(b.dot(share, b.variable("values", [2.0, 2.0])) - 1.0))


def bias_that_is_masked():
    bias = b.where(b.constant("mask", False), b.variable("x", 0.5), 0.0)
    shifted = b.add([1.0, 2.0, 4.0], bias, name="shifted")
    return b.loss(b.sum(b.square(b.sub(shifted, b.mean(shifted)) - [1.0, 0.0, 0.0])))


def softmax_of_far_scores():
    return b.loss(b.dot(b.softmax(b.variable("x", [200.0, 0.0]), name="soft"), [1.0, 2.0]))


def bias_before_normalising():
    shifted = b.add([1.0, 2.0, 4.0], b.variable("x", 0.5), name="shifted")
    return b.loss(b.sum(b.square(b.sub(shifted, b.mean(shifted)) - [1.0, 0.0, 0.0])))


def too_small_for_half():
    small = b.constant("small", 1e-3, dtype="float16")
    tiny = b.constant("tiny", 1e-5, dtype="float16")
    return b.loss(b.mul(b.mul(b.variable("x", 1e-3, dtype="float16"), small, name="first"), tiny))


def columns_that_cancel():
    mixed = b.matmul(b.variable("x", [[1.0]]), [[2.0, 2.0]], name="mixed")
    return b.loss(b.sum(b.mul(mixed, [[1.0, -1.0]])))


def matrix_of_zeros():
    return b.loss(b.sum(b.matmul(b.variable("x", [[1.0]]), [[0.0, 0.0]], name="mixed")))


def filtered_silence():
    return b.loss(b.sum(b.conv1d(np.zeros((1, 1, 4)), b.variable("x", [[[1.0]]]), name="filtered")))


def off_where_it_matters():
    rectified = b.relu(b.variable("x", [5.0, -3.0]), name="rectified")
    return b.loss(b.dot(rectified, [0.0, 1.0]))


@pytest.mark.parametrize(
    ("diagram", "reason"),
    [
        (softmax_summed, "soft gets the same gradient for all elements, which always sum to 1."),
        (
            softmax_of_equal_scores,
            "soft gets the same gradient for all elements, which always sum to 1.",
        ),
        (softmax_of_one, "soft has one element along its axis, which is always 1."),
        (softmax_across_one_row, "soft has one element along its axis, which is always 1."),
        (softmax_of_far_scores, "soft is saturated (its inputs differ by 200)."),
        (bias_before_normalising, "shifted adds up gradients that cancel."),
        (too_small_for_half, "first makes the gradient too small for float16."),
        (columns_that_cancel, "mixed adds up gradients that cancel."),
        (matrix_of_zeros, "mixed multiplies by 0."),
        (filtered_silence, "filtered multiplies by 0."),
        (off_where_it_matters, "rectified is off (−3)."),
    ],
)
def test_a_zero_has_its_true_reason(diagram, reason):
    verdict = observe(Session(b.build(diagram()))).variable("x")
    assert verdict.state is State.ZERO
    assert verdict.sentence == f"Connected, but {reason}"


def both_factors_zero():
    product = b.mul(b.variable("x", 0.0), b.variable("gate", 0.0), name="product")
    return b.loss(b.square(product - 1.0))


def gate_of_zero():
    product = b.mul(b.variable("x", 2.0), b.variable("gate", 0.0), name="product")
    return b.loss(b.square(product - 1.0))


def log_probability_of_own_sample():
    mean, deviation = b.variable("x", 0.2), b.exp(b.variable("log_deviation", 0.0))
    sample = b.add(mean, b.mul(deviation, 0.7), name="sample")
    return b.loss(b.square(b.div(b.sub(sample, mean, name="distance"), deviation)))


def rounded():
    return b.loss(b.square(b.round(b.variable("x", 0.7), name="whole")))


def nearly_constant_sum():
    x = b.variable("x", [1.0, 2.0, 4.0])
    return b.loss(b.sum(b.div(b.sub(x, b.mean(x)), b.sqrt(b.variance(x) + 1e-5))))


@pytest.mark.parametrize(
    ("diagram", "cure"),
    [
        (softmax_of_one, "Use Sigmoid for a single output."),
        (softmax_across_one_row, "Set its axis to the one along which the elements compete"),
        (softmax_of_far_scores, "Keep its inputs near each other"),
        (bias_before_normalising, "Moving x leaves loss as it is: x can be left out."),
        (too_small_for_half, "Use float32 there, or scale the loss up."),
        (both_factors_zero, "Start gate away from 0: as it is, neither can move."),
        (rounded, "Straight through whole: 2."),
        (
            log_probability_of_own_sample,
            "With a StopGradient on sample.a: −1.4; on distance.b: 1.4.",
        ),
        (nearly_constant_sum, "nearly cancel: rms 7.695e−8 is left of 0.8018."),
    ],
)
def test_the_doctor_names_the_cure(diagram, cure):
    findings = {finding.key: finding for finding in diagnose(Session(b.build(diagram())))}
    assert cure in findings["x"].sentence


def test_the_doctor_says_of_the_softmax_that_its_sum_alone_is_read():
    (found,) = diagnose(Session(b.build(softmax_summed())))
    assert found.key == "soft" and found.sentence.endswith(
        "so no loss changes with it. Let the loss read its elements, not their sum."
    )


def test_the_doctor_does_not_complain_of_what_passes_by_training_alone():
    session = Session(b.build(gate_of_zero()))
    cure = "gate is 0 and gets a gradient itself: this passes once gate moves."
    assert observe(session).variable("x").cure == cure and diagnose(session) == []


@pytest.mark.parametrize(
    ("diagram", "wrong"),
    [
        (softmax_of_equal_scores, "not their sum"),
        (bias_that_is_masked, "can be left out"),
        (scores_of_equal_values, "can be left out"),
    ],
)
def test_a_cure_is_kept_back_where_it_does_not_fit(diagram, wrong):
    findings = {finding.key: finding for finding in diagnose(Session(b.build(diagram())))}
    assert wrong not in findings["x"].sentence


def test_the_numerator_is_to_blame_for_a_quotient_of_0():
    verdict = observe(Session(b.build(nothing_divided()))).variable("x")
    assert verdict.sentence == "The loss is flat here: share divides 0."


def test_a_slope_that_is_none_at_the_origin_is_named():
    said = observe(Session(b.build(angle_of_nothing()))).variable("x").sentence
    assert said == (
        "Already 0 after angle, which is at (0, 0), where its slope counts as 0 (NaN in JAX)."
    )


def test_gradients_that_cancel_are_named_beside_one_that_is_zero():
    x = b.tanh(b.variable("x", 0.5), name="shared")
    same = b.sub(x, b.mul(x, 1.0), name="same")
    verdict = observe(Session(b.build(b.loss(b.mul(same, b.exp(x)))))).variable("x")
    assert verdict.sentence == "Already 0: the contributions to shared cancel."


def test_a_variable_that_moves_the_loss_is_not_left_out():
    between = b.sub(b.variable("x", 2.0), [1.0, 3.0], name="between")
    (finding,) = diagnose(Session(b.build(b.loss(b.sum(b.square(between))))))
    assert finding.sentence == "Connected, but between adds up gradients that cancel."


def test_a_wire_has_the_cure_of_its_zero():
    session = Session(b.build(off_where_it_matters()))
    verdict = observe(session).verdict("rectified.x")
    assert verdict.cure.startswith("Use LeakyRelu")
    assert with_fix(session, verdict).sentence == f"{verdict.sentence} {verdict.cure}"


def recurrence(steps, scale=1.0, dtype="float32"):
    state = b.variable("x", [[1.0, 1.0, 1.0]], dtype=dtype)
    weights = b.variable("w", 0.3 * np.eye(3), dtype=dtype)
    for _ in range(steps):
        state = b.tanh(b.matmul(state, weights))
    return b.loss(b.sum(b.square(state)) * scale)


def chain(*factors, dtype="float32", head=b.loss, scale=None):
    """``head`` of the product of a variable and factors, which a loss is the sum of."""
    x = b.variable("x", [1.0, 2.0], dtype=dtype)
    constants = [b.constant(f"c{i}", f, dtype=dtype) for i, f in enumerate(factors)]
    total = b.sum(reduce(b.mul, constants, x))
    return head(total if scale is None else b.mul(b.mul(total, 1.0), scale), name="loss")


def marked_by_nothing(node, name):
    return b.mul(node, 1.0, name=name)


def scaled_up(draw):
    """The factor that is advised for x, and the gradient with it; None for none."""
    said = observe(Session(b.build(draw(scale=1.0)))).variable("x")
    assert said.state is State.ZERO and "too small for" in said.sentence
    found = re.search(r"cale the loss up\. Multiplied by ([\d.e]+), it", said.cure)
    assert bool(found) == ("cale the loss up" in said.cure)
    if not found:
        return None, said.cure
    return gradient_of_x(draw, float(found[1])), said.cure


def gradient_of_x(draw, scale):
    return Session(b.build(draw(scale=scale))).backward(wrt=["x"]).gradients["x"]


HELPED = [
    lambda scale: recurrence(44, scale),
    lambda scale: recurrence(60, scale),
    lambda scale: recurrence(8, scale, "float16"),
    lambda scale: chain(1e-30, 1e-20, scale=scale),
    lambda scale: chain(1e-30, 1e-20, scale=scale, head=marked_by_nothing),
    lambda scale: chain(1e-200, 1e-200, scale=scale, dtype="float64"),
    lambda scale: chain(1e-5, 1e-3, scale=scale, dtype="float16"),
]


@pytest.mark.parametrize("draw", HELPED)
def test_the_loss_is_to_be_scaled_up_where_gradient_arrives_then(draw):
    gradient, _ = scaled_up(draw)
    assert gradient is not None and np.any(gradient) and np.isfinite(gradient).all()


IN_FLOAT32 = [
    lambda scale: recurrence(80, scale),
    lambda scale: chain(1e-30, 1e-30, 1e-30, scale=scale),
]
IN_VAIN = [
    *((draw, "") for draw in IN_FLOAT32),
    (lambda scale: recurrence(12, scale, "float16"), "Use float32 there."),
    (lambda scale: chain(*[1e-5] * 3, scale=scale, dtype="float16"), "Use float32 there."),
    (lambda scale: chain(*[1e-5] * 10, scale=scale, dtype="float16"), ""),
]


@pytest.mark.parametrize(("draw", "cure"), IN_VAIN)
def test_the_loss_is_not_to_be_scaled_up_where_that_helps_nothing(draw, cure):
    gradient, said = scaled_up(draw)
    assert gradient is None and said == cure
    for scale in (1e2, 1e3, 1e10, 1e20, 1e30)[: 5 if draw in IN_FLOAT32 else 2]:
        assert not np.any(gradient_of_x(draw, scale))


def test_a_loss_that_would_overflow_is_not_to_be_scaled_up():
    """As it is, it is nearly as large as float32 can be."""
    x, large = b.variable("x", 1.0), b.constant("large", 3e38)
    small = b.mul(b.mul(b.mul(x, 1e-30), 1e-10, name="first"), 1e-10, name="second")
    verdict = observe(Session(b.build(b.loss(b.add(small, large))))).variable("x")
    assert verdict.sentence.endswith("too small for float32.") and verdict.cure == ""
