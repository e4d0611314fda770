"""Views and writes of which autograd sees only a part: what PyTorch does with them is captured."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

import gradwire as gw

torch = pytest.importorskip("torch")


class Times(torch.autograd.Function):
    """Gives a view, with a rule of its own."""

    @staticmethod
    def forward(ctx, x, factor):
        ctx.factor = factor
        return x.view_as(x)

    @staticmethod
    def backward(ctx, gradient):
        return gradient * ctx.factor, None


class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.w = torch.nn.Parameter(torch.tensor([1.0, 2.0, 3.0, 4.0]))


X = torch.tensor([0.1, 0.2, 0.3, 0.4])


@torch.no_grad()
def off(view):
    return view[:1]


VIEWS = {
    "of a custom function": lambda y: Times.apply(y, 2.0),
    "of a part": lambda y: Times.apply(y[1:3], 2.0),
    "one of several": lambda y: y.view(2, 2).unbind()[0],
    "made without gradient": off,
}
"""Views that nobody can differentiate any more once their base was written to."""


@torch.no_grad()
def computed(view):
    return (view * 2).sum()


@torch.no_grad()
def unknown(view):
    return torch.lgamma(view).sum()


@torch.no_grad()
def written(view):
    return view.mul_(2).sum()


def listed(view):
    with warnings.catch_warnings(action="ignore"):
        return torch.tensor(view.tolist()).sum()


READERS = {
    "detach": lambda view: view.detach().sum(),
    "data": lambda view: view.data.sum(),
    "tolist": listed,
    "no_grad": computed,
    "no rules": unknown,
    "a write": written,
    "grad": lambda view: 1.0 if view.grad is None else 2.0,
}


def captured(step):
    """The capture of a step, with PyTorch's gradient and the diagram's."""
    with warnings.catch_warnings(action="ignore"):  # .grad of what is no leaf
        net = Net()
        loss = step(net, X)
        loss.backward()
        imported = gw.capture(step, Net(), X)
    assert not imported.diagram.comparison.disagreements, imported.remarks
    (ours,) = gw.Session(imported.diagram).backward().gradients.values()
    return imported, None if net.w.grad is None else net.w.grad.numpy(), ours


@pytest.mark.parametrize("read", READERS.values(), ids=READERS)
@pytest.mark.parametrize("view", VIEWS.values(), ids=VIEWS)
def test_a_view_whose_base_was_written_to_is_read(view, read):
    def step(net, x):
        y = net.w * x
        shown = view(y)
        y.mul_(3)
        return (y * read(shown)).sum()

    _, theirs, ours = captured(step)
    assert np.allclose(ours, theirs)


@pytest.mark.parametrize("view", VIEWS.values(), ids=VIEWS)
def test_a_module_may_keep_a_view_whose_base_was_written_to(view):
    def step(net, x):
        y = net.w * x
        net.seen = view(y)
        y.mul_(3)
        return y.sum() * net.seen.detach().sum()

    net = Net()
    step(net, X)
    assert gw.capture(step, net, X).remarks[-1].text.startswith("Agrees with PyTorch")


def test_a_view_made_without_gradient_passes_none():
    def step(net, x):
        y = net.w * x
        with torch.no_grad():
            part = y[:2]
        assert part.requires_grad  # or so it says
        return (part * 3).sum() + y[3]

    imported, theirs, ours = captured(step)
    assert theirs.tolist() == ours.tolist() == [0, 0, 0, X[3]]
    (cut,) = [r for r in imported.remarks if r.kind == "cut"]
    assert cut.block == "no_grad" and "no_grad()" in cut.written


@pytest.mark.parametrize(
    "write",
    [lambda y: y.mul_(2), lambda y: y[:2].mul_(2), lambda y: y.erfinv_(), lambda y: y.fill_(0.5)],
    ids=["whole", "part", "no rules", "filled"],
)
def test_gradient_arrives_as_if_nothing_had_been_written_without_gradient(write):
    def step(net, x):
        y = net.w * x / 4
        seen = y.view(2, 2)
        with torch.no_grad():
            write(y)
        return 3 * y.sum() + seen[0].sum()

    _, theirs, ours = captured(step)
    assert np.allclose(ours, theirs)
    assert np.allclose(theirs, X.numpy() * [1, 1, 0.75, 0.75])


def test_why_of_a_view_that_nobody_can_differentiate_says_so():
    y = torch.ones(4, requires_grad=True) * 1
    view = y.view(2, 2).unbind()[0]
    y.mul_(3)
    assert "what it is a view of has been written to" in gw.why(view)


def test_watching_goes_on_where_a_view_can_not_be_differentiated():
    y = torch.ones(4, requires_grad=True) * 1
    view = y.view(2, 2).unbind()[0]
    y.mul_(3)
    net = Net()
    optimizer = torch.optim.SGD(net.parameters(), 0.1)
    with gw.watch(net, optimizer) as watch:
        (net.w * computed(view)).sum().backward()
        optimizer.step()
    assert "1 step: " in str(watch.report())
