"""The first step of a watched training is captured whole, and the training goes on as it would."""

from __future__ import annotations

import gc
import weakref

import pytest

import gradwire as gw

pytest.importorskip("torch")

import torch
from torch import nn
from torch._ops import _len_torch_dispatch_stack_pre_dispatch
from torch.nn import functional as F
from torch.nn.modules import module as module_hooks
from torch.overrides import _len_torch_function_stack

from gradwire.runtime.interchange.importing.torch.capture.recording import CaptureRecording
from gradwire.runtime.watch import Trouble


class Net(nn.Module):
    def __init__(self, is_twice=False):
        super().__init__()
        self.first, self.second = nn.Linear(4, 8), nn.Linear(8, 3)
        self.is_twice = is_twice

    def forward(self, x):
        y = self.second(torch.tanh(self.first(x)))
        return y.softmax(-1) if self.is_twice else y


def train(model, steps=6, clears=True, **options):
    torch.manual_seed(1)
    optimizer = torch.optim.Adam(model.parameters())
    with gw.watch(model, optimizer, quiet=True, **options) as watched:
        for _ in range(steps):
            if clears:
                optimizer.zero_grad()
            F.cross_entropy(model(torch.randn(5, 4)), torch.randint(0, 3, (5,))).backward()
            optimizer.step()
    return watched


def test_what_the_doctor_finds_is_told_in_the_names_of_the_model():
    (found,) = train(Net(is_twice=True)).found
    assert found.trouble is Trouble.DIAGNOSED
    assert "takes a softmax itself: give it the logits" in found.sentence
    assert found.written == ("test_whole_step.py:43",)


def test_what_is_missing_in_the_whole_loop_is_told():
    (found,) = train(Net(), clears=False).found
    assert "zero_grad() is not called before or after step()" in found.sentence
    assert train(Net()).found == []


def test_the_report_says_what_was_seen():
    assert "every trained variable gets a gradient" in str(train(Net()).report())
    assert str(train(Net(), capture=False).report()).endswith("Nothing was found.")


def test_a_later_step_whose_backward_fails_is_told():
    cell, head = nn.Linear(4, 4), nn.Linear(4, 1)
    model = nn.ModuleList([cell, head])
    optimizer = torch.optim.SGD(model.parameters(), 0.1)
    state = torch.zeros(1, 4)
    with gw.watch(model, optimizer, quiet=True, every=0) as watched:
        with pytest.raises(RuntimeError, match="a second time"):
            for _ in range(4):
                optimizer.zero_grad()
                state = torch.tanh(cell(state) + 1)
                head(state).sum().backward()
                optimizer.step()
    (found,) = [each for each in watched.found if "a second time" in each.sentence]
    assert found.written[0].startswith("test_whole_step.py:") and "detach()" in found.sentence


def test_another_step_on_request():
    model = Net()
    optimizer = torch.optim.SGD(model.parameters(), 0.1)
    x, y = torch.randn(5, 4), torch.randint(0, 3, (5,))
    with gw.watch(model, optimizer, quiet=True, capture=False, every=0) as watched:
        for step in range(6):
            optimizer.zero_grad()
            F.cross_entropy(model(x), y).backward()
            optimizer.step()
            if step == 2:
                watched.capture_next()
        assert watched.diagnosis is not None
        assert "first.weight" in watched.diagnosis.imported.parameters


@pytest.mark.parametrize("method", ["_before", "_after", "enter", "bind"])
def test_what_fails_in_it_never_reaches_the_program(monkeypatch, method):
    def fail(*_, **__):
        raise ZeroDivisionError(method)

    expected = [p.detach().clone() for p in trained_alone()]
    monkeypatch.setattr(CaptureRecording, method, fail)
    torch.manual_seed(0)
    model = Net()
    watched = train(model)
    assert watched.diagnosis is None and watched.failure is None
    assert isinstance(watched.not_captured, ZeroDivisionError)
    for p, same in zip(model.parameters(), expected, strict=True):
        assert torch.equal(p, same)


def trained_alone():
    torch.manual_seed(0)
    model = Net()
    train(model, capture=False)
    return model.parameters()


def test_nothing_is_left_of_it():
    def state():
        hooks = [dict(x) for x in vars(module_hooks).values() if isinstance(x, dict)]
        modes = _len_torch_function_stack(), _len_torch_dispatch_stack_pre_dispatch()
        return hooks, modes, vars(nn.Parameter)["__new__"], vars(torch.autograd.Function)["apply"]

    before = state()
    train(Net(), steps=1)  # closed in the middle of it
    assert state() == before
    train(Net())
    assert state() == before


def test_tensors_of_the_step_are_let_go_once_the_next_has_begun():
    model = Net()
    optimizer = torch.optim.SGD(model.parameters(), 0.1)
    kept = []
    with gw.watch(model, optimizer, quiet=True):
        for _ in range(4):
            optimizer.zero_grad()
            loss = F.cross_entropy(model(torch.randn(5, 4)), torch.randint(0, 3, (5,)))
            loss.backward()
            optimizer.step()
            kept.append(weakref.ref(loss))
            del loss
            gc.collect()
            alive = [ref for ref in kept[:-1] if ref() is not None]
            assert not alive or len(kept) < 3


def test_nothing_is_captured_beside_a_hook_of_a_parameter():
    model = Net()
    handle = model.first.weight.register_hook(lambda g: g * 2)
    watched = train(model)
    assert watched.failure is None and "would outlive" in str(watched.not_captured)
    assert list(model.first.weight._backward_hooks) == [handle.id]


def test_a_hook_that_is_set_in_it_ends_it():
    model = Net()
    optimizer = torch.optim.SGD(model.parameters(), 0.1)
    with gw.watch(model, optimizer, quiet=True) as watched:
        handle = model.first.weight.register_hook(lambda g: g * 2)
        F.cross_entropy(model(torch.randn(5, 4)), torch.randint(0, 3, (5,))).backward()
        optimizer.step()
    assert watched.failure is None and "would outlive" in str(watched.not_captured)
    assert list(model.first.weight._backward_hooks) == [handle.id]


def test_beside_recurrent_layers_nothing_is_captured_unless_asked_for():
    class Recurrent(nn.Module):
        def __init__(self):
            super().__init__()
            self.cell, self.head = nn.GRU(4, 4), nn.Linear(4, 3)

        def forward(self, x):
            return self.head(self.cell(x)[0])

    model = Recurrent()
    assert train(model).diagnosis is None
    assert train(model, capture=True).diagnosis is not None
