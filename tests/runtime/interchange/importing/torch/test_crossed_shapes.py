"""Losses that pair each prediction with each target, and those that mean to."""

from __future__ import annotations

import pytest

import gradwire as gw
from gradwire.runtime.flow.tools.findings import CROSSED

torch = pytest.importorskip("torch")
nn, F = torch.nn, torch.nn.functional

pytestmark = pytest.mark.filterwarnings("ignore:Using a target size")


@pytest.fixture(autouse=True)
def seeded():
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        yield


def found(loss, *tensors):
    findings = gw.diagnose(gw.Session(gw.capture(loss, *tensors).diagram))
    return [f for f in findings if f.complaint is CROSSED]


LOSSES = {
    "mse": F.mse_loss,
    "mae": F.l1_loss,
    "huber": F.huber_loss,
    "smooth": lambda p, t: F.smooth_l1_loss(p, t, beta=0.5),
    "unreduced": lambda p, t: F.mse_loss(p, t, reduction="none").mean(),
    "by hand": lambda p, t: ((p - t) ** 2).mean(),
    "turned round": lambda p, t: (t - p).abs().sum() / len(t),
    "root": lambda p, t: (p - t).square().mean().sqrt(),
    "with a penalty": lambda p, t: (p - t).square().mean() + 0.1 * p.square().mean(),
}
MODELS = {
    "layer": lambda: nn.Linear(4, 1),
    "page": lambda: nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 1)),
}


@pytest.mark.parametrize("loss", LOSSES.values(), ids=LOSSES)
@pytest.mark.parametrize("make", MODELS.values(), ids=MODELS)
def test_a_column_against_a_row_is_found_with_both_shapes_and_its_line(make, loss):
    model = make()
    (finding,) = found(lambda x, y: loss(model(x), y), torch.randn(5, 4), torch.randn(5))
    assert "of shape (5, 1)" in finding.sentence and "y of shape (5,)" in finding.sentence
    assert "are broadcast to (5, 5)" in finding.sentence
    assert finding.written.startswith("test_crossed_shapes.py:")


def test_a_loss_of_pytorch_pairs_other_numbers_of_targets_too():
    model = nn.Linear(4, 1)
    (finding,) = found(lambda x, y: F.mse_loss(model(x), y), torch.randn(5, 4), torch.randn(3))
    assert "are broadcast to (5, 3). Give both one shape. Written at " in finding.sentence


@pytest.mark.parametrize("loss", LOSSES.values(), ids=LOSSES)
def test_one_shape_is_fine(loss):
    model, x = nn.Linear(4, 1), torch.randn(5, 4)
    assert found(lambda x, y: loss(model(x), y), x, torch.randn(5, 1)) == []
    assert found(lambda x, y: loss(model(x).squeeze(-1), y), x, torch.randn(5)) == []
    assert found(lambda x, y: loss(model(x), y), x[:1], torch.randn(1)) == []


def test_pairs_that_are_meant_are_fine():
    model, x, y = nn.Linear(4, 1), torch.randn(5, 4), torch.randn(5)
    wide = nn.Linear(4, 3)
    losses = [
        lambda x, y: (model(x) - model(x).squeeze(-1)).square().mean(),
        lambda x, y: (y[:, None] - model(x).squeeze(-1)).square().mean(),
        lambda x, y: torch.exp(-((model(x) - y) ** 2)).mean(),
        lambda x, y: F.mse_loss(model(x), y[None]),
        lambda x, y: (wide(x) - y[:, None]).square().mean(),
        lambda x, y: (wide(x) - y[:3]).square().mean(),
        lambda x, y: (model(x) - y[:3]).square().mean(),
        lambda x, y: F.mse_loss(model(x), torch.zeros(1)),
    ]
    assert [found(loss, x, y) for loss in losses] == [[]] * len(losses)


def test_an_advantage_of_all_pairs_is_found():
    policy, critic = nn.Linear(4, 2), nn.Linear(4, 1)

    def loss(x, returns):
        value = critic(x)
        advantage = returns - value.detach()
        return F.mse_loss(value.squeeze(1), returns) - (advantage * policy(x)[:, 0]).mean()

    (finding,) = found(loss, torch.randn(5, 4), torch.randn(5))
    assert "are broadcast to (5, 5)" in finding.sentence


def test_a_column_of_data_against_a_row_of_data_may_be_meant():
    model = nn.Linear(4, 1)
    x, y, z = torch.randn(5, 4), torch.randn(5, 1), torch.randn(5)
    assert found(lambda x, y, z: ((y - z) * model(x)).mean(), x, y, z) == []
