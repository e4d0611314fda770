"""Models that PyTorch trains and exports: numbers, gradients and frozen parameters are its own."""

from __future__ import annotations

import io
import warnings
from typing import TYPE_CHECKING

import numpy as np
import pytest

pytest.importorskip("onnx")
pytest.importorskip("torch")

import torch

from gradwire.runtime.diagram import check
from gradwire.runtime.engine import Session
from gradwire.runtime.interchange.importing.onnx.importing import import_model
from gradwire.runtime.interchange.importing.onnx.reading import parsed
from gradwire.runtime.interchange.importing.options import ImportOptions
from tests.interchange.onnx_models import MODELS, differences, trained_and_imported

if TYPE_CHECKING:
    from gradwire.runtime.diagram import Diagram

MODULES = {
    "classifier": {"norm": "LayerNorm", "net/0": "Linear", "net/1": "Gelu", "net/2": "Linear"},
    "images": {"features/0": "Conv2D", "features/1": "BatchNorm", "head": "Linear"},
    "language": {"tokens": "Embedding", "layers/0/before": "LayerNorm", "layers/1/up": "Linear"},
    "lstm": {"cell/lstm": "Scan", "cell/lstm_back": "Scan", "head": "Linear"},
    "gru": {"cell/gru": "Scan", "head": "Linear"},
}
"""Blocks that modules have become, by path."""


def block_at(diagram: Diagram, path: str) -> str:
    """The type of the block at a path through pages."""
    page, *inside = path.split("/")
    block = diagram.main.blocks[page]
    for name in inside:
        block = diagram.pages[block.page].blocks[name]
    return block.type_name()


@pytest.mark.sampled(one_in=5)
@pytest.mark.parametrize("name", MODELS)
def test_loss_and_gradients_are_those_of_pytorch(name: str):
    model, x, found = trained_and_imported(name)
    assert not check(found.diagram)
    for path, kind in MODULES[name].items():
        assert block_at(found.diagram, path) == kind, path
    loss, gradients = differences(model, x, found)
    assert loss < 1e-5 and gradients < 1e-4


def test_a_model_is_as_in_training_where_the_user_says_so():
    torch.manual_seed(7)
    model = torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.BatchNorm1d(4), torch.nn.Tanh())
    x = torch.randn(6, 3)
    file = io.BytesIO()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        torch.onnx.export(
            model.eval(), (x,), file, dynamo=False, input_names=["x"], do_constant_folding=False,
            training=torch.onnx.TrainingMode.PRESERVE,
        )  # fmt: skip
    for training in (False, True):
        found = import_model(
            parsed(file.getvalue()),
            ImportOptions(training=training),
            examples={"x": x.numpy()},
        )
        (port,) = found.outputs.values()
        got = Session(found.diagram).run().values[port]
        wanted = model.train(training)(x).detach().numpy()
        np.testing.assert_allclose(got, wanted, rtol=1e-4, atol=1e-6)
