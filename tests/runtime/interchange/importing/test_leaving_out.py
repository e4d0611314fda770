"""What a capture can leave out: the batch, source lines, and all numbers."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import gradwire as gw
from gradwire.runtime.publish.contents import included

torch = pytest.importorskip("torch")
nn = torch.nn
SECRET = 41.25


class Model(nn.Module):
    """With a stop, a norm that counts, and two parts."""

    def __init__(self):
        super().__init__()
        self.first, self.norm = nn.Linear(3, 4), nn.BatchNorm1d(4)
        self.second, self.lost = nn.Linear(4, 2), nn.Linear(4, 2)

    def forward(self, x):
        h = torch.relu(self.norm(self.first(x)))
        return (self.second(h) + self.lost(h).detach()).pow(2).mean()


def batch():
    x = torch.randn(5, 3)
    x[2, 1] = SECRET
    return x


def line():
    found = Model.forward.__code__
    return f"{Path(__file__).name}:{found.co_firstlineno + 2}"


def blocks_of(diagram):
    return [block for page in diagram.pages.values() for block in page.blocks.values()]


def test_data_is_left_out_and_can_be_fed():
    x = batch()
    imported = gw.capture(Model(), x, data=False)
    assert imported.remarks[-1].text.startswith("Agrees with PyTorch")
    text = gw.dumps(imported.diagram)
    assert str(SECRET) not in text
    assert str(SECRET) in gw.dumps(gw.capture(Model(), x).diagram)
    (path,) = imported.inputs.values()
    session = gw.Session(gw.loads(text))
    whole = gw.Session(gw.capture(Model(), x, check=False).diagram)
    assert (
        session.backward(feeds={path: x.numpy()}).gradients.keys()
        == whole.backward().gradients.keys()
    )


def test_data_that_a_function_encloses_is_left_out():
    model, x = Model(), batch()
    imported = gw.capture(lambda: model(x), data=False)
    assert str(SECRET) not in gw.dumps(imported.diagram)
    (data,) = (b for b in blocks_of(imported.diagram) if b.type_name() == "Input")
    assert data.value is None and data.shape == (5, 3)


def test_recorded_numbers_of_the_batch_are_left_out_and_refused():
    w = nn.Parameter(torch.ones(3, 3))

    def loss(x):
        return torch.special.i0e(x @ w).sum() + 0 * torch.special.i0e(x).sum()

    x = batch()
    imported = gw.capture(loss, x, data=False)
    recorded = [b for b in blocks_of(imported.diagram) if b.type_name() == "Recorded"]
    assert len(recorded) == 2
    assert not any(np.any(b.arrays["value 0"].array) for b in recorded)
    session = gw.Session(imported.diagram)
    assert gw.analyse(session.program).variable("w").state == "CARRIES"
    with pytest.raises(gw.RunError, match="its numbers were left out"):
        session.backward(feeds={"x": x.numpy()})


def test_arguments_of_the_model_may_have_the_names_of_options():
    w = nn.Parameter(torch.ones(3))

    def loss(data, source):
        return (w * data * source).sum()

    imported = gw.capture(loss, data=torch.ones(3), source=torch.ones(3))
    assert set(imported.inputs) == {"data", "source"}


def test_source_is_left_out_and_places_stay():
    whole = gw.capture(Model(), batch())
    imported = gw.capture(Model(), batch(), source=False)
    text = gw.dumps(imported.diagram)
    assert "self.second" in gw.dumps(whole.diagram) and "self.second" not in text
    assert line() in text
    assert not any(": " in remark.written for remark in imported.remarks)
    (found,) = {
        f.sentence for f in gw.diagnose(gw.Session(imported.diagram)) if f.key == "lost/weight"
    }
    assert line() in found


def test_source_is_left_out_of_what_is_said_of_missteps():
    model = Model()

    def step(x):
        y = model(x).exp()
        y += 1
        y.backward()

    imported = gw.capture(step, batch(), source=False)
    texts = [remark.text for remark in imported.remarks]
    assert any("backward() (test_leaving_out.py:" in text for text in texts)
    assert not any("exp()" in text for text in (*texts, gw.dumps(imported.diagram)))


def test_no_folder_of_the_program_is_kept():
    assert str(Path(__file__).parent) not in gw.dumps(gw.capture(Model(), batch()).diagram)


def test_what_is_included_is_said():
    assert "the numbers of x, and" in included(gw.capture(Model(), batch()).diagram)
    assert "source" not in included(gw.capture(Model(), batch(), source=False).diagram)
    assert "numbers" not in included(gw.capture(Model(), batch(), data=False).diagram)
    assert not included(gw.capture(Model(), batch(), data=False, source=False).diagram)
    x = gw.input("x", [1.0])
    assert not included(gw.build(gw.loss(gw.sum(x * gw.variable("w", [1.0])))))


# ---- structure ----------------------------------------------------------------------------------


def verdicts(imported):
    flow = gw.analyse(gw.Session(imported.diagram).program)
    return {n: flow.variable(p).sentence for n, p in imported.parameters.items()}


@pytest.mark.parametrize("device", ["cpu", "meta"])
def test_structure_answers_as_a_run_does(device):
    expected = verdicts(gw.capture(Model(), batch()))
    model = Model().to(device)
    imported = gw.capture(model, batch().to(device), structure=True)
    assert verdicts(imported) == expected
    assert line() in expected["lost.weight"]
    kept = [b for b in blocks_of(imported.diagram) if b.type_name() in ("Input", "Variable")]
    assert kept and all(block.value is None for block in kept)


def test_a_step_on_the_meta_device_is_captured():
    model = Model().to("meta")
    optimizer = torch.optim.AdamW(model.parameters())

    def step(x):
        optimizer.zero_grad()
        model(x).backward()
        optimizer.step()

    imported = gw.capture(
        step, torch.empty(5, 3, device="meta"), structure=True, optimizer=optimizer
    )
    assert imported.diagram.training is not None
    assert "detach" in verdicts(imported)["model.lost.weight"]
    assert all(p.grad is None for p in model.parameters())


def test_what_has_no_rules_passes_gradient_by_structure():
    w = nn.Parameter(torch.ones(3, 3, device="meta"))
    x = torch.ones(2, 3, device="meta")
    imported = gw.capture(lambda x: torch.special.i0e(x @ w).sum(), x, structure=True)
    assert gw.analyse(gw.Session(imported.diagram).program).variable("w").state == "CARRIES"


def test_changes_in_place_are_followed_on_the_meta_device():
    w = nn.Parameter(torch.ones(3, device="meta"))

    def loss(x):
        y = torch.zeros(2, 3, device="meta")
        y[0] = w * x
        y[1] = (w * x).detach()
        return y[1].sum()

    x = torch.ones(3, device="meta")
    sentence = verdicts(gw.capture(loss, x, structure=True))["w"]
    assert "gets no gradient" in sentence or "stops" in sentence or "slice" in sentence


def test_a_model_without_numbers_asks_for_structure():
    with pytest.raises(gw.GradwireError, match=r"structure=True"):
        gw.capture(Model().to("meta"), torch.empty(5, 3, device="meta"))


def test_a_branch_on_numbers_is_refused_on_the_meta_device():
    w = nn.Parameter(torch.ones(3, device="meta"))

    def loss(x):
        y = (w * x).sum()
        return y if y > 0 else -y

    with pytest.raises(gw.GradwireError, match=r"reads its numbers.*test_leaving_out.py:"):
        gw.capture(loss, torch.ones(3, device="meta"), structure=True)
