"""Source for PyTorch: every example is the same as in the runtime."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest

from gradwire.runtime.diagram import load, loads
from gradwire.runtime.engine import Session
from gradwire.runtime.interchange.export.content import content_of
from gradwire.runtime.interchange.export.source import export_source
from gradwire.runtime.interchange.export.systems.torch_rows import TORCH
from gradwire.runtime.interchange.export.systems.torch_source import TAKEN
from gradwire.runtime.training.trainer import Trainer
from tests.runtime.calculus.cases import CASES, Case
from tests.runtime.interchange.export.comparing import same_pass, same_round
from tests.runtime.interchange.export.examples import EXAMPLES, in_float64, run
from tests.runtime.interchange.export.recipes import RECIPES, session_of
from tests.runtime.interchange.export.rows import gradients, written


@pytest.fixture(scope="module", autouse=True)
def installed() -> Any:
    return pytest.importorskip("torch", reason="PyTorch is not installed", exc_type=ImportError)


def read(tensor: Any) -> Any:
    return tensor.detach().numpy()


def by_path(session: Session, model: Any) -> dict[str, Any]:
    """The parameters of a model by the paths of the variables, which are in the same order."""
    state = dict(model.named_parameters())
    return dict(zip(content_of(session).parameters, map(state.get, model.state), strict=True))


def trained(module: dict[str, Any]) -> Any:
    """A model of a module, with the keys of its parameters in the order of the variables."""
    model = module["Model"]()
    model.state = list(module["PARAMETERS"])
    return model


@pytest.mark.sampled(one_in=3)
@pytest.mark.parametrize("name", EXAMPLES)
def test_an_example_is_the_same_in_pytorch(name, tmp_path):
    diagram = in_float64(name)
    session = Session(diagram)
    module = run(session, "torch", tmp_path)
    model = trained(module)
    losses = model()
    total = sum(loss.sum() for loss in losses.values())
    if total.requires_grad:
        total.backward()
    parameters = by_path(session, model)
    trainable = [path for path, parameter in parameters.items() if parameter.requires_grad]
    assert sorted(trainable) == sorted(session.program.trainable)
    gradients = {path: parameters[path].grad for path in session.program.trainable}
    same_pass(diagram, losses, gradients, read)
    recipe = diagram.training
    assert ("Training" in module) == (recipe is not None and bool(recipe.optimisers))
    if "Training" in module:
        module["Training"](model).train_round()
        same_round(diagram, parameters, read)


@pytest.mark.parametrize("recipe", RECIPES, ids=json.dumps)
def test_four_rounds_are_the_same_in_pytorch(recipe, tmp_path):
    session = session_of(recipe)
    module = run(session, "torch", tmp_path)
    model = trained(module)
    training, trainer = module["Training"](model), Trainer(session)
    for _ in range(4):
        trainer.step()
        training.train_round()
        for path, parameter in by_path(session, model).items():
            np.testing.assert_allclose(
                read(parameter), session.values[path], rtol=1e-12, atol=1e-12
            )


@pytest.mark.parametrize("case", CASES, ids=str)
def test_a_primitive_is_the_same_in_pytorch(case: Case, installed):
    def tensor(array: Any) -> Any:
        return installed.as_tensor(TORCH.storable(np.array(array)))

    names = {"torch": installed, "F": installed.nn.functional}
    got, wanted = written(case, TORCH, names, tensor, read)
    wanted = TORCH.storable(wanted)
    assert (got.shape, got.dtype) == (wanted.shape, wanted.dtype)
    np.testing.assert_allclose(got, wanted, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("case", CASES, ids=str)
def test_the_gradient_of_a_primitive_is_the_same_in_pytorch(case: Case, installed):
    def tensor(array: Any) -> Any:
        made = installed.as_tensor(TORCH.storable(np.array(array)))
        return made.requires_grad_(made.is_floating_point())

    def differentiated(result: Any) -> Any:
        leaves = [x for x in given if x.requires_grad]
        if not result.requires_grad or not leaves:
            return [None for _ in leaves]
        return installed.autograd.grad(result.sum(), leaves, allow_unused=True)

    given: list[Any] = []
    names = {"torch": installed, "F": installed.nn.functional}
    found, _ = written(
        case, TORCH, names, lambda x: given.append(tensor(x)) or given[-1], differentiated
    )
    for got, wanted in zip(found, gradients(case), strict=False):
        assert (got is None) == (wanted is None)
        if wanted is not None:
            np.testing.assert_allclose(read(got), wanted, rtol=1e-10, atol=1e-10)


def test_stops_and_straight_through_are_the_idioms_of_pytorch():
    source = export_source(Session(load(EXAMPLES["mxnet_seed"])), "torch").source
    assert "stop = triple.detach()  # a stop: no gradient goes back from here" in source
    source = export_source(Session(load(EXAMPLES["straight_through"])), "torch").source
    assert ".detach() + (" in source


def test_a_page_with_variables_is_a_module_that_other_uses_call_again():
    source = export_source(Session(load(EXAMPLES["simsiam_stopped"])), "torch").source
    assert source.count("(nn.Module):") == 2
    assert "self.branch_1 = Branch()" in source
    assert "branch_2_z, branch_2_p = self.branch_1(view_2)" in source


def test_frozen_variables_are_parameters_without_gradient():
    source = export_source(Session(load(EXAMPLES["09_frozen_middle"])), "torch").source
    assert source.count("requires_grad=False)") == 1


def test_optimisers_are_those_of_pytorch():
    source = export_source(Session(load(EXAMPLES["training_gan"])), "torch").source
    assert "torch.optim.Adam(model.G.parameters(), lr=0.002, betas=(0.5, 0.9))" in source


def test_no_attribute_hides_one_of_modules(installed):
    assert {name for name in dir(installed.nn.Module()) if not name.startswith("_")} <= TAKEN


def test_names_that_modules_have_are_not_taken_from_them(tmp_path):
    names = ["forward", "parameters", "state_dict", "self", "training", "Model", "nn", "inputs"]
    floats = {"type": "Variable", "dtype": "float64"}
    blocks = {name: floats | {"value": float(n)} for n, name in enumerate(names, 1)}
    blocks |= {"all": {"type": "AddN"}, "loss": {"type": "Loss"}}
    wires = {f"all.terms.{n}": f"{name}.out" for n, name in enumerate(names)}
    wires["loss.x"] = "all.out"
    record = {"gradwire": 3, "pages": {"main": {"blocks": blocks, "wires": wires}}}
    module = run(Session(loads(json.dumps(record))), "torch", tmp_path)
    model = module["Model"]()
    assert model()["loss.out"].item() == sum(range(1, len(names) + 1))
    assert len(list(model.parameters())) == len(names)
