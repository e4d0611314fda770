"""Large programs are measured in their own run: what the doctor says is what a run would show."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

import gradwire as gw
from gradwire.runtime.calculus.measuring import measured
from gradwire.runtime.diagram import SetParameters, apply
from gradwire.runtime.engine import Session
from gradwire.runtime.flow import reassurance
from gradwire.runtime.flow.tools.findings import DIFFERS

torch = pytest.importorskip("torch")
from gradwire.runtime.interchange.importing.torch.capture import capturing  # noqa: E402
from gradwire.runtime.interchange.importing.torch.capture.arrays import in_short  # noqa: E402
from tests.interchange.torch_models import NAMES, case  # noqa: E402

nn = torch.nn


@pytest.fixture(autouse=True)
def seeded():
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        yield


@pytest.fixture
def runs(monkeypatch):
    """Every model is a large one; the list of what the engine has run."""
    monkeypatch.setattr(capturing, "LARGE", -1)
    real, made = Session.backward, []

    def backward(self, *args, **kwargs):
        made.append(self)
        return real(self, *args, **kwargs)

    monkeypatch.setattr(Session, "backward", backward)
    return made


def said(imported):
    return [finding.sentence for finding in gw.diagnose(gw.Session(imported.diagram))]


@pytest.mark.sampled(one_in=7)
@pytest.mark.parametrize("name", NAMES)
def test_the_doctor_says_of_measurements_what_it_says_of_a_run(name, runs):
    model, args = case(name)
    assert said(gw.capture(model, *args)) == said(gw.capture(model, *args, check=True))


def test_a_healthy_model_is_diagnosed_without_a_run(runs):
    model, args = case("GPT")
    imported = gw.capture(model, *args)
    assert imported.remarks[-1].text.startswith("Agrees with PyTorch on which of ")
    session = gw.Session(imported.diagram)
    assert not gw.diagnose(session)
    assert not runs
    assert reassurance(session.program, session.losses).endswith(
        "PyTorch agrees on which gradients are None."
    )


def dead(x):
    """A unit that is off for all of the batch."""
    return torch.relu(x - 1e3)


FLAWS = {
    "dead": dead,
    "faint": lambda x: x * 1e-9,
    "flood": lambda x: x * 1e9,
    "nan": lambda x: torch.log(x - x - 1.0),
    "cancelling": lambda x: x * 1e4 - x * 9999.99 + 0 * x,
    "masked infinity": lambda x: torch.where(x > 1e9, 1 / (x - x), x),
    "nan in the backward alone": lambda x: torch.sqrt(x - x),
    "given infinity": lambda x: torch.softmax(x.masked_fill(x > x.median(), -math.inf), -1),
    "stopped": lambda x: x.detach(),
    "added infinity": lambda x: torch.softmax(x + torch.tensor([0.0, 0.0, -math.inf]), -1),
}


@pytest.mark.parametrize("name", FLAWS)
def test_a_flaw_is_found_as_by_a_run(name, runs):
    torch.manual_seed(1)
    first, second, x = nn.Linear(2, 3), nn.Linear(3, 2), torch.randn(4, 2)

    def loss(x):
        return second(FLAWS[name](first(x))).pow(2).mean()

    found = said(gw.capture(loss, x))
    assert found == said(gw.capture(loss, x, check=True))
    assert bool(found) == (name not in ("given infinity", "added infinity"))


def test_a_bias_whose_gradient_is_only_rounding_is_no_reason_to_run(runs):
    bias, w = nn.Parameter(torch.zeros(1)), nn.Parameter(torch.randn(3, 4))

    def loss(x):
        return torch.log_softmax(x @ w + bias, -1)[:, 0].mean()

    assert not said(gw.capture(loss, torch.randn(5, 3)))
    assert not runs


def test_numbers_that_were_set_or_edited_are_run(runs):
    w = nn.Parameter(torch.ones(3))
    imported = gw.capture(lambda x: (w * x).relu().sum(), torch.ones(3))
    session = gw.Session(imported.diagram)
    assert not gw.diagnose(session) and not runs
    session.set("w", [-1.0, -1.0, -1.0])
    (found,) = gw.diagnose(session)
    assert found.key == "w" and "w" in found.sentence
    edit = SetParameters("w", {"value": np.full(3, -1.0, "float32")})
    (found,) = gw.diagnose(gw.Session(apply(imported.diagram, edit).after))
    assert found.key == "w"
    pages = apply(imported.diagram, edit).after.pages
    (found,) = gw.diagnose(gw.Session(replace(imported.diagram, pages=pages)))
    assert found.key == "w"
    assert gw.diagnose(gw.Session(imported.diagram), feeds={"x": [-1.0, -1.0, -1.0]})


def test_another_gradient_is_said_once_something_needs_numbers(runs):
    w, off = nn.Parameter(torch.ones(3)), nn.Parameter(torch.ones(3))

    def loss(x):
        y = torch.tanh(w * x)
        y.grad_fn.register_prehook(lambda gradients: (3 * gradients[0],))
        return y.sum() + dead(off * x).sum()

    imported = gw.capture(loss, torch.randn(3))
    assert not runs
    found = gw.diagnose(gw.Session(imported.diagram))
    assert found[0].complaint is DIFFERS
    assert "PyTorch's gradient of w " in found[0].sentence


def test_where_nones_differ_they_are_compared_at_once(runs):
    w, v = nn.Parameter(torch.ones(3)), nn.Parameter(torch.ones(3))

    def loss(x):
        y = torch.tanh(w * x)
        y.grad_fn.register_hook(lambda *_: (None,))
        return y.sum() + (v * x).sum()

    imported = gw.capture(loss, torch.randn(3))
    assert imported.remarks[-1].text.startswith("PyTorch gives w no gradient")
    assert imported.diagram.measured is None and runs


def test_the_diagram_stays_as_the_model_was(runs):
    model = nn.Linear(3, 1)
    before = model.weight.detach().clone()
    imported = gw.capture(lambda x: model(x).pow(2).mean(), torch.randn(4, 3))
    with torch.no_grad():
        model.weight += 1.0
    value = gw.Session(imported.diagram).values[imported.parameters["model.weight"]]
    assert np.array_equal(value, before.numpy())


def forget(parameter):
    parameter.grad = None


def test_gradients_and_hooks_of_the_user_stay(runs):
    w = nn.Parameter(torch.ones(3))
    w.grad = torch.full((3,), 7.0)
    kept = w.grad
    gw.capture(lambda x: (w * x).sum(), torch.ones(3))
    assert w.grad is kept and torch.equal(kept, torch.full((3,), 7.0))
    w.register_post_accumulate_grad_hook(forget)
    gw.capture(lambda x: (w * x).sum(), torch.ones(3))
    assert w.grad is kept and list(w._post_accumulate_grad_hooks.values()) == [forget]


def test_a_step_that_calls_backward_is_measured_too(runs):
    w = nn.Parameter(torch.ones(3))
    optimizer = torch.optim.SGD([w], lr=0.1)

    def step(x):
        optimizer.zero_grad()
        (w * x).pow(2).sum().backward()
        optimizer.step()

    imported = gw.capture(step, torch.ones(3))
    assert not said(imported) and not runs
    assert torch.equal(w, torch.ones(3))


@pytest.mark.parametrize("make", [
    lambda: torch.randn(70, 90),
    lambda: torch.randn(90, 70).T,
    lambda: torch.randn(1100, 1000).T,
    lambda: torch.randn(8192, dtype=torch.float64),
    lambda: torch.zeros(5000),
    lambda: torch.randn(5000) * 1e25,
    lambda: torch.tensor([math.nan, math.inf, -math.inf, -math.inf, 2.0] * 1000),
    lambda: torch.randn(5),
    lambda: torch.randn(5000).to(torch.bfloat16),
    lambda: torch.empty(0),
])  # fmt: skip
def test_tensors_measure_as_their_arrays_do(make):
    tensor = make()
    array = tensor.float().numpy() if tensor.dtype == torch.bfloat16 else tensor.numpy()
    ours, theirs = in_short(tensor), measured(np.array(array))
    assert ours.wild == theirs.wild and ours.elements == theirs.elements
    assert ours.size == pytest.approx(theirs.size, rel=1e-5)
    assert not ours.is_apart(theirs, 1e-5, 0.0)


def averaged(model, optimizer, x):
    with torch.no_grad():
        0.9 * model[0].weight + 0.1 * model[1].weight
    model(x).mean().backward()


def cleared(model, optimizer, x):
    model(x).mean().backward()
    optimizer.zero_grad()
    optimizer.step()


def scaled(model, optimizer, x):
    scaler = torch.amp.GradScaler("cpu", init_scale=1024.0)
    optimizer.zero_grad()
    scaler.scale(model(x).mean()).backward()
    scaler.step(optimizer)


def written(model, optimizer, x):
    y = model(x).exp()
    y += 1
    y.mean().backward()


def twice(model, optimizer, x):
    model(x).mean().backward()
    (1e-9 * model(x)).mean().backward()
    optimizer.step()


def without_rules(model, optimizer, x):
    torch.special.i0(model(x)).mean().backward()
    optimizer.step()


@pytest.mark.parametrize("step", [averaged, cleared, scaled, written, twice, without_rules])
def test_of_a_step_is_said_what_is_said_without_measuring(step, runs):
    model = nn.Sequential(nn.Linear(300, 300), nn.Linear(300, 300))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)

    def found(check):
        imported = gw.capture(
            lambda x: step(model, optimizer, x), torch.randn(300, 300), check=check
        )
        return [remark.text for remark in imported.remarks if remark.kind == "note"], said(imported)

    torch.manual_seed(1)
    light = found(None)
    torch.manual_seed(1)
    assert light == found(True)
    assert light[0] if step in (averaged, cleared, written, without_rules) else not light[1]
