"""Models that PyTorch trains and exports to ONNX, with what its autograd says of them."""

from __future__ import annotations

import io
import warnings
from typing import TYPE_CHECKING, Any

import numpy as np
import torch

from gradwire.runtime.engine import Session
from gradwire.runtime.interchange.importing.onnx.importing import import_model
from gradwire.runtime.interchange.importing.onnx.reading import parsed

if TYPE_CHECKING:
    from gradwire.runtime.interchange.importing.imported import Imported


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


def trained_and_imported(name: str) -> tuple[Any, Any, Imported]:
    """A model of this name, what it was given, and what it is as a diagram."""
    torch.manual_seed(7)
    make, data = MODELS[name]
    x = data()
    model = trained(make(), x)
    return model, x, imported(model, x)


def differences(model: Any, x: Any, found: Imported) -> tuple[float, float]:
    """How far loss and gradients are from PyTorch's, as parts of the largest number."""
    run = Session(found.diagram).backward()
    model.zero_grad()
    loss = model(x)
    loss.backward()
    wanted = dict(model.named_parameters())
    named = {key: path for key, path in found.parameters.items() if key in wanted}
    assert named.keys() == wanted.keys(), wanted.keys() - named.keys()
    got = run.values["loss.out"]
    assert got is not None
    worst = 0.0
    for key, path in named.items():
        gradient, want = run.gradients[path], wanted[key].grad.numpy()
        assert gradient is not None, key
        worst = max(worst, float(np.abs(gradient - want).max() / max(np.abs(want).max(), 1e-3)))
    return abs(float(got) - loss.item()) / abs(loss.item()), worst
