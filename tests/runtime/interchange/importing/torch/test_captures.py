"""Captured models as people write them: the numbers and Nones of PyTorch, pages and names."""

from __future__ import annotations

import pytest

import gradwire as gw

torch = pytest.importorskip("torch")
from tests.interchange.torch_comparing import compared  # noqa: E402
from tests.interchange.torch_models import NAMES, case  # noqa: E402


@pytest.fixture(autouse=True)
def seeded():
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        yield


@pytest.mark.sampled(one_in=7)
@pytest.mark.parametrize("name", NAMES)
def test_a_capture_computes_what_the_model_does(name):
    model, args = case(name)
    imported = gw.capture(model, *args)
    assert imported.remarks[-1].text.startswith("Agrees with PyTorch"), imported.remarks[-1]
    apart = compared(imported, *case(name))
    assert apart.agrees, apart


def test_modules_are_pages_and_called_twice_used_twice():
    model, args = case("SimSiam")
    diagram = gw.capture(model, *args).diagram
    uses = [block.page for block in diagram.main.blocks.values() if block.type_name() == "Page"]
    assert uses == ["encoder", "encoder", "predictor", "predictor"]


def test_tied_weights_are_one_variable():
    model, args = case("GPT")
    imported = gw.capture(model, *args)
    assert "head.weight" not in imported.parameters
    trained = [n for n, p in model.named_parameters() if p.requires_grad]
    assert list(imported.parameters) == trained


def test_a_capture_leaves_the_model_as_it_was():
    model, args = case("CNN")
    before = {name: x.clone() for name, x in model.state_dict().items()}
    gw.capture(model, *args)
    after = model.state_dict()
    assert all(torch.equal(after[name], x) for name, x in before.items())
    assert all(p.grad is None for p in model.parameters())


def test_a_branch_on_numbers_and_a_loop_are_said_to_be_those_of_this_run():
    weight = torch.nn.Parameter(torch.ones(3))

    def loss(x):
        y = weight * x
        if y.sum() > 0:
            y = y.tanh()
        for _ in range(5):
            y = y * weight
        return y.sum()

    remarks = gw.capture(loss, torch.ones(3)).remarks
    (branch,) = [remark for remark in remarks if remark.kind == "specialised"]
    (loop,) = [remark for remark in remarks if remark.kind == "unrolled"]
    assert "which is True" in branch.text and branch.written.endswith("if y.sum() > 0:")
    assert "5 times" in loop.text and loop.written.endswith("y = y * weight")


def test_results_are_named_by_their_places_and_the_only_number_is_the_loss():
    model, (x, label) = case("MLP")

    def both(x, label):
        scores = model.net(x)
        return {"scores": scores, "loss": torch.nn.functional.cross_entropy(scores, label)}

    imported = gw.capture(both, x, label)
    assert imported.outputs == {"scores": "scores.out", "loss": "loss.out"}
    assert imported.diagram.main.blocks["loss"].type_name() == "Loss"
    assert gw.capture(model.net, x).outputs == {"output": "output.out"}


def said_of(imported) -> str:
    """What the comparison with PyTorch says."""
    (said,) = [remark.text for remark in imported.remarks if remark.kind == "checked"]
    return said


def test_every_backward_of_a_step_is_compared():
    model = torch.nn.Linear(3, 1)

    def step(x, late):
        first = model(x).pow(2).mean()
        first.backward()
        second = model(x + 1).pow(2)
        second.backward(torch.full_like(second, 3.0))
        return second if late else second.mean().item()

    for late in (True, False):
        imported = gw.capture(step, torch.randn(5, 3), late)
        session = gw.Session(imported.diagram)
        assert session.program.heads() == ["loss.out", "loss2.out"]
        assert said_of(imported).startswith("Agrees with PyTorch: 2 losses and 4 gradients, 0 of")
        assert not gw.diagnose(session)
        assert model.weight.grad is None


@pytest.mark.parametrize("returned", ["detach", "item"])
def test_what_a_step_returns_of_its_loss_changes_nothing(returned):
    model = torch.nn.Linear(3, 1)

    def step(x):
        loss = model(x).pow(2).mean()
        loss.backward()
        return getattr(loss, returned)()

    imported = gw.capture(step, torch.randn(5, 3))
    assert imported.outputs == {"loss": "loss.out"}
    kinds = {block.type_name() for block in imported.diagram.main.blocks.values()}
    assert "StopGradient" not in kinds
    assert said_of(imported).startswith("Agrees with PyTorch: the loss and 2 gradients")


def test_what_is_not_finite_is_compared_too():
    x = torch.nn.Parameter(torch.zeros(2))
    assert said_of(gw.capture(lambda: x.sum().sqrt())).startswith("Agrees with PyTorch")
    assert said_of(gw.capture(lambda: (x / x).sum())).startswith("Agrees with PyTorch")


def test_a_gradient_that_differs_is_named_with_its_loss():
    x = torch.nn.Parameter(torch.ones(2))

    def step():
        (2 * x).sum().backward()
        x.grad = None
        x.data.view(-1).mul_(3)
        (x * x).sum().backward()

    said = said_of(gw.capture(step))
    assert said == (
        "PyTorch's value of x has rms 3, this diagram's has rms 1: it is not the same program from "
        "x on."
    )


def test_a_graph_that_the_program_has_freed_is_not_compared():
    x = torch.nn.Parameter(torch.ones(2))

    def loss():
        y = x.pow(2)
        torch.autograd.grad(y.sum(), x)
        return y.mean()

    said = said_of(gw.capture(loss))
    assert said.startswith("Not compared with PyTorch: it can't be differentiated: Trying to b")


def test_bfloat16_is_compared_as_coarsely_as_it_rounds():
    model = torch.nn.Linear(64, 1)

    def loss(x):
        with torch.autocast("cpu", dtype=torch.bfloat16):
            return model(x).pow(2).mean()

    assert said_of(gw.capture(loss, torch.randn(5, 64))).startswith("Agrees with PyTorch")


def test_methods_of_any_object_may_be_captured():
    class Trainer:
        def __init__(self):
            self.generator, self.critic = torch.nn.Linear(2, 3), torch.nn.Linear(3, 1)

        def step(self, batch, index):
            return {"loss": -self.critic(self.generator(batch[0])).mean()}

    imported = gw.capture(Trainer().step, (torch.randn(4, 2),), 0)
    assert list(imported.parameters)[::2] == ["generator.weight", "critic.weight"]
    assert imported.inputs == {"batch.0": "batch_0"}
    assert imported.outputs == {"loss": "loss.out"}


def test_a_program_that_fails_leaves_nothing_behind():
    def fails(x):
        raise ValueError("as it should")

    with pytest.raises(ValueError, match="as it should"):
        gw.capture(fails, torch.ones(3))
    model, args = case("MLP")
    assert model(*args).requires_grad
    assert "apply" not in vars(torch.autograd.function._SingleLevelFunction)
    assert gw.capture(model, *args).remarks[-1].text.startswith("Agrees with PyTorch")
