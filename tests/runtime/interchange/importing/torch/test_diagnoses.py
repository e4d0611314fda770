"""Mistakes that people make in PyTorch: the doctor's first line names the cause and its line."""

from __future__ import annotations

import inspect

import pytest

import gradwire as gw
from gradwire.runtime.flow.tools.causes import causes

torch = pytest.importorskip("torch")
import torch.nn.functional as F  # noqa: E402
from torch import nn  # noqa: E402


@pytest.fixture(autouse=True)
def seeded():
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        yield


def first_line(model, *args, **options) -> str:
    imported = gw.capture(model, *args, **options)
    return causes(gw.diagnose(gw.Session(imported.diagram)))[0].sentence


def place(program, code: str) -> str:
    """The place of the first line of a function that has this code."""
    lines, start = inspect.getsourcelines(program)
    return f"test_diagnoses.py:{start + next(i for i, line in enumerate(lines) if code in line)}"


X = torch.randn((6, 4), generator=torch.Generator().manual_seed(0))
LABEL = torch.tensor([0, 2, 1, 1, 0, 2])


class Classifier(nn.Module):
    def __init__(self):
        super().__init__()
        self.encoder = nn.Linear(4, 8)
        self.head = nn.Linear(8, 3)

    def forward(self, x, label):
        return F.cross_entropy(self.head(torch.relu(self.encoder(x))), label)


class DetachedLogVar(nn.Module):
    def __init__(self):
        super().__init__()
        self.encoder, self.mu, self.log_var = nn.Linear(4, 8), nn.Linear(8, 2), nn.Linear(8, 2)
        self.decoder = nn.Linear(2, 4)

    def forward(self, x, noise):
        h = torch.tanh(self.encoder(x))
        mu = self.mu(h)
        log_var = self.log_var(h).detach()
        z = mu + torch.exp(0.5 * log_var) * noise
        return F.mse_loss(self.decoder(z), x) - 0.5 * (1 + log_var - mu**2 - log_var.exp()).mean()


def test_vae_with_a_detached_log_variance():
    line = first_line(DetachedLogVar(), X, torch.randn(6, 2))
    assert line.startswith(f"detach ({place(DetachedLogVar, '.detach()')}) stops every route")
    assert "log_var/weight" in line


class NoGradEncoder(Classifier):
    def forward(self, x, label):
        with torch.no_grad():
            h = torch.relu(self.encoder(x))
        return F.cross_entropy(self.head(h), label)


def test_no_grad_left_around_the_encoder():
    line = first_line(NoGradEncoder(), X, LABEL)
    assert line.startswith(f"no_grad ({place(NoGradEncoder, 'torch.no_grad()')}) stops every route")


class RewrappedData(Classifier):
    def forward(self, x, label):
        h = torch.autograd.Variable(self.encoder(x).data)
        return F.cross_entropy(self.head(h), label)


def test_data_wrapped_again():
    line = first_line(RewrappedData(), X, LABEL)
    assert line.startswith(f"data ({place(RewrappedData, '.data')}) stops every route")


class CopiedTensor(Classifier):
    def forward(self, x, label):
        h = torch.tensor(self.encoder(x))
        return F.cross_entropy(self.head(h), label)


@pytest.mark.filterwarnings("ignore:To copy construct")
def test_a_new_tensor_from_one():
    line = first_line(CopiedTensor(), X, LABEL)
    assert line.startswith(f"tensor ({place(CopiedTensor, 'torch.tensor')}) stops every route")


class ThroughNumpy(Classifier):
    def forward(self, x, label):
        h = torch.from_numpy(self.encoder(x).detach().numpy())
        return F.cross_entropy(self.head(h), label)


def test_a_round_trip_through_numpy():
    line = first_line(ThroughNumpy(), X, LABEL)
    assert line.startswith(f"detach ({place(ThroughNumpy, 'from_numpy')}) stops every route")


class SummedItems(Classifier):
    def forward(self, x, label):
        total = 0.0
        for i in range(2):
            scores = self.head(torch.relu(self.encoder(x[i::2])))
            total += F.cross_entropy(scores, label[i::2]).item()
        return total


def test_losses_summed_as_numbers():
    line = first_line(SummedItems(), X, LABEL)
    assert f"item ({place(SummedItems, '.item()')})" in line and "stop every route" in line


class Guesses(Classifier):
    def forward(self, x, label):
        guess = self.head(self.encoder(x)).argmax(1)
        return F.mse_loss(guess.float(), label.float())


def test_an_argmax_before_the_loss():
    line = first_line(Guesses(), X, LABEL)
    assert line.startswith(f"arg_max1 ({place(Guesses, 'argmax')}) cuts every route")


class FrozenByAccident(Classifier):
    def forward(self, x, label):
        for p in self.encoder.parameters():
            p.requires_grad = False
        return super().forward(x, label)


def test_an_encoder_frozen_by_accident():
    line = first_line(FrozenByAccident(), X, LABEL)
    assert line.startswith("requires_grad_")
    assert place(FrozenByAccident, "requires_grad = False") in line


class SoftmaxTwice(Classifier):
    def forward(self, x, label):
        p = torch.softmax(self.head(self.encoder(x)), 1)
        return F.cross_entropy(p, label)


def test_a_softmax_before_cross_entropy():
    line = first_line(SoftmaxTwice(), X, LABEL)
    assert "takes a softmax itself" in line and "softmax1" in line
    assert place(SoftmaxTwice, "F.cross_entropy") in line


class TrainedTarget(nn.Module):
    def __init__(self):
        super().__init__()
        self.online, self.target = nn.Linear(4, 2), nn.Linear(4, 2)

    def forward(self, state, action, reward, following):
        q = self.online(state).gather(1, action[:, None]).squeeze(1)
        wanted = reward + 0.99 * self.target(following).max(1).values
        return F.smooth_l1_loss(q, wanted)


def test_dqn_with_a_target_that_is_trained():
    args = (X, torch.randint(0, 2, (6,)), torch.randn(6), torch.randn(6, 4))
    line = first_line(TrainedTarget(), *args)
    assert "put a StopGradient on huber1.target" in line
    assert place(TrainedTarget, "smooth_l1_loss") in line


def test_gan_whose_critic_trains_the_generator():
    generator, critic = nn.Linear(2, 4), nn.Linear(4, 1)
    optimiser = torch.optim.Adam(critic.parameters())

    def loss(real, noise):
        yes, no = critic(real), critic(generator(noise))
        return F.softplus(-yes).mean() + F.softplus(no).mean()

    line = first_line(loss, X, torch.randn(6, 2), optimizer=optimiser)
    assert line == "UNOWNED: generator/weight is trained, and no optimiser updates it."


def test_an_optimiser_without_some_parameters():
    model = Classifier()
    line = first_line(model, X, LABEL, optimizer=torch.optim.SGD(model.head.parameters()))
    assert line == "UNOWNED: encoder/weight is trained, and no optimiser updates it."


def test_a_sound_model_has_no_findings_of_cuts():
    imported = gw.capture(Classifier(), X, LABEL)
    assert not gw.diagnose(gw.Session(imported.diagram))
