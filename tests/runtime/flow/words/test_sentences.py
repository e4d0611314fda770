"""What users read, word for word, on diagrams small enough to see through."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import pytest

from gradwire.blocks import Block
from gradwire.blocks.errors import RunError
from gradwire.blocks.library.gradient import Gradient, StopGradient, StraightThrough
from gradwire.blocks.library.losses import Loss
from gradwire.blocks.library.pages import Page as PageBlock
from gradwire.blocks.library.pages import PageInput, PageOutput
from gradwire.blocks.library.sources import Constant, Variable
from gradwire.blocks.registry import registry
from gradwire.runtime.diagram.paths import InstancePath
from gradwire.runtime.engine import Session
from gradwire.runtime.flow import Cutter, Flow, State
from gradwire.runtime.flow.analyse import analyse
from gradwire.runtime.flow.words.sentences import names, route
from tests.runtime.engine.drawing import draw, page, seed

if TYPE_CHECKING:
    from gradwire.runtime.diagram.model import Page

W = Variable(value=[1.0, 2.0, 3.0])
FROZEN = Variable(value=[1.0, 2.0, 3.0], trainable=False)
DATA = Constant(value=[1.0, 2.0, 3.0])


def make(name: str, **parameters: Any) -> Block:
    return registry().get(name)(**parameters)


def flow(blocks: Mapping[str, Block], wires: Mapping[str, str], **pages: Page) -> Flow:
    """The flow of a diagram; its losses are ``loss``, ``loss2``, … unless blocks say more."""
    losses = {target.partition(".")[0]: Loss() for target in wires if target.startswith("loss")}
    session = Session(draw({**blocks, **losses}, wires, **pages), partial=True)
    return analyse(session.program)


def says(flow: Flow, wire: str, loss: str | None = None) -> str:
    verdict = flow.verdict(wire, loss)
    assert verdict.state is flow.state(wire, loss)
    return f"{verdict.state}: {verdict.sentence}"


def test_the_mxnet_seed() -> None:
    """loss(stop_gradient(3 b) + a)."""
    said = analyse(Session(seed()).program)
    assert {wire: says(said, wire) for wire in said.states()} == {
        "triple.b": "STOPPED: stop stops every route to loss.",
        "stop.x": "STOPPED: stop stops every route to loss.",
        "plus.a": "STOPPED: Gradient arrives here and is thrown away. "
        "stop stops every route from here to b.",
        "plus.b": "CARRIES: Carries the gradient of loss to a. Route: loss ← plus.",
        "loss.x": "CARRIES: Carries the gradient of loss to a.",
    }
    assert said.variable("a").sentence == (
        "Carries the gradient of loss to a. Route: loss ← plus ← a."
    )
    assert said.variable("b").sentence == "stop stops every route to loss."
    assert said.verdict("stop.x").cutters == (Cutter(InstancePath("stop"), "x", "stop"),)
    assert said.verdict("plus.b").witness == ("loss", "plus")


def test_several_stops() -> None:
    side_by_side = flow(
        {"w": W, "one": StopGradient(), "two": StopGradient(), "plus": make("Add")},
        {"one.x": "w", "two.x": "w", "plus.a": "one", "plus.b": "two", "loss.x": "plus"},
    )
    assert side_by_side.variable("w").sentence == "one and two stop every route to loss."
    assert says(side_by_side, "loss.x") == (
        "STOPPED: Gradient arrives here and is thrown away. "
        "one and two stop every route from here to w."
    )
    in_a_row = flow(
        {"w": W, "near": StopGradient(), "tanh": make("Tanh"), "far": StopGradient()},
        {"far.x": "w", "tanh.x": "far", "near.x": "tanh", "loss.x": "near"},
    )
    assert says(in_a_row, "far.x") == (
        "STOPPED: near stops every route to loss. With that open, far stops the gradient."
    )
    assert says(in_a_row, "tanh.x") == (
        "STOPPED: near stops every route to loss. far stops every route from here to w."
    )
    many = {f"s{i}": StopGradient() for i in range(6)}
    fan = flow(
        {"w": W, **many, "sum": make("AddN")},
        {**{f"s{i}.x": "w" for i in range(6)}, **{f"sum.terms.{i}": f"s{i}" for i in range(6)},
         "loss.x": "sum"},
    )  # fmt: skip
    assert fan.variable("w").sentence == "s0, s1, s2, s3 and 2 more stop every route to loss."


def advice(softer: str = ", soften it,") -> str:
    return f"Move the loss before it{softer} or use a StraightThrough block."


SHAPE_CHANGES = "Move the loss before it, or soften it with a Softmax."
"""Where no StraightThrough fits, none is advised."""


@pytest.mark.parametrize(
    ("block", "after", "reason", "cure"),
    [
        ("ArgMax", "Cast", "it is piecewise constant", SHAPE_CHANGES),
        ("Greater", "Cast", "it compares, and the answer is piecewise constant",
         advice(", soften it with a Sigmoid,")),
        ("Equal", "Cast", "it tests for equality, which is piecewise constant",
         advice()),
        ("IsFinite", "Cast", "it returns true or false, which is piecewise constant", advice(",")),
    ],
)  # fmt: skip
def test_no_rule(block: str, after: str, reason: str, cure: str) -> None:
    port = "a" if block in ("Greater", "Equal") else "x"
    said = flow(
        {"w": W, "hard": make(block, **({"b": 1.0} if port == "a" else {})), "cast": make(after)},
        {f"hard.{port}": "w", "cast.x": "hard", "loss.x": "cast"},
    )
    assert says(said, f"hard.{port}") == f"NO RULE: hard cuts every route to loss: {reason}. {cure}"
    dtype = "int64" if block == "ArgMax" else "bool"
    assert says(said, "cast.x") == (
        f"NO RULE: Only floats have gradients, and this is {dtype}. "
        f"hard cuts every route from here to w: {reason}. {cure}"
    )
    assert says(said, "loss.x") == (
        "NO RULE: Gradient arrives here and is thrown away. "
        f"hard cuts every route from here to w: {reason}. {cure}"
    )


def test_a_cast_to_integers() -> None:
    said = flow(
        {"w": W, "whole": make("Cast", dtype="int64"), "back": make("Cast")},
        {"whole.x": "w", "back.x": "whole", "loss.x": "back"},
    )
    assert says(said, "whole.x") == (
        "NO RULE: whole cuts every route to loss: it leaves the floats, and only floats have "
        f"gradients. {advice(', keep floats there,')}"
    )


def test_integers_between_are_not_blamed() -> None:
    said = flow(
        {"w": W, "a": make("Greater"), "b": make("Less"), "both": make("And"), "no": make("Not"),
         "chosen": make("Where", a=1.0, b=0.0)},
        {"a.a": "w", "b.a": "w", "both.a": "a", "both.b": "b", "no.x": "both",
         "chosen.condition": "no", "loss.x": "chosen"},
    )  # fmt: skip
    assert said.variable("w").sentence == (
        "a and b cut every route to loss: each compares, and the answer is piecewise constant. "
        "Move the loss before them, soften them with a Sigmoid, or use a StraightThrough block."
    )


def test_straight_through_closes_its_hard_side_on_purpose() -> None:
    said = flow(
        {"w": W, "round": make("Round"), "through": StraightThrough()},
        {"round.x": "w", "through.hard": "round", "through.soft": "w", "loss.x": "through"},
    )
    assert says(said, "through.hard") == (
        "NO RULE: through cuts every route to loss: it sends all its gradient to its other input."
    )
    assert says(said, "through.soft") == (
        "CARRIES: Carries the gradient of loss to w. Route: loss ← through."
    )


def test_a_stop_before_what_has_no_rule() -> None:
    said = flow(
        {"w": W, "hard": make("ArgMax"), "cast": make("Cast"), "stop": StopGradient()},
        {"hard.x": "w", "cast.x": "hard", "stop.x": "cast", "loss.x": "stop"},
    )
    assert says(said, "hard.x") == (
        "NO RULE: stop stops every route to loss. "
        f"With that open, hard cuts the gradient: it is piecewise constant. "
        f"{SHAPE_CHANGES}"
    )


def test_frozen() -> None:
    said = flow({"w": W, "v": FROZEN, "mul": make("Mul")},
                {"mul.a": "w", "mul.b": "v", "loss.x": "mul"})  # fmt: skip
    assert says(said, "mul.b") == (
        "FROZEN: v is frozen, and nothing else upstream is trained. The gradient still passes to w."
    )
    assert said.variable("v").sentence == "v is frozen. The gradient still passes to w."
    assert said.verdict("mul.b").frozen == ("v",)
    both = flow({"u": FROZEN, "v": FROZEN, "mul": make("Mul")},
                {"mul.a": "u", "mul.b": "v", "loss.x": "mul"})  # fmt: skip
    assert says(both, "loss.x") == (
        "FROZEN: u and v are frozen, and nothing else upstream is trained."
    )


def test_frozen_and_cut() -> None:
    said = flow({"v": FROZEN, "stop": StopGradient()}, {"stop.x": "v", "loss.x": "stop"})
    assert says(said, "stop.x") == (
        "FROZEN: v is frozen, and nothing else upstream is trained. "
        "stop stops every route to loss as well."
    )
    assert says(said, "loss.x") == (
        "FROZEN: v is frozen, and nothing else upstream is trained. "
        "stop stops every route from here to v."
    )


def test_frozen_beside_a_stop_is_stopped_and_beside_an_argmax_is_frozen() -> None:
    """What one repair would let through is told by that repair."""
    stopped = flow(
        {"w": W, "v": FROZEN, "stop": StopGradient(), "mul": make("Mul")},
        {"stop.x": "w", "mul.a": "stop", "mul.b": "v", "loss.x": "mul"},
    )
    assert says(stopped, "loss.x") == (
        "STOPPED: Gradient arrives here and is thrown away. stop stops every route from here to w."
    )
    hard = flow(
        {"w": W, "v": FROZEN, "hard": make("Greater"), "cast": make("Cast"), "mul": make("Mul")},
        {"hard.a": "w", "cast.x": "hard", "mul.a": "cast", "mul.b": "v", "loss.x": "mul"},
    )
    assert says(hard, "loss.x") == (
        "FROZEN: v is frozen. hard cuts every route from here to w: "
        "it compares, and the answer is piecewise constant."
    )


@pytest.mark.parametrize(
    ("name", "what", "advice"),
    [
        ("wieght", "There is no variable 'wieght'.", "Did you mean weight?"),
        ("mul", "'mul' is a Mul, not a variable.", None),
        ("q", "There is no variable 'q'.", None),
    ],
)
def test_a_name_that_is_no_variable_is_an_error_with_the_nearest(name, what, advice) -> None:
    said = flow({"weight": W, "mul": make("Mul")}, {"mul.a": "weight", "mul.b": "weight",
                                                    "loss.x": "mul"})  # fmt: skip
    with pytest.raises(RunError) as caught:
        said.variable(name)
    assert (caught.value.what, caught.value.next_step) == (what, advice)
    assert advice or caught.value.expected == "weight"


def test_off_route() -> None:
    aside = {"w": W, "tanh": make("Tanh"), "sin": make("Sin")}
    said = flow(aside, {"tanh.x": "w", "sin.x": "w", "loss.x": "tanh"})
    assert says(said, "sin.x") == "OFF ROUTE: loss never reads this."
    two = flow(aside, {"tanh.x": "w", "sin.x": "w", "loss.x": "tanh", "loss2.x": "sin"})
    assert says(two, "sin.x", "loss") == "OFF ROUTE: loss never reads this. It reaches loss2."
    assert says(two, "sin.x") == "CARRIES: Carries the gradient of loss2 to w. Route: loss2 ← sin."
    for count, words in ((2, "Neither loss nor loss1 reads this."),
                         (3, "None of loss, loss1 and loss2 reads this.")):  # fmt: skip
        losses = {f"loss{i or ''}.x": "tanh" for i in range(count)}
        assert says(flow(aside, {"tanh.x": "w", "sin.x": "w", **losses}), "sin.x") == (
            f"OFF ROUTE: {words}"
        )


def test_several_losses_that_carry() -> None:
    said = flow({"w": W, "t": make("Tanh")}, {"t.x": "w", "loss.x": "t", "loss2.x": "t"})
    assert says(said, "t.x") == (
        "CARRIES: Carries the gradient of loss and loss2 to w. Route: loss ← t."
    )
    assert says(said, "t.x", "loss2") == (
        "CARRIES: Carries the gradient of loss2 to w. Route: loss2 ← t."
    )
    assert says(said, "loss2.x", "loss") == "OFF ROUTE: loss never reads this. It reaches loss2."


def test_nothing_to_train() -> None:
    said = flow({"d": DATA, "t": make("Tanh")}, {"t.x": "d", "loss.x": "t"})
    assert says(said, "t.x") == "NOTHING TO TRAIN: Only data and constants upstream: normal."
    places = Variable(value=[0, 2], dtype="int64")
    counted = flow({"d": DATA, "i": places, "pick": make("Gather")},
                   {"pick.x": "d", "pick.indices": "i", "loss.x": "pick"})  # fmt: skip
    assert says(counted, "loss.x") == (
        "NOTHING TO TRAIN: Only data, constants and i upstream, which holds no floats: normal."
    )
    assert counted.variable("i").sentence == "i has dtype int64, and only floats have gradients."


def test_unknown() -> None:
    broken = flow({"w": W, "two": Variable(value=[1.0, 2.0]), "plus": make("Add"),
                   "tanh": make("Tanh"), "other": make("Sin")},
                  {"plus.a": "w", "plus.b": "two", "tanh.x": "plus", "loss.x": "tanh",
                   "other.x": "w", "loss2.x": "other"})  # fmt: skip
    for wire in ("plus.a", "plus.b", "tanh.x", "loss.x"):
        assert says(broken, wire) == "UNKNOWN: Not computed: plus has an error."
    assert says(broken, "other.x").startswith("CARRIES")
    assert broken.variable("two").sentence == "Not computed: plus has an error."
    assert broken.variable("w").state is State.CARRIES
    gap = flow({"w": W, "plus": make("Add")}, {"plus.a": "w", "loss.x": "plus"})
    assert says(gap, "loss.x") == "UNKNOWN: Not computed: plus has an error."
    alone = analyse(Session(draw({"w": W, "t": make("Tanh")}, {"t.x": "w"})).program)
    no_loss = "There is no loss yet: add a Loss block, or end a chain in a single number."
    assert says(alone, "t.x") == f"UNKNOWN: {no_loss}"
    assert alone.variable("w").sentence == no_loss


@pytest.mark.parametrize("block", ["Softmax", "LogSoftmax", "Norm", "LogSumExp", "Max", "Gelu",
                                   "Sort", "Variance", "Elu", "GradientScale"])  # fmt: skip
def test_internals_of_a_block_are_never_blamed(block: str) -> None:
    said = flow({"w": W, "f": make(block)}, {"f.x": "w", "loss.x": "f"})
    assert says(said, "f.x") == "CARRIES: Carries the gradient of loss to w. Route: loss ← f."
    cut = flow({"w": W, "f": make(block), "stop": StopGradient()},
               {"f.x": "w", "stop.x": "f", "loss.x": "stop"})  # fmt: skip
    assert says(cut, "f.x") == "STOPPED: stop stops every route to loss."


def test_a_block_with_a_stop_inside_beside_an_open_way_cuts_nothing() -> None:
    class Shifted(Block):
        """A plug-in that holds a shift constant, as a stable softmax does."""

        def forward(self, xp: Any, x: Any) -> Any:
            return xp.exp(x - xp.stop_gradient(xp.max(x)))

    class Detached(Block):
        """A plug-in that detaches its second input."""

        def forward(self, xp: Any, x: Any, y: Any) -> Any:
            return x * xp.stop_gradient(y)

    said = flow({"w": W, "v": W, "f": Shifted(), "g": Detached(), "stop": StopGradient()},
                {"f.x": "w", "g.x": "f", "g.y": "v", "stop.x": "g", "loss.x": "stop"})  # fmt: skip
    assert says(said, "f.x") == "STOPPED: stop stops every route to loss."
    opened = flow({"w": W, "v": W, "f": Shifted(), "g": Detached()},
                  {"f.x": "w", "g.x": "f", "g.y": "v", "loss.x": "g"})  # fmt: skip
    assert says(opened, "f.x") == "CARRIES: Carries the gradient of loss to w. Route: loss ← g ← f."
    assert says(opened, "g.y") == "STOPPED: g stops every route to loss."


def test_into_a_gradient_block() -> None:
    said = flow({"w": W, "square": make("Square"), "grad": Gradient()},
                {"square.x": "w", "grad.of": "square", "grad.wrt": "w",
                 "loss.x": "grad"})  # fmt: skip
    words = (
        "OFF ROUTE: grad differentiates one input with respect to the other. Second-order gradient "
        "flows back along the wires between them, not through this one."
    )
    assert says(said, "grad.of") == says(said, "grad.wrt") == words
    assert says(said, "square.x") == (
        "CARRIES: Carries the gradient of loss to w. Route: loss ← grad ← square."
    )


def test_inside_pages() -> None:
    inside = page({"x": PageInput(), "stop": StopGradient(), "y": PageOutput()},
                  {"stop.x": "x", "y.x": "stop"})  # fmt: skip
    said = flow({"w": W, "enc": PageBlock(page="part")}, {"enc.x": "w", "loss.x": "enc.y"},
                part=inside)  # fmt: skip
    for wire in ("enc.x", "enc/stop.x"):
        assert says(said, wire) == "STOPPED: enc/stop stops every route to loss."
    assert says(said, "loss.x") == (
        "STOPPED: Gradient arrives here and is thrown away. "
        "enc/stop stops every route from here to w."
    )


def test_a_long_route_keeps_its_ends() -> None:
    chain = {f"t{i}": make("Tanh") for i in range(20)}
    wires = {f"t{i}.x": f"t{i - 1}" if i else "w" for i in range(20)}
    said = flow({"w": W, **chain}, {**wires, "loss.x": "t19"})
    assert says(said, "t0.x") == (
        "CARRIES: Carries the gradient of loss to w. "
        "Route: loss ← t19 ← t18 ← t17 ← … ← t2 ← t1 ← t0."
    )
    assert len(said.verdict("t0.x").witness) == 21


def test_a_wire_or_loss_that_is_not_there() -> None:
    said = flow({"w": W}, {"loss.x": "w"})
    with pytest.raises(RunError, match=r"no wire into 'w.out'.*mul1\.a"):
        said.verdict("w.out")
    with pytest.raises(RunError, match=r"no loss 'nothing'.*loss\.out"):
        said.states("nothing")


def test_lists_read_as_prose() -> None:
    assert names(["a"]) == "a"
    assert names(["a", "b"]) == "a and b"
    assert names(["a", "b", "c"]) == "a, b and c"
    assert names("abcde") == "a, b, c, d and e"
    assert names("abcdef") == "a, b, c, d and 2 more"
    assert route("abcdefgh") == "a ← b ← c ← d ← e ← f ← g ← h"
    assert route("abcdefghi") == "a ← b ← c ← d ← … ← g ← h ← i"


def test_a_cutter_is_named_with_its_place_in_the_program():
    blocks = {"w": W, "detach": StopGradient(written="model.py:42: h = h.detach()")}
    found = flow(blocks, {"detach.x": "w.out", "loss.x": "detach.out"})
    assert found.variable("w").sentence == "detach (model.py:42) stops every route to loss."
