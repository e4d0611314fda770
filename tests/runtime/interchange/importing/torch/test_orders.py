"""The order of equal elements, which PyTorch leaves open, is that of the run."""

from __future__ import annotations

import pytest

import gradwire as gw

torch = pytest.importorskip("torch")

SORTED = "Equal elements stand in the order of this run."


def weighed(order_of):
    """``mean((layer(x)[order])·weights)``: it depends on where equal elements come to stand."""
    torch.manual_seed(0)
    layer, keys = torch.nn.Linear(3, 1), torch.randint(0, 3, (60,))
    weights = torch.arange(60.0)

    def loss(x, keys):
        order = order_of(keys)
        return (layer(x)[order, 0] * weights[: len(order)]).mean()

    return gw.capture(loss, torch.randn(60, 3), keys)


@pytest.mark.parametrize(
    "order_of",
    [
        torch.argsort,
        lambda keys: torch.sort(keys)[1],
        lambda keys: torch.sort(keys.view(2, 30), descending=True)[1][1],
        lambda keys: torch.topk(keys + torch.arange(60) * 1000, 20, sorted=False)[1],
    ],
    ids=["argsort", "sort", "rows", "topk"],
)
def test_what_depends_on_it_agrees(order_of):
    imported = weighed(order_of)
    assert imported.remarks[-1].text.startswith("Agrees with PyTorch")
    assert SORTED in {r.text for r in imported.remarks if r.kind == "specialised"}


def test_a_stable_order_holds_for_any_numbers():
    imported = weighed(lambda keys: torch.sort(keys, stable=True)[1])
    assert imported.remarks[-1].text.startswith("Agrees with PyTorch")
    assert not [r for r in imported.remarks if r.kind == "specialised"]


def test_a_part_that_begins_at_a_computed_number():
    torch.manual_seed(0)
    layer, keys = torch.nn.Linear(4, 6), torch.tensor([0, 1, 1])

    def loss(x, keys):
        return layer(x).narrow(1, (keys == 1).sum(), 3).pow(2).mean()

    assert gw.capture(loss, torch.randn(2, 4), keys).remarks[-1].text.startswith("Agrees")
