"""Questions about training steps: what is cleared, clipped and updated, and when."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch
from torch import nn
from torch.nn import functional as F

import gradwire as gw
from tests.truth.cases import case

if TYPE_CHECKING:
    from gradwire.runtime.interchange.importing.imported import Imported


@case(
    "is something missing where step() is called and zero_grad() is not",
    "gradients are added up from batch to batch",
    "zero_grad() is not called",
    "the gradients of all calls add up",
    "Call zero_grad() before backward()",
    at="optimizer.step()",
    address="https://github.com/wenet-e2e/wekws/pull/73",
)
def gradients_that_are_not_cleared() -> Imported:
    model = nn.Linear(3, 1)
    optimizer = torch.optim.Adam(model.parameters(), 1e-3)

    def train(batch: torch.Tensor) -> float:
        loss = model(batch).pow(2).mean()
        loss.backward()
        optimizer.step()
        return loss.item()

    return gw.capture(train, torch.ones(2, 3))


@case(
    "gradient accumulation has no effect",
    "zero_grad is called for each micro-batch, so that only the last one is left",
    "has the gradients of the last one alone",
    "Call zero_grad() once",
    at="optimizer.zero_grad(set_to_none=True)",
    address="https://github.com/bytetriper/RAE/issues/67",
    never=("Nothing wrong",),
)
def micro_batches_that_are_cleared() -> Imported:
    model = nn.Linear(3, 1)
    optimizer = torch.optim.SGD(model.parameters(), 0.1)

    def train(micro_batches: list[torch.Tensor]) -> None:
        for batch in micro_batches:
            optimizer.zero_grad(set_to_none=True)
            loss = model(batch).pow(2).mean() / 2.0
            loss.backward()
        optimizer.step()

    return gw.capture(train, [torch.ones(2, 3), torch.eye(2, 3)])


@case(
    "is the gradient norm clipped",
    "the norm is clipped after the step has used the gradients",
    "clip_grad_norm_",
    "after",
    at="clip_grad_norm_(model.parameters(), 10)",
    address="https://github.com/VGraphRNN/VGRNN/issues/4",
    never=("Nothing wrong",),
)
def clipping_after_the_step() -> Imported:
    model = nn.Linear(3, 1)
    optimizer = torch.optim.SGD(model.parameters(), 0.1)

    def train(x: torch.Tensor) -> None:
        optimizer.zero_grad()
        loss = model(x).pow(2).mean()
        loss.backward()
        optimizer.step()
        nn.utils.clip_grad_norm_(model.parameters(), 10)

    return gw.capture(train, torch.ones(2, 3))


@case(
    "why is clip_grad_norm_ called before backward()",
    "that is a mistake: there are no gradients yet",
    "runs before backward()",
    "Clip between backward() and step()",
    at="clip_grad_norm_(weights, 1.0)",
    address="https://github.com/Cranial-XIX/FAMO/issues/4",
    never=("Nothing wrong",),
)
def clipping_before_backward() -> Imported:
    model = nn.Linear(3, 2)
    weights = list(model.parameters())
    optimizer = torch.optim.SGD(weights, 0.1)

    def train(x: torch.Tensor) -> None:
        optimizer.zero_grad()
        loss = torch.log(model(x).pow(2).mean(0) + 1e-8).sum()
        nn.utils.clip_grad_norm_(weights, 1.0)
        loss.backward()
        optimizer.step()

    return gw.capture(train, torch.ones(2, 3))


@case(
    "should gradients be unscaled before they are clipped",
    "they are clipped while they are scaled, so that next to nothing of them is left",
    "clip_grad_norm_",
    "unscale_",
    at="clip_grad_norm_(model.parameters(), 1.0)",
    address="https://github.com/milesial/Pytorch-UNet/issues/468",
    never=("Nothing wrong",),
)
def clipping_of_scaled_gradients() -> Imported:
    model = nn.Linear(3, 1)
    optimizer = torch.optim.SGD(model.parameters(), 0.1)
    scaler = torch.amp.GradScaler("cpu")

    def train(x: torch.Tensor) -> None:
        optimizer.zero_grad()
        loss = model(x).pow(2).mean()
        scaler.scale(loss).backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        scaler.step(optimizer)
        scaler.update()

    return gw.capture(train, torch.ones(2, 3))


@case(
    "the penalty on gradients has no effect, whatever its weight",
    "they are taken without create_graph, so that the penalty has no graph",
    "create_graph=True",
    at="torch.autograd.grad(environment",
    address="https://github.com/facebookresearch/DomainBed/issues/50",
    never=("Nothing wrong",),
)
def a_penalty_without_a_graph() -> Imported:
    network = nn.Linear(3, 1)

    def objective(one: torch.Tensor, two: torch.Tensor) -> torch.Tensor:
        losses, slopes = [], []
        for batch in (one, two):
            environment = network(batch).pow(2).mean()
            losses.append(environment)
            slopes.append(torch.autograd.grad(environment, network.weight, retain_graph=True)[0])
        mean = (slopes[0] + slopes[1]) / 2.0
        penalty = sum((slope - mean).pow(2).sum() for slope in slopes)
        return (losses[0] + losses[1]) / 2.0 + 100.0 * penalty

    return gw.capture(objective, torch.ones(2, 3), torch.eye(2, 3))


@case(
    "the gradient penalty is computed and changes nothing",
    "it is not added to the loss",
    "has a gradient, and nothing uses it",
    "Add it to one",
    at="penalty = 10.0 *",
    address="https://github.com/LixiangHan/GANs-for-1D-Signal/issues/7",
)
def a_penalty_that_is_left_out() -> Imported:
    judge = nn.Sequential(nn.Linear(2, 3), nn.Tanh(), nn.Linear(3, 1))

    def loss(real: torch.Tensor, fake: torch.Tensor) -> torch.Tensor:
        between = (0.5 * (real + fake)).requires_grad_()
        (slope,) = torch.autograd.grad(judge(between).sum(), between, create_graph=True)
        penalty = 10.0 * (slope.norm(dim=1) - 1.0).pow(2).mean()  # noqa: F841  # the mistake
        return judge(fake).mean() - judge(real).mean()

    return gw.capture(loss, torch.ones(3, 2), torch.zeros(3, 2))


@case(
    "backward() raises in the second step: the buffers have already been freed",
    "the hidden state leads to the graph of the step before, which backward has freed",
    "into a graph a second time, one from before this run",
    "such as a hidden state, with detach()",
    at='state["hidden"] = cell',
    address="https://github.com/quark0/darts/issues/56",
    never=("Nothing wrong",),
)
def a_state_carried_between_steps() -> Imported:
    cell, head = nn.RNNCell(2, 3), nn.Linear(3, 1)
    state = {"hidden": torch.zeros(1, 3)}

    def train(x: torch.Tensor) -> None:
        state["hidden"] = cell(x, state["hidden"])
        loss = head(state["hidden"]).pow(2).mean()
        loss.backward()

    train(torch.ones(1, 2))
    return gw.capture(train, torch.ones(1, 2))


@case(
    "weights change although a hook makes their gradients zero",
    "weight decay moves them, with a gradient of zero too",
    "hook",
    "by its weight_decay of 1",
    address="https://github.com/pytorch/pytorch/issues/38581",
    never=("Nothing wrong",),
)
def decay_of_weights_without_gradient() -> Imported:
    model = nn.Linear(3, 2)
    for parameter in model.parameters():
        parameter.register_hook(torch.zeros_like)
    optimizer = torch.optim.SGD(model.parameters(), lr=1.0, weight_decay=1.0)

    def loss(x: torch.Tensor) -> torch.Tensor:
        return F.mse_loss(model(x), torch.ones(2, 2))

    return gw.capture(loss, torch.eye(2, 3), optimizer=optimizer)
