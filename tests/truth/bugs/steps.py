"""Training steps that do the right things in the wrong order, or not at all.

A case's function takes ``broken``: without its bug, the same program must draw no such alarm.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch
from torch import nn
from torch.nn import functional as F

import gradwire as gw
from tests.truth.bugs.models import (
    VAE,
    LanguageModel,
    UNet,
    Vision,
    images,
    tokens,
)
from tests.truth.cases import case

if TYPE_CHECKING:
    from gradwire.runtime.interchange.importing.imported import Imported


@case(
    "the loss of the language model lags behind and explodes at first",
    "step() runs before backward(): it uses the gradients of the batch before",
    "before backward()",
    "after backward()",
    at="optimizer.step()  # too early",
    never=("Nothing wrong",),
)
def step_before_backward(broken: bool = True) -> Imported:
    torch.manual_seed(0)
    model = LanguageModel()
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)

    def step(batch: torch.Tensor) -> torch.Tensor:
        optimizer.zero_grad()
        loss = model.loss(batch)
        if broken:
            optimizer.step()  # too early
        loss.backward()
        if not broken:
            optimizer.step()
        return loss

    return gw.capture(step, tokens())


@case(
    "the ViT does not learn at all",
    "zero_grad() between backward() and step() throws the gradients away",
    "between backward()",
    "zero_grad() before backward()",
    at="optimizer.zero_grad()  # too late",
    never=("Nothing wrong",),
)
def zero_grad_between(broken: bool = True) -> Imported:
    torch.manual_seed(0)
    model = Vision()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)

    def step(x: torch.Tensor, labels: torch.Tensor) -> dict[str, float]:
        if not broken:
            optimizer.zero_grad()
        loss = F.cross_entropy(model(x), labels)
        loss.backward()
        if broken:
            optimizer.zero_grad()  # too late
        optimizer.step()
        return {"loss": loss.item()}

    return gw.capture(step, images(), torch.tensor([0, 2]))


@case(
    "the VAE's loss stays where it was",
    "step() is never called",
    "step() is not called",
    at="loss.backward()  # and nothing follows",
    never=("Nothing wrong",),
)
def step_never_called(broken: bool = True) -> Imported:
    torch.manual_seed(0)
    model = VAE()
    optimizer = torch.optim.Adam(model.parameters())

    def step(x: torch.Tensor) -> float:
        optimizer.zero_grad()
        loss = model.loss(x)
        loss.backward()  # and nothing follows
        if not broken:
            optimizer.step()
        return loss.item()

    return gw.capture(step, torch.rand(4, 12))


@case(
    "the U-Net's updates grow with every batch",
    "no zero_grad(): the second step uses the sum of both gradients",
    "zero_grad()",
    "add up",
    at="optimizer.step()  # with all so far",
    never=("Nothing wrong",),
)
def zero_grad_missing_in_a_loop(broken: bool = True) -> Imported:
    torch.manual_seed(0)
    model = UNet()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)

    def epoch(batches: torch.Tensor, masks: torch.Tensor) -> float:
        total = 0.0
        for x, mask in zip(batches, masks, strict=True):
            loss = F.binary_cross_entropy_with_logits(model(x), mask)
            loss.backward()
            optimizer.step()  # with all so far
            if not broken:
                optimizer.zero_grad()
            total += loss.item()
        return total

    return gw.capture(epoch, torch.randn(2, 2, 1, 8, 8), torch.rand(2, 2, 1, 8, 8).round())


@case(
    "training diverges after a few hundred batches",
    "zero_grad is named and not called, so that gradients of all batches add up",
    "zero_grad()",
    "add up",
    at="optimizer.step()  # of all batches",
    never=("Nothing wrong",),
)
def zero_grad_without_call(broken: bool = True) -> Imported:
    torch.manual_seed(0)
    model = LanguageModel()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)

    def step(batch: torch.Tensor) -> float:
        optimizer.zero_grad if broken else optimizer.zero_grad()
        loss = model.loss(batch)
        loss.backward()
        optimizer.step()  # of all batches
        return loss.item()

    step(tokens())
    return gw.capture(step, tokens())


@case(
    "with mixed precision nothing is learnt, whatever the rate",
    "gradients are clipped while the scaler's factor is still in them",
    "unscale_",
    "before clip",
    at="clip_grad_norm_(model.parameters(), 1.0)  # of scaled gradients",
    never=("Nothing wrong",),
)
def clipping_before_unscaling(broken: bool = True) -> Imported:
    torch.manual_seed(0)
    model = Vision()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    scaler = torch.amp.GradScaler("cpu", init_scale=1024.0)

    def step(x: torch.Tensor, labels: torch.Tensor) -> float:
        optimizer.zero_grad()
        loss = F.cross_entropy(model(x), labels)
        scaler.scale(loss).backward()
        if not broken:
            scaler.unscale_(optimizer)
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)  # of scaled gradients
        scaler.step(optimizer)
        scaler.update()
        return loss.item()

    return gw.capture(step, images(), torch.tensor([0, 2]))


@case(
    "clipping has no effect on the spikes of the loss",
    "gradients are clipped after the step that used them",
    "after step()",
    "between backward() and step()",
    at="clip_grad_norm_(model.parameters(), 0.1)  # in vain",
    never=("Nothing wrong",),
)
def clipping_after_step(broken: bool = True) -> Imported:
    torch.manual_seed(0)
    model = LanguageModel()
    optimizer = torch.optim.AdamW(model.parameters())

    def step(batch: torch.Tensor) -> float:
        optimizer.zero_grad()
        loss = model.loss(batch)
        loss.backward()
        if not broken:
            nn.utils.clip_grad_norm_(model.parameters(), 0.1)
        optimizer.step()
        if broken:
            nn.utils.clip_grad_norm_(model.parameters(), 0.1)  # in vain
        return loss.item()

    return gw.capture(step, tokens())


def _evaluate(model: LanguageModel, batch: torch.Tensor, broken: bool) -> float:
    torch.set_grad_enabled(False)  # and left so
    loss = model.loss(batch).item()
    torch.set_grad_enabled(not broken)
    return loss


@case(
    "element 0 of tensors does not require grad, after the first evaluation",
    "the evaluation turns gradient off for all that follows",
    "set_grad_enabled",
    "set_grad_enabled(True)",
    at="torch.set_grad_enabled(False)  # and left so",
    never=("Nothing wrong",),
)
def gradient_left_off_by_evaluation(broken: bool = True) -> Imported:
    torch.manual_seed(0)
    model = LanguageModel()
    optimizer = torch.optim.AdamW(model.parameters())

    def step(batch: torch.Tensor, held_out: torch.Tensor) -> float:
        _evaluate(model, held_out, broken)
        optimizer.zero_grad()
        loss = model.loss(batch)
        loss.backward()
        optimizer.step()
        return loss.item()

    try:
        return gw.capture(step, tokens(), tokens())
    finally:
        torch.set_grad_enabled(True)


@case(
    "the loss has no grad_fn, though nothing in the model detaches",
    "gradient was turned off before the program began",
    "off when the program begins",
    "set_grad_enabled(True)",
    never=("Nothing wrong",),
)
def gradient_off_from_the_start(broken: bool = True) -> Imported:
    torch.manual_seed(0)
    model = VAE()
    torch.set_grad_enabled(not broken)
    try:
        return gw.capture(model.loss, torch.rand(4, 12))
    finally:
        torch.set_grad_enabled(True)


@case(
    "a float has no backward; with a new tensor of it there is no error, and no learning",
    "item() leaves autograd, and a new tensor that requires grad is a leaf of its own",
    "item",
    "use the tensor itself",
    at="total = sum(model.loss(batch).item() for batch in batches)",
    never=("Nothing wrong",),
)
def backward_of_a_copied_total(broken: bool = True) -> Imported:
    torch.manual_seed(0)
    model = LanguageModel()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)

    def step(batches: torch.Tensor) -> float:
        optimizer.zero_grad()
        if broken:
            total = sum(model.loss(batch).item() for batch in batches)
            loss = torch.tensor(total, requires_grad=True)
        else:
            loss = torch.stack([model.loss(batch) for batch in batches]).sum()
        loss.backward()
        optimizer.step()
        return loss.item()

    return gw.capture(step, torch.stack([tokens(), tokens()]))


@case(
    "the logged loss falls, the model never changes",
    "the loss that comes back is detached: nobody can differentiate it",
    "detach",
    at="loss.detach()  # for the log",
    never=("Nothing wrong",),
)
def loss_returned_detached(broken: bool = True) -> Imported:
    torch.manual_seed(0)
    model = UNet(is_timed=True)

    def training_step(
        x: torch.Tensor, noise: torch.Tensor, time: torch.Tensor
    ) -> dict[str, object]:
        predicted = model(x + noise * time[:, None, None, None], time)
        loss = F.mse_loss(predicted, noise)
        if broken:
            loss = loss.detach()  # for the log
        return {"loss": loss, "time": float(time[0])}

    data = torch.randn(2, 1, 8, 8), torch.randn(2, 1, 8, 8), torch.rand(2)
    return gw.capture(training_step, *data)
