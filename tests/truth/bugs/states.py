"""What is carried between steps, and what is written where backward still needs it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch
from torch import nn
from torch.func import functional_call
from torch.nn import functional as F
from torch.utils.checkpoint import checkpoint

import gradwire as gw
from tests.truth.bugs.models import (
    WIDTH,
    WORDS,
    Block,
    Player,
    tokens,
)
from tests.truth.cases import case

if TYPE_CHECKING:
    from gradwire.runtime.interchange.importing.imported import Imported


class Recurrent(nn.Module):
    """A language model with an LSTM whose state its caller keeps."""

    def __init__(self) -> None:
        super().__init__()
        self.words = nn.Embedding(WORDS, WIDTH)
        self.lstm = nn.LSTM(WIDTH, WIDTH, batch_first=True)
        self.head = nn.Linear(WIDTH, WORDS)

    def forward(
        self, tokens: torch.Tensor, state: tuple[torch.Tensor, torch.Tensor]
    ) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
        y, (h, c) = self.lstm(self.words(tokens[:, :-1]), state)
        loss = F.cross_entropy(self.head(y).flatten(0, 1), tokens[:, 1:].flatten())
        return loss, h, c


@case(
    "Trying to backward through the graph a second time",
    "the hidden state of the first chunk is carried into the second with its graph",
    "a second time",
    "detach()",
    at="y, (h, c) = self.lstm(self.words(tokens[:, :-1]), state)",
    never=("Nothing wrong",),
)
def hidden_state_carried(broken: bool = True) -> Imported:
    torch.manual_seed(0)
    model = Recurrent()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)

    def epoch(chunks: torch.Tensor) -> None:
        h = c = torch.zeros(1, 2, WIDTH)
        for chunk in chunks:
            loss, h, c = model(chunk, (h, c))
            if not broken:
                h, c = h.detach(), c.detach()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()

    return gw.capture(epoch, torch.stack([tokens(), tokens()]))


@case(
    "the second batch raises: backward through the graph a second time",
    "the state that the object keeps is that of the step before, with its graph",
    "a second time",
    "detach()",
    at="loss.backward()  # into the step before",
    never=("Nothing wrong",),
)
def hidden_state_kept_by_the_object(broken: bool = True) -> Imported:
    torch.manual_seed(0)
    model = Recurrent()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    state: dict[str, Any] = {"hidden": (torch.zeros(1, 2, WIDTH), torch.zeros(1, 2, WIDTH))}

    def step(batch: torch.Tensor) -> float:
        loss, h, c = model(batch, state["hidden"])
        state["hidden"] = (h, c) if broken else (h.detach(), c.detach())
        optimizer.zero_grad()
        loss.backward()  # into the step before
        optimizer.step()
        return loss.item()

    step(tokens())
    return gw.capture(step, tokens())


@case(
    "with retain_graph=True the error is another: a variable was modified in place",
    "step() writes the weights that the graph of the first chunk still needs",
    "step()",
    "detach()",
    at="optimizer.step()  # writes what the graph needs",
    never=("Nothing wrong",),
)
def hidden_state_with_retain_graph(broken: bool = True) -> Imported:
    torch.manual_seed(0)
    cell, head = nn.GRUCell(3, 4), nn.Linear(4, 1)
    optimizer = torch.optim.SGD([*cell.parameters(), *head.parameters()], lr=0.1)

    def epoch(series: torch.Tensor, targets: torch.Tensor) -> None:
        h = torch.zeros(2, 4)
        for x, target in zip(series, targets, strict=True):
            h = cell(x, h if broken else h.detach())
            loss = F.mse_loss(head(h), target)
            optimizer.zero_grad()
            loss.backward(retain_graph=True)
            optimizer.step()  # writes what the graph needs

    return gw.capture(epoch, torch.randn(3, 2, 3), torch.randn(3, 2, 1))


class Gated(nn.Module):
    """A gate whose result is scaled where it stands."""

    def __init__(self, broken: bool) -> None:
        super().__init__()
        self.gate, self.value, self.broken = nn.Linear(6, 6), nn.Linear(6, 6), broken

    def forward(self, x: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
        g = torch.sigmoid(self.gate(x))  # backward needs it
        if self.broken:
            g.mul_(mask)  # written over
        else:
            g = g * mask
        return g * self.value(x)


@case(
    "a variable needed for gradient computation has been modified by an inplace operation",
    "mul_ writes over the result of sigmoid, which its backward needs",
    "sigmoid",
    "mul_",
    "g = torch.sigmoid(self.gate(x))",
    "without the _",
    at="g.mul_(mask)",
    never=("Nothing wrong",),
)
def gate_written_over(broken: bool = True) -> Imported:
    torch.manual_seed(0)
    model = Gated(broken)

    def loss(x: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
        return model(x, mask).square().mean()

    return gw.capture(loss, torch.randn(4, 6), torch.rand(4, 6).round())


@case(
    "modified by an inplace operation, in a step that detaches all that it should",
    "the discriminator's step writes its weights before the generator's loss is differentiated",
    "step()",
    "backward()",
    at="opt_d.step()  # before the other backward",
    never=("Nothing wrong",),
)
def weights_updated_before_backward(broken: bool = True) -> Imported:
    torch.manual_seed(0)
    generator, discriminator = Player(3, 4), Player(4, 1)
    opt_g = torch.optim.SGD(generator.parameters(), lr=0.1)
    opt_d = torch.optim.SGD(discriminator.parameters(), lr=0.1)

    def step(real: torch.Tensor, noise: torch.Tensor) -> None:
        fake = generator(noise)
        judged = discriminator(fake)
        d_loss = F.softplus(-discriminator(real)).mean()
        d_loss = d_loss + F.softplus(discriminator(fake.detach())).mean()
        opt_d.zero_grad()
        d_loss.backward()
        opt_d.step()  # before the other backward
        if not broken:
            judged = discriminator(fake)
        opt_g.zero_grad()
        F.softplus(-judged).mean().backward()
        opt_g.step()

    return gw.capture(step, torch.randn(5, 4), torch.randn(5, 3))


@case(
    "the attack changes nothing: x_adv.grad is None",
    "x_adv is computed, so it is no leaf, and .grad stays empty",
    "leaf",
    "retain_grad()",
    at="sign = x_adv.grad",
    never=("Nothing wrong",),
)
def gradient_of_what_is_no_leaf(broken: bool = True) -> Imported:
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(6, 8), nn.ReLU(), nn.Linear(8, 3))

    def attack(x: torch.Tensor, labels: torch.Tensor) -> torch.Tensor:
        x_adv = x.clone().requires_grad_() * 1.0
        if not broken:
            x_adv.retain_grad()
        loss = F.cross_entropy(model(x_adv), labels)
        loss.backward()
        sign = x_adv.grad
        return x if sign is None else x + 0.1 * sign.sign()

    return gw.capture(attack, torch.randn(4, 6), torch.tensor([0, 1, 2, 0]))


class LoRA(nn.Module):
    """A frozen layer and a low-rank change of it."""

    def __init__(self, layer: nn.Linear, is_zero: bool = False) -> None:
        super().__init__()
        self.layer = layer.requires_grad_(False)
        self.a = nn.Parameter(torch.zeros(2, layer.in_features))
        self.b = nn.Parameter(torch.zeros(layer.out_features, 2))
        if not is_zero:
            nn.init.normal_(self.a, std=0.1)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.layer(x) + x @ self.a.T @ self.b.T


@case(
    "LoRA with gradient checkpointing: None of the inputs have requires_grad=True",
    "a reentrant checkpoint passes gradient only if an input needs it, and all inputs are frozen",
    "use_reentrant=False",
    "enable_input_require_grads",
    at="checkpoint(block, x, use_reentrant=",
    never=("Nothing wrong",),
)
def reentrant_checkpoint_over_frozen_inputs(broken: bool = True) -> Imported:
    torch.manual_seed(0)
    words = nn.Embedding(11, WIDTH).requires_grad_(False)
    block = Block().requires_grad_(False)
    block.attention.out = LoRA(block.attention.out)
    head = nn.Linear(WIDTH, 11).requires_grad_(False)

    def loss(batch: torch.Tensor) -> torch.Tensor:
        x = words(batch)
        x = checkpoint(block, x, use_reentrant=broken)
        return F.cross_entropy(head(x).flatten(0, 1), batch.flatten())

    return gw.capture(loss, tokens())


@case(
    "the adapters stay 0",
    "both factors of the adapter begin with 0, so each gets 0",
    "multiplies by 0",
    "away from 0",
    at="return self.layer(x) + x @ self.a.T @ self.b.T",
    never=("Nothing wrong",),
    about=("lora.a", "lora.b"),
)
def adapter_begins_with_zeros(broken: bool = True) -> Imported:
    torch.manual_seed(0)
    lora = LoRA(nn.Linear(6, 3), is_zero=broken)

    def loss(x: torch.Tensor, labels: torch.Tensor) -> torch.Tensor:
        return F.cross_entropy(lora(x), labels)

    return gw.capture(loss, torch.randn(4, 6), torch.tensor([0, 1, 2, 0]))


@case(
    "memory grows with every step, and the teacher is trained",
    "the teacher's average is computed with gradient, so the loss reaches the student through it",
    "target",
    "StopGradient",
    at="return F.mse_loss(student(x), goal)",
    never=("Nothing wrong",),
)
def average_under_gradient(broken: bool = True) -> Imported:
    torch.manual_seed(0)
    student = nn.Sequential(nn.Linear(6, 8), nn.Tanh(), nn.Linear(8, 4))
    teacher = {name: p.detach().clone() for name, p in student.named_parameters()}

    def step(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        with torch.set_grad_enabled(broken):
            for name, p in student.named_parameters():
                teacher[name] = 0.9 * teacher[name] + 0.1 * p
            goal = functional_call(student, teacher, (y,))
        return F.mse_loss(student(x), goal)

    return gw.capture(step, torch.randn(5, 6), torch.randn(5, 6))


@case(
    "the gradient of a recurrent net is wrong, and no error says so",
    "the state is masked through .data, of which backward knows nothing",
    ".data",
    "torch.where",
    at="h.data[done] = 0.0",
    never=("Nothing wrong",),
)
def state_written_through_data(broken: bool = True) -> Imported:
    torch.manual_seed(0)
    cell, head = nn.GRUCell(3, 4), nn.Linear(4, 2)

    def loss(series: torch.Tensor, ends: torch.Tensor, labels: torch.Tensor) -> torch.Tensor:
        h = torch.zeros(4, 4)
        for x, done in zip(series, ends, strict=True):
            h = cell(x, h)
            if broken:
                h.data[done] = 0.0
            else:
                h = torch.where(done[:, None], 0.0, h)
        return F.cross_entropy(head(h), labels)

    ends = torch.tensor([[True, False, False, False], [False, True, False, False]])
    return gw.capture(loss, torch.randn(2, 4, 3), ends, torch.tensor([0, 1, 0, 1]))
