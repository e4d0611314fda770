"""One diagram that shows every state of a lane and every badge at once, a chain for each."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from gradwire.runtime.build import block, build, constant, loss, variable
from gradwire.runtime.diagram import Point

if TYPE_CHECKING:
    from gradwire.runtime.build import Expression
    from gradwire.runtime.diagram import Diagram

_STEP = Point(220.0, 92.0)
_LEFT = 1150.0


def states() -> Diagram:
    """Every chain ends in a loss of its own; where that is none, the last block names it."""
    made = build(*_that_carry(), *_that_do_not(), *_with_badges(), title="Every state of a lane")
    layout = {
        name: Point(side * _LEFT + place * _STEP.x, row * _STEP.y)
        for side, rows in enumerate(_ROWS)
        for row, names in enumerate(rows)
        for place, name in enumerate(names.split())
        if name != "-"
    }
    page = replace(made.main, layout=layout, routes={})
    return replace(made.with_page("main", page), contracts=("updates(opt -> [!u]*)",))


_ROWS = (
    (
        "a tanh carries",
        "b gate sum partial",
        "c off on zero_here",
        "d twice dead once_more zero_arrived",
        "e flat zero_seed",
        "f tiny faint",
        "g huge flood",
        "h once root nought not_finite",
        "k idle inner cuts_nothing",
        "- round",
        "v - straight surrogate",
    ),
    (
        "s cosine stop stopped",
        "n argmax cast no_rule",
        "o off_route",
        "p fixed frozen",
        "data known nothing_to_train",
        "q misfit unknown",
        "w plus cancel cancels",
        "- minus",
        "weight pack select unpack join leaves",
        "bias",
        "unowned use used",
    ),
)


def _that_carry() -> list[Expression]:
    gate = block("Relu", variable("b", [1.0, -1.0, 2.0]), name="gate")
    off = block("Relu", variable("c", [-3.0]), name="off")
    dead = block("Relu", _times(variable("d", [-3.0]), 2.0, "twice"), name="dead")
    root = block("Sqrt", _times(variable("h", [0.0]), 1.0, "once"), name="root")
    flat = block("MeanSquaredError", variable("e", [2.0]), [2.0], name="flat")
    return [
        loss(block("Tanh", variable("a", [0.5]), name="tanh"), name="carries"),
        loss(block("Sum", gate, name="sum"), name="partial"),
        loss(_times(off, 1.0, "on"), name="zero_here"),
        loss(_times(dead, 1.0, "once_more"), name="zero_arrived"),
        loss(flat, name="zero_seed"),
        loss(_times(variable("f", [1.0]), 1e-9, "tiny"), name="faint"),
        loss(_times(variable("g", [1.0]), 2e4, "huge"), name="flood"),
        loss(_times(root, 0.0, "nought"), name="not_finite"),
    ]


def _that_do_not() -> list[Expression]:
    stop = block("StopGradient", block("Cos", variable("s", [1.0]), name="cosine"), name="stop")
    scores = block("ArgMax", variable("n", [1.0, 3.0]), name="argmax")
    fixed = block("Tanh", variable("p", [1.0], trainable=False), name="fixed")
    known = block("Tanh", constant("data", [1.0]), name="known")
    misfit = block("MatMul", variable("q", [[1.0, 2.0]]), [[1.0, 2.0, 3.0]], name="misfit")
    return [
        loss(stop, name="stopped"),
        loss(_times(scores, 1.0, "cast"), name="no_rule"),
        block("Tanh", variable("o", [1.0]), name="off_route"),
        loss(fixed, name="frozen"),
        loss(known, name="nothing_to_train"),
        loss(misfit, name="unknown"),
    ]


def _with_badges() -> list[Expression]:
    w, v = variable("w", [1.0]), variable("v", [1.4])
    both = block("Add", _times(w, 3.0, "plus"), _times(w, -3.0, "minus"), name="cancel")
    straight = block("StraightThrough", block("Round", v, name="round"), v, name="straight")
    inner = block("StopGradient", constant("k", [1.0]), name="idle")
    tree = block(
        "Pack", variable("weight", [1.0]), variable("bias", [1.0]), keys="weight, bias", name="pack"
    )
    stopped = block("StopGradient", tree, only="weight", name="select")
    parts = block("Unpack", stopped, paths="weight, bias", name="unpack")
    joined = block("Add", parts["weight"], parts["bias"], name="join")
    return [
        loss(both, name="cancels"),
        loss(straight, name="surrogate"),
        loss(_times(inner, 1.0, "inner"), name="cuts_nothing"),
        loss(joined, name="leaves"),
        loss(_times(variable("unowned", [1.0]), 2.0, "use"), name="used"),
    ]


def _times(value: Expression, factor: float, name: str) -> Expression:
    return block("Mul", value, factor, name=name)
