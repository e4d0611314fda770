"""Models that PyTorch trains and exports: numbers, gradients and frozen parameters are its own."""

from __future__ import annotations

import io
import warnings
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

pytest.importorskip("onnx")
pytest.importorskip("torch")

import torch

from runtime.diagram import check
from runtime.engine import Session
from runtime.interchange.importing.onnx.importing import import_model
from runtime.interchange.importing.onnx.reading import parsed
from runtime.interchange.importing.options import ImportOptions

if TYPE_CHECKING:
    from runtime.diagram import Diagram
    from runtime.interchange.importing.imported import Imported


class Classifier(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.norm = torch.nn.LayerNorm(6)
        self.net = torch.nn.Sequential(
            torch.nn.Linear(6, 16), torch.nn.GELU(), torch.nn.Linear(16, 3)
        )

    def forward(self, x: Any) -> Any:
        return torch.log_softmax(self.net(self.norm(x)), -1)[:, 1].mean()


class Images(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.features = torch.nn.Sequential(
            torch.nn.Conv2d(2, 4, 3, stride=2, padding=1),
            torch.nn.BatchNorm2d(4),
            torch.nn.ReLU(),
            torch.nn.MaxPool2d(2),
        )
        self.head = torch.nn.Linear(16, 3)

    def forward(self, x: Any) -> Any:
        return self.head(self.features(x).flatten(1)).square().mean()


class Layer(torch.nn.Module):
    """A layer of a GPT: causal attention, then two linear layers, each beside a shortcut."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.before, self.between = torch.nn.LayerNorm(width), torch.nn.LayerNorm(width)
        self.query_key_value = torch.nn.Linear(width, 3 * width)
        self.out = torch.nn.Linear(width, width)
        self.up, self.down = torch.nn.Linear(width, 2 * width), torch.nn.Linear(2 * width, width)

    def forward(self, x: Any) -> Any:
        n, steps, width = x.shape
        heads = self.query_key_value(self.before(x)).view(n, steps, 3, 2, width // 2)
        q, k, v = heads.permute(2, 0, 3, 1, 4).unbind(0)
        scores = q @ k.transpose(-1, -2) / (width // 2) ** 0.5
        later = torch.ones(steps, steps, dtype=torch.bool).triu(1)
        weights = scores.masked_fill(later, float("-inf")).softmax(-1)
        x = x + self.out((weights @ v).transpose(1, 2).reshape(n, steps, width))
        return x + self.down(torch.nn.functional.gelu(self.up(self.between(x))))


class Language(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.tokens = torch.nn.Embedding(11, 8)
        self.places = torch.nn.Parameter(0.1 * torch.randn(1, 5, 8))
        self.layers = torch.nn.ModuleList([Layer(8), Layer(8)])
        self.norm = torch.nn.LayerNorm(8)

    def forward(self, indices: Any) -> Any:
        x = self.tokens(indices) + self.places
        for layer in self.layers:
            x = layer(x)
        scores = self.norm(x) @ self.tokens.weight.T
        losses = torch.nn.functional.cross_entropy(
            scores[:, :-1].flatten(0, 1), indices[:, 1:].flatten(), reduction="none"
        )
        return losses.mean()


class Recurrent(torch.nn.Module):
    def __init__(self, kind: str) -> None:
        super().__init__()
        self.cell = getattr(torch.nn, kind)(3, 5, batch_first=True, bidirectional=kind == "LSTM")
        self.head = torch.nn.Linear(10 if kind == "LSTM" else 5, 1)

    def forward(self, x: Any) -> Any:
        return self.head(self.cell(x)[0][:, -1]).square().mean()


def trained(model: Any, x: Any) -> Any:
    """The model after a few steps, ready to be used."""
    optimiser = torch.optim.SGD(model.parameters(), lr=0.05)
    for _ in range(5):
        optimiser.zero_grad()
        model(x).backward()
        optimiser.step()
    return model.eval()


def imported(model: Any, x: Any) -> Imported:
    file = io.BytesIO()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        torch.onnx.export(
            model, (x,), file, dynamo=False, input_names=["x"], output_names=["loss"],
            do_constant_folding=False, training=torch.onnx.TrainingMode.PRESERVE,
        )  # fmt: skip
    return import_model(parsed(file.getvalue()), examples={"x": x.numpy()})


MODELS = {
    "classifier": (Classifier, lambda: torch.randn(4, 6)),
    "images": (Images, lambda: torch.randn(3, 2, 8, 8)),
    "language": (Language, lambda: torch.randint(0, 11, (2, 5))),
    "lstm": (lambda: Recurrent("LSTM"), lambda: torch.randn(2, 6, 3)),
    "gru": (lambda: Recurrent("GRU"), lambda: torch.randn(2, 6, 3)),
}
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


@pytest.mark.parametrize("name", MODELS)
def test_loss_and_gradients_are_those_of_pytorch(name: str):
    torch.manual_seed(7)
    make, data = MODELS[name]
    x = data()
    model = trained(make(), x)
    found = imported(model, x)
    assert not check(found.diagram)
    for path, kind in MODULES[name].items():
        assert block_at(found.diagram, path) == kind, path
    run = Session(found.diagram).backward()
    model.zero_grad()
    loss = model(x)
    loss.backward()
    np.testing.assert_allclose(run.values["loss.out"], loss.item(), rtol=1e-5)
    wanted = dict(model.named_parameters())
    named = {key: path for key, path in found.parameters.items() if key in wanted}
    assert named.keys() == wanted.keys()
    for key, path in named.items():
        np.testing.assert_allclose(
            run.gradients[path], wanted[key].grad, rtol=1e-4, atol=1e-6, err_msg=key
        )


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
