"""Modules that torch.func transforms, torch.compile compiles or legacy hooks are on."""

from __future__ import annotations

import shutil

import numpy as np
import pytest

import gradwire as gw

torch = pytest.importorskip("torch")
nn = torch.nn

X = torch.linspace(-1.0, 1.0, 15).reshape(5, 3)


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(0)
            self.a, self.b = nn.Linear(3, 4), nn.Linear(4, 1)

    def forward(self, x):
        return self.b(torch.tanh(self.a(x))).pow(2).mean()


def called(net, parameters, x):
    return torch.func.functional_call(net, parameters, (x,))


def functional(net, x):
    return called(net, dict(net.named_parameters()), x)


def mapped(net, x):
    own = dict(net.named_parameters())
    return torch.vmap(lambda row: called(net, own, row[None]))(x).mean()


def by_example(net, x):
    own = dict(net.named_parameters())
    gradient = torch.func.grad(lambda given, row: called(net, given, row[None]))
    return sum(g.pow(2).sum() for g in torch.vmap(gradient, (None, 0))(own, x).values())


def by_some(net, x):
    own = dict(net.named_parameters())
    found = torch.func.grad(lambda given: called(net, given, x))(own)
    return found["b.weight"].pow(2).sum() + net(x)


def agrees(step, net):
    step(net, X).backward()
    theirs = {name: p.grad.numpy().copy() for name, p in net.named_parameters()}
    net.zero_grad()
    imported = gw.capture(step, net, X)
    assert imported.remarks[-1].text.startswith("Agrees with PyTorch"), imported.remarks
    ours = gw.Session(imported.diagram).backward().gradients
    assert len(imported.parameters) == len(theirs)
    for name, path in imported.parameters.items():
        gradient = theirs[name.removeprefix("net.")]
        assert np.allclose(ours[path], gradient, rtol=1e-4, atol=1e-6), name
    return imported


@pytest.mark.parametrize("step", [functional, mapped, by_example, by_some])
def test_what_torch_func_transforms_has_the_gradients_of_the_run(step):
    agrees(step, Net())


@pytest.mark.filterwarnings("ignore")  # of which PyTorch's compiler has many of its own
@pytest.mark.parametrize("backend", ["eager", "aot_eager", "inductor"])
def test_a_compiled_module_has_the_gradients_of_the_run(backend):
    if backend == "inductor" and shutil.which("g++") is None:
        pytest.skip("inductor compiles by g++")
    imported = agrees(lambda net, x: net(x), torch.compile(Net(), backend=backend))
    assert not [r for r in imported.remarks if "is not used" in r.text]


@pytest.mark.filterwarnings("ignore:Using a non-full backward hook")
def test_a_legacy_hook_is_said_to_be_lacking_with_what_to_use():
    net = Net()
    net.b.register_backward_hook(
        lambda module, came, sent: tuple(g if g is None else 2 * g for g in came)
    )
    imported = gw.capture(net, X)
    (text,) = [r.text for r in imported.remarks if "register_backward_hook" in r.text]
    assert text.startswith("b has a hook") and text.endswith("Use register_full_backward_hook.")
    assert imported.diagram.comparison.disagreements
    net = Net()
    net.b.register_full_backward_hook(
        lambda module, came, sent: tuple(g if g is None else 2 * g for g in came)
    )
    assert not [r for r in gw.capture(net, X).remarks if "backward_hook" in r.text]
