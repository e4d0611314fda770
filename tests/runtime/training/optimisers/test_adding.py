"""An optimiser is one class: what it says is all that training, files, exports and imports need."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING, Any, ClassVar, Literal

import numpy as np
import pytest

import gradwire as gw
from gradwire.runtime.diagram.document_types import (  # noqa: TC001  # pydantic reads them
    Decay,
    NotNegative,
)
from gradwire.runtime.diagram.optimisers import METHODS, Method
from gradwire.runtime.diagram.training import OptimiserRule, Training
from gradwire.runtime.interchange.importing.imported import Imported
from gradwire.runtime.interchange.importing.keras.training import with_recipe
from gradwire.runtime.interchange.importing.torch.capture.recipe import recipe
from gradwire.runtime.training.optimisers.arithmetic import Arithmetic
from tests.runtime.interchange.export.examples import run

if TYPE_CHECKING:
    from pathlib import Path

ROUNDS = 6


def _rebuild() -> None:
    for record in (OptimiserRule, Training):
        record.model_rebuild(force=True)


@pytest.fixture(scope="module")
def drift() -> Iterator[type[Method]]:
    """An optimiser that no other module knows; it has all that updates can have."""
    try:

        class DriftMethod(Method):
            """Adds the change of the gradient, which fades in, from the third update on."""

            kind: Literal["drift"] = "drift"
            lr: NotNegative = 0.05
            beta: Decay = 0.5
            keras: ClassVar[dict[str, tuple[str, Any]]] = {"learning_rate": ("lr", 0.05)}

            def why_not_torch(self, dtypes: set[str]) -> str:
                return "it is new"

            def move(self, xp: str) -> list[str]:
                return [
                    'before = memory.get("before", 0.25 + 0.0 * v)',
                    'memory["before"] = g',
                    f'fading = memory.get("fading", 1.0) * {self.beta!r}',
                    'memory["fading"] = fading',
                    "if t > 2:",
                    f"    g = g + (1 - fading) * {xp}.maximum(g - before, 0 * g)",
                    "v = v - lr / math.sqrt(t) * g",
                ]

        _rebuild()
        yield DriftMethod
    finally:
        METHODS[:] = [method for method in METHODS if method.title() != "Drift"]
        _rebuild()


def diagram(drift: type[Method]) -> gw.Diagram:
    w = gw.variable("w", [[0.5, -1.0], [2.0, 0.25]], dtype="float64")
    y = gw.tanh(gw.matmul(gw.constant("x", [[1.0, -2.0]], dtype="float64"), w))
    made = gw.build(gw.loss(gw.mean(gw.square(y)), name="loss"))
    rule = OptimiserRule(name="opt", method=drift(beta=0.25, weight_decay=0.01))
    return gw.loads(gw.dumps(replace(made, training=Training(optimisers=(rule,)))))


def values(session: gw.Session) -> np.ndarray[Any, Any]:
    return session.values["w"]


def test_the_file_has_it(drift: type[Method]) -> None:
    text = gw.dumps(diagram(drift))
    assert '"kind": "drift"' in text
    assert gw.loads(text).training == diagram(drift).training
    assert "DriftMethod" in gw.json_schema()["$defs"]


def test_it_trains_by_its_formula(drift: type[Method]) -> None:
    session = gw.Session(diagram(drift))
    trainer, w, before = gw.Trainer(session), values(session), np.full((2, 2), 0.25)
    for t in range(1, ROUNDS + 1):
        g = session.backward().gradients["w"]
        list(trainer.run(1))
        w = w * (1 - 0.05 / 1 * 0.01)
        step = g + (1 - 0.25**t) * np.maximum(g - before, 0) if t > 2 else g
        w, before = w - 0.05 / np.sqrt(t) * step, g
        np.testing.assert_array_equal(values(session), w)


def test_jax_trains_alike(drift: type[Method]) -> None:
    pytest.importorskip("jax")
    plain, looped = (gw.Session(diagram(drift), engine=engine) for engine in ("numpy", "jax"))
    for session in (plain, looped):
        list(gw.Trainer(session).run(ROUNDS))
    np.testing.assert_allclose(values(looped), values(plain), rtol=1e-14)


def test_it_goes_on_from_a_checkpoint(drift: type[Method], tmp_path: Path) -> None:
    whole, first, later = (gw.Trainer(gw.Session(diagram(drift))) for _ in range(3))
    list(whole.run(ROUNDS))
    list(first.run(ROUNDS - 2))
    gw.save_checkpoint(tmp_path, first.state())
    later.restore(gw.load_checkpoint(tmp_path).state)
    list(later.run(2))
    assert values(later.session).tobytes() == values(whole.session).tobytes()


def test_numpy_source_trains_alike(drift: type[Method], tmp_path: Path) -> None:
    session = gw.Session(diagram(drift))
    module = run(session, "numpy", tmp_path)
    parameters, state = module["PARAMETERS"], module["initial_state"]()
    list(gw.Trainer(session).run(ROUNDS))
    for _ in range(ROUNDS):
        parameters, _ = module["train_round"](parameters, state)
    np.testing.assert_allclose(parameters["w"], values(session), rtol=1e-14)


def test_pytorch_source_trains_alike(drift: type[Method], tmp_path: Path) -> None:
    pytest.importorskip("torch", reason="PyTorch is not installed", exc_type=ImportError)
    session = gw.Session(diagram(drift))
    module = run(session, "torch", tmp_path)
    model = module["Model"]()
    training = module["Training"](model)
    list(gw.Trainer(session).run(ROUNDS))
    for _ in range(ROUNDS):
        training.train_round()
    (parameter,) = model.parameters()
    np.testing.assert_allclose(parameter.detach().numpy(), values(session), rtol=1e-14)


def test_importers_know_it(drift: type[Method]) -> None:
    class Drift:
        param_groups: ClassVar[list[dict[str, Any]]] = [{"params": [], "lr": 0.5, "beta": 0.125}]

    captured = recipe(Drift(), {}, {}).optimisers[0].method
    assert captured == drift(lr=0.5, beta=0.125)
    compiled = {"optimizer": {"class_name": "Drift", "config": {"learning_rate": 0.5}}}
    imported = with_recipe(Imported(diagram(drift)), compiled)
    assert imported.diagram.training.optimisers[0].method == drift(lr=0.5)


@pytest.mark.parametrize(
    ("lines", "why"),
    [
        (["v = v - lr * g if lr > 1 else v"], "by t alone"),
        (["if t > 1:", "    v = v - g if t > 2 else v"], "not on one level"),
    ],
)
def test_lines_branch_by_the_update_alone(
    drift: type[Method], monkeypatch: pytest.MonkeyPatch, lines: list[str], why: str
) -> None:
    monkeypatch.setattr(drift, "move", lambda self, xp: lines)
    arithmetic = Arithmetic(drift())
    with pytest.raises(ValueError, match=why):
        [arithmetic.program(t, 0.0) for t in (1, 2, 3)]
