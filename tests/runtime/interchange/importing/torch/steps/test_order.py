"""What a training step clears, clips and leaves out, and what is written over, with the cures."""

from __future__ import annotations

import pytest

import gradwire as gw

torch = pytest.importorskip("torch")
from torch import nn  # noqa: E402
from torch.nn import functional as F  # noqa: E402

X = torch.tensor([[1.0, 2.0, -1.0], [0.5, 0.0, 3.0]])


@pytest.fixture(autouse=True)
def seeded():
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        yield


def told(program, *words: str) -> list[str]:
    """The remarks of a capture of a step that have all of these words."""
    return [r.text for r in gw.capture(program, X).remarks if all(w in r.text for w in words)]


def trained():
    model = nn.Linear(3, 1)
    return model, torch.optim.SGD(model.parameters(), 0.1)


def over_parts(clears: str, reads: bool = False):
    """A step over two parts of its input, that clears gradients where ``clears`` says."""
    model, optimizer = trained()

    def step(x):
        if clears == "once":
            optimizer.zero_grad()
        for part in x:
            if clears == "each":
                optimizer.zero_grad()
            model(part).square().mean().backward()
            if reads:
                model.weight.grad.norm()
                model.bias.grad.norm()
        optimizer.step()

    return step


def test_gradients_that_are_cleared_in_each_turn_of_a_loop_do_not_add_up():
    (text,) = told(over_parts("each"), "of a loop", "the last one alone")
    assert text.startswith("zero_grad() (test_order.py:")
    assert told(over_parts("once"), "of a loop") == []
    assert told(over_parts("each", reads=True), "of a loop") == []


def test_two_losses_with_optimisers_of_their_own_may_clear_in_between():
    (one, of_one), (other, of_other) = trained(), trained()

    def step(x):
        of_one.zero_grad()
        (one(x) * other(x)).mean().backward()
        of_one.step()
        of_other.zero_grad()
        other(x).mean().backward()
        of_other.step()

    assert told(step, "of a loop") == []


def test_clipping_before_backward_is_too_early():
    model, optimizer = trained()

    def step(x, early):
        optimizer.zero_grad()
        loss = model(x).square().mean()
        if early:
            nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        loss.backward()
        if not early:
            nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()

    (text,) = told(lambda x: step(x, True), "runs before backward() (test_order.py:")
    assert text.startswith("clip_grad_norm_()") and "Clip between backward() and step()" in text
    assert told(lambda x: step(x, False), "runs before backward()") == []


def test_a_number_with_a_gradient_that_nothing_uses_is_shown():
    model, kept = nn.Linear(3, 1), {}

    def loss(x, penalty_of):
        penalty_of(model.weight.square().sum())
        return model(x).mean()

    (text,) = told(lambda x: loss(x, lambda p: 3.0 * p), "nothing uses it")
    assert "test_order.py:" in text and "Add it to one" in text
    for use in (print, torch.Tensor.item, torch.Tensor.detach, lambda p: kept.update(penalty=p),
                lambda p: torch.autograd.grad(p, model.weight)):  # fmt: skip
        assert told(lambda x, use=use: loss(x, use), "nothing uses it") == []
    with_penalty = told(lambda x: model(x).mean() + model.weight.square().sum(), "nothing uses it")
    assert with_penalty == []


def by_method(y):
    y.mul_(2.0)
    return y


def by_sign(y):
    y += 1.0
    return y


def by_item(y):
    y[0] = 1.0
    return y


def by_flag(y):
    return F.relu(y, inplace=True)


@pytest.mark.parametrize(
    ("write", "cure"),
    [
        (by_method, "Write mul without the _"),
        (by_sign, "Write y = y + … instead"),
        (by_item, "Write into a clone() of it"),
        (by_flag, "Give it inplace=False"),
    ],
)
def test_what_is_written_over_has_the_cure_of_how_it_is_written(write, cure):
    model = nn.Linear(3, 1)
    (text,) = told(lambda x: write(torch.sigmoid(model(x))).sum(), "needs a tensor as it was")
    assert cure in text


def test_an_optimiser_of_parameters_that_were_replaced_is_told_apart():
    model = nn.Linear(3, 1)
    optimizer = torch.optim.SGD(model.parameters(), 0.1)
    partial = torch.optim.SGD([model.bias], 0.1)

    def said(optimizer):
        remarks = gw.capture(lambda x: model(x).mean(), X, optimizer=optimizer).remarks
        return [r.text for r in remarks if "if these were replaced after it was made" in r.text]

    assert said(optimizer) == said(partial) == []
    model.weight = nn.Parameter(torch.ones(1, 3))
    (text,) = said(optimizer)
    assert text.startswith("SGD lacks model.weight.")


def test_the_factor_of_a_scaler_is_no_part_of_the_loss():
    model, optimizer = trained()
    scaler = torch.amp.GradScaler("cpu")

    def step(x, scales):
        optimizer.zero_grad()
        loss = model(x).square().mean()
        (scaler.scale(loss) if scales else loss).backward()
        scaler.step(optimizer) if scales else optimizer.step()

    with_scaler, without = (gw.capture(step, X, scales) for scales in (True, False))
    assert [r.text for r in with_scaler.remarks] == [r.text for r in without.remarks]
    assert with_scaler.remarks[-1].text.startswith("Agrees with PyTorch")
    sessions = [gw.Session(each.diagram) for each in (with_scaler, without)]
    scaled, plain = (session.backward().gradients["model/weight"] for session in sessions)
    assert scaled.tolist() == plain.tolist()
    assert [gw.diagnose(session) for session in sessions] == [[], []]


def test_a_step_in_a_hook_of_backward_comes_after_its_gradients():
    model = nn.Linear(3, 1)
    optimizers = {p: torch.optim.SGD([p], 0.1) for p in model.parameters()}

    def update(parameter):
        optimizers[parameter].step()
        optimizers[parameter].zero_grad()

    for parameter in model.parameters():
        parameter.register_post_accumulate_grad_hook(update)
    assert not told(lambda x: model(x).mean().backward(), "step()")
