"""A captured diagram that is not the program: it knows, says where, and keeps it in its file."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest

import gradwire as gw
from gradwire.runtime.calculus.measuring import measured
from gradwire.runtime.diagram import SetParameters, apply
from gradwire.runtime.flow import reassurance
from gradwire.runtime.flow.tools.findings import DIFFERS

torch = pytest.importorskip("torch")
nn = torch.nn


def halves(gradient):
    return gradient * torch.linspace(0.0, 1.0, gradient.numel()).reshape(gradient.shape)


def said_by(imported):
    """What the doctor says, of the import and of its file."""
    session = gw.Session(imported.diagram)
    found = gw.diagnose(session)
    again = gw.diagnose(gw.Session(gw.loads(gw.dumps(imported.diagram))))
    assert [f.sentence for f in again] == [f.sentence for f in found]
    assert [f.complaint for f in found] == [DIFFERS] * len(found)
    assert reassurance(session.program, session.losses) == found[0].sentence
    assert found[0].sentence in imported.remarks[-1].text
    return [f.sentence for f in found]


def place(function, below=0):
    """A line of a function as sentences name it."""
    return f"({Path(__file__).name}:{function.__code__.co_firstlineno + below})"


def test_a_hook_in_the_middle_is_found_by_gradients_of_intermediate_results():
    first, second, third = nn.Linear(2, 3), nn.Linear(3, 3), nn.Linear(3, 1)

    def loss(x):
        middle = second(torch.tanh(first(x)))
        middle.grad_fn.register_prehook(lambda gradients: tuple(map(halves, gradients)))
        return third(torch.sigmoid(middle)).pow(2).mean()

    imported = gw.capture(loss, torch.randn(4, 2))
    (said,) = said_by(imported)
    assert "PyTorch's gradient of first/weight has rms " in said
    assert said.endswith(f": it is not the same program from second {place(loss, 1)} on.")
    flow = gw.analyse(gw.Session(imported.diagram))
    states = {name: flow.variable(name).state for name in imported.parameters.values()}
    assert {name for name, state in states.items() if state == "CARRIES"} == {
        "third/weight", "third/bias",
    }  # fmt: skip
    assert flow.state("third.x") == flow.state("sigmoid1.x") == "CARRIES"


def test_so_it_is_of_a_step():
    layer, head = nn.Linear(2, 3), nn.Linear(3, 1)

    def step(x):
        middle = layer(x)
        middle.grad_fn.register_prehook(lambda gradients: tuple(map(halves, gradients)))
        head(torch.sigmoid(middle)).pow(2).mean().backward()

    imported = gw.capture(step, torch.randn(4, 2))
    (said,) = said_by(imported)
    assert said.endswith(f"from layer {place(step, 1)} on.")
    assert gw.analyse(gw.Session(imported.diagram)).variable("head/weight").state == "CARRIES"


def test_a_value_is_where_it_begins():
    layer = nn.Linear(2, 2)

    def loss(x):
        middle = torch.tanh(layer(x))
        kept = middle * 1.0
        kept.data.view(-1).mul_(3.0)
        return kept.sum()

    (said,) = said_by(gw.capture(loss, torch.randn(3, 2)))
    assert said.startswith("PyTorch's value of mul1 has rms ")
    assert said.endswith(f"it is not the same program from mul1 {place(loss, 2)} on.")


def test_an_edit_of_what_it_depends_on_voids_it():
    layer = nn.Linear(2, 2)

    def loss(x):
        middle = layer(x)
        middle.grad_fn.register_prehook(lambda gradients: tuple(map(halves, gradients)))
        return middle.pow(2).mean()

    diagram = gw.capture(loss, torch.randn(3, 2)).diagram
    edited = apply(diagram, SetParameters("pow1", {"bypassed": True})).after
    session = gw.Session(edited)
    assert not gw.diagnose(session)
    said = reassurance(session.program, session.losses)
    assert said.endswith("Not compared with PyTorch since the edit.")


def test_what_agrees_says_so_and_what_can_not_be_compared_too():
    layer = nn.Linear(2, 2)

    def said_of(program):
        session = gw.Session(gw.capture(program, torch.ones(3, 2)).diagram)
        assert not gw.diagnose(session)
        return reassurance(session.program, session.losses)

    assert said_of(lambda x: layer(x).sum()).endswith("gets a gradient. PyTorch agrees.")

    def freed(x):
        loss = layer(x).pow(2).sum()
        torch.autograd.grad(loss, list(layer.parameters()))
        return loss

    assert "Not compared with PyTorch: it can't be differentiated: Trying to back" in said_of(freed)


@pytest.mark.parametrize("size", [1, 5, 4096, 10_000])
def test_arrays_are_told_apart_by_what_is_measured(size):
    draw = np.random.default_rng(size)
    array = draw.normal(size=size).astype(np.float32)
    one = measured(array)
    assert not one.is_apart(measured(array * np.float32(1 + 1e-6)), 1e-4, 0.0)
    others = [array * 1.01, -array, np.append(array, 0)[: size + 1]]
    if size > 1:
        others += [array[::-1], np.roll(array, 1), np.where(np.arange(size) == size // 2, 9, array)]
    for other in others:
        assert one.is_apart(measured(other), 1e-4, 0.0)
    for number in (math.nan, math.inf, -math.inf):
        wild = array.copy()
        wild[size // 2] = number
        assert one.is_apart(measured(wild), 1e-4, 0.0)
        assert not measured(wild).is_apart(measured(wild.copy()), 1e-4, 0.0)


def test_a_single_number_is_shown_as_it_is():
    for number in (0.0, -3.5, math.inf, -math.inf, 1e-30):
        assert measured(np.float32(number)).shown == pytest.approx(number, rel=1e-6)
    assert math.isnan(measured(np.array([math.nan])).shown)
    assert measured(np.array([3.0, -4.0])).shown == pytest.approx(math.sqrt(12.5))
    assert measured(np.zeros((0, 3))).shown == 0.0


def test_a_loss_of_terms_that_cancel_is_compared_relative_to_them():
    torch.manual_seed(0)
    layer = nn.Linear(64, 64)

    def loss(x):
        whole = layer(x).exp()
        return whole.sum() - whole.flip(1).sum() + 1e-9 * whole.mean()

    imported = gw.capture(loss, torch.randn(50, 64))
    assert imported.remarks[-1].text.startswith("Agrees with PyTorch")


def test_rounding_that_norms_of_two_elements_magnify_is_no_disagreement():
    torch.manual_seed(0)
    layers = [m for _ in range(30) for m in (nn.Linear(16, 16), nn.BatchNorm1d(16), nn.ReLU())]
    model = nn.Sequential(*layers, nn.Linear(16, 3))
    x, y = torch.randn(2, 16), torch.tensor([0, 2])
    imported = gw.capture(lambda x, y: nn.functional.cross_entropy(model(x), y), x, y)
    assert imported.remarks[-1].text.startswith("Agrees with PyTorch")
    assert imported.diagram.comparison.apart > 1e-4


def test_what_is_left_of_probabilities_that_meet_their_labels_is_rounding():
    torch.manual_seed(0)
    layer = nn.Linear(4, 3)
    x = torch.randn(12, 4)
    y = layer(x).argmax(1)
    with torch.no_grad():
        layer.weight *= 40
    imported = gw.capture(lambda x, y: nn.functional.cross_entropy(layer(x), y), x, y)
    assert imported.diagram.comparison.disagreements == ()
