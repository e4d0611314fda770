"""Cures fit what stands around a block, and what they advise does away with what was wrong."""

from __future__ import annotations

import pytest

import gradwire.runtime.build as b
from gradwire.runtime.engine import Session
from gradwire.runtime.flow import diagnose

EPS = 1e-6


def x(value, name="x"):
    return b.variable(name, value)


def findings(node):
    total = b.loss(b.sum(node))
    return " ".join(found.sentence for found in diagnose(Session(b.build(total))))


def sigmoid():
    return b.div(1.0, b.add(b.exp(x(200.0), name="power"), 1.0))


def softplus(log):
    power = b.exp(x(200.0), name="power")
    return b.log1p(power) if log == "log1p" else b.log(b.add(1.0, power))


def share(z, logarithm=False):
    power = b.exp(z, name="power")
    ratio = b.div(power, b.add(b.sum(power), 1e-9))
    return b.log(ratio) if logarithm else ratio


def unit(length):
    vector = x([0.0, 0.0])
    return b.mul([1.0, 2.0], b.div(vector, length(vector)))


def under_root(eps):
    return lambda v: b.sqrt(b.add(b.sum(b.square(v)), eps), name="length")


def arccos(limit):
    c = b.clip(x(10.0), min=-1.0, max=limit, name="limit")
    return b.arctan2(b.sqrt(1.0 - b.square(c), name="root"), c)


def guarded(inside):
    total = b.sum(b.square(x([0.0, 0.0])))
    if inside:
        return b.sqrt(b.maximum(total, EPS, name="guard"), name="root")
    return b.maximum(b.sqrt(total, name="root"), EPS, name="guard")


def inside(x, least=EPS):
    return b.clip(x, min=least - 1.0, max=1.0 - least, name="limit")


def inverse(kind, value, prepare=lambda z: z):
    return getattr(b, kind)(prepare(x(value)), name="f")


Z = [200.0, 1.0]
WITHIN = "Clip its input to a range just inside −1 to 1: at ±1 its {} is infinite."
ABOVE_1 = "Clip its input from below, just above 1: at 1 its slope is infinite."


@pytest.mark.parametrize(
    ("draw", "cure", "cured"),
    [
        (sigmoid, "Use Sigmoid in its place", lambda: b.sigmoid(-x(200.0))),
        (lambda: softplus("log"), "Use Softplus in its place", lambda: b.softplus(x(200.0))),
        (lambda: softplus("log1p"), "Use Softplus in its place", lambda: b.softplus(x(200.0))),
        (
            lambda: share(x(Z)),
            "Subtract the maximum before it, or use Softmax.",
            lambda: share(b.sub(x(Z), b.max(x(Z, "same")))),
        ),
        (
            lambda: share(x(Z), logarithm=True),
            "Subtract the maximum before it, or use LogSoftmax.",
            lambda: b.log_softmax(x(Z)),
        ),
        (
            lambda: b.log(b.sum(b.exp(x(Z)))),
            "Subtract the maximum before it, or use LogSumExp.",
            lambda: b.log_sum_exp(x(Z)),
        ),
        (
            lambda: b.exp(x(200.0)),
            "Clip its input from above, or calculate with logarithms.",
            lambda: b.exp(b.clip(x(200.0), min=None, max=80.0)),
        ),
        (
            lambda: b.log(b.sigmoid(x(-200.0))),
            "Use −Softplus(−x) instead of Log of Sigmoid",
            lambda: -b.softplus(-x(-200.0)),
        ),
        (
            lambda: b.log(1.0 - b.sigmoid(x(200.0))),
            "Use −Softplus(x) instead of Log of 1 − Sigmoid",
            lambda: -b.softplus(x(200.0)),
        ),
        (
            lambda: b.div(1.0, b.square(x(1e-30), name="tiny")),
            "1 ÷ 0 (b), as tiny underflows.",
            lambda: b.div(1.0, b.square(x(1e-30)) + 1e-3),
        ),
        (
            lambda: unit(under_root(0.0)),
            "Add a small number under the root of length.",
            lambda: unit(under_root(EPS)),
        ),
        (
            lambda: unit(lambda v: b.norm(v, name="length")),
            "JAX and TensorFlow need √(Σx² + a small number) instead of length.",
            lambda: unit(under_root(EPS)),
        ),
        (
            lambda: b.sqrt(x(-2.0)),
            "Clip its input from below, at a small number above 0.",
            lambda: b.sqrt(b.clip(x(-2.0), min=EPS, max=None)),
        ),
        (
            lambda: arccos(1.0),
            "Lower the max of limit, which lets 1 through.",
            lambda: arccos(1.0 - EPS),
        ),
        *(
            (
                lambda k=kind, v=value: inverse(k, v),
                WITHIN.format("value" if kind == "arctanh" else "slope"),
                lambda k=kind, v=value: inverse(k, v, inside),
            )
            for kind in ("arccos", "arcsin", "arctanh")
            for value in ([7.0, 0.5], [1.0, 0.5], [0.2, -1.0], [-3.0, 3.0], -1.0)
        ),
        *(
            (
                lambda v=value: inverse("arccosh", v),
                ABOVE_1,
                lambda v=value: inverse("arccosh", v, lambda z: b.clip(z, min=1.001, max=None)),
            )
            for value in ([0.5, 2.0], [1.0, 2.0], -1.0)
        ),
        *(
            (
                lambda k=kind, v=value: inverse(k, v),
                "Clip its input from above and below.",
                lambda k=kind, v=value: inverse(k, v, lambda z: b.clip(z, min=-9.0, max=9.0)),
            )
            for kind in ("sinh", "cosh")
            for value in (-200.0, [200.0, 1.0])
        ),
        (
            lambda: inverse("arccos", [7.0, 0.5], lambda z: inside(z, 0.0)),
            "Lower the max of limit, which lets 1 through.",
            lambda: inverse("arccos", [7.0, 0.5], inside),
        ),
        (
            lambda: inverse("arcsin", [0.5, -2.0], lambda z: b.mul(inside(z, 0.0), 1.0)),
            "Raise the min of limit, which lets −1 through.",
            lambda: inverse("arcsin", [0.5, -2.0], inside),
        ),
        (
            lambda: inverse("arctanh", [-7.0, 0.5, 7.0], lambda z: inside(z, 0.0)),
            "Raise the min and lower the max of limit, which lets −1 and 1 through.",
            lambda: inverse("arctanh", [-7.0, 0.5, 7.0], inside),
        ),
        (
            lambda: inverse(
                "arccosh", [0.5, 2.0], lambda z: b.clip(z, min=1.0, max=None, name="limit")
            ),
            "Raise the min of limit, which lets 1 through.",
            lambda: inverse(
                "arccosh", [0.5, 2.0], lambda z: b.clip(z, min=1.001, max=None, name="limit")
            ),
        ),
        (
            lambda: inverse("log1p", [-3.0, 2.0], lambda z: b.clip(z, min=-1.0, name="limit")),
            "Raise the min of limit, which lets −1 through.",
            lambda: inverse("log1p", [-3.0, 2.0], lambda z: b.clip(z, min=-0.9, name="limit")),
        ),
        (
            lambda: b.sqrt(1.0 - b.square(inside(x([2.0, -2.0, 0.1]), 0.0))),
            "Raise the min and lower the max of limit, which lets −1 and 1 through.",
            lambda: b.sqrt(1.0 - b.square(inside(x([2.0, -2.0, 0.1])))),
        ),
        (
            lambda: b.log(1.0 - b.clip(x(2.0), min=0.0, max=1 - 1e-9, name="limit")),
            "Lower the max of limit, which lets 1 through: 0.999999999 is 1 in float32.",
            lambda: b.log(1.0 - b.clip(x(2.0), min=0.0, max=1 - 1e-6, name="limit")),
        ),
        (
            lambda: b.sqrt(b.variance(x([2.0, 2.0]), name="spread")),
            "Add a small number under the root, or use the variance itself.",
            lambda: b.variance(x([2.0, 2.0])),
        ),
        (
            lambda: b.sqrt(b.square(x(0.0))),
            "Add a small number under the root, or use Abs instead of the root of a square.",
            lambda: b.abs(x(0.0)),
        ),
        (
            lambda: b.sqrt(b.pow(x([0.0, -1.0]), 2.0)),
            "Add a small number under the root, or use Abs instead of the root of a square.",
            lambda: b.abs(x([0.0, -1.0])),
        ),
        (
            lambda: b.sqrt(b.pow([1.0, 0.0], x(4.0), name="power")),
            "or halve the exponent of power instead of taking the root.",
            lambda: b.pow([1.0, 0.0], b.div(x(4.0), 2.0), name="power"),
        ),
        (
            lambda: b.pow(x([0.0, 1.0]), 0.25),
            "Keep the base above 0: add a small number to it.",
            lambda: b.pow(x([0.0, 1.0]) + EPS, 0.25),
        ),
        (
            lambda: b.log(x([-0.5, 2.0])),
            "Keep its input above 0: clip it, or make it positive with Softmax or Softplus.",
            lambda: b.log(b.softmax(x([-0.5, 2.0]))),
        ),
        (
            lambda: b.div(1.0, b.softplus(x(-200.0), name="deviation")),
            "1 ÷ 0 (b), as deviation underflows. Add a small number to the denominator, or "
            "clip it from below.",
            lambda: b.div(1.0, b.clip(b.softplus(x(-200.0)), min=0.1, max=None)),
        ),
        (
            lambda: b.log(b.clip(x([0.5, -1.0]), min=0.0, max=1.0, name="limit")),
            "Raise the min of limit, which lets 0 through.",
            lambda: b.log(b.clip(x([0.5, -1.0]), min=EPS, max=1.0, name="limit")),
        ),
        (
            lambda: guarded(inside=False),
            "guard limits the value, yet 0·∞ is NaN: limit the input of root instead",
            lambda: guarded(inside=True),
        ),
    ],
)
def test_a_cure_is_named_and_helps(draw, cure, cured):
    assert cure in findings(draw())
    after = findings(cured())
    assert cure not in after and "made in" not in after and "not finite" not in after


def test_a_limit_is_not_to_blame_for_a_pole_elsewhere():
    """The second number is 0 by itself, where the limit lets nothing through."""
    z = b.mul(b.clip(x([2.0, 0.5]), min=0.1, max=1.0, name="limit"), [1.0, 0.0])
    assert "limit" not in findings(b.log(z))


@pytest.mark.parametrize(
    ("draw", "unfit"),
    [
        (lambda: b.sqrt(b.pow(x([0.0, -1.0]), 4.0)), "halve"),
        (lambda: b.sqrt(b.mul(x([0.0, 1.0]), 2.0)), "or"),
        (lambda: b.div(1.0, b.sqrt(b.variance(x([1.0, 1.0]))) + 1e-5), "variance itself"),
        (lambda: b.div(1.0, b.dot(x([1.0, 0.0]), [0.0, 1.0])), "clip it from below"),
        (lambda: b.log(b.exp(b.constant("masked", -float("inf")) + x(1.0))), "underflows"),
        (lambda: b.log(b.relu(x(-1.0))), "underflows"),
    ],
    ids=["signed base", "no form", "divides", "signed", "of minus infinity", "exactly 0"],
)
def test_a_cure_is_kept_back_where_it_does_not_fit(draw, unfit):
    said = findings(draw())
    assert "made in" in said and unfit not in said.replace("for", "")


@pytest.mark.parametrize(
    ("draw", "at", "slope"),
    [(b.sqrt, -1.0, "0·NaN is NaN"), (b.log, -1.0, "0·NaN is NaN"), (b.exp, 100.0, "0·∞ is NaN")],
)
def test_what_is_multiplied_by_0_is_told_by_its_kind(draw, at, slope):
    q = b.constant("q", [at, 1.0])
    scaled = b.mul(x(2.0), draw(q, name="f"))
    assert slope in findings(b.where(b.equal(q, 1.0), scaled, 0.0, name="choose"))


@pytest.mark.parametrize(
    ("draw", "bad", "safe", "cause"),
    [
        (lambda z: b.sqrt(z, name="f"), -1.0, 1.0, "√ of −1"),
        (lambda z: b.log(z, name="f"), 0.0, 1.0, "log of 0"),
        (lambda z: b.div(1.0, z, name="f"), 0.0, 1.0, "1 ÷ 0"),
        (lambda z: b.exp(z, name="f"), 200.0, 0.0, "exp of 200 overflows float32"),
        (lambda z: b.cos(z, name="f"), float("inf"), 0.0, "cos of ∞"),
        (lambda z: b.pow(z, 0.5, name="f"), -1.0, 1.0, "−1 to the power 0.5"),
    ],
    ids=["root of −1", "log of 0", "1 / 0", "exp overflows", "cos of ∞", "power of −1"],
)
def test_a_branch_not_taken_needs_a_second_where(draw, bad, safe, cause):
    def branches(guarded):
        z = x([bad, 2.0])
        taken = b.equal(z, 2.0)
        f = draw(b.where(taken, z, safe) if guarded else z)
        return findings(b.where(taken, f, 0.0, name="choose"))

    said = branches(guarded=False)
    assert "First NaN made in f, whose value is " in said and f"{cause} (element 0 of" in said
    assert "choose does not take this branch" in said
    assert "put a Where before f too, so that it never sees such values." in said
    assert branches(guarded=True) == ""


def test_the_block_that_makes_nan_of_an_infinity_is_told_from_what_made_that():
    x = b.variable("x", [0.0, 2.0])
    wave = b.cos(b.div(1.0, x, name="inverse"), name="wave")
    assert (
        "First NaN made in wave, as inverse is ∞: 1 ÷ 0 (element 0 of b). choose does not "
        "take this branch, yet 0·NaN is NaN: put a Where before inverse too"
    ) in findings(b.where(b.greater(x, 0.5), wave, 0.0, name="choose"))


@pytest.mark.parametrize(
    ("draw", "said"),
    [(b.sqrt, "(0 in TensorFlow, but not under XLA)"), (b.log, "yet 0·∞ is NaN:")],
)
def test_tensorflow_is_named_only_where_it_differs(draw, said):
    q = x([0.0, 4.0], "q")
    assert said in findings(b.where(b.greater(q, 0.0), draw(q, name="f"), 0.0, name="choose"))


def test_a_branch_that_is_taken_is_not_said_not_to_be():
    safe, bad = x([1.0, 1.0], "safe"), b.div(1.0, x([1.0, 0.0]), name="ratio")
    taken = findings(b.where([True, False], safe, bad, name="choice"))
    assert "ratio is ∞: 1 ÷ 0 (element 1 of b)." in taken
    assert "choice does not take" not in taken
    assert "choice does not take" in findings(b.where([True, True], safe, bad, name="choice"))


def test_a_pole_is_not_said_to_overflow():
    said = findings(inverse("arctanh", [0.5, 1.0]))
    assert said.startswith("f is ∞: arctanh of 1 (element 1 of x). Clip")


def test_a_limit_away_from_a_pole_is_not_to_blame():
    said = findings(inverse("arccos", [7.0, 0.5], lambda z: b.clip(z, min=0.0, max=2.0)))
    assert "arccos of 2" in said and WITHIN.format("slope") in said and "Lower" not in said
    assert "Raise" not in findings(b.exp(b.clip(x(0.0), min=0.0, max=None)))


def test_the_divisor_of_a_remainder_is_named():
    said = findings(b.mod(x(5.0), x(0.0, "by"), name="rest"))
    assert "rest is NaN: 5 mod 0 (b). Keep what it divides by away from 0." in said
