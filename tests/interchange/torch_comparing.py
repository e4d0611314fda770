"""Imports of PyTorch models against PyTorch itself: losses, gradients, and which are None."""

from __future__ import annotations

import io
import logging
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import torch
from torch import nn

import gradwire as gw
from gradwire.runtime.interchange.importing.torch.exported.program import import_pt2
from tests.interchange.torch_models import inputs_of

if TYPE_CHECKING:
    from gradwire.runtime.interchange.importing.imported import Imported


class Apart(NamedTuple):
    """How far an import is from the model: of the loss, and of the largest gradient."""

    loss: float
    gradient: float
    differing: tuple[str, ...]
    """Parameters that have a gradient in one of them alone."""

    @property
    def agrees(self) -> bool:
        return self.loss <= 1e-5 and self.gradient <= 1e-4 and not self.differing


def exported(model: nn.Module, args: tuple[torch.Tensor, ...], path: Path) -> Path:
    """A model as a ``.pt2`` file."""
    level = logging.root.manager.disable
    logging.disable(logging.WARNING)  # torch.export says which kernels it lacks
    try:
        buffer = io.BytesIO()
        torch.export.save(torch.export.export(model, args), buffer)
    finally:
        logging.disable(level)
    path.write_bytes(buffer.getvalue())
    return path


def from_file(model: nn.Module, args: tuple[torch.Tensor, ...], path: Path) -> Imported:
    """The import of a model by way of a file."""
    return import_pt2(exported(model, args, path), examples=inputs_of(model, args))


def compared(imported: Imported, model: nn.Module, args: tuple[torch.Tensor, ...]) -> Apart:
    """Run both and compare them; gradients by the largest number of any."""
    assert not gw.check(imported.diagram)
    run = gw.Session(imported.diagram).backward()
    model.zero_grad()
    loss = model(*args)
    loss.backward()
    (port,) = imported.outputs.values()
    wanted = loss.item()
    gradients = {n: p.grad for n, p in model.named_parameters() if p.requires_grad}
    most = max(float(g.abs().max()) for g in gradients.values() if g is not None)
    worst, differing = 0.0, []
    for name, gradient in gradients.items():
        found = run.gradients.get(imported.parameters[name])
        if (found is None) != (gradient is None):
            differing.append(name)
        elif gradient is not None:
            of = max(float(gradient.abs().max()), 1e-2 * most)
            worst = max(worst, float(np.abs(found - gradient.numpy()).max()) / of)
    return Apart(abs(float(run.values[port]) - wanted) / abs(wanted), worst, tuple(differing))
