"""Targets, teachers and other players of captured steps: described where they are such."""

from __future__ import annotations

import copy

import pytest

import gradwire as gw
from gradwire.runtime.engine import Session
from gradwire.runtime.flow import diagnose, reassurance
from gradwire.runtime.flow.badges import BadgeKind, badges
from gradwire.runtime.flow.observing import observe

torch = pytest.importorskip("torch")
nn, F = torch.nn, torch.nn.functional


def network(inputs=4, outputs=2):
    return nn.Sequential(nn.Linear(inputs, 8), nn.Tanh(), nn.Linear(8, outputs))


def said(step, *args, trains=()):
    """The doctor's complaints about variables by module, and the reassurance if there are none."""
    optimizer = torch.optim.SGD([p for m in trains for p in m.parameters()]) if trains else None
    session = Session(gw.capture(step, *args, optimizer=optimizer).diagram)
    found = diagnose(session)
    marked = {b.key for b in badges(observe(session), ()) if b.mark is BadgeKind.UNOWNED}
    assert marked == {f.key for f in found if f.complaint.name == "unowned"}
    if found:
        return {(f.complaint.name, f.key.partition("/")[0]) for f in found}
    return reassurance(session.program, session.losses)


def regression(q, target, x, y):
    def step(x, y):
        with torch.no_grad():
            aim = y + target(x)
        return F.mse_loss(q(x), aim)

    return step, x, y


X, Y = torch.ones(5, 4).cumsum(0) / 3, torch.ones(5, 2).cumsum(0)


@pytest.mark.parametrize("is_given", [False, True])
def test_a_target_network_is_described(is_given):
    q = network()
    target = copy.deepcopy(q)
    text = said(*regression(q, target, X, Y), trains=[q] if is_given else ())
    assert text.startswith("Nothing wrong: every other trained variable gets a gradient. target/0/")
    assert ("no optimiser updates them" in text) == is_given
    assert "no_grad (test_constants.py:" in text and "keeps what they compute constant" in text


def test_a_network_without_a_twin_is_remarked_on():
    q, target = network(), nn.Linear(4, 2)
    assert said(*regression(q, target, X, Y)) == {("apart", "target")}
    assert "target/weight and target/bias get none" in said(
        *regression(q, target, X, Y), trains=[q]
    )


def test_few_numbers_that_are_alike_by_chance_are_no_copy():
    kept, lost = nn.Linear(4, 2), nn.Linear(4, 2)
    with torch.no_grad():
        kept.weight.copy_(torch.tensor([[0.5, -0.4, 0.3, 0.2], [0.1, -0.5, 0.2, 0.4]]))
        kept.bias.copy_(torch.tensor([0.3, -0.2]))
        lost.weight.copy_(torch.tensor([[0.5, -0.1, 0.4, -0.2], [0.3, -0.4, -0.1, 0.4]]))
        lost.bias.copy_(torch.tensor([0.1, -0.4]))

    def step(x):
        return (kept(x) + lost(x).detach()).pow(2).mean()

    assert said(step, X) == {("no_gradient", "lost")}


def test_a_target_that_an_optimiser_owns_should_get_gradient():
    q = network()
    target = copy.deepcopy(q)
    found = said(*regression(q, target, X, Y), trains=[q, target])
    assert found == {("no_gradient", "target")}


@pytest.mark.parametrize("width", [4, 8])
def test_a_body_cut_off_from_its_head_is_no_target_even_if_it_has_the_same_layers(width):
    body, head = nn.Linear(4, width), nn.Linear(width, width)

    def step(x):
        return head(body(x).detach()).pow(2).mean()

    assert said(step, X) == {("no_gradient", "body")}
    assert said(step, X, trains=[body, head]) == {("no_gradient", "body")}


def test_a_discriminator_judges_data_as_well_as_what_is_detached():
    generator, judge = network(3, 4), network(4, 1)
    Z = torch.ones(5, 3).cumsum(1)

    def of_judge(real, z):
        return (judge(real) - 1).pow(2).mean() + judge(generator(z).detach()).pow(2).mean()

    def of_generator(z):
        return (judge(generator(z).detach()) - 1).pow(2).mean()

    def of_both(real, z):
        fake = generator(z).detach()
        ((judge(real) - 1).pow(2).mean() + judge(fake).pow(2).mean()).backward()
        (judge(generator(z).detach()) - 1).pow(2).mean().backward()

    assert "generator/2/weight and generator/2/bias" in said(of_judge, X, Z, trains=[judge])
    assert said(of_judge, X, Z).startswith("Nothing wrong")
    assert ("no_gradient", "generator") in said(of_generator, Z)
    assert ("no_gradient", "generator") in said(of_both, X, Z)


def test_what_only_feeds_a_stop_is_no_data_that_is_judged():
    layer, shift = nn.Linear(4, 4), nn.Parameter(torch.ones(4))

    def step(x):
        first = layer(x)
        with torch.no_grad():
            features = first + shift
        return layer(features).pow(2).mean()

    assert said(step, X) == {("no_gradient", "shift")}


def test_a_critic_passes_gradient_on_but_a_forgotten_head_is_unowned():
    actor, critic = network(4, 3), network(3, 1)

    def act(x):
        return -critic(actor(x)).mean()

    text = said(act, X, trains=[actor])
    assert "critic/2/weight and critic/2/bias are updated by no optimiser here" in text

    def learn(x, y):
        return (critic(actor(x)) - y).pow(2).mean()

    assert said(learn, X, Y[:, :1], trains=[actor]) == {("unowned", "critic")}
    labels = Y[:, :1].clone()

    def closed(x):
        return (critic(actor(x)) - labels).pow(2).mean()

    assert said(closed, X, trains=[actor]) == {("unowned", "critic")}


def test_a_parameter_that_another_branch_reads_is_left_out():
    class Model(nn.Module):
        def __init__(self):
            super().__init__()
            self.layer = nn.Linear(4, 2)
            self.token, self.forgotten = (nn.Parameter(torch.zeros(4)) for _ in range(2))

        def forward(self, x, mask=None):
            return self.layer(x if mask is None else torch.where(mask, self.token, x)).pow(2).mean()

    imported = gw.capture(Model(), X)
    remark = next(str(r) for r in imported.remarks if r.kind == "specialised")
    assert remark.startswith("token is left out: this run does not read it, as test_constants.py:")
    assert set(imported.parameters) == {"layer.weight", "layer.bias", "forgotten"}
    assert [f.key for f in diagnose(Session(imported.diagram))] == ["forgotten"]
