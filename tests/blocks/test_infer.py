"""Shapes of open variables, found from what is known around them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from gradwire.blocks.library.activations import Relu, Softmax
from gradwire.blocks.library.arithmetic import Add, Mul
from gradwire.blocks.library.convolution.convolutions import Conv2D
from gradwire.blocks.library.gradient import Gradient, StopGradient
from gradwire.blocks.library.linear import Dot, Linear, MatMul
from gradwire.blocks.library.logic import Where
from gradwire.blocks.library.losses import CrossEntropy, Loss, MeanSquaredError
from gradwire.blocks.library.parts import Concat, Pad, Stack
from gradwire.blocks.library.random import RandomNormal
from gradwire.blocks.library.shape import Cast, ExpandDims, OneHot, Squeeze, Transpose
from gradwire.blocks.library.sources import Input, Variable
from gradwire.blocks.registry import registry
from gradwire.runtime.diagram.model import MAIN, Diagram, Page
from gradwire.runtime.diagram.paths import PortName
from gradwire.runtime.engine import Session
from tests.together import together

if TYPE_CHECKING:
    from gradwire.blocks import Block
    from gradwire.blocks.block import Shape


def _shapes(blocks: dict[str, Block], wires: dict[str, str], **given: Shape) -> dict[str, object]:
    drawn = {PortName.parse(t): PortName(s, "out") for t, s in wires.items()}
    session = Session(Diagram(pages={MAIN: Page(blocks=blocks, wires=drawn)}))
    return dict(session.infer_shapes(given).arguments)


def test_the_seed_diagram_gives_b_the_shape_of_a() -> None:
    """loss = Loss(stop_gradient(3 * b) + a); only a's shape is known."""
    blocks = {
        "b": Variable(), "mul": Mul(a=3), "stop": StopGradient(), "a": Variable(value=[[1, 2]]),
        "add": Add(), "loss": Loss(),
    }  # fmt: skip
    wires = {"mul.b": "b", "stop.x": "mul", "add.a": "stop", "add.b": "a", "loss.x": "add"}
    assert _shapes(blocks, wires) == {"b": (1, 2), "a": (1, 2)}


def test_a_network_takes_its_shapes_from_a_batch() -> None:
    blocks = {
        "x": Input(shape=(None, 5)), "w1": Variable(), "b1": Variable(), "l1": Linear(units=7),
        "relu": Relu(), "w2": Variable(), "b2": Variable(), "l2": Linear(units=3),
        "t": Input(dtype="float32"), "loss": MeanSquaredError(),
    }  # fmt: skip
    wires = {
        "l1.x": "x", "l1.weight": "w1", "l1.bias": "b1", "relu.x": "l1", "l2.x": "relu",
        "l2.weight": "w2", "l2.bias": "b2", "loss.prediction": "l2", "loss.target": "t",
    }  # fmt: skip
    assert _shapes(blocks, wires, x=(4, 5)) == {
        "x": (4, 5), "w1": (7, 5), "b1": (7,), "w2": (3, 7), "b2": (3,), "t": (4, 3),
    }  # fmt: skip


def test_variables_are_drawn_in_the_shape_that_was_found() -> None:
    blocks = {"x": Input(value=np.ones((2, 3))), "w": Variable(), "l": Linear(units=4)}
    drawn = {
        PortName("l", "x"): PortName("x", "out"),
        PortName("l", "weight"): PortName("w", "out"),
    }
    session = Session(Diagram(pages={MAIN: Page(blocks=blocks, wires=drawn)}))
    assert session.values["w"].shape == (4, 3)
    assert np.unique(session.values["w"]).size == 12


@together(
    ("block", "inputs", "output", "found"),
    [
        (Add(), {"a": None, "b": (2, 3)}, None, {"a": (2, 3)}),
        (Add(), {"a": None, "b": (3,)}, (2, 3), {"a": (2, 3)}),
        (Add(), {"a": None, "b": ()}, None, {}),
        (Add(), {"a": None, "b": None}, None, {}),
        (Add(), {"a": None, "b": None}, (2,), {"a": (2,), "b": (2,)}),
        (Where(), {"condition": (2, 1), "a": (3,), "b": None}, None, {"b": (2, 3)}),
        (Where(), {"condition": (2,), "a": (3,), "b": None}, None, {}),
        (Relu(), {"x": None}, (2, 3), {"x": (2, 3)}),
        (Softmax(), {"x": None}, (2, 3), {"x": (2, 3)}),
        (Cast(), {"x": None}, (2, 3), {"x": (2, 3)}),
        (Loss(), {"x": None}, (), {"x": ()}),
        (Linear(units=4), {"x": (2, 3), "weight": None}, None, {"weight": (4, 3)}),
        (Linear(), {"x": (2, 3), "weight": None}, (2, 4), {"weight": (4, 3)}),
        (Linear(), {"x": (2, 3), "weight": None, "bias": (4,)}, None, {"weight": (4, 3)}),
        (Linear(), {"x": (2, 3), "weight": (4, 3), "bias": None}, None, {"bias": (4,)}),
        (Linear(), {"x": None, "weight": (4, 3)}, (2, 4), {"x": (2, 3)}),
        (Linear(), {"x": (2, 3), "weight": None}, None, {}),
        (MatMul(), {"a": None, "b": (3, 4)}, (2, 4), {"a": (2, 3)}),
        (MatMul(), {"a": (2, 3), "b": None}, (2, 4), {"b": (3, 4)}),
        (MatMul(), {"a": (5, 2, 3), "b": None}, (5, 2, 4), {"b": (3, 4)}),
        (MatMul(), {"a": (2, 3), "b": None}, None, {}),
        (Dot(), {"a": None, "b": (3,)}, (), {"a": (3,)}),
        (MeanSquaredError(), {"prediction": (2, 3), "target": None}, None, {"target": (2, 3)}),
        (MeanSquaredError(), {"prediction": None, "target": None}, (), {}),
        (
            MeanSquaredError(reduction="none"),
            {"prediction": None, "target": None},
            (2,),
            {"prediction": (2,), "target": (2,)},
        ),
        (CrossEntropy(), {"logits": None, "labels": (2, 3)}, None, {"logits": (2, 3)}),
        (CrossEntropy(), {"logits": None, "labels": (2,)}, None, {}),
        (Conv2D(filters=8), {"x": (1, 3, 9, 9), "weight": None}, None, {"weight": (8, 3, 3, 3)}),
        (
            Conv2D(kernel=(5, 1), groups=2),
            {"x": (1, 4, 9, 9), "weight": None, "bias": None},
            (1, 6, 5, 9),
            {"weight": (6, 2, 5, 1), "bias": (6,)},
        ),
        (Conv2D(), {"x": (1, 3, 9, 9), "weight": None}, None, {}),
        (Transpose(), {"x": None}, (2, 3), {"x": (3, 2)}),
        (Transpose(perm=(1, 2, 0)), {"x": None}, (3, 4, 2), {"x": (2, 3, 4)}),
        (ExpandDims(axis=-1), {"x": None}, (2, 1), {"x": (2,)}),
        (Squeeze(axis=-1), {"x": None}, (2,), {"x": (2, 1)}),
        (Concat(axis=1), {"parts.0": (2, 3), "parts.1": None}, (2, 7), {"parts.1": (2, 4)}),
        (Concat(), {"parts.0": (2, 3), "parts.1": None}, None, {}),
        (Concat(), {"parts.0": (9, 3), "parts.1": None}, (2, 3), {}),
        (Concat(axis=5), {"parts.0": (2, 3), "parts.1": None}, (2, 3), {}),
        (Stack(), {"parts.0": (2, 3), "parts.1": None}, None, {"parts.1": (2, 3)}),
        (Stack(axis=-1), {"parts.0": None}, (2, 3, 1), {"parts.0": (2, 3)}),
        (Pad(widths=((1, 2),)), {"x": None}, (5, 4), {"x": (2, 4)}),
        (Pad(widths=((3, 3),)), {"x": None}, (5,), {}),
        (OneHot(depth=3), {"indices": None}, (2, 3), {"indices": (2,)}),
        (Gradient(), {"of": (), "wrt": None}, (2, 3), {"wrt": (2, 3)}),
        (Gradient(), {"of": None, "wrt": (2,)}, (2,), {}),
        (RandomNormal(), {"like": None}, (2,), {"like": (2,)}),
    ],
    ids=str,
)
def test_what_follows(
    block: Block,
    inputs: dict[str, Shape | None],
    output: Shape | None,
    found: dict[str, Shape],
) -> None:
    assert block.infer(inputs, output) == found


SHAPES: list[Shape | None] = [None, (), (1,), (3,), (2, 3), (2, 3, 4, 5)]


@together("cls", registry().classes.values(), ids=lambda cls: cls.type_name())
def test_no_guess_fails_or_overrules_what_is_known(cls: type[Block]) -> None:
    """Whatever is around, infer answers shapes, and of unknown inputs only."""
    block = cls()
    names = [f"{port.name}.0" if port.variadic else port.name for port in cls.inputs]
    for output in SHAPES:
        for shape in SHAPES:
            for unknown in names:
                inputs = dict.fromkeys(names, shape) | {unknown: None}
                found = block.infer(inputs, output)
                assert set(found) <= {name for name, known in inputs.items() if known is None}
                assert all(min(answer, default=0) >= 0 for answer in found.values())
