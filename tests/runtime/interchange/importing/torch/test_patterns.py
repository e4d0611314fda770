"""Stops that are known patterns are described, and no alarm; the same stops elsewhere are one."""

from __future__ import annotations

import copy

import pytest

import gradwire as gw
from gradwire.runtime.flow import reassurance
from gradwire.runtime.flow.tools.causes import causes

torch = pytest.importorskip("torch")
import torch.nn.functional as F  # noqa: E402
from torch import nn  # noqa: E402

DRAW = torch.Generator().manual_seed(0)
X, X2, ACTION = (torch.randn((8, n), generator=DRAW) for n in (4, 4, 2))
REWARD, REAL = torch.randn(8, generator=DRAW), torch.randn((8, 2), generator=DRAW)
LABEL = torch.tensor([0, 2, 1, 1, 0, 2, 2, 2])
judged = F.binary_cross_entropy_with_logits


@pytest.fixture(autouse=True)
def seeded():
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        yield


def mlp(before, hidden, after):
    return nn.Sequential(nn.Linear(before, hidden), nn.ReLU(), nn.Linear(hidden, after))


def found(program, *args, **options):
    """Each cause, by its severity, and what is said of each variable."""
    findings = gw.diagnose(gw.Session(gw.capture(program, *args, **options).diagram))
    alarms = [cause for cause in causes(findings) if cause.severity != "info"]
    return alarms, {f.key: f.sentence for f in findings if f.complaint.name == "apart"}


def later(module):
    """A copy whose parameters have moved a little."""
    moved = copy.deepcopy(module)
    with torch.no_grad():
        for parameter in moved.parameters():
            parameter.add_(0.1 * parameter.abs().mean() * torch.randn_like(parameter))
    return moved


def q_learning(stopped_by_no_grad):
    online = mlp(4, 16, 3)
    target = later(online)

    def loss(x, action, reward, x2):
        with torch.set_grad_enabled(not stopped_by_no_grad):
            y = reward + 0.99 * target(x2).max(1).values
        taken = online(x).gather(1, action[:, None])[:, 0]
        return F.smooth_l1_loss(taken, y.detach())

    return loss, X, LABEL, REWARD, X2


def byol():
    online, head = mlp(4, 16, 8), mlp(8, 4, 8)
    target = later(online)

    def apart(q, z):
        return 2 - 2 * (F.normalize(q, dim=-1) * F.normalize(z, dim=-1)).sum(-1)

    def loss(a, b):
        with torch.no_grad():
            za, zb = target(a), target(b)
        return (apart(head(online(a)), zb) + apart(head(online(b)), za)).mean()

    return loss, X, X2


def distillation():
    student, teacher = mlp(4, 8, 3), mlp(4, 32, 3)
    return lambda x: F.mse_loss(student(x), teacher(x).detach()), X


def critic():
    actor, value = mlp(4, 16, 2), mlp(6, 16, 1)
    target = later(value)

    def loss(x, action, reward, x2):
        with torch.no_grad():
            after = torch.cat([x2, torch.tanh(actor(x2))], 1)
            y = reward + 0.99 * target(after)[:, 0]
        return F.mse_loss(value(torch.cat([x, action], 1))[:, 0], y)

    return loss, X, ACTION, REWARD, X2


def discriminator(joined):
    generator, judge = mlp(4, 16, 2), mlp(2, 16, 1)

    def loss(z):
        fake = generator(z).detach()
        ones, zeros = torch.ones(8, 1), torch.zeros(8, 1)
        if joined:
            return judged(judge(torch.cat([REAL, fake])), torch.cat([ones, zeros]))
        return judged(judge(REAL), ones) + judged(judge(fake), zeros)

    return loss, X


COPIED = {
    "target network": lambda: q_learning(True),
    "target network, detached": lambda: q_learning(False),
    "BYOL": byol,
    "critic": critic,
}


@pytest.mark.parametrize("program", COPIED.values(), ids=COPIED)
def test_copies_of_what_is_trained_need_no_remark(program):
    capture, *args = program()
    session = gw.Session(gw.capture(capture, *args).diagram)
    assert gw.diagnose(session) == []
    text = reassurance(session.program, session.losses)
    assert text.startswith("Nothing wrong: every other trained variable gets a gradient.")
    assert "target" in text and "constant, as for a target, a teacher or the other player" in text


DESCRIBED = {
    "teacher of another form": (
        distillation,
        {"teacher": "What comes of it is the target of mean_squared_error1, whose prediction is"},
    ),
    "discriminator": (
        lambda: discriminator(False),
        {"generator": "is trained on data as well, as the other player of a game is."},
    ),
    "discriminator of one batch": (
        lambda: discriminator(True),
        {"generator": "is trained on data as well, as the other player of a game is."},
    ),
}


@pytest.mark.parametrize(("program", "said"), DESCRIBED.values(), ids=DESCRIBED)
def test_what_is_kept_apart_is_described(program, said):
    alarms, apart = found(*program())
    assert alarms == []
    assert {name.partition("/")[0] for name in apart} == set(said)
    for name, sentence in apart.items():
        assert said[name.partition("/")[0]] in sentence
        assert "test_patterns.py:" in sentence and " every route to loss." in sentence


class SimSiam(nn.Module):
    def __init__(self):
        super().__init__()
        self.encoder, self.head = mlp(4, 16, 8), mlp(8, 4, 8)

    def forward(self, a, b):
        za, zb = self.encoder(a), self.encoder(b)
        pairs = ((self.head(za), zb.detach()), (self.head(zb), za.detach()))
        return sum(-F.cosine_similarity(p, z, dim=-1).mean() for p, z in pairs)


class Quantised(nn.Module):
    def __init__(self, has_moving_codes):
        super().__init__()
        self.encoder, self.decoder = mlp(4, 16, 6), mlp(6, 16, 4)
        self.codes = nn.Embedding(10, 6)
        self.codes.requires_grad_(not has_moving_codes)

    def forward(self, x):
        z = self.encoder(x)
        code = self.codes(torch.cdist(z, self.codes.weight).argmin(1))
        loss = 0.25 * F.mse_loss(z, code.detach())
        if self.codes.weight.requires_grad:
            loss = loss + F.mse_loss(code, z.detach())
        return loss + F.mse_loss(self.decoder(z + (code - z).detach()), x)


def mean_teacher():
    student = mlp(4, 16, 3)
    teacher = later(student).requires_grad_(False)
    optimizer = torch.optim.SGD(student.parameters(), lr=0.1)

    def step(x, label):
        with torch.no_grad():
            soft = F.softmax(teacher(x), -1)
        scores = student(x)
        loss = F.cross_entropy(scores, label) + F.mse_loss(F.softmax(scores, -1), soft)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        with torch.no_grad():
            for old, new in zip(teacher.parameters(), student.parameters(), strict=True):
                old.mul_(0.99).add_(new, alpha=0.01)
        return loss

    return step, X, LABEL


def both_players():
    generator, judge = mlp(4, 16, 2), mlp(2, 16, 1)

    def step(z):
        ones, zeros = torch.ones(8, 1), torch.zeros(8, 1)
        fake = generator(z)
        (judged(judge(REAL), ones) + judged(judge(fake.detach()), zeros)).backward()
        judged(judge(fake), ones).backward()

    return step, X


def generator():
    made, judge = mlp(4, 16, 2), mlp(2, 16, 1)
    return lambda z: judged(judge(made(z)), torch.ones(8, 1)), X


def actor_and_critic():
    actor, value = mlp(4, 16, 3), mlp(4, 16, 1)

    def loss(x, action, reward):
        v = value(x)[:, 0]
        chosen = F.log_softmax(actor(x), -1).gather(1, action[:, None])[:, 0]
        return F.mse_loss(v, reward) - (chosen * (reward - v).detach()).mean()

    return loss, X, LABEL, REWARD


QUIET = {
    "SimSiam": lambda: (SimSiam(), X, X2),
    "VQ": lambda: (Quantised(False), X),
    "VQ with moving codes": lambda: (Quantised(True), X),
    "mean teacher": mean_teacher,
    "both players": both_players,
    "generator": generator,
    "actor and critic": actor_and_critic,
}


@pytest.mark.parametrize("program", QUIET.values(), ids=QUIET)
def test_patterns_in_which_all_get_a_gradient_are_fine(program):
    assert found(*program()) == ([], {})


def detached_encoder():
    encoder, head = mlp(4, 16, 8), nn.Linear(8, 3)
    return lambda x, label: F.cross_entropy(head(encoder(x).detach()), label), X, LABEL


def detached_tower():
    users, items = mlp(4, 16, 8), mlp(4, 16, 8)

    def loss(a, b):
        return F.cross_entropy(users(a) @ items(b).detach().T, torch.arange(8))

    return loss, X, X2


def detached_spread():
    mean, spread, decoder = nn.Linear(4, 2), nn.Linear(4, 2), nn.Linear(2, 4)

    def loss(x, noise):
        return F.mse_loss(decoder(mean(x) + spread(x).detach().exp() * noise), x)

    return loss, X, ACTION


def detached_prediction():
    model, other = mlp(4, 8, 3), mlp(4, 8, 3)
    return lambda x: F.mse_loss(model(x).detach() + other(x), torch.ones(8, 3)), X


def detached_summand_of_a_target():
    model, other, third = mlp(4, 8, 3), mlp(4, 16, 3), mlp(4, 32, 3)
    return lambda x: F.mse_loss(model(x), other(x).detach() + third(x)), X


MISTAKES = [
    detached_summand_of_a_target,
    detached_encoder,
    detached_tower,
    detached_spread,
    detached_prediction,
]


@pytest.mark.parametrize("program", MISTAKES)
def test_other_stops_are_alarms(program):
    alarms, apart = found(*program())
    assert apart == {}
    assert [cause.complaint.name for cause in alarms] == ["no_gradient"]
