"""Models with quantisers of vector-quantize-pytorch, with random weights."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch
import vector_quantize_pytorch as vq
from torch import nn
from torch.nn import functional as F

import gradwire as gw
from tests.truth.programs import program

if TYPE_CHECKING:
    from gradwire.runtime.interchange.importing.imported import Imported


def autoencoded(quantiser: Any, width: int = 8) -> Imported:
    """The loss of an autoencoder whose code is quantised."""
    encoder, decoder = nn.Linear(12, width), nn.Linear(width, 12)

    def loss(x: torch.Tensor) -> torch.Tensor:
        found = quantiser(encoder(x))
        rest = [t for t in found[2:3] if t.is_floating_point()]
        return F.mse_loss(decoder(found[0]), x) + sum((t.sum() for t in rest), torch.zeros(()))

    return gw.capture(loss, torch.randn(2, 6, 12))


@program
def vectors() -> Imported:
    return autoencoded(vq.VectorQuantize(dim=8, codebook_size=16))


@program
def vectors_with_learned_codes() -> Imported:
    return autoencoded(vq.VectorQuantize(dim=8, codebook_size=16, learnable_codebook=True,
                                         ema_update=False))  # fmt: skip


@program
def vectors_with_cosines_and_rotation() -> Imported:
    return autoencoded(vq.VectorQuantize(dim=8, codebook_size=16, use_cosine_sim=True,
                                         rotation_trick=True))  # fmt: skip


@program
def residual_vectors() -> Imported:
    return autoencoded(vq.ResidualVQ(dim=8, codebook_size=16, num_quantizers=2))


@program
def finite_scalars() -> Imported:
    return autoencoded(vq.FSQ(levels=[5, 5, 3]), 3)


@program
def without_lookup() -> Imported:
    return autoencoded(vq.LFQ(codebook_size=16, dim=4), 4)
