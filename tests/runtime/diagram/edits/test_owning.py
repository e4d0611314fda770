"""Variables move into the blocks that they belong to, and out again."""

from __future__ import annotations

from typing import Any

import pytest

import gradwire.runtime.build as b
from gradwire.blocks.errors import ChangeError
from gradwire.runtime.diagram import Connect, Diagram, Disconnect, PortName, apply, check
from gradwire.runtime.diagram.edits.owning import (
    move_out,
    own_variables,
    ownable_inputs,
    owned_inputs,
)

WEIGHT, BIAS = PortName("fc", "weight"), PortName("fc", "bias")


def layer(*inputs: Any) -> Diagram:
    return b.build(b.linear(b.input("x", [1.0, 2.0]), *inputs, units=2, name="fc"))


def record(diagram: Diagram) -> dict[str, Any]:
    return diagram.main.blocks["fc"].to_record()


def test_an_open_input_gets_the_variable_of_a_new_block() -> None:
    edit = apply(layer(None), own_variables(layer(None), "main", [WEIGHT]))
    assert edit.label == "Own Parameter"
    assert record(edit.after) == {"units": 2, "weight": {"variable": {}}}
    assert not [found for found in check(edit.after) if found.severity == "error"]


def test_a_variable_moves_in_with_all_its_parameters() -> None:
    diagram = layer(b.variable("W", [[1, 2], [3, 4]], trainable=False))
    after = apply(diagram, own_variables(diagram, "main", [WEIGHT, BIAS])).after
    assert record(after)["weight"] == {"variable": {"value": [[1, 2], [3, 4]], "trainable": False}}
    assert list(after.main.blocks) == ["x", "fc"]
    assert WEIGHT not in after.main.wires


def test_moving_out_makes_blocks_that_are_wired_and_apart() -> None:
    diagram = layer()
    edit = apply(diagram, move_out(diagram, "main", [WEIGHT, BIAS]))
    assert edit.label == "Move Out to Variable"
    page = edit.after.main
    assert page.wires[WEIGHT] == PortName("fc_weight", "out")
    assert page.wires[BIAS] == PortName("fc_bias", "out")
    assert not page.blocks["fc"].owned
    assert len({page.layout[name] for name in page.blocks}) == 4
    back = apply(edit.after, own_variables(edit.after, "main", [WEIGHT, BIAS])).after
    assert back.main.blocks == diagram.main.blocks


def test_a_name_that_is_taken_is_not_taken_again() -> None:
    x = b.input("fc_weight", [1.0, 2.0])
    diagram = b.build(b.linear(x, units=2, name="fc"))
    assert "fc_weight2" in apply(diagram, move_out(diagram, "main", [WEIGHT])).after.main.blocks


def test_what_is_offered_is_what_can_be_done() -> None:
    diagram = layer(b.variable("W", [[1, 2], [3, 4]]))
    assert ownable_inputs(diagram.main, "fc") == [WEIGHT, BIAS]
    assert owned_inputs(diagram.main, "fc") == []
    own = apply(diagram, own_variables(diagram, "main", [WEIGHT])).after
    assert ownable_inputs(own.main, "fc") == [BIAS]
    assert owned_inputs(own.main, "fc") == [WEIGHT]
    wired = apply(own, Connect(PortName("x", "out"), WEIGHT)).after
    assert owned_inputs(wired.main, "fc") == []
    assert ownable_inputs(wired.main, "fc") == [BIAS]
    assert owned_inputs(apply(wired, Disconnect(WEIGHT)).after.main, "fc") == [WEIGHT]


@pytest.mark.parametrize(
    ("target", "what"),
    [
        (PortName("fc", "x"), "fc.x can't own a variable."),
        (BIAS, "fc.bias owns a variable already."),
        (WEIGHT, "fc.weight is wired to W.out, which can't move into the block."),
        (PortName("none", "weight"), "There is no block 'none'."),
    ],
)
def test_what_can_not_be_owned_is_refused(target: PortName, what: str) -> None:
    shared = b.variable("W", [[1, 2], [3, 4]])
    x = b.input("x", [1.0, 2.0])
    diagram = b.build(b.linear(x, shared, b.own(), name="fc") + shared)
    with pytest.raises(ChangeError) as caught:
        own_variables(diagram, "main", [target])
    assert caught.value.what == what


def test_what_is_not_owned_can_not_move_out() -> None:
    with pytest.raises(ChangeError, match=r"fc\.bias owns no variable"):
        move_out(layer(b.own()), "main", [BIAS])
