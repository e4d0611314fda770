"""Diagrams and numbers at which gradients are 0, too small, too large, partly 0 or not finite."""

from __future__ import annotations

from collections.abc import Iterator
from functools import reduce
from typing import TYPE_CHECKING, Any

import numpy as np

from gradwire.runtime.build import block, build, loss, stop_gradient, variable
from gradwire.runtime.engine import Session
from gradwire.runtime.publish.living.computing.numbers import numbers
from tests.runtime.publish.living.oracle import floats, results

if TYPE_CHECKING:
    from gradwire.runtime.diagram import Diagram
    from gradwire.runtime.publish.living.data import Living

Array = np.ndarray[Any, Any]
INVERSES = ("Arccos", "Arccosh", "Arcsin", "Arctanh", "Sinh")
CHANGES = (
    lambda x: x * 0,
    lambda x: x * 1e6,
    lambda x: x * 1e-9,
    lambda x: -x,
    lambda x: x * 0 + 1,
    lambda x: x * 1e30,
    lambda x: np.maximum(x, 0),
    lambda x: x * 50,
)


def hard_cases(living: Living, most: int = 12) -> Iterator[dict[str, Any]]:
    """As ``oracle.cases``, with each source in turn changed in each of these ways, and all."""
    random = np.random.default_rng(1)
    settings = [*living.switches.settings(64)]
    for setting in dict.fromkeys([settings[0], settings[-1]]):
        session = Session(living.switches.switched(setting), fast=False)
        base = floats(session)
        ways = [{path: change} for path in base for change in CHANGES]
        ways += [dict.fromkeys(base, change) for change in CHANGES]
        chosen = random.permutation(len(ways))[:most]
        for way in (ways[k] for k in sorted(chosen)):
            values = {
                path: way.get(path, lambda x: x)(array).astype(array.dtype)
                for path, array in base.items()
            }
            for path, array in values.items():
                session.set(path, array)
            yield {
                "values": {path: numbers(array) for path, array in values.items()},
                "open": setting,
                "heads": [True] * len(session.losses),
                **results(session, session.losses, told=True),
            }


def _apart() -> Diagram:
    """A tree whose leaves fare differently: one saturates, and one is small."""
    leaves = [variable(n, [v, 2 * v], dtype="float64") for n, v in (("w", 400.0), ("v", 0.3))]
    tree = block("Tanh", block("Pack", *leaves, keys="w, v", name="pack"), name="tanh")
    w, v = block("Unpack", stop_gradient(tree, only=["u"]), paths="w, v", name="parts")
    return build(loss(block("Sum", w), name="L"), loss(block("Sum", v * 1e-9), name="M"))


def specimens() -> dict[str, Diagram]:
    """One diagram for each reason."""

    def scalar(value: float) -> Any:
        return variable("x", value, dtype="float64")

    def vector(*values: float) -> Any:
        return variable("x", list(values), dtype="float64")

    def one(kind: str, *inputs: Any, **parameters: Any) -> Any:
        return block(kind, *inputs, name=kind.lower(), **parameters)

    def total(*parts: Any) -> Diagram:
        return build(loss(one("Sum", *parts), name="L"))

    def small(node: Any, *factors: float) -> Any:
        return reduce(lambda product, factor: block("Mul", product, factor), factors, node)

    x, y = vector(1.0, -2.0, 0.0), variable("y", [0.0, 0.0, 0.0], dtype="float64")
    positive = vector(1.0, 2.0, 0.5)
    return {
        "off": total(one("Relu", vector(-3.0, -1.0))),
        "one class": build(
            loss(
                one("CrossEntropy", variable("z", [[1.5], [2.0]], dtype="float64"), [0, 0]),
                name="L",
            )
        ),
        "one element": total(
            one(
                "Mul",
                one("LayerNorm", variable("n", [[1.5], [2.0]], dtype="float64")),
                [[1.0], [3.0]],
            )
        ),
        "product of zeros": total(
            one(
                "Mul",
                block("Mul", positive, y, name="inner"),
                one("Transpose", variable("t", [0.0] * 3, dtype="float64")),
            )
        ),
        "output": build(loss(one("MeanSquaredError", one("Relu", scalar(-3.0)), 1.0), name="L")),
        "saturated": total(one("Sigmoid", vector(800.0, 900.0))),
        "softmax": total(one("Mul", one("Softmax", vector(0.0, 2000.0)), [1.0, 3.0])),
        "ignored shift": total(
            one(
                "Mul",
                one("Softmax", one("Add", positive, variable("b", 0.3, dtype="float64"))),
                [1.0, 3.0, 2.0],
            )
        ),
        "whole softmax": total(one("Softmax", vector(0.0, 0.0, 0.0, 0.0))),
        "single softmax": total(one("Mul", one("Softmax", vector(2.0)), variable("z", [3.0]))),
        "single norm": total(one("Mul", one("LayerNorm", vector(2.0)), variable("z", [3.0]))),
        "single key": total(
            one("Attention", *(variable(n, [[0.5, 2.0]], dtype="float64") for n in "qkv"))
        ),
        "steps": total(one("Round", x)),
        "beyond": total(one("Clip", vector(-3.0, 9.0), min=0.0, max=1.0)),
        "at open limits": total(one("Clip", vector(0.0, 9.0), min=0.0, max=6.0, open=True)),
        "times 0": total(one("Mul", x, y)),
        "starts at 0": _layers([0.0, 0.0], [0.0, 0.0], 0.0, 0.0),
        "moves in a step": _layers([0.5, -0.5], [0.1, 0.3], 0.0, 0.0),
        "moves in two steps": _layers([0.5, -0.5], [0.1, 0.3], 0.0, 0.0, deep=True),
        "abs": total(one("Abs", vector(0.0, 0.0))),
        "norm": build(loss(one("Norm", vector(0.0, 0.0)), name="L")),
        "norm squared": build(loss(one("Square", one("Norm", vector(0.0, 0.0))), name="L")),
        "arctan2": total(one("Arctan2", vector(0.0), variable("z", [0.0], dtype="float64"))),
        "divides 0": total(one("Div", vector(0.0), variable("z", [2.0], dtype="float64"))),
        "minimum": build(loss(one("MeanSquaredError", scalar(2.0), 2.0), name="L")),
        "probabilities": build(
            loss(
                one("BinaryCrossEntropy", vector(1.5, -1.0), [1.0, 1.0], given="probabilities"),
                name="L",
            )
        ),
        "cancel": _cancelled(),
        "nearly cancel": _cancelled(1e-9),
        "where": total(one("Where", one("Greater", x, 5.0), one("Sqrt", x), x)),
        "where, read elsewhere": _read_elsewhere(),
        **{kind: total(one(kind, vector(0.5, -1.0, 7.0))) for kind in INVERSES},
        **{
            f"{kind} of limits": total(one(kind, one("Clip", x, min=-1.0, max=1.0)))
            for kind in (*INVERSES, "Log1p")
        },
        "log of 0": total(one("Log", one("Clip", x, min=0.0))),
        "log of sigmoid": total(one("Log", one("Sigmoid", vector(-800.0)))),
        "log of softmax": total(one("Log", one("Softmax", vector(0.0, 2000.0)))),
        "negative log": total(one("Log", x)),
        "root of 0": total(one("Sqrt", one("Square", vector(0.0, 1.0)))),
        "root of negative": total(one("Sqrt", x)),
        "exp": total(one("Exp", vector(1000.0, 1.0))),
        "softplus by hand": build(
            loss(one("Sum", one("Log1p", one("Exp", vector(1000.0)))), name="L")
        ),
        "div by norm": total(one("Div", positive, one("Norm", y))),
        "div by 0": total(one("Div", positive, y)),
        "power": total(one("Pow", y, 0.5)),
        "too late": total(one("Maximum", one("Log", vector(0.0)), -5.0)),
        "flood": total(one("Mul", x, [1e6, 1e6, 1e6])),
        "faint": total(one("Mul", x, [1e-9, 1e-9, 1e-9])),
        "pole": total(one("Log", vector(1e-6))),
        "underflows": total(small(x, 1e-200, 1e-200)),
        "underflows without end": total(small(x, *[1e-200] * 4)),
        "underflows on the way": total(one("Square", small(x, *[1e-50] * 4))),
        "underflows, unmarked": _unmarked(),
        "vanishing": total(one("Sigmoid", block("Sigmoid", block("Sigmoid", vector(9.0))))),
        "small factor": total(
            one(
                "Mul",
                one("Tanh", positive * variable("w", 0.3, dtype="float64")),
                variable("scale", [1e-6] * 3, dtype="float64"),
            )
        ),
        "decays": _read_in_turn("Tanh", 0.3),
        "decays behind gates": _read_in_turn("Sigmoid", 1.3),
        "leaves apart": _apart(),
        "partial": total(one("Relu", x)),
        "stopped": total(stop_gradient(x) * y),
    }


def _layers(w: Any, b: Any, v: float, c: float, deep: bool = False) -> Diagram:
    """Linear layers, of which the last have weights of 0."""

    def made(name: str, value: Any) -> Any:
        return variable(name, value, dtype="float64")

    x = [[1.0], [-2.0], [0.5]]
    hidden = block("Relu", block("Linear", x, made("w", [[a] for a in w]), made("b", b), units=2))
    if deep:
        weights = made("deep", [[0.0, 0.0], [0.0, 0.0]])
        hidden = block("Linear", hidden, weights, made("shift", [0.4, 0.2]), units=2)
    out = block("Linear", hidden, made("v", [[v, v]]), made("c", [c]), units=1)
    return build(loss(block("MeanSquaredError", out, [[1.0], [2.0], [3.0]]), name="L"))


def _read_in_turn(squash: str, factor: float, steps: int = 20) -> Diagram:
    """A state that forgets, and reads a sequence step by step; its first step is trained."""
    rest = [[0.1 * k, -0.2] for k in range(steps - 1)]
    first = variable("x", [[0.5, -0.3]], dtype="float64")
    sequence, state = block("Concat", first, rest, name="sequence"), None
    for step in range(steps):
        read = block("Slice", sequence, begin=[step, 0], size=[1, 2])
        state = read if state is None else read + block(squash, state) * factor
    return build(loss(block("Sum", state), name="L"))


def _unmarked() -> Diagram:
    x = variable("x", [1.0, 2.0], dtype="float64")
    small = block("Sum", block("Mul", block("Mul", x, 1e-200), 1e-200))
    return build(block("Mul", small, 1.0))


def _read_elsewhere() -> Diagram:
    x = variable("x", [-3.0, 2.0], dtype="float64")
    root = block("Sqrt", x, name="root")
    chosen = block("Where", block("Greater", x, 0.0), root, x)
    return build(loss(block("Sum", chosen) + block("Sum", root), name="L"))


def _cancelled(rest: float = 0.0) -> Diagram:
    x = variable("x", [1.0, 2.0], dtype="float64")
    return build(loss(block("Sum", block("Sub", x * (1.0 + rest), x * 1.0)), name="L"))
