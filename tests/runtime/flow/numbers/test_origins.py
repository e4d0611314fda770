"""The first value that is NaN or infinite is named, with what it was made of."""

from __future__ import annotations

import numpy as np
import pytest

import gradwire.runtime.build as b
from gradwire.runtime.engine import Session
from gradwire.runtime.flow import State, diagnose, observe, reassurance
from gradwire.runtime.flow.badges import BadgeKind, badges
from gradwire.runtime.flow.tools.findings import MASKED_VALUE, NO_VARIABLE, VALUE

INF = float("inf")


def x(value, name="x"):
    return b.variable(name, value)


def observed(*losses):
    return observe(Session(b.build(*losses)))


def total(node):
    return b.loss(b.sum(node))


def masked_softmax(row):
    scores = b.add(x([[1.0, 2.0], [0.5, 0.1]]), b.constant("mask", [[0.0, 0.0], row]))
    return total(b.mul(b.softmax(scores, name="f"), [[1.0, 2.0], [1.0, 3.0]]))


def test_what_makes_nan_of_a_mask_is_to_blame_and_not_the_mask():
    hidden = b.where([True, True], -INF, x([0.4, 0.2]), name="hidden")
    (origin,) = observed(total(b.square(b.softmax(hidden, name="f")))).origins
    assert (origin.block, origin.cure) == ("f", MASKED)


MASKED = "Leave one of them unmasked, or mask with a large negative number."


@pytest.mark.parametrize(("row", "cured"), [([-INF, -INF], True), ([-INF, INF], False)])
def test_a_row_that_is_masked_as_a_whole_is_told_from_an_infinity(row, cured):
    (origin,) = [found for found in observed(masked_softmax(row)).origins if found.block == "f"]
    assert origin.what == "NaN" and (origin.cure == MASKED) is cured


def quotient():
    power = b.exp(x([1000.0, 4.0]), name="power")
    return total(b.div(power, b.sum(power), name="share"))


@pytest.mark.parametrize(
    ("draw", "cause"),
    [
        (
            lambda: total(b.log(x([-1.0, 4.0]), name="f")),
            "f is NaN: log of −1 (element 0 of x). Keep its input above 0: clip it, or make "
            "it positive with Softmax or Softplus.",
        ),
        (
            lambda: total(b.log(x([[4.0, 0.0]]), name="f")),
            "f is −∞: log of 0 (element [0, 1] of x). Add a small number to its input.",
        ),
        (
            lambda: total(b.sqrt(x(-2.0), name="f")),
            "f is NaN: √ of −2 (x). Clip its input from below, at a small number above 0.",
        ),
        (
            lambda: total(b.div(x([1.0, 2.0]), x([3.0, 0.0], "y"), name="f")),
            "f is ∞: 2 ÷ 0 (element 1 of b). Add a small number to the denominator.",
        ),
        (
            lambda: b.loss(b.div(x(2.0), 0.0, name="f")),
            "f is ∞: 2 ÷ 0 (b). Add a small number to the denominator.",
        ),
        (
            lambda: b.loss(b.pow(x(-2.0), 0.5, name="f")),
            "f is NaN: −2 to the power 0.5 (a). Keep the base above 0.",
        ),
        (
            lambda: total(b.mul(b.add(x([1.0, 2.0]), [0.0, -INF]), [1.0, 0.0], name="f")),
            "f is NaN: −∞ · 0 (element 1 of a). Choose by a Where instead of multiplying by 0.",
        ),
        (
            lambda: total(b.square(b.variable("x", [300.0, 1.0], dtype="float16"), name="f")),
            "f is ∞: square of 300 overflows float16 (element 0 of x). Use float32 there.",
        ),
        (
            quotient,
            "power is ∞: exp of 1000 overflows float32 (element 0 of x). share makes NaN of "
            "it. Subtract the maximum before it, or use Softmax.",
        ),
        (
            lambda: b.loss(b.cos(x(INF), name="f")),
            "f is NaN: cos of ∞ (x). Keep its input finite.",
        ),
        (
            lambda: b.loss(b.mul(x(INF), 2.0, name="f")),
            "x is ∞: it is given so. Give a finite number instead.",
        ),
        (lambda: b.loss(b.mul(x(float("nan")), 2.0)), "x is NaN: it is given so."),
        (
            lambda: b.loss(b.sum(b.mul(x([3e38, 3e38]), 1.0), name="f")),
            "f is ∞: sum of 2 numbers up to 3e38 overflows float32 (element 0 of x).",
        ),
        (
            lambda: total(b.log(b.softmax(x([0.0, 1000.0])), name="f")),
            "f is −∞: log of 0 (element 0 of x), as softmax1 underflows. Use LogSoftmax instead "
            "of Log of Softmax, or give the logits to CrossEntropy.",
        ),
    ],
)
def test_the_first_value_that_is_not_finite_is_named_with_its_cause(draw, cause):
    (origin,) = observed(draw()).origins
    assert origin.cause == cause
    assert origin.sentence == f"{cause} That is why loss is not finite."


def test_a_loss_of_nan_with_finite_gradients_is_an_error():
    session = Session(b.build(total(b.log(x([-1.0, 4.0]), name="f"))))
    assert observe(session).state("f.x") is State.CARRIES
    (finding,) = diagnose(session)
    assert (finding.complaint, finding.key) == (VALUE, "f")


def test_a_value_that_spoils_no_loss_is_mentioned_and_no_error():
    q = x([0.0, 4.0])
    safe = b.where(b.greater(q, 0.0), b.log(q, name="f"), 0.0, name="choose")
    session = Session(b.build(total(b.stop_gradient(safe)), total(q)))
    (finding,) = (f for f in diagnose(session) if f.complaint is MASKED_VALUE)
    assert finding.sentence == (
        "f is −∞: log of 0 (element 0 of x). choose does not take it. No loss is affected."
    )


def roots(read):
    """A root that a Where does not take where it is NaN, and what else reads it."""
    z = x([-3.0, 2.0])
    root = b.sqrt(z, name="root")
    return [b.sum(b.where(b.greater(z, 0.0), root, z, name="choose")), read(root)]


def in_two_losses(chosen, summed):
    return [b.loss(chosen, name="aux"), b.loss(summed, name="loss")]


@pytest.mark.parametrize(
    "draw",
    [
        lambda: [b.loss(b.add(*roots(b.sum)), name="loss")],
        lambda: [b.loss(b.add(*roots(lambda r: b.mean(b.square(r)))), name="loss")],
        lambda: in_two_losses(*roots(b.sum)),
        lambda: [b.add(*roots(b.sum), name="loss")],
    ],
    ids=["same loss", "further on", "another loss", "no Loss block"],
)
def test_what_a_where_does_not_take_has_its_cure_where_a_loss_reads_it_elsewhere(draw):
    said = {f.key: f.sentence for f in diagnose(Session(b.build(*draw())))}
    cure = "Clip its input from below, at a small number above 0."
    assert said["root"] == (
        f"root is NaN: √ of −3 (element 0 of x). {cure} That is why loss is not finite."
    )
    for sentence in said.values():
        assert "choose does not take it" not in sentence, sentence
        assert cure in sentence or "put a Where before root too" in sentence


def test_what_a_where_does_not_take_has_its_cure_where_something_else_spoils_the_loss_too():
    ratio = b.div(x(0.0, "zero"), b.constant("nothing", 0.0), name="ratio")
    chosen, summed = roots(b.sum)
    found = diagnose(Session(b.build(b.loss(ratio + chosen + summed))))
    (said,) = [f.sentence for f in found if f.key == "root"]
    assert "Clip its input" in said and said.endswith("Behind it, loss is not finite either.")
    assert "choose" not in said


def test_what_leads_to_a_loss_that_something_else_spoils_is_not_called_harmless():
    ratio = b.div(x(0.0), b.constant("nothing", 0.0), name="ratio")
    logs = b.log(x(0.0, "y"), name="logs")
    idle = b.display(b.log(b.constant("minus", -1.0), name="aside"))
    found = diagnose(Session(b.build(b.loss(b.add(ratio, logs)), idle)))
    said = {f.key: (f.complaint, f.sentence) for f in found}
    assert said["ratio"][1].endswith("That is why loss is not finite.")
    assert said["logs"] == (
        VALUE,
        "logs is −∞: log of 0 (x). Add a small number to its input. Behind it, loss is not "
        "finite either.",
    )
    assert said["aside"][0] is MASKED_VALUE and said["aside"][1].endswith("No loss is affected.")


def test_infinite_constants_are_no_findings_where_the_loss_is_finite():
    mask = b.constant("mask", [0.0, -INF])
    weights = b.softmax(b.add(x([1.0, 2.0]), mask))
    assert observed(total(b.mul(weights, b.constant("c", [1.0, 2.0])))).origins == ()


def test_two_losses_share_one_origin():
    f = b.log(x(-1.0), name="f")
    (origin,) = observed(b.loss(f, name="L1"), b.loss(b.mul(f, 2.0), name="L2")).origins
    assert origin.sentence.endswith("That is why L1 and L2 are not finite.")


def test_the_block_has_a_badge():
    reading = observed(total(b.log(x([-1.0, 4.0]), name="f")))
    (badge,) = badges(reading)
    assert (badge.mark, badge.key) == (BadgeKind.VALUE, "f")


def test_a_loss_that_trains_nothing_is_a_finding():
    session = Session(b.build(b.loss(x(1.0), name="L1"), b.loss(b.constant("c", 2.0), name="L2")))
    (finding,) = diagnose(session)
    assert (finding.complaint, finding.key) == (NO_VARIABLE, "L2")


@pytest.mark.parametrize(
    ("losses", "said"),
    [
        (lambda: [b.loss(x(1.0))], "Nothing wrong: every trained variable gets a gradient."),
        (
            lambda: [b.loss(b.add(x(1.0), b.stop_gradient(x(2.0, "y"))))],
            "Nothing wrong: y gets no gradient, as contracts demand. All others get one.",
        ),
        (lambda: [b.loss(b.constant("c", 1.0))], "Nothing wrong, and nothing to train."),
        (
            lambda: [b.display(x(1.0))],
            "There is no loss yet: add a Loss block, or end a chain in a single number.",
        ),
        (
            lambda: [b.loss(x(1.0), name="L1"), b.loss(b.mul(x(1.0, "y"), 2.0), name="L2")],
            "Nothing wrong: every trained variable gets a gradient of at least one loss.",
        ),
    ],
)
def test_what_is_said_where_nothing_is_wrong(losses, said):
    program = Session(b.build(*losses())).program
    assert reassurance(program, program.heads()) == said


@pytest.mark.parametrize(
    "source", [b.variable("x", np.zeros(0)), b.constant("x", np.zeros(0))], ids=["trained", "given"]
)
def test_no_reassurance_where_a_block_could_not_be_run(source):
    """The only loss depends on a mean of nothing: that is neither well nor a missing loss."""
    program = Session(b.build(b.loss(b.mean(source, name="of_none"))), partial=True).program
    said = reassurance(program, program.heads())
    assert said == "Nothing wrong as far as it could be run: of_none and loss could not."
