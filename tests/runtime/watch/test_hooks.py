"""A model that is watched can be copied, saved and compiled as any other."""

from __future__ import annotations

import copy
import pickle
import pickletools

import pytest

import gradwire as gw

torch = pytest.importorskip("torch")
nn = torch.nn


def made():
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 1))
    return model, torch.optim.Adam(model.parameters())


def train(model, optimizer, loss, after=lambda: None):
    for _ in range(6):
        optimizer.zero_grad()
        loss(torch.randn(5, 4)).backward()
        optimizer.step()
        after()


def test_a_copy_is_not_watched_and_needs_nothing_of_this():
    model, optimizer = made()
    copies = []

    def keep():
        copies.append(copy.deepcopy(model))
        text = pickle.dumps(model)
        assert not any("gradwire" in str(arg) for _, arg, _ in pickletools.genops(text))
        copies.append(pickle.loads(text))

    with gw.watch(model, optimizer, quiet=True) as watched:
        train(model, optimizer, lambda x: model(x).square().mean(), keep)
        steps = watched.steps
        for each in copies:
            each(torch.randn(2, 4)).sum().backward()
    assert watched.failure is None
    assert watched.found == []
    assert watched.steps == steps == 6


def inside(model):
    """Compiled in the step that is captured, where PyTorch's compiler may be loaded first."""
    made = []

    def loss(x):
        if not made:
            made.append(torch.compile(model, backend="aot_eager"))
        return made[0](x).square().mean()

    return loss


def around(model):
    """A function around the model, whose hooks are compiled with it."""
    return torch.compile(lambda x: model(x).square().mean(), backend="aot_eager")


def itself(model):
    """In place."""
    model.compile(backend="aot_eager")
    return lambda x: model(x).square().mean()


@pytest.mark.parametrize("how", [inside, around, itself])
def test_what_is_compiled_trains_as_it_would(how):
    expected, optimizer = made()
    train(expected, optimizer, how(expected))
    model, optimizer = made()
    torch._dynamo.reset()
    loss = how(model)
    with gw.watch(model, optimizer, quiet=True, every=4) as watched:
        train(model, optimizer, loss)
    assert watched.failure is None
    assert watched.found == []
    assert watched.steps == 6
    for one, other in zip(model.parameters(), expected.parameters(), strict=True):
        assert torch.equal(one, other)
    assert torch._dynamo.eval_frame._stance.stance == "default"
