"""Optimisers that update all parameters by one call: what is captured is that of their loop."""

from __future__ import annotations

import inspect
from functools import partial

import numpy as np
import pytest

import gradwire as gw

torch = pytest.importorskip("torch")
nn = torch.nn

X = torch.linspace(-1.0, 1.0, 15).reshape(5, 3)
OPTIMISERS = [
    torch.optim.SGD, torch.optim.Adam, torch.optim.AdamW, torch.optim.NAdam, torch.optim.RAdam,
    torch.optim.RMSprop, torch.optim.Adagrad, torch.optim.Adadelta, torch.optim.Adamax,
    torch.optim.ASGD, torch.optim.Rprop,
]  # fmt: skip
WAYS = [
    pytest.param(optimiser, way, id=f"{optimiser.__name__} {way}")
    for optimiser in OPTIMISERS
    for way in ("foreach", "fused")
    if way in inspect.signature(optimiser).parameters
]


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(0)
            self.a, self.b, self.frozen = nn.Linear(3, 4), nn.Linear(4, 1), nn.Linear(3, 1)
            self.frozen.requires_grad_(False)

    def forward(self, x):
        return (self.b(torch.tanh(self.a(x))) - self.frozen(x)).pow(2).mean()


def train(net, optimizer, x):
    optimizer.zero_grad()
    net(x).backward()
    optimizer.step()


def trained_twice(net, optimizer, x):
    for _ in range(2):
        train(net, optimizer, x)


def used(net, optimizer, x):
    train(net, optimizer, x)
    return net(x)


def clipped(net, optimizer, x, foreach=None):
    scaler = torch.amp.GradScaler("cpu", init_scale=128.0)
    optimizer.zero_grad()
    scaler.scale(net(x)).backward()
    scaler.unscale_(optimizer)
    nn.utils.clip_grad_norm_(net.parameters(), 0.1, foreach=foreach)
    nn.utils.clip_grad_value_(net.parameters(), 0.05, foreach=foreach)
    scaler.step(optimizer)
    scaler.update()
    net(x).backward()


def too_early(net, optimizer, x):
    optimizer.zero_grad()
    loss = net(x)
    optimizer.step()
    loss.backward()


def said(step, optimiser, **options):
    """What a capture finds, and its gradients."""
    net = Net()
    imported = gw.capture(step, net, optimiser(net.parameters(), lr=0.01, **options), X)
    comparison = imported.diagram.comparison
    assert not (comparison.disagreements or comparison.unchecked), imported.remarks
    session = gw.Session(imported.diagram)
    found = [(x.complaint.name, x.key, x.sentence) for x in gw.diagnose(session)]
    return found, session.backward().gradients


@pytest.mark.parametrize(("optimiser", "way"), WAYS)
@pytest.mark.parametrize("step", [trained_twice, used, clipped, too_early])
def test_a_step_by_one_call_is_what_the_loop_is(optimiser, way, step):
    theirs = partial(step, foreach=True) if step is clipped and way == "foreach" else step
    found, gradients = said(step, optimiser, foreach=False)
    found_by_one, gradients_by_one = said(theirs, optimiser, **{way: True})
    assert found_by_one == found
    assert gradients_by_one.keys() == gradients.keys()
    for name, gradient in gradients.items():
        assert np.allclose(gradients_by_one[name], gradient, rtol=1e-3, atol=1e-5), name


@pytest.mark.parametrize("way", ["foreach", "fused"])
def test_that_numbers_are_those_of_the_run_is_said_once(way):
    net = Net()
    optimizer = torch.optim.SGD(net.parameters(), 0.1, **{way: True})
    remarks = [r.text for r in gw.capture(trained_twice, net, optimizer, X).remarks]
    assert len([text for text in remarks if "writes are those of this run" in text]) == 1


def test_what_an_optimiser_calls_is_not_said_to_be_dropped():
    net = Net()
    optimizer = torch.optim.ASGD(net.parameters(), foreach=True)

    def step(x):
        net(x).pow(2).backward() or optimizer.step()  # on one line

    assert not [r for r in gw.capture(step, X).remarks if "is not used" in r.text]
