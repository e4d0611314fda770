"""A smooth perceptron in float64 that is trained on rows of a data set, for several devices."""

from __future__ import annotations

import itertools
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from gradwire.blocks.library.activations import Tanh
from gradwire.blocks.library.arithmetic import Sub
from gradwire.blocks.library.data import Dataset
from gradwire.blocks.library.functions import Square
from gradwire.blocks.library.linear import Linear
from gradwire.blocks.library.losses import Loss
from gradwire.blocks.library.reduce import Mean, Sum
from gradwire.blocks.library.sources import Variable
from gradwire.runtime.diagram.optimisers import AdamMethod
from gradwire.runtime.diagram.training import OptimiserRule, Training
from tests.runtime.engine.drawing import draw

if TYPE_CHECKING:
    from gradwire.runtime.diagram import Diagram

WIDTH = 1024
"""Of the layers, so that their weights are large enough to be divided."""


def perceptron() -> Diagram:
    """Two spirals, 64 rows in batches of 16, layers 2-WIDTH-64-1, Adam."""
    columns = {name: {"dtype": "float64"} for name in ("x", "y")}
    sizes = (2, WIDTH, 64, 1)
    blocks: dict[str, Any] = {
        "data": Dataset(columns=columns, count=64, batch=16),
        "out": Sum(axis=1),
        "error": Sub(),
        "square": Square(),
        "mean": Mean(),
        "loss": Loss(),
    }
    wires = {"square.x": "error", "mean.x": "square", "loss.x": "mean", "error.b": "data.y"}
    before = "data.x"
    for i, (inputs, outputs) in enumerate(itertools.pairwise(sizes)):
        blocks[f"w{i}"] = Variable(shape=[outputs, inputs], dtype="float64", seed=i)
        blocks[f"fc{i}"] = Linear()
        wires |= {f"fc{i}.x": before, f"fc{i}.weight": f"w{i}"}
        before = f"fc{i}"
        if outputs != 1:
            blocks[f"tanh{i}"] = Tanh()
            wires[f"tanh{i}.x"] = before
            before = f"tanh{i}"
    wires |= {"out.x": before, "error.a": "out"}
    rule = OptimiserRule(name="adam", method=AdamMethod(lr=0.003))
    return replace(draw(blocks, wires), training=Training(optimisers=(rule,), steps=40))
