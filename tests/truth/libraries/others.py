"""Parts of further libraries: entmax, snnTorch, GPyTorch, Lightly and Kornia."""

from __future__ import annotations

from typing import TYPE_CHECKING

import entmax
import gpytorch
import kornia
import lightly.loss
import snntorch
import torch
from torch import Tensor, nn
from torch.nn import functional as F

import gradwire as gw
from tests.truth.programs import program

if TYPE_CHECKING:
    from gradwire.runtime.interchange.importing.imported import Imported


@program
def sparse_attention_by_sparsemax() -> Imported:
    ask, key, value = (nn.Linear(8, 8) for _ in range(3))

    def loss(x: Tensor) -> Tensor:
        weights = entmax.sparsemax(ask(x) @ key(x).mT / 8**0.5, dim=-1)
        return (weights @ value(x)).pow(2).mean()

    return gw.capture(loss, torch.randn(2, 5, 8))


@program
def classification_by_entmax() -> Imported:
    model = nn.Linear(8, 4)

    def loss(x: Tensor, y: Tensor) -> Tensor:
        return entmax.entmax15_loss(model(x), y).mean()

    return gw.capture(loss, torch.randn(6, 8), torch.randint(0, 4, (6,)))


@program
def spiking_neurons() -> Imported:
    first, second = nn.Linear(6, 16), nn.Linear(16, 3)
    one, two = snntorch.Leaky(beta=0.9), snntorch.Leaky(beta=0.9)

    def loss(x: Tensor, y: Tensor) -> Tensor:
        a, b, total = one.init_leaky(), two.init_leaky(), torch.zeros(())
        for _ in range(4):
            spikes, a = one(first(x), a)
            _, b = two(second(spikes), b)
            total = total + F.cross_entropy(b, y)
        return total

    return gw.capture(loss, torch.rand(5, 6) * 4, torch.randint(0, 3, (5,)))


@program
def exact_gaussian_process() -> Imported:
    class Process(gpytorch.models.ExactGP):
        def __init__(self, x: Tensor, y: Tensor, likelihood: nn.Module) -> None:
            super().__init__(x, y, likelihood)
            self.mean = gpytorch.means.ConstantMean()
            self.kernel = gpytorch.kernels.ScaleKernel(gpytorch.kernels.RBFKernel())

        def forward(self, x: Tensor) -> gpytorch.distributions.MultivariateNormal:
            return gpytorch.distributions.MultivariateNormal(self.mean(x), self.kernel(x))

    x = torch.linspace(0, 1, 10)
    y = (6 * x).sin() + 0.1 * torch.randn(10)
    likelihood = gpytorch.likelihoods.GaussianLikelihood()
    model = Process(x, y, likelihood).train()
    evidence = gpytorch.mlls.ExactMarginalLogLikelihood(likelihood, model)

    def loss(x: Tensor, y: Tensor) -> Tensor:
        return -evidence(model(x), y)

    return gw.capture(loss, x, y)


def _views(*losses: nn.Module) -> Imported:
    encoder = nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 6))

    def loss(a: Tensor, b: Tensor) -> Tensor:
        return sum((each(encoder(a), encoder(b)) for each in losses), torch.zeros(()))

    return gw.capture(loss, torch.randn(6, 8), torch.randn(6, 8))


@program
def contrastive_views() -> Imported:
    return _views(lightly.loss.NTXentLoss())


@program
def redundancy_reduction() -> Imported:
    return _views(lightly.loss.BarlowTwinsLoss())


@program
def variance_and_covariance() -> Imported:
    return _views(lightly.loss.VICRegLoss())


@program
def structural_similarity() -> Imported:
    model = nn.Conv2d(1, 1, 3, padding=1)

    def loss(x: Tensor) -> Tensor:
        return kornia.losses.ssim_loss(model(x), x, window_size=5)

    return gw.capture(loss, torch.rand(1, 1, 12, 12))


@program
def warped_images() -> Imported:
    place = nn.Sequential(nn.Flatten(), nn.Linear(64, 6))

    def loss(x: Tensor, y: Tensor) -> Tensor:
        matrix = place(x).view(-1, 2, 3) * 0.1 + torch.eye(2, 3)
        return F.l1_loss(kornia.geometry.warp_affine(x, matrix, (8, 8)), y)

    return gw.capture(loss, torch.rand(2, 1, 8, 8), torch.rand(2, 1, 8, 8))
