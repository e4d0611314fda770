"""What PyTorch's losses are given in place of what they take, and look-alikes that are fine."""

from __future__ import annotations

import pytest

import gradwire as gw

torch = pytest.importorskip("torch")
nn, F = torch.nn, torch.nn.functional

KINDS = {"softmax_twice", "sigmoid_twice", "no_logarithm"}


@pytest.fixture(autouse=True)
def seeded():
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        yield


def found(loss, *tensors) -> list[tuple[str, str]]:
    findings = gw.diagnose(gw.Session(gw.capture(loss, *tensors).diagram))
    return [(f.complaint.name, f.sentence) for f in findings if f.complaint.name in KINDS]


def drawn():
    return torch.randn(5, 4), torch.tensor([0, 2, 1, 1, 2])


class Tail(nn.Module):
    """A model whose page ends in what is given."""

    def __init__(self, tail, width=3):
        super().__init__()
        self.head, self.tail = nn.Linear(4, width), tail

    def forward(self, x):
        return self.tail(self.head(x))


SOFT = nn.Softmax(-1)
ENTROPIES = {
    "plain": lambda model, x, y: F.cross_entropy(model(x), y),
    "weighted": lambda model, x, y: F.cross_entropy(model(x), y, weight=torch.ones(3) * 2),
    "smoothed": lambda model, x, y: F.cross_entropy(model(x), y, label_smoothing=0.1),
    "ignoring": lambda model, x, y: F.cross_entropy(model(x), y, ignore_index=0),
    "probabilities": lambda model, x, y: F.cross_entropy(model(x), F.one_hot(y, 3).float()),
    "rearranged": lambda model, x, y: F.cross_entropy(
        model(x.reshape(1, 5, 4)).transpose(1, 2), y[None]
    ),
    "clamped": lambda model, x, y: F.cross_entropy(model(x).clamp(1e-6, 1), y),
    "stacked": lambda model, x, y: F.cross_entropy(torch.stack([model(r) for r in x]), y),
    "log-softmax": lambda model, x, y: F.nll_loss(F.log_softmax(model(x), -1), y),
}


@pytest.mark.parametrize("entropy", ENTROPIES.values(), ids=ENTROPIES)
def test_a_softmax_in_the_model_is_one_too_many_for_a_cross_entropy_outside(entropy):
    model = Tail(SOFT)
    ((name, text),) = found(lambda x, y: entropy(model, x, y), *drawn())[:1]
    assert name == "softmax_twice"
    assert "takes a softmax itself: give it the logits, not the output of" in text
    assert "tail" in text


@pytest.mark.parametrize("tail", [nn.Identity(), nn.LogSoftmax(-1), nn.Tanh()])
@pytest.mark.parametrize("entropy", ENTROPIES.values(), ids=ENTROPIES)
def test_logits_and_their_log_softmax_are_fine_for_a_cross_entropy(entropy, tail):
    model = Tail(tail)
    assert found(lambda x, y: entropy(model, x, y), *drawn()) == []


def test_a_softmax_inside_the_network_is_no_softmax_twice():
    gate, last = nn.Linear(4, 4), nn.Linear(4, 3)
    assert found(lambda x, y: F.cross_entropy(last(x * SOFT(gate(x))), y), *drawn()) == []
    assert found(lambda x, y: F.cross_entropy(SOFT(last(x)) / 0.1, y), *drawn()) == []

    def both_ways(x, y):
        return F.nll_loss(F.softmax(last(x), 0).log_softmax(1), y)

    assert found(both_ways, *drawn()) == []


BINARY = {
    "plain": F.binary_cross_entropy_with_logits,
    "unreduced": lambda p, t: F.binary_cross_entropy_with_logits(p, t, reduction="none").mean(),
    "positives": lambda p, t: F.binary_cross_entropy_with_logits(
        p, t, pos_weight=torch.tensor([2.0])
    ),
    "log-sigmoid": lambda p, t: -(t * F.logsigmoid(p)).mean(),
    "softplus": lambda p, t: F.softplus(-p).mean(),
}


@pytest.mark.parametrize("loss", BINARY.values(), ids=BINARY)
def test_a_sigmoid_in_the_model_is_one_too_many_for_a_loss_of_logits_outside(loss):
    x, t = torch.randn(5, 4), torch.tensor([[0.0], [1.0], [1.0], [0.0], [1.0]])
    model, logits = Tail(nn.Sigmoid(), 1), Tail(nn.Identity(), 1)
    ((name, text),) = found(lambda x, t: loss(model(x), t), x, t)[:1]
    assert name == "sigmoid_twice" and "tail" in text
    assert found(lambda x, t: loss(logits(x), t), x, t) == []


def test_a_sigmoid_before_a_loss_of_probabilities_is_fine():
    x, t = torch.randn(5, 4), torch.ones(5, 1)
    model = Tail(nn.Sigmoid(), 1)
    assert found(lambda x, t: F.binary_cross_entropy(model(x), t), x, t) == []
    assert found(lambda x, t: F.mse_loss(F.softplus(model(x)), t), x, t) == []


LIKELIHOODS = {
    "plain": F.nll_loss,
    "weighted": lambda s, y: F.nll_loss(s, y, weight=torch.tensor([1.0, 2.0, 3.0])),
    "ignoring": lambda s, y: F.nll_loss(s, y, ignore_index=1),
    "summed": lambda s, y: F.nll_loss(s, y, reduction="sum"),
    "with a penalty": lambda s, y: F.nll_loss(s, y) + 0.1 * s.new_ones(1).sum(),
    "images": lambda s, y: F.nll_loss(s.T.reshape(1, 3, 5, 1), y.reshape(1, 5, 1)),
}


@pytest.mark.parametrize(
    ("tail", "cure"),
    [(nn.Identity(), "Put a LogSoftmax behind "), (SOFT, "Use LogSoftmax in place of ")],
    ids=["logits", "probabilities"],
)
@pytest.mark.parametrize("loss", LIKELIHOODS.values(), ids=LIKELIHOODS)
def test_a_negative_log_likelihood_of_no_logarithms_is_found(loss, tail, cure):
    model = Tail(tail)
    ((name, text),) = found(lambda x, y: loss(model(x), y), *drawn())
    assert name == "no_logarithm" and cure in text


LOGARITHMS = {
    "log-softmax": lambda z: F.log_softmax(z, -1),
    "logarithm": lambda z: SOFT(z).log(),
    "guarded": lambda z: torch.log(SOFT(z) + 1e-3),
    "by hand": lambda z: z - torch.logsumexp(z, -1, keepdim=True),
    "several sigmoids": F.logsigmoid,
}


@pytest.mark.parametrize("logarithm", LOGARITHMS.values(), ids=LOGARITHMS)
@pytest.mark.parametrize("loss", LIKELIHOODS.values(), ids=LIKELIHOODS)
def test_a_negative_log_likelihood_of_logarithms_is_fine(loss, logarithm):
    model = nn.Linear(4, 3)
    assert found(lambda x, y: loss(logarithm(model(x)), y), *drawn()) == []


def distilled(student, divergence, teacher=None):
    """A loss between what a student and a frozen teacher give, found."""
    model, given = nn.Linear(4, 3), nn.Linear(4, 3).requires_grad_(False)
    teach = teacher or (lambda z: F.softmax(z, 1))
    return found(lambda x: divergence(student(model(x)), teach(given(x))), drawn()[0])


def kl_by_hand(x, t):
    return (t * (t.log() - x)).sum(1).mean()


DIVERGENCES = {
    "mean of batch": lambda x, t: F.kl_div(x, t, reduction="batchmean"),
    "mean": F.kl_div,
    "summed": lambda x, t: 0.5 * F.kl_div(x, t, reduction="sum") + 1.0,
    "unreduced": lambda x, t: F.kl_div(x, t, reduction="none").sum(-1).mean(),
    "by hand": kl_by_hand,
    "by hand, guarded": lambda x, t: (t * ((t + 1e-8).log() - x)).sum(1).mean(),
    "by hand, apart": lambda x, t: (t * t.log() - t * x).sum(),
}
PROBABILITIES = {
    "softmax": lambda z: F.softmax(z, 1),
    "in a page": nn.Sequential(nn.Identity(), SOFT),
    "clamped": lambda z: F.softmax(z, 1).clamp(min=1e-6),
    "sigmoid": torch.sigmoid,
}


@pytest.mark.filterwarnings("ignore:reduction")
@pytest.mark.parametrize("divergence", DIVERGENCES.values(), ids=DIVERGENCES)
@pytest.mark.parametrize("student", PROBABILITIES.values(), ids=PROBABILITIES)
def test_a_divergence_of_probabilities_lacks_their_logarithm(divergence, student):
    ((name, text),) = distilled(student, divergence)
    assert name == "no_logarithm" and "Kullback-Leibler divergence" in text
    assert "Use LogSoftmax in place of " in text or "Put a Log behind " in text


@pytest.mark.filterwarnings("ignore:reduction")
@pytest.mark.parametrize("divergence", DIVERGENCES.values(), ids=DIVERGENCES)
@pytest.mark.parametrize("logarithm", LOGARITHMS.values(), ids=LOGARITHMS)
def test_a_divergence_of_logarithms_is_fine(divergence, logarithm):
    assert distilled(logarithm, divergence) == []


def test_a_divergence_of_logits_lacks_a_log_softmax():
    ((_, text),) = distilled(lambda z: z, DIVERGENCES["mean of batch"])
    assert "Put a LogSoftmax behind " in text


def test_a_divergence_of_logarithmic_targets_takes_logarithms_twice():

    def kl(x, t):
        return F.kl_div(x, t, reduction="batchmean", log_target=True)

    log, soft = (lambda z: F.log_softmax(z, 1)), (lambda z: F.softmax(z, 1))
    assert distilled(log, kl, log) == []
    assert [name for name, _ in distilled(soft, kl, log)] == ["no_logarithm"]
    assert [name for name, _ in distilled(log, kl, soft)] == ["no_logarithm"]


def test_an_entropy_with_rewards_is_no_divergence():
    policy, value = nn.Linear(4, 3), nn.Linear(4, 3)

    def soft_policy(x):
        pi, log_pi = F.softmax(policy(x), 1), F.log_softmax(policy(x), 1)
        return (pi * (0.2 * log_pi - value(x))).sum(1).mean()

    def factored(x):
        pi, log_pi = F.softmax(policy(x), 1), F.log_softmax(policy(x), 1)
        return (log_pi.exp() * (log_pi - value(x))).sum() + (pi * (pi.log() - value(x))).sum()

    def apart(x):
        pi = F.softmax(policy(x), 1)
        return (pi * pi.log() - pi * value(x)).sum(1).mean()

    def margin(x):
        pi, given = F.softmax(policy(x), 1), F.softmax(x[:, :3], 1)
        return (0.5 * given - given * pi).sum(1).mean()

    losses = [soft_policy, factored, apart, margin]
    assert [found(loss, drawn()[0]) for loss in losses] == [[]] * 4


def test_what_is_picked_for_something_else_is_no_likelihood():
    model, reward = nn.Linear(4, 3), torch.randn(5)

    def picked(s, y):
        return -F.nll_loss(s, y, reduction="none")  # the scores themselves

    losses = [
        lambda x, y: (picked(model(x), y) - reward).square().mean(),  # values of actions
        lambda x, y: (torch.logsumexp(model(x), -1) - picked(model(x), y)).mean(),
        lambda x, y: F.nll_loss(model(x), y) + torch.logsumexp(model(x), -1).mean(),
    ]
    assert [found(loss, *drawn()) for loss in losses] == [[], [], []]

    def weighed(x, y, r):
        return -(picked(SOFT(model(x)), y) * r).mean()  # expected reward

    assert found(weighed, *drawn(), reward) == []
