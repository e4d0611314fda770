"""Training steps in and out of order: what is wrong is told with its line, what is right is not."""

from __future__ import annotations

from copy import deepcopy

import pytest

import gradwire as gw
from gradwire.runtime.diagram import dumps, loads
from gradwire.runtime.flow.tools.findings import MISSTEP, RAISES

torch = pytest.importorskip("torch")
nn, F = torch.nn, torch.nn.functional

X = torch.randn((4, 3), generator=torch.Generator().manual_seed(0))


class Training:
    """Two layers, an optimiser for each, and for both together."""

    def __init__(self):
        torch.manual_seed(0)
        self.first, self.second = nn.Linear(3, 3), nn.Linear(3, 1)
        self.one = torch.optim.SGD(self.first.parameters(), lr=0.1)
        self.other = torch.optim.SGD(self.second.parameters(), lr=0.1)
        self.both = [*self.first.parameters(), *self.second.parameters()]
        self.all = torch.optim.SGD(self.both, lr=0.1)

    def loss(self, x):
        return self.second(self.first(x).tanh()).pow(2).mean()


def missteps(step):
    """What the doctor says of a step that is given a Training and X, in order."""
    training = Training()
    captured = gw.capture(lambda x: step(training, x), X)
    found = gw.diagnose(gw.Session(captured.diagram))
    return [f.sentence for f in found if f.complaint in (MISSTEP, RAISES)]


def test_orders_that_are_right_are_not_told():
    def cleared_after(t, x):
        t.loss(x).backward()
        t.all.step()
        t.all.zero_grad(set_to_none=False)

    def accumulated(t, x):
        t.all.zero_grad()
        for part in x:
            (t.loss(part) / len(x)).backward()
        nn.utils.clip_grad_norm_(t.both, 1.0)
        t.all.step()

    def part_of_an_accumulation(t, x):
        t.loss(x).backward()

    def closure(t, x):
        lbfgs = torch.optim.LBFGS(t.both, max_iter=3)

        def again():
            lbfgs.zero_grad()
            loss = t.loss(x)
            loss.backward()
            return loss

        lbfgs.step(again)

    def two_iterations(t, x):
        for _ in range(2):
            for p in t.both:
                p.grad = None
            t.loss(x).backward()
            nn.utils.clip_grad_value_(t.both, 1.0)
            t.all.step()

    def two_losses_for_one(t, x):
        t.all.zero_grad()
        t.loss(x).backward()
        t.loss(x + 1).backward()
        t.all.step()

    def players(t, x):
        t.other.zero_grad()
        t.second(t.first(x).detach()).mean().backward()
        t.other.step()
        t.one.zero_grad()
        (-t.second(t.first(x))).mean().backward()
        t.one.step()

    def one_player(t, x):
        t.one.zero_grad()
        (-t.second(t.first(x))).mean().backward()
        t.one.step()

    def scaled(t, x):
        scaler = torch.amp.GradScaler("cpu")
        t.all.zero_grad()
        scaler.scale(t.loss(x)).backward()
        scaler.unscale_(t.all)
        nn.utils.clip_grad_norm_(t.both, 1.0)
        scaler.step(t.all)
        scaler.update()

    def saliency(t, x):
        t.first.zero_grad()
        inputs = x.clone().requires_grad_()
        t.first(inputs).tanh().mean().backward()

    for step in (
        cleared_after,
        accumulated,
        part_of_an_accumulation,
        closure,
        two_iterations,
        two_losses_for_one,
        players,
        one_player,
        scaled,
        saliency,
    ):
        assert not missteps(step), step.__name__


def test_zero_grad_that_may_be_elsewhere_is_a_remark_alone():
    training = Training()

    def step(x):
        training.loss(x).backward()
        training.all.step()

    captured = gw.capture(step, X)
    assert not gw.diagnose(gw.Session(captured.diagram))
    assert any("unless it is called elsewhere" in str(remark) for remark in captured.remarks)


def test_gradients_that_come_before_the_run_are_told_unless_it_clears_them():
    training = Training()
    training.loss(X).backward()

    def said(step):
        return [
            f.sentence
            for f in gw.diagnose(gw.Session(gw.capture(step, X).diagram))
            if f.complaint is MISSTEP
        ]

    def added(x):
        training.loss(x).backward()
        training.all.step()

    def late(x):
        training.all.step()
        training.all.zero_grad()
        training.loss(x).backward()

    (text,) = said(added)
    assert "uses gradients from before this run too" in text
    (text,) = said(late)
    assert "updates by the gradients of an earlier call" in text


def test_two_optimisers_are_told_unless_one_wraps_the_other():
    def overlapping(t, x):
        t.all.zero_grad()
        t.loss(x).backward()
        t.all.step()
        t.other.step()

    def wrapped(t, x):
        base = torch.optim.Adam(t.both)
        base.zero_grad()
        t.loss(x).backward()
        base.step()
        t.all.step()

    (text,) = missteps(overlapping)
    assert text.startswith("second/weight, second/bias are in two optimisers")
    assert not missteps(wrapped)


def test_a_misstep_is_in_the_file_with_its_line():
    training = Training()

    def step(x):
        training.all.zero_grad()
        loss = training.loss(x)
        training.all.step()
        loss.backward()

    diagram = gw.capture(step, X).diagram
    again = loads(dumps(diagram))
    assert again.comparison == diagram.comparison
    (finding,) = gw.diagnose(gw.Session(again))
    assert finding.complaint is MISSTEP
    assert finding.written.endswith(": training.all.step()")
    assert finding.written.partition(": ")[0] in finding.sentence


def test_an_average_that_is_dropped_is_told_and_one_that_is_kept_is_not():
    shadow = {}

    def dropped(t, x):
        with torch.no_grad():
            for p, q in zip(t.first.parameters(), deepcopy(t.first).parameters(), strict=True):
                p = 0.9 * p + 0.1 * q
        t.loss(x).backward()

    def kept(t, x):
        with torch.no_grad():
            others = deepcopy(t.first)
            for name, p in t.first.named_parameters():
                shadow[name] = 0.9 * p + 0.1 * others.get_parameter(name)
        t.loss(x).backward()

    def written(t, x):
        with torch.no_grad():
            for p, q in zip(t.first.parameters(), deepcopy(t.first).parameters(), strict=True):
                p.copy_(0.9 * p + 0.1 * q)
        t.loss(x).backward()

    (text,) = missteps(dropped)
    assert text.startswith("An average of parameters (test_steps.py:")
    assert not missteps(kept)
    assert not missteps(written)


def test_what_a_failing_backward_needs_is_told_with_the_write():
    def step(t, x):
        h = t.first(x).exp()
        h += 1
        t.second(h).mean().backward()

    (text,) = missteps(step)
    assert "exp (test_steps.py:" in text and "and add_ (test_steps.py:" in text
    assert "Write h = h + … instead" in text


def test_what_the_program_differentiates_itself_need_not_be_differentiable_again():
    def step(t, x):
        loss = t.loss(x)
        torch.autograd.grad(loss, t.both)
        return loss

    assert not missteps(step)


def test_other_errors_are_raised_as_they_are():
    def step(x):
        raise RuntimeError("mine")

    with pytest.raises(RuntimeError, match="mine"):
        gw.capture(step, X)


def test_a_capture_leaves_gradients_and_steps_as_they_were():
    training = Training()
    training.loss(X).backward()
    before = deepcopy([(p.detach(), p.grad) for p in training.both])

    def step(x):
        training.all.zero_grad()
        training.loss(x).backward()
        nn.utils.clip_grad_norm_(training.both, 0.1)
        training.all.step()

    gw.capture(step, X)
    for p, (value, gradient) in zip(training.both, before, strict=True):
        assert torch.equal(p, value) and torch.equal(p.grad, gradient)
