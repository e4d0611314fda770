"""Assertions about gradients, in tests of a user."""

from __future__ import annotations

import pytest
from gradwire.testing import assert_all_trained, gradients

torch = pytest.importorskip("torch")
nn = torch.nn


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.encoder = nn.Sequential(nn.Linear(4, 4), nn.Tanh(), nn.Linear(4, 4))
        self.target = nn.Linear(4, 4)
        self.head = nn.Linear(4, 1)

    def forward(self, x):
        z = self.encoder(x)
        with torch.no_grad():
            t = self.target(x)
        return ((z - t) ** 2).mean() + (self.head(z) * 0).mean()


@pytest.fixture(scope="module")
def found():
    torch.manual_seed(0)
    return gradients(Model(), torch.randn(3, 4))


def test_what_holds_can_be_chained(found):
    assert (
        found.flows("loss -> encoder/*", "* -> head.weight")
        .blocked("loss -> target/*")
        .nonzero("loss -> encoder.0.weight")
        .finite("* -> *")
        .keep("flows(loss -> encoder/*)")
        is found
    )


def test_a_failure_says_what_and_why_with_the_route(found):
    with pytest.raises(AssertionError) as failure:
        found.flows("loss -> target.*")
    text = str(failure.value)
    assert text.startswith("BROKEN  flows(loss -> target.*)\n")
    assert "no_grad (test_assertions.py:" in text and "loss ← add" in text
    assert "target/weight, for loss.out" in text and "target/bias, for loss.out" in text
    with pytest.raises(AssertionError, match="Carries the gradient"):
        found.blocked("loss -> encoder/*")
    with pytest.raises(AssertionError, match="matches no variable"):
        found.flows("loss -> encode/*")
    with pytest.raises(AssertionError, match="matches no loss"):
        found.flows("lost -> encoder/*")
    with pytest.raises(AssertionError, match="multiplies by 0"):
        found.nonzero("loss -> head/*")


def test_why(found):
    assert "no_grad" in found.why("target.weight") and found.why("target.weight") == found.why(
        "target/weight"
    )


def test_all_are_trained():
    model, x = Model(), torch.randn(3, 4)
    with pytest.raises(AssertionError) as failure:
        assert_all_trained(model, x)
    lines = str(failure.value).splitlines()
    assert lines[0] == "4 of 8 trained parameters are not trained:"
    assert [line.split(":")[0].strip() for line in lines[1:]] == [
        "target.weight", "target.bias", "head.weight", "head.bias",
    ]  # fmt: skip
    assert_all_trained(model, x, but=["target.*", "head/*"])


def test_an_optimizer_updates_them():
    model = nn.Sequential(nn.Linear(4, 4), nn.Linear(4, 1))
    optimizer = torch.optim.SGD(model[0].parameters(), 0.1)

    def step(x):
        return model(x).mean()

    assert_all_trained(step, torch.randn(3, 4))
    with pytest.raises(AssertionError, match="The optimizer does not update it"):
        assert_all_trained(step, torch.randn(3, 4), optimizer=optimizer)


def test_without_a_loss_nothing_is_asserted():
    with pytest.raises(AssertionError, match="There is no loss"):
        gradients(nn.Linear(4, 4), torch.randn(3, 4))
