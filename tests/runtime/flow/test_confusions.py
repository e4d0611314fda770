"""The twenty confusions about gradients: for each a diagram, and the sentence that answers it."""

from __future__ import annotations

import numpy as np
import pytest

import gradwire.runtime.build as b
from gradwire.blocks.errors import RunError
from gradwire.runtime.engine import Session
from gradwire.runtime.flow import (
    ObservedFlow,
    State,
    WhatIf,
    dialects,
    flow_of_run,
    ledger,
    observe,
    with_fix,
)
from gradwire.runtime.flow.analyse import analyse
from gradwire.runtime.training.optimisers import SGD
from tests.examples.gallery import diagram as example

STRAIGHT = "Move the loss before it, soften it with a {}, or use a StraightThrough block."


def x(name="x", value=2.0, **parameters):
    return b.variable(name, value, **parameters)


def two_reasons():
    none = b.stop_gradient(x(), name="sg")
    return b.build(b.loss(b.add_n(none, b.mul(x("y"), 0, name="nought"), x("z"))))


def frozen():
    h = b.mul(x("W1"), 5, name="h")
    return b.build(b.loss(b.mul(h, x("W2", 3.0, trainable=False), name="out")))


def normalised():
    mean = x("running_mean", 0.0, trainable=False)
    out = b.sub(x(value=[1.0, 3.0]), mean, name="out")
    return b.build(b.loss(b.sum(b.square(out))))


def compared():
    above = b.greater(x(value=[1.0, 2.0]), 1.5, name="above")
    mask = b.cast(above, dtype="float32", name="mask")
    return b.build(b.loss(b.sum(b.mul(mask, b.constant("w", [1.0, 2.0])))))


def chosen():
    hot = b.one_hot(b.arg_max(x(value=[1.0, 3.0]), name="best"), depth=2, name="hot")
    return b.build(b.loss(b.sum(b.mul(hot, b.constant("w", [1.0, 2.0])))))


def straight():
    encoder = x("encoder", 1.3)
    jump = b.sub(b.round(encoder, name="code"), encoder, name="jump")
    through = b.add(encoder, b.stop_gradient(jump, name="sg"), name="straight")
    return b.build(b.loss(b.square(through, name="squared")))


def quantised():
    code, encoder = x("codebook", [1.0, 2.0]), x("encoder", [1.1, 1.8])
    out = b.straight_through(code, encoder, name="st")
    return b.build(b.loss(b.sum(b.square(out))))


def branch():
    q = x("q", [0.0, 4.0])
    root = b.sqrt(q, name="root")
    return b.build(b.loss(b.sum(b.where(b.greater(q, 0.0), root, 0.0, name="choose"))))


def copied():
    p = x("p", 1.0)
    copy = b.mul(b.stop_gradient(p, name="sg"), 3, name="copy")
    return b.build(b.loss(b.add(copy, b.mul(p, 5, name="own"))))


def behind_the_head():
    head = b.loss(b.mul(x(), 2), name="head")
    return b.build(b.loss(b.stop_gradient(head, name="sg"), name="outer"))


def second_order(stopped):
    u = x("u", 3.0)
    factor = b.stop_gradient(u, name="sg") if stopped else u
    product = b.mul(b.square(u, name="squared"), factor, name="f")
    return b.build(b.loss(b.gradient(product, u, name="slope")))


def head(scale):
    return b.build(b.loss(b.mul(x(), 2), scale=scale))


GAN, DQN = "gan", "dqn_target_stopped"
CRITIC = "reinforce_baseline"


@pytest.mark.sampled(one_in=3)
@pytest.mark.parametrize(
    ("diagram", "key", "loss", "state", "sentence"),
    [
        # 1: where does the path break
        (lambda: example("mxnet_seed"), "b", None, State.STOPPED,
         "stop stops every route to loss. Without stop: rms 3."),
        # 2: None is not 0
        (two_reasons, "x", None, State.STOPPED,
         "sg stops every route to loss. Without sg: 1."),
        (two_reasons, "y", None, State.ZERO, "Connected, but nought multiplies by 0."),
        # 3: why the fake is detached
        (lambda: example(GAN), "G_weight", "D_loss", State.STOPPED,
         "fake stops every route to D_loss. Without fake: rms 0.03009."),
        # 4, 15: frozen is not stopped: gradient passes on
        (frozen, "W2", None, State.FROZEN,
         "W2 is frozen. The gradient still passes to W1. With W2 trained: 10."),
        (frozen, "W1", None, State.CARRIES,
         "∂loss/∂W1: 15. Carries the gradient of loss to W1. Route: loss ← out ← h ← W1."),
        # 7: the loss itself is cut off
        (lambda: b.build(b.loss(b.stop_gradient(b.square(x(), name="sq"), name="sg"))), "x", None,
         State.STOPPED, "sg stops every route to loss. Without sg: 4."),
        # 8: choices, comparisons and rounding
        (chosen, "x", None, State.NO_RULE,
         f"best cuts every route to loss: it is piecewise constant. {STRAIGHT.format('Softmax')} "
         "Straight through best: rms 1.581."),
        (compared, "x", None, State.NO_RULE,
         "above cuts every route to loss: it compares, and the answer is piecewise constant. "
         f"{STRAIGHT.format('Sigmoid')} Straight through above: rms 1.581."),
        (lambda: b.build(b.loss(b.square(b.round(x(), name="round1")))), "x", None, State.ZERO,
         "Connected, but round1 is piecewise constant (None in TensorFlow). Leave it out, or use a "
         "StraightThrough block. Straight through round1: 4."),
        # 9: the stop of a straight-through estimator does not kill the encoder
        (straight, "encoder", None, State.CARRIES,
         "∂loss/∂encoder: 2. Carries the gradient of loss to encoder. "
         "Route: loss ← squared ← straight ← encoder."),
        (straight, "sg.x", None, State.STOPPED,
         "sg stops every route to loss. Without sg: 2, but the gradient of encoder would be "
         "exactly 0. encoder + sg(code − encoder) is a straight-through estimator: leave the stop "
         "closed, or use a StraightThrough block (hard: code, soft: encoder). For a gradient of "
         "code, add a loss that reads it before sg."),
        # 10: the bootstrapped target
        (lambda: example(DQN), "best.x", None, State.STOPPED,
         "target stops every route to loss. Without target: rms 0.6721."),
        # 11: the advantage leaks into the critic
        (lambda: example(f"{CRITIC}_stopped"), "value_weight", "policy_loss", State.STOPPED,
         "advantage stops every route to policy_loss. Without advantage: rms 0.6809."),
        (lambda: example(f"{CRITIC}_unstopped"), "value_weight", "policy_loss", State.CARRIES,
         "∂policy_loss/∂value_weight: rms 0.6809. Carries the gradient of policy_loss to "
         "value_weight. Route: policy_loss ← average ← weighted ← advantage ← error ← baseline "
         "← value_weight."),
        # 12: the loss read after the straight-through
        (quantised, "codebook", None, State.NO_RULE,
         "st cuts every route to loss: it sends all its gradient to its other input. "
         "For a gradient here, add a loss that reads this before st."),
        # 13: NaN from the branch that is not selected
        (branch, "q", None, State.NONFINITE,
         "First NaN made in root (0·∞). choose does not take this branch, yet 0·∞ is NaN (0 in "
         "TensorFlow, but not under XLA): put a Where before root too, so that it never sees "
         "such values."),
        # 14: a stop cuts one path, not the original
        (copied, "sg.x", None, State.STOPPED,
         "sg stops every route to loss. Without sg: 3."),
        (copied, "p", None, State.CARRIES,
         "∂loss/∂p: 5. Carries the gradient of loss to p. Route: loss ← add1 ← own ← p."),
        # 17: heads have a scale, ignore what arrives, and a stop behind one still stops
        (lambda: head(0.5), "x", None, State.CARRIES,
         "∂loss/∂x: 1. Carries the gradient of loss to x. Route: loss ← mul1 ← x."),
        (behind_the_head, "x", "outer", State.STOPPED,
         "sg stops every route to outer. MXNet would let the gradient of head through; here a stop "
         "always wins. Without sg: 2."),
        # 20: a stop cuts all orders
        (lambda: second_order(True), "sg.x", None, State.STOPPED,
         "sg stops every route to loss. Without sg: 6."),
    ],
)  # fmt: skip
def test_the_sentence_that_a_user_reads(diagram, key, loss, state, sentence):
    session = Session(diagram())
    verdict = with_fix(session, observe(session).explain(key, loss))
    assert verdict.state is state
    assert verdict.sentence == sentence


def test_5_gradients_add_up_over_uses_and_over_passes():
    p = x("p", 1.0)
    session = Session(b.build(b.loss(b.add(b.mul(p, 3, name="u"), b.mul(p, 4, name="v")))))
    account = ledger(session.program, session.backward())["p.out"]
    assert {row.by: row.amount.item() for row in account.entries} == {"u.a": 3.0, "v.a": 4.0}
    assert account.total == session.backward().gradients["p"] == 7.0
    session.backward(request="add")
    assert session.gradients["p"] == 14.0


def test_6_backward_a_second_time_gives_the_same():
    session = Session(two_reasons())
    first, again = session.backward(), session.backward()
    assert first.gradients == again.gradients and session.gradients["z"] == 1.0


def test_2_other_systems_say_none_or_zeros():
    reading = observe(Session(two_reasons()))
    assert {r.system: r.says for r in dialects(reading, "x").reports} == {
        "PyTorch": "None", "JAX": "zeros", "TensorFlow": "None", "MXNet": "zeros",
    }  # fmt: skip
    assert {r.says for r in dialects(reading, "y").reports} == {"zeros"}
    assert {r.says for r in dialects(reading, "z").reports} == {"1"}


def test_7_where_nothing_is_connected_pytorch_raises():
    reading = observe(Session(b.build(b.loss(b.stop_gradient(x(), name="sg")))))
    assert dialects(reading, "x").reports[0].says == "error"
    assert {f.plain for f in dialects(reading, "x").fates["PyTorch"]} == {"no step is made"}


def test_8_rounding_is_none_in_tensorflow_and_0_elsewhere():
    reading = observe(Session(b.build(b.loss(b.square(b.round(x()))))))
    assert {r.system: r.says for r in dialects(reading, "x").reports} == {
        "PyTorch": "zeros", "JAX": "zeros", "TensorFlow": "None", "MXNet": "zeros",
    }  # fmt: skip


def test_16_what_has_no_gradient_drifts_where_zeros_stand_for_none():
    reading = observe(Session(two_reasons()))
    found = dialects(reading, "x")
    fates = {system: {f.optimiser: f.decayed for f in fates} for system, fates in
             found.fates.items()}  # fmt: skip
    drift = "shrinks: weight decay moves it without a gradient"
    assert fates["JAX"]["AdamW"] == fates["MXNet"]["SGD"] == drift
    assert fates["PyTorch"]["AdamW"] == fates["TensorFlow"]["SGD"] == "stays unchanged"
    asked = dialects(observe(Session(frozen())), "W2")
    assert asked.reports[0].says == "not requested"
    assert asked.reports[0].by == "requires_grad=False"
    session = Session(two_reasons())
    session.step(SGD(lr=0.1, weight_decay=0.5))
    assert session.values["x"] == 2.0 and session.values["y"] < 2.0


def test_16_statistics_of_batches_move_a_frozen_variable_that_no_gradient_does():
    """No block of ours keeps running statistics: whoever trains sets them, as here."""
    session = Session(normalised())
    verdict = observe(session).variable("running_mean")
    assert verdict.state is State.FROZEN
    assert verdict.sentence == "running_mean is frozen. The gradient still passes to x."
    optimiser = SGD(lr=0.1, weight_decay=0.5)
    session.step(optimiser)
    assert session.values["running_mean"] == 0.0  # neither gradient nor decay moves it
    before = session.run(ports=["out.out"]).values["out.out"]
    session.set("running_mean", 0.9 * 0.0 + 0.1 * session.values["x"].mean())
    session.step(optimiser)
    assert session.values["running_mean"] > 0.0  # it drifted, and what reads it with it
    assert not np.array_equal(session.run(ports=["out.out"]).values["out.out"], before)
    assert {r.says for r in dialects(observe(session), "running_mean").reports} == {"not requested"}


def test_18_results_alias_nothing():
    session = Session(two_reasons())
    run = session.backward()
    run.values["sg.out"][...] = 99
    run.gradients["z"][...] = 99
    again = session.backward()
    assert again.values["x.out"] == 2.0 and again.gradients["z"] == 1.0


def test_19_a_redundant_stop():
    first = b.stop_gradient(b.mul(x(), 2), name="inner")
    total = b.add(b.stop_gradient(b.mul(first, 3), name="outer"), x("y"))
    reading = observe(Session(b.build(b.loss(total))))
    assert reading.idle_stops()["inner"] == (
        "This stop cuts nothing: outer already cuts its routes."
    )


def test_20_a_stop_cuts_all_orders_of_derivative():
    found = WhatIf(second_order(True)).open("sg").compare().variables()["u"]
    assert found.before == 6.0  # d(2·u·stop(u))/du is 2·stop(u)
    assert found.after == 18.0  # d(3·u²)/du
    assert Session(second_order(False)).backward().gradients["u"] == 18.0


def test_3_and_10_what_if_the_stop_were_open():
    found = WhatIf(example(GAN)).open("fake").compare()
    leak = found.variables("D_loss.out")["G_weight"]
    assert leak.before is None and np.any(leak.after)
    assert not found.variables("G_loss.out")["G_weight"].changed


def test_any_port_is_told_in_the_words_of_other_systems():
    data = b.input("data", value=[1.0, 2.0], dtype="float32")
    h = b.mul(data, x("w", [3.0, 4.0]), name="h")
    aside = b.tanh(b.stop_gradient(h, name="sg"), name="aside")
    session = Session(b.build(b.loss(b.sum(b.add(h, aside)))))
    run = session.backward(adjoints="all")
    reading = flow_of_run(session.program, run)
    told = dialects(reading, "data")
    assert (told.state, told.fates) == (State.CARRIES, {})
    assert {r.system: (r.says, r.by) for r in told.reports} == {
        "PyTorch": ("rms 3.536", "requires_grad_() before"),
        "JAX": ("rms 3.536", "jax.grad, chosen by argnums"),
        "TensorFlow": ("rms 3.536", "tape.gradient, after tape.watch"),
        "MXNet": ("rms 3.536", "attach_grad() before"),
    }  # fmt: skip
    inner = dialects(reading, "h.out")
    assert inner.reports[0].by == "retain_grad() before" and inner.reports[0].says == "rms 1"
    assert dialects(observe(session), "h").reports[0].says == "rms 1"
    unrun = dialects(ObservedFlow(analyse(session.program), {}), "h")
    assert unrun.reports[0].says == "a gradient; run the diagram to see it"
    with pytest.raises(RunError, match="no block or output"):
        dialects(reading, "nobody")


def test_a_port_that_no_gradient_comes_to_is_none_or_zeros():
    flat = b.round(b.mul(x("v", 1.5), 2, name="inside"), name="flat")
    made = b.add(flat, b.stop_gradient(b.mul(x("w", 2.0), 3, name="cut"), name="sg"))
    reading = observe(Session(b.build(b.loss(made))))
    stopped = dialects(reading, "cut")
    assert stopped.state is State.STOPPED
    assert [r.says for r in stopped.reports] == ["None", "zeros", "None", "zeros"]
    rounded = {r.system: r.says for r in dialects(reading, "inside").reports}
    assert rounded["TensorFlow"] == "None" and rounded["JAX"] == "0"
