"""Gradients that vanish along a sequence are measured along it, and blamed on no single block."""

from __future__ import annotations

import pytest

import gradwire as gw

torch = pytest.importorskip("torch")
nn = torch.nn


@pytest.fixture(autouse=True)
def seeded():
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        yield


def vanishing(loss, *tensors) -> dict[str, str]:
    findings = gw.diagnose(gw.Session(gw.capture(loss, *tensors).diagram))
    return {f.key: f.sentence for f in findings if f.complaint.name == "vanishing"}


def shrunk(module, by=0.5):
    for name, parameter in module.named_parameters():
        if "hh" in name:
            parameter.data *= by
    return module


def at_once(cell):
    def run(x):
        out, _ = cell(x)
        return out[:, -1]

    return run


def step_by_step(cell):
    def run(x):
        h = x.new_zeros(x.shape[0], 4)
        for t in range(x.shape[1]):
            h = cell(x[:, t], h)
        return h

    return run


RUNS = {
    "layer": lambda: at_once(shrunk(nn.RNN(3, 4, batch_first=True))),
    "gated": lambda: at_once(shrunk(nn.GRU(3, 4, batch_first=True), 0.1)),
    "loop": lambda: step_by_step(shrunk(nn.RNNCell(3, 4))),
}
CURES = {"gated": "Start with open gates"}


@pytest.mark.parametrize("kind", RUNS)
def test_a_decay_is_measured_from_step_to_step(kind):
    run, first, last = RUNS[kind](), nn.Linear(2, 3), nn.Linear(4, 1)

    def loss(f, x):
        return last(run(torch.cat([first(f)[:, None], x], 1))).square().mean()

    said = vanishing(loss, torch.randn(2, 2), torch.randn(2, 49, 3))
    assert {"first/weight", "first/bias"} <= set(said)
    for name in ("first/weight", "first/bias"):
        assert said[name].startswith("The gradient decays along the sequence: that of step 1 is ")
        assert "of step 50's" in said[name] and "worst" not in said[name]
        assert CURES.get(kind, "Use an LSTM or a GRU") in said[name]


@pytest.mark.parametrize("scaled", [False, True])
def test_one_part_that_is_made_small_is_no_decay(scaled):
    first, last = nn.Linear(2, 3), nn.Linear(3, 1)
    scale = torch.ones(20, 1)
    scale[0] = 1e-12

    def loss(f, x):
        y = torch.cat([first(f)[:, None], last.weight * x], 1)
        if scaled:
            return last(y * scale).square().mean()
        return last(y[:, 0]).sum() * 1e-12 + last(y[:, 1:]).square().mean()

    said = vanishing(loss, torch.randn(2, 2), torch.randn(2, 19, 3))
    assert set(said) == {"first/weight", "first/bias"}
    assert not any("decays" in text for text in said.values())


def test_a_sequence_that_keeps_its_gradient_is_fine():
    first, last = nn.Linear(2, 3), nn.Linear(4, 1)
    cell = nn.RNN(3, 4, batch_first=True)
    nn.init.eye_(cell.weight_hh_l0)
    nn.init.zeros_(cell.bias_hh_l0)
    nn.init.zeros_(cell.bias_ih_l0)

    def loss(f, x):
        y, _ = cell(0.01 * torch.cat([first(f)[:, None], x], 1))
        return last(y[:, -1]).square().mean()

    assert vanishing(loss, torch.randn(2, 2), torch.randn(2, 29, 3)) == {}
