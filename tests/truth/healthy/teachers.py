"""Training steps with teachers, targets and quantised codes, in plain PyTorch."""

from __future__ import annotations

import copy
from typing import TYPE_CHECKING

import torch
from torch import Tensor, nn
from torch.nn import functional as F

import gradwire as gw
from tests.truth.programs import program, trained

if TYPE_CHECKING:
    from gradwire.runtime.interchange.importing.imported import Imported


def _encoder(width: int = 8, out: int = 8) -> nn.Module:
    return nn.Sequential(nn.Linear(width, 16), nn.BatchNorm1d(16), nn.ReLU(), nn.Linear(16, out))


@program
def deep_q_network_with_target() -> Imported:
    q = nn.Sequential(nn.Linear(4, 32), nn.ReLU(), nn.Linear(32, 2))
    target = copy.deepcopy(q)
    optimizer = torch.optim.Adam(q.parameters(), lr=1e-3)

    def loss(state: Tensor, action: Tensor, reward: Tensor, following: Tensor) -> Tensor:
        with torch.no_grad():
            aim = reward + 0.99 * target(following).max(1).values
        return F.smooth_l1_loss(q(state).gather(1, action).squeeze(1), aim)

    batch = torch.randn(8, 4), torch.randint(0, 2, (8, 1)), torch.randn(8), torch.randn(8, 4)
    trained(lambda: loss(*batch), optimizer, 3)
    return gw.capture(loss, *batch, optimizer=optimizer)


@program
def deep_q_network_with_detached_target() -> Imported:
    q = nn.Sequential(nn.Linear(4, 32), nn.ReLU(), nn.Linear(32, 2))
    target = copy.deepcopy(q)
    optimizer = torch.optim.Adam(q.parameters(), lr=1e-3)

    def step(state: Tensor, action: Tensor, reward: Tensor, following: Tensor) -> Tensor:
        best = q(following).argmax(1, keepdim=True)
        aim = reward + 0.99 * target(following).gather(1, best).detach()
        loss = F.mse_loss(q(state).gather(1, action), aim)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        return loss

    batch = torch.randn(8, 4), torch.randint(0, 2, (8, 1)), torch.randn(8, 1), torch.randn(8, 4)
    return gw.capture(step, *batch, optimizer=optimizer)


@program
def mean_teacher() -> Imported:
    student = _encoder(out=3)
    teacher = copy.deepcopy(student)
    for p in teacher.parameters():
        p.requires_grad_(False)
    optimizer = torch.optim.AdamW(student.parameters(), lr=1e-3)

    def step(x: Tensor, noisy: Tensor, y: Tensor) -> Tensor:
        with torch.no_grad():
            aim = teacher(noisy).softmax(1)
        logits = student(x)
        loss = F.cross_entropy(logits, y) + F.mse_loss(logits.softmax(1), aim)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        with torch.no_grad():
            for slow, fast in zip(teacher.parameters(), student.parameters(), strict=True):
                slow.mul_(0.99).add_(fast, alpha=0.01)
        return loss

    x = torch.randn(8, 8)
    return gw.capture(step, x, x + 0.1, torch.randint(0, 3, (8,)), optimizer=optimizer)


@program
def teacher_of_moving_averages_left_trainable() -> Imported:
    student = nn.Sequential(nn.Linear(8, 16), nn.GELU(), nn.Linear(16, 4))
    teacher = torch.optim.swa_utils.AveragedModel(student)
    optimizer = torch.optim.AdamW(student.parameters(), lr=1e-3)

    def loss(x: Tensor, other: Tensor) -> Tensor:
        with torch.no_grad():
            aim = F.softmax(teacher(other) / 0.04, -1)
        return -(aim * F.log_softmax(student(x) / 0.1, -1)).sum(-1).mean()

    x = torch.randn(8, 8)
    return gw.capture(loss, x, x + 0.1, optimizer=optimizer)


@program
def simsiam() -> Imported:
    encoder, predictor = _encoder(), _encoder()
    optimizer = torch.optim.SGD([*encoder.parameters(), *predictor.parameters()], lr=0.05)

    def loss(a: Tensor, b: Tensor) -> Tensor:
        z1, z2 = encoder(a), encoder(b)
        p1, p2 = predictor(z1), predictor(z2)
        first = F.cosine_similarity(p1, z2.detach(), dim=1).mean()
        return -(first + F.cosine_similarity(p2, z1.detach(), dim=1).mean()) / 2

    a, b = torch.randn(8, 8), torch.randn(8, 8)
    trained(lambda: loss(a, b), optimizer, 2)
    return gw.capture(loss, a, b, optimizer=optimizer)


@program
def byol() -> Imported:
    online, predictor = _encoder(), _encoder()
    target = copy.deepcopy(online)
    optimizer = torch.optim.Adam([*online.parameters(), *predictor.parameters()], lr=1e-3)

    def half(a: Tensor, b: Tensor) -> Tensor:
        with torch.no_grad():
            aim = F.normalize(target(b), dim=-1)
        return (2 - 2 * (F.normalize(predictor(online(a)), dim=-1) * aim).sum(-1)).mean()

    def loss(a: Tensor, b: Tensor) -> Tensor:
        return half(a, b) + half(b, a)

    return gw.capture(loss, torch.randn(8, 8), torch.randn(8, 8), optimizer=optimizer)


@program
def momentum_contrast_with_queue() -> Imported:
    query = _encoder()
    key = copy.deepcopy(query)
    queue = F.normalize(torch.randn(8, 32), dim=0)
    optimizer = torch.optim.SGD(query.parameters(), lr=0.03, momentum=0.9)

    def loss(a: Tensor, b: Tensor) -> Tensor:
        q = F.normalize(query(a), dim=1)
        with torch.no_grad():
            k = F.normalize(key(b), dim=1)
        same = (q * k).sum(1, keepdim=True)
        logits = torch.cat([same, q @ queue.clone().detach()], 1) / 0.07
        return F.cross_entropy(logits, torch.zeros(len(q), dtype=torch.long))

    return gw.capture(loss, torch.randn(6, 8), torch.randn(6, 8), optimizer=optimizer)


@program
def distillation_from_a_frozen_teacher() -> Imported:
    teacher = nn.Sequential(nn.Linear(8, 64), nn.ReLU(), nn.Linear(64, 4)).eval()
    student = nn.Linear(8, 4)
    optimizer = torch.optim.SGD(student.parameters(), lr=0.1)

    def loss(x: Tensor, y: Tensor) -> Tensor:
        with torch.no_grad():
            aim = F.log_softmax(teacher(x) / 2, 1)
        logits = student(x)
        soft = F.kl_div(F.log_softmax(logits / 2, 1), aim, reduction="batchmean", log_target=True)
        return 0.5 * F.cross_entropy(logits, y) + 2 * soft

    return gw.capture(loss, torch.randn(8, 8), torch.randint(0, 4, (8,)), optimizer=optimizer)


@program
def contrastive_pairs_with_learned_temperature() -> Imported:
    image, text = _encoder(), _encoder()
    scale = nn.Parameter(torch.tensor(2.6592))
    optimizer = torch.optim.AdamW([*image.parameters(), *text.parameters(), scale], lr=1e-3)

    def loss(a: Tensor, b: Tensor) -> Tensor:
        a, b = F.normalize(image(a), dim=-1), F.normalize(text(b), dim=-1)
        logits = scale.exp() * a @ b.T
        own = torch.arange(len(a))
        return (F.cross_entropy(logits, own) + F.cross_entropy(logits.T, own)) / 2

    return gw.capture(loss, torch.randn(6, 8), torch.randn(6, 8), optimizer=optimizer)


@program
def variational_autoencoder() -> Imported:
    encoder, decoder = nn.Linear(12, 8), nn.Linear(4, 12)
    optimizer = torch.optim.Adam([*encoder.parameters(), *decoder.parameters()], lr=1e-3)

    def loss(x: Tensor) -> Tensor:
        mean, logvar = encoder(x).chunk(2, -1)
        z = mean + torch.randn_like(mean) * (0.5 * logvar).exp()
        kl = -0.5 * (1 + logvar - mean**2 - logvar.exp()).sum(-1).mean()
        likely = F.binary_cross_entropy_with_logits(decoder(z), x, reduction="sum") / len(x)
        return likely + kl

    return gw.capture(loss, torch.rand(8, 12), optimizer=optimizer)


@program
def vector_quantised_autoencoder() -> Imported:
    encoder, codes, decoder = nn.Linear(12, 4), nn.Embedding(4, 4), nn.Linear(4, 12)
    optimizer = torch.optim.Adam(
        [*encoder.parameters(), *codes.parameters(), *decoder.parameters()], lr=1e-3
    )

    def loss(x: Tensor) -> Tensor:
        z = encoder(x)
        distances = z.pow(2).sum(1, keepdim=True) - 2 * z @ codes.weight.T
        nearest = (distances + codes.weight.pow(2).sum(1)).argmin(1)
        found = codes(nearest)
        commit = F.mse_loss(found.detach(), z)
        learn = F.mse_loss(found, z.detach())
        passed = z + (found - z).detach()
        return F.mse_loss(decoder(passed), x) + learn + 0.25 * commit

    x = torch.randn(16, 12)
    trained(lambda: loss(x), optimizer, 5)
    return gw.capture(loss, x, optimizer=optimizer)


@program
def vector_quantised_autoencoder_with_averaged_codes() -> Imported:
    encoder, decoder = nn.Linear(12, 4), nn.Linear(4, 12)
    codes = torch.randn(16, 4)
    optimizer = torch.optim.Adam([*encoder.parameters(), *decoder.parameters()], lr=1e-3)

    def loss(x: Tensor) -> Tensor:
        z = encoder(x)
        with torch.no_grad():
            found = codes[torch.cdist(z, codes).argmin(1)]
        return F.mse_loss(decoder(z + (found - z).detach()), x) + 0.25 * F.mse_loss(z, found)

    return gw.capture(loss, torch.randn(16, 12), optimizer=optimizer)


@program
def denoising_diffusion() -> Imported:
    class Denoiser(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.time = nn.Sequential(nn.Linear(8, 16), nn.SiLU(), nn.Linear(16, 16))
            self.first, self.last = nn.Conv2d(1, 16, 3, padding=1), nn.Conv2d(16, 1, 3, padding=1)
            self.norm = nn.GroupNorm(4, 16)

        def forward(self, x: Tensor, t: Tensor) -> Tensor:
            rates = torch.exp(-torch.arange(4) * 1.5)
            angles = t[:, None] * rates
            code = self.time(torch.cat([angles.sin(), angles.cos()], -1))
            return self.last(F.silu(self.norm(self.first(x)) + code[:, :, None, None]))

    model = Denoiser()
    kept = torch.cumprod(1 - torch.linspace(1e-4, 0.02, 100), 0)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4)

    def loss(x: Tensor) -> Tensor:
        t = torch.randint(0, 100, (len(x),))
        noise = torch.randn_like(x)
        share = kept[t][:, None, None, None]
        return F.mse_loss(model(share.sqrt() * x + (1 - share).sqrt() * noise, t), noise)

    return gw.capture(loss, torch.randn(2, 1, 8, 8), optimizer=optimizer)
