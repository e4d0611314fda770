"""Questions about values that autograd lost track of."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch
from torch import nn

import gradwire as gw
from tests.truth.cases import case

if TYPE_CHECKING:
    from gradwire.runtime.interchange.importing.imported import Imported


@case(
    "the loss has no grad_fn after its terms are put in torch.tensor",
    "torch.tensor copies numbers: what it makes is no result of its arguments",
    "torch.tensor",
    "torch.stack",
    at="total = torch.tensor",
    address="https://discuss.pytorch.org/t/109425",
    never=("Nothing wrong",),
)
def terms_in_a_new_tensor() -> Imported:
    model = nn.Linear(3, 2)

    def step(x: torch.Tensor) -> torch.Tensor:
        y = model(x)
        total = torch.tensor([y[:, 0].mean(), y[:, 1].mean()])
        return total.sum()

    return gw.capture(step, torch.ones(4, 3))
