"""Trainings that raise, or never begin: the reason is told, with the line to blame."""

from __future__ import annotations

import linecache

import pytest

import gradwire as gw

pytest.importorskip("torch")

import torch
from torch import nn
from torch._ops import _len_torch_dispatch_stack_pre_dispatch
from torch.autograd import grad_mode
from torch.overrides import _len_torch_function_stack
from torch.utils.checkpoint import checkpoint

from gradwire.runtime.watch import Trouble
from gradwire.runtime.watch.step import shown
from gradwire.runtime.watch.torch.everything import watched_everything
from gradwire.runtime.watch.torch.switches import noted, turned_off

# Whether the first step is captured whole.
ways = pytest.mark.parametrize("capture", [True, False])


def sgd(model):
    return torch.optim.SGD(model.parameters(), 0.1)


def line(marked):
    """The line of this file that ends with a mark."""
    lines = linecache.getlines(__file__)
    (number,) = (n for n, text in enumerate(lines, 1) if text.rstrip().endswith(f"# {marked}"))
    return f"test_failing.py:{number}"


def said(watched):
    return " ".join(found.sentence for found in watched.found)


@ways
def test_gradient_that_is_off(capture):
    model, x = nn.Linear(3, 1), torch.ones(2, 3)
    with gw.watch(model, sgd(model), quiet=True, capture=capture) as watched:
        with pytest.raises(RuntimeError, match="does not require grad"):
            with torch.no_grad():  # off
                loss = model(x).sum()
            loss.backward()
    assert line("off") in said(watched) and "no_grad" in said(watched)


@ways
def test_gradient_that_an_evaluation_has_left_off(capture):
    model, x = nn.Linear(3, 1), torch.ones(2, 3)
    try:
        with gw.watch(model, sgd(model), quiet=True, capture=capture) as watched:
            torch.set_grad_enabled(False)  # left off
            for _ in range(7):
                model(x)
            with pytest.raises(RuntimeError, match="does not require grad"):
                model(x).sum().backward()
    finally:
        torch.set_grad_enabled(True)
    assert line("left off") in said(watched) and "set_grad_enabled" in said(watched)


@ways
def test_a_model_that_is_frozen(capture):
    model, x = nn.Linear(3, 1).requires_grad_(False), torch.ones(2, 3)
    with gw.watch(model, sgd(model), quiet=True, capture=capture) as watched:
        with pytest.raises(RuntimeError, match="does not require grad"):
            model(x).sum().backward()
    assert "frozen" in said(watched) or "nothing trained reaches" in said(watched)


def test_a_graph_of_an_earlier_step_is_named():
    cell, head, x = nn.Linear(4, 4), nn.Linear(4, 1), torch.zeros(1, 4)
    model = nn.ModuleList([cell, head])
    optimizer = sgd(model)
    with gw.watch(model, optimizer, quiet=True, capture=False) as watched:
        with pytest.raises(RuntimeError, match="a second time"):
            for _ in range(3):
                optimizer.zero_grad()
                x = torch.tanh(cell(x) + 1)  # carried
                head(x).sum().backward()  # fails
                optimizer.step()
    (found,) = watched.found
    assert found.trouble is Trouble.FAILED and found.written == (line("fails"),)
    assert f"the result of tanh ({line('carried')})" in found.sentence


def test_a_graph_of_an_earlier_step_that_step_has_written_to():
    cell, head, x = nn.Linear(4, 4), nn.Linear(4, 1), torch.zeros(1, 4)
    model = nn.ModuleList([cell, head])
    optimizer = sgd(model)
    with gw.watch(model, optimizer, quiet=True, capture=False) as watched:
        with pytest.raises(RuntimeError, match="inplace"):
            for _ in range(3):
                optimizer.zero_grad()
                x = torch.tanh(cell(cell(x)) + 1)
                head(x).sum().backward(retain_graph=True)
                optimizer.step()
    assert "its graph goes on into an earlier step, the result of tanh" in said(watched)
    assert "detach()" in said(watched)


@pytest.mark.parametrize("is_told", [True, False])
def test_a_step_that_is_never_taken(is_told):
    model, x = nn.Linear(3, 1), torch.ones(2, 3)
    optimizer = sgd(model)
    with gw.watch(model, optimizer, quiet=True) as watched:
        for _ in range(6):
            optimizer.zero_grad()
            model(x).pow(2).sum().backward()  # and nothing follows
            if not is_told:  # as some do by hand
                with torch.no_grad():
                    for p in model.parameters():
                        p -= 0.1 * p.grad
    found = [each for each in watched.found if each.trouble is Trouble.NOT_UPDATED]
    assert [each.written for each in found] == [(line("and nothing follows"),)] * is_told
    assert not is_told or "step() is not called on SGD" in found[0].sentence


def test_an_evaluation_before_the_training_is_no_part_of_it():
    model, x = nn.Sequential(nn.Linear(3, 3), nn.Linear(3, 1)), torch.ones(2, 3)
    optimizer = sgd(model)
    with gw.watch(model, optimizer, quiet=True) as watched:
        with torch.no_grad():
            for _ in range(9):
                model(x)
        for _ in range(6):
            optimizer.zero_grad()
            model(x).pow(2).sum().backward()
            optimizer.step()
    assert watched.found == [] and watched.diagnosis is not None
    assert "every trained variable gets a gradient" in watched.report().well
    kinds = [block.type_name() for block in watched.diagnosis.imported.diagram.main.blocks.values()]
    assert "StopGradient" not in kinds


def test_a_call_without_gradient_in_a_step_is_a_part_of_it():
    model, x = nn.Sequential(nn.Linear(3, 3), nn.Tanh(), nn.Linear(3, 1)), torch.ones(2, 3)
    optimizer = sgd(model)
    with gw.watch(model, optimizer, quiet=True) as watched:
        for _ in range(6):
            optimizer.zero_grad()
            out = model(x)
            with torch.no_grad():
                target = model(x + 1)
            (out - target).pow(2).sum().backward()
            optimizer.step()
    assert watched.found == [] and watched.diagnosis is not None
    assert "every trained variable gets a gradient" in watched.report().well


@pytest.mark.filterwarnings("ignore:None of the inputs")
def test_a_checkpoint_in_a_step_that_is_captured_and_recorded():
    stem, head, x = nn.Linear(3, 3), nn.Linear(3, 1), torch.ones(2, 3)
    optimizer = torch.optim.SGD([*stem.parameters(), *head.parameters()], 0.1)
    with watched_everything() as everything:
        for _ in range(6):
            optimizer.zero_grad()
            out = checkpoint(stem, x, use_reentrant=True)  # reentrant
            head(out).pow(2).mean().backward()
            optimizer.step()
    text = " ".join(said(watch) for watch in everything.watches)
    assert "stem.weight and stem.bias" in text and line("reentrant") in text
    assert "use_reentrant=False" in text


def test_models_go_by_what_the_program_calls_them():
    class Agent:
        def __init__(self):
            self.actor = nn.Linear(3, 1)
            self.optimizer = sgd(nn.Linear(3, 1))

        def step(self, x):
            self.optimizer.zero_grad()
            self.actor(x).sum().backward()
            self.optimizer.step()

    agent = Agent()
    with watched_everything() as everything:
        for _ in range(6):
            agent.step(torch.ones(2, 3))
    assert "actor" in said(everything.watches[0])


def test_a_program_that_only_evaluates_is_not_spoken_of(capsys):
    model, x = nn.Linear(3, 1), torch.ones(2, 3)
    with watched_everything() as everything, torch.no_grad():
        for _ in range(9):
            model(x)
    assert everything.watches == [] and capsys.readouterr().err == ""


def test_nothing_is_left_where_the_first_step_fails():
    def state():
        modes = _len_torch_function_stack(), _len_torch_dispatch_stack_pre_dispatch()
        patched = [vars(cls) for cls in (grad_mode.no_grad, grad_mode.set_grad_enabled)]
        return modes, [dict(each) for each in patched], vars(torch.autograd.Function)["apply"]

    before, model = state(), nn.Linear(3, 1).requires_grad_(False)
    with pytest.raises(RuntimeError, match="does not require grad"):
        with gw.watch(model, sgd(model), quiet=True, capture=True):
            model(torch.ones(2, 3)).sum().backward()
    assert state() == before


def test_what_has_turned_gradient_off_is_known_while_it_is_off():
    with noted():
        with torch.no_grad():  # outer
            with torch.no_grad(), torch.inference_mode(False), torch.enable_grad():
                assert turned_off() is None
            assert shown(turned_off().line) == line("outer")
        assert turned_off() is None
        torch.set_grad_enabled(False)  # set
        torch.set_grad_enabled(True)
        assert turned_off() is None
        with torch.inference_mode():
            assert turned_off().name == "inference_mode"
    with torch.no_grad():
        assert turned_off() is None  # not noted
