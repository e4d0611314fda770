"""Questions about values that autograd lost track of."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import torch
from torch import nn
from torch.nn import functional as F

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


@case(
    "PSNR stays the same since the losses are summed by torch.tensor(…, requires_grad=True)",
    "the new tensor is a leaf: it requires gradient, and nothing before it gets any",
    "torch.tensor",
    "torch.stack",
    at="terms = torch.tensor",
    address="https://github.com/MC-E/Deep-Generalized-Unfolding-Networks-for-Image-Restoration/issues/6",
    never=("Nothing wrong",),
)
def a_leaf_of_terms() -> Imported:
    model = nn.Conv1d(1, 1, 3)

    def step(blurred: torch.Tensor) -> torch.Tensor:
        stages = [model(blurred), model(blurred + 1.0)]
        terms = torch.tensor([stage.abs().mean() for stage in stages], requires_grad=True)
        return terms.sum()

    return gw.capture(step, torch.ones(2, 1, 8))


@case(
    "torch.Tensor of a list of parameters does not require gradient",
    "it copies their numbers",
    "copies only the numbers",
    "torch.stack",
    at="both = torch.Tensor",
    address="https://github.com/pytorch/pytorch/issues/61410",
    never=("Nothing wrong",),
)
def a_tensor_of_parameters() -> Imported:
    scale = nn.Parameter(torch.tensor([2.0]))
    shift = nn.Parameter(torch.tensor([0.5]))

    def loss(x: torch.Tensor) -> torch.Tensor:
        both = torch.Tensor([scale, shift])
        return (x * both[0] + both[1]).pow(2).mean()

    return gw.capture(loss, torch.arange(4.0))


@case(
    "does a step through numpy pass gradient to the layers before",
    "NumPy knows nothing of autograd",
    "detach",
    "perhaps changed, are a constant of this run",
    at="smooth = np.convolve",
    address="https://github.com/delira-dev/delira/issues/40",
    never=("Nothing wrong",),
)
def through_numpy() -> Imported:
    model = nn.Linear(4, 6)

    def loss(x: torch.Tensor) -> torch.Tensor:
        smooth = np.convolve(model(x).detach().numpy(), np.ones(3) / 3.0, "same")
        return torch.from_numpy(smooth).pow(2).mean()

    return gw.capture(loss, torch.ones(4))


@case(
    "the weights of the critic are the same after every epoch",
    "its values are collected by item(), so that the value loss has no graph",
    "item",
    "torch.stack",
    at="values.append",
    address="https://github.com/jsboige/CoursIA/pull/15256",
    never=("Nothing wrong",),
)
def a_critic_by_numbers() -> Imported:
    policy, critic = nn.Linear(4, 2), nn.Linear(4, 1)

    def losses(states: torch.Tensor, returns: torch.Tensor) -> torch.Tensor:
        values: list[float] = []
        for state in states:
            values.append(critic(state).item())
        value = torch.tensor(values)
        chosen = policy(states).log_softmax(-1)[:, 0]
        return F.mse_loss(value, returns) - (chosen * (returns - value)).mean()

    return gw.capture(losses, torch.eye(3, 4), torch.tensor([1.0, 0.5, 2.0]))


@case(
    "the loss does not require grad since detach() was added to mend the shapes",
    "detach cuts the prediction off from the network",
    "detach",
    "Without detach",
    at="guess = ",
    address="https://github.com/FernandoLpz/Text-Classification-LSTMs-PyTorch/issues/9",
    never=("Nothing wrong",),
)
def a_detached_prediction() -> Imported:
    model = nn.Linear(5, 1)

    def loss(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        guess = torch.sigmoid(model(x)).squeeze().detach()
        return F.binary_cross_entropy(guess, y)

    return gw.capture(loss, torch.ones(3, 5), torch.tensor([0.0, 1.0, 1.0]))


@case(
    "does the gradient of the perceptual loss come back to the model",
    "the hook that records features detaches them",
    "detach",
    "Without critic/detach",
    at="features.append",
    address="https://github.com/myscience/open-genie/issues/6",
    never=("Nothing wrong",),
)
def features_that_a_hook_detaches() -> Imported:
    generator = nn.Linear(2, 4)
    critic = nn.Sequential(nn.Linear(4, 4), nn.ReLU()).requires_grad_(False)
    features: list[torch.Tensor] = []

    def record(module: nn.Module, given: object, result: torch.Tensor) -> None:
        features.append(result.detach())

    critic[0].register_forward_hook(record)

    def perceptual(noise: torch.Tensor, real: torch.Tensor) -> torch.Tensor:
        features.clear()
        critic(generator(noise))
        critic(real)
        return F.mse_loss(features[0], features[1])

    return gw.capture(perceptual, torch.ones(3, 2), torch.zeros(3, 4))


@case(
    "is next_q.detach() without an assignment a mistake",
    "detach returns another tensor; the one that is used still passes gradient",
    "detach",
    "is not used",
    at="next_q.detach()",
    address="https://github.com/oreilly-japan/deep-learning-from-scratch-4/issues/13",
)
def a_detach_without_effect() -> Imported:
    network, target = nn.Linear(4, 2), nn.Linear(4, 2)
    optimizer = torch.optim.Adam(network.parameters())

    def td_loss(state: torch.Tensor, after: torch.Tensor) -> torch.Tensor:
        q = network(state)[:, 0]
        next_q = target(after).max(1).values
        next_q.detach()
        return F.mse_loss(q, 1.0 + 0.9 * next_q)

    return gw.capture(td_loss, torch.ones(3, 4), torch.eye(3, 4), optimizer=optimizer)


@case(
    "the loss has to be wrapped in Variable(loss, requires_grad=True), and nothing trains",
    "the network runs without gradient; the wrapped loss is a new leaf",
    "no_grad",
    "Without no_grad",
    at="with torch.no_grad():",
    address="https://github.com/speechbrain/speechbrain/issues/735",
    never=("Nothing wrong",),
)
def a_loss_made_to_require_gradient() -> Imported:
    model = nn.Linear(3, 1)

    def objective(features: torch.Tensor) -> torch.Tensor:
        with torch.no_grad():
            predicted = model(features)
        loss = F.l1_loss(predicted, torch.ones(4, 1))
        return torch.autograd.Variable(loss, requires_grad=True)

    return gw.capture(objective, torch.ones(4, 3))


@case(
    "does the loss of a step reach earlier steps, or is this a Markov chain",
    "the state is detached in every step, so that no gradient comes to the steps before",
    "detach_3 (detached.py",
    "With that open, detach_2",
    "Without detach",
    at="hidden = cell",
    address="https://github.com/yhs968/pyGRU4REC/issues/8",
    never=("Nothing wrong",),
)
def a_state_detached_in_each_step() -> Imported:
    cell, first = nn.GRUCell(2, 3), nn.Linear(2, 3)

    def loss(session: torch.Tensor) -> torch.Tensor:
        hidden = first(session[0])
        for item in session:
            hidden = cell(item, hidden).detach()
        return cell(session[-1], hidden).pow(2).mean()

    return gw.capture(loss, torch.ones(3, 1, 2))


@case(
    "a learnable position used as an index has no gradient",
    "indexing is not differentiable with respect to the index",
    "only floats have gradients",
    "interpolate between neighbouring elements",
    at="table[place",
    address="https://github.com/pytorch/pytorch/issues/44944",
    never=("Nothing wrong",),
)
def an_index_that_is_learned() -> Imported:
    table = nn.Parameter(torch.tensor([1.0, 2.0, 4.0]))
    place = nn.Parameter(torch.tensor([0.0, 2.0]))

    def loss() -> torch.Tensor:
        return table[place.long()].sum()

    return gw.capture(loss)


@case(
    "x.grad is None on CUDA, and not on the CPU",
    "moving a tensor makes another one, which is a result and no leaf",
    "a tensor that is no leaf is None",
    "retain_grad()",
    at="return moved.grad",
    address="https://github.com/pytorch/pytorch/issues/22860",
    never=("Nothing wrong",),
)
def the_gradient_of_a_moved_tensor() -> Imported:
    x = torch.tensor([[1.0, 2.0], [5.0, 6.0]], requires_grad=True)

    def step(start: torch.Tensor) -> torch.Tensor | None:
        moved = start.to(torch.float64)
        (10 * moved**2).sum().backward()
        return moved.grad

    return gw.capture(step, x)
