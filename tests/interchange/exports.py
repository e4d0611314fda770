"""Models of PyTorch, captured and written out again as source: is it still the same arithmetic?"""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

import gradwire as gw
from gradwire.runtime.engine import Session
from gradwire.runtime.interchange.export.content import content_of
from gradwire.runtime.interchange.export.source import TARGETS
from tests.interchange.rows import Row
from tests.interchange.torch_models import NAMES, case
from tests.runtime.interchange.export.examples import run

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from gradwire.runtime.diagram import Diagram


class Apart(NamedTuple):
    """How far source is from the diagram: of its losses, and of the largest gradient."""

    loss: float
    gradient: float
    same_nones: bool

    @property
    def agrees(self) -> bool:
        return self.loss <= 1e-5 and self.gradient <= 1e-4 and self.same_nones


def captured(name: str) -> Diagram:
    """A model of PyTorch as a diagram."""
    model, args = case(name)
    return gw.capture(model, *args).diagram


def apart(diagram: Diagram, system: str) -> Apart:
    """Run the source of a diagram, and compare it with the runtime."""
    session = Session(diagram)
    with tempfile.TemporaryDirectory() as folder:
        module = run(session, system, Path(folder))
    losses, gradients = _of_modules(session, module) if system == "torch" else _plain(module)
    done = session.backward()
    known = {name: g for name, g in done.gradients.items() if g is not None}
    most = max(float(np.abs(g).max()) for g in known.values())
    given = {name for name in done.gradients if gradients[name] is not None}
    common = [name for name in known if name in given]
    pairs = [(losses[head], done.values[head]) for head in session.losses]
    return Apart(
        max(abs(float(np.asarray(got)) - float(np.asarray(wanted))) for got, wanted in pairs),
        max(float(np.abs(np.asarray(gradients[n]) - known[n]).max()) for n in common) / most,
        given == set(known),
    )


def _plain(module: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    losses, gradients = module["loss_and_gradients"]()
    return losses, gradients


def _of_modules(
    session: Session, module: Mapping[str, Any]
) -> tuple[dict[str, Any], dict[str, Any]]:
    """Losses and gradients by path; parameters are in the order of the variables."""
    model = module["Model"]()
    losses = model()
    sum(loss.sum() for loss in losses.values()).backward()
    parameters = dict(model.named_parameters())
    keys = zip(content_of(session).parameters, module["PARAMETERS"], strict=True)
    return (
        {head: loss.detach() for head, loss in losses.items()},
        {path: parameters[key].grad for path, key in keys},
    )


def rows() -> Iterator[Row]:
    """A row for each model and system."""
    import jax

    jax.config.update("jax_enable_x64", True)
    for name in NAMES:
        diagram = captured(name)
        for system in TARGETS:
            found = apart(diagram, system)
            yield Row(
                f"{name}, as source for {system}",
                found.agrees,
                f"loss {found.loss:.0e}, gradients {found.gradient:.0e}",
            )
