"""Each meaning against PyTorch: functions of elements, and activations."""

from __future__ import annotations

from functools import partial
from types import SimpleNamespace

import numpy as np
import pytest

from gradwire.runtime.interchange.importing.keras.functions import OPERATIONS
from gradwire.runtime.interchange.importing.meanings import activations as act
from gradwire.runtime.interchange.importing.meanings import elementwise as el
from gradwire.runtime.interchange.importing.stage import Stage
from tests.runtime.interchange.importing.meanings.differing import Fixed, agrees, functions

DRAW = np.random.default_rng(0)
X, Y = (DRAW.standard_normal((3, 4)).astype("f4") for _ in range(2))
P, LOW, SLOPES = (
    DRAW.random((3, 4)).astype("f4"),
    np.full((), -0.5, "f4"),
    np.array([0.1, 0.3], "f4"),
)
WITH_0 = np.append(X, np.float32(0))
IMAGE = DRAW.standard_normal((2, 2, 3)).astype("f4")
ODD = np.array([np.nan, np.inf, -np.inf, 0.0, 1.0], "f4")
HALVES = np.array([-2.5, -0.5, 0.5, 1.5], "f4")
N, M = np.array([-7, -6, 5, 4]), np.array([2, -4, -3, 3])
YES, NO = N > 0, M > 0


def cases(torch):
    """By the meaning: itself, what PyTorch has for it, and the arrays that both get."""
    return {
        "times_logarithm": (el.times_logarithm, torch.xlogy, np.zeros((3, 4), "f4"), P),
        "logarithm": (partial(el.logarithm, base=10), torch.log10, P),
        "truncated": (el.truncated, torch.trunc, X * 3),
        "rounded_away": (el.rounded_away, lambda x: x.sign() * (x.abs() + 0.5).floor(), HALVES),
        "quotient": (el.quotient, torch.div, X, Y),
        "quotient of whole": (el.quotient, partial(torch.div, rounding_mode="trunc"), N, M),
        "quotient down": (
            partial(el.quotient, down=True), partial(torch.div, rounding_mode="floor"), N, M
        ),
        "quotient of floats down": (
            partial(el.quotient, down=True), partial(torch.div, rounding_mode="floor"), X, Y
        ),
        "remainder": (el.remainder, torch.fmod, WITH_0, np.full(13, -0.4, "f4")),
        "remainder of whole": (el.remainder, torch.fmod, N, M),
        "scaled_sum": (partial(el.scaled_sum, "Sub", alpha=2), partial(torch.sub, alpha=2), X, Y),
        "number_of": (partial(el.number_of, "LessEqual"), torch.fmin, X, np.full((), np.nan, "f4")),
        "clip": (lambda x, low: el.clip(x, low, None), torch.maximum, X, LOW),
        "clip known": (
            lambda x: el.clip(x, x.like(-0.5), x.like(0.25)), lambda x: x.clip(-0.5, 0.25), X
        ),
        "clip between bounds in reverse": (
            lambda x: el.clip(x, x.like(1), x.like(-1)), lambda x: x.clip(1, -1), X
        ),
        "bitwise": (partial(el.bitwise, "xor"), torch.bitwise_xor, N, M),
        "bitwise of booleans": (partial(el.bitwise, "and"), torch.bitwise_and, YES, NO),
        "inverted": (el.inverted, torch.bitwise_not, N),
        "inverted booleans": (el.inverted, torch.bitwise_not, YES),
        "cube_root": (el.cube_root, lambda x: x.sign() * x.abs() ** (1 / 3), X),
        "extreme": (partial(el.extreme, "Minimum"), torch.minimum, X, Y),
        "extreme of truths": (partial(el.extreme, "Maximum"), torch.maximum, X > 0, Y > 0),
        "first_extreme": (
            partial(el.first_extreme, "Minimum"), lambda a, b: torch.where(a <= b, a, b),
            HALVES, HALVES * np.float32([1, -1, 1, 0]),
        ),
        "first_extreme beside NaN": (
            partial(el.first_extreme, "Maximum"), torch.maximum, Fixed(ODD), Fixed(ODD[::-1].copy())
        ),
        "fold": (lambda *x: el.fold("Mul", x), lambda a, b, c: a * b * c, X, Y, P),
        "log_add_exp": (el.log_add_exp, torch.logaddexp, X, Y[0]),
        "hypotenuse": (el.hypotenuse, torch.hypot, X * 1e30, Y * 1e30),
        "sinc": (el.sinc, torch.sinc, WITH_0),
        "nan_to_num": (el.nan_to_num, torch.nan_to_num, ODD),
        "nan_to_num given": (
            partial(el.nan_to_num, nan=1, posinf=2, neginf=3),
            partial(torch.nan_to_num, nan=1, posinf=2, neginf=3), ODD,
        ),
        "logit": (partial(el.logit, eps=0.2), partial(torch.logit, eps=0.2), P),
        "stopped": (lambda x: x * el.stopped(x, "it"), lambda x: x * x.detach(), X),
        "heaviside": (el.heaviside, torch.heaviside, Fixed(ODD[1:]), Fixed(SLOPES[:1])),
    }  # fmt: skip


def activations(torch):
    """The same of activations."""
    f = torch.nn.functional
    return {
        **{f"elu {by}": (
            partial(act.elu, alpha=0.5, scale=2, input_scale=by),
            partial(torch.ops.aten.elu, alpha=0.5, scale=2, input_scale=by), X,
        ) for by in (3, -1)},
        "selu": (act.selu, f.selu, X),
        "prelu": (act.prelu, f.prelu, IMAGE, SLOPES),
        "relu6": (act.relu6, f.relu6, np.append(X * 6, np.float32([0, 6]))),
        "hard_tanh": (act.hard_tanh, f.hardtanh, np.append(X, np.float32([-1, 1]))),
        "hard_sigmoid": (act.hard_sigmoid, f.hardsigmoid, X * 4),
        "mish": (act.mish, f.mish, X),
        "softplus": (partial(act.softplus, beta=2), partial(f.softplus, beta=2), X),
        "swish": (partial(act.swish, beta=2), lambda x: f.silu(2 * x) / 2, X),
        "softsign": (act.softsign, f.softsign, X),
        "log_sigmoid": (act.log_sigmoid, f.logsigmoid, X),
        "threshold": (
            partial(act.threshold, edge=0.3), partial(f.threshold, threshold=0.3, value=0), X
        ),
        "glu": (partial(act.glu, dim=1), partial(f.glu, dim=1), X),
        "softmax_of_all": (
            partial(act.softmax_of_all, kind="LogSoftmax"),
            lambda x: x.flatten(1).log_softmax(1).view(x.shape), IMAGE,
        ),
    }  # fmt: skip


@pytest.mark.parametrize("module", [el, act], ids=["elementwise", "activations"])
def test_all_meanings_agree_with_pytorch(module):
    torch = pytest.importorskip("torch")
    found = cases(torch) if module is el else activations(torch)
    assert {name.split()[0] for name in found} == functions(module)
    for name, (meaning, reference, *arrays) in found.items():
        agrees(name, meaning, reference, arrays)


def test_no_bound_is_none_and_an_infinite_one_neither():
    x = Stage().input("x", X)
    assert el.clip(x, None, None) is el.clip(x, x.like(-np.inf), x.like(np.inf)) is x


def test_what_others_have_is_one_row_of_keras():
    torch = pytest.importorskip("torch")
    f = torch.nn.functional
    settings = SimpleNamespace(json=lambda key: None)
    for name, reference in {
        "Softsign": f.softsign, "LogSigmoid": f.logsigmoid, "Selu": f.selu, "Relu6": f.relu6,
        "Log10": torch.log10, "Rsqrt": torch.rsqrt, "Logsumexp": partial(torch.logsumexp, dim=1),
    }.items():  # fmt: skip

        def row(x, name=name):
            call = SimpleNamespace(x=lambda: x, keywords={"axis": 1}, config=settings)
            return OPERATIONS[name](call)

        agrees(name, row, reference, [P])
