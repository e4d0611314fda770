"""Compares the module of an example with the runtime: losses, gradients, a round of the recipe."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from gradwire.runtime.engine import Session
from gradwire.runtime.training.trainer import Trainer
from tests.runtime.interchange.export.examples import run

if TYPE_CHECKING:
    from gradwire.runtime.diagram import Diagram

TOLERANCE = 1e-12
Array = NDArray[Any]
Reading = Callable[[Any], Array]


def compare(diagram: Diagram, target: str, folder: Path, read: Reading = np.asarray) -> None:
    """Values, gradients, None and one round are those of the runtime; ``read`` gives arrays."""
    module = run(Session(diagram), target, folder)
    with np.errstate(all="ignore"):
        losses, gradients = module["loss_and_gradients"]()
        same_pass(diagram, losses, gradients, read)
        recipe = diagram.training
        assert ("train_round" in module) == (recipe is not None and bool(recipe.optimisers))
        if "train_round" in module:
            parameters, state = module["PARAMETERS"], module["initial_state"]()
            parameters, _ = module["train_round"](parameters, state)
            same_round(diagram, parameters, read)


def same_pass(
    diagram: Diagram, losses: Mapping[str, Any], gradients: Mapping[str, Any], read: Reading
) -> None:
    """Losses and gradients by path are those of the runtime, and None where it has none."""
    session = Session(diagram)
    done = session.backward()
    assert list(losses) == [str(head) for head in session.losses]
    for head, loss in losses.items():
        _close(head, read(loss), done.values[head])
    assert set(gradients) == set(done.gradients)
    nothing = {name for name, gradient in done.gradients.items() if gradient is None}
    assert {name for name, gradient in gradients.items() if gradient is None} == nothing
    for name, gradient in gradients.items():
        if gradient is not None:
            _close(name, read(gradient), done.gradients[name])


def same_round(diagram: Diagram, parameters: Mapping[str, Any], read: Reading) -> None:
    """Variables by path are those after one round of the runtime's trainer."""
    session = Session(diagram)
    Trainer(session).step()
    for name, value in session.values.items():
        _close(name, read(parameters[name]), value)


def _close(name: str, got: Array, wanted: Array | None) -> None:
    assert wanted is not None
    assert (got.shape, got.dtype) == (wanted.shape, wanted.dtype), name
    np.testing.assert_allclose(got, wanted, rtol=TOLERANCE, atol=TOLERANCE, err_msg=name)
