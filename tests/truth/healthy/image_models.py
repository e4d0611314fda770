"""Models of images of timm, torchvision and diffusers that train as they should."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import diffusers
import timm
import torch
from torch.nn import functional as F
from torchvision import models

import gradwire as gw
from tests.truth.programs import program, trained

if TYPE_CHECKING:
    from gradwire.runtime.interchange.importing.imported import Imported


def classified(model: Any, steps: int, size: int = 64) -> Imported:
    """A model after some steps of SGD on images."""
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9)

    def loss(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        return F.cross_entropy(model(x), y)

    x, y = torch.randn(4, 3, size, size), torch.tensor([0, 3, 1, 2])
    trained(lambda: loss(x, y), optimizer, steps)
    return gw.capture(loss, x, y, optimizer=optimizer)


@program
def residual_network_of_timm() -> Imported:
    return classified(timm.create_model("resnet10t", num_classes=4, channels=(8, 8, 16, 16)), 0)


@program
def efficientnet() -> Imported:
    return classified(timm.create_model("test_efficientnet", num_classes=4), 3)


@program
def convnext_of_timm() -> Imported:
    model = timm.create_model("convnext_atto", num_classes=4, depths=(1, 1, 2, 1),
                              dims=(8, 8, 16, 16))  # fmt: skip
    return classified(model, 0)


@program
def vision_transformer_with_layer_scale() -> Imported:
    model = timm.create_model("vit_tiny_patch16_224", num_classes=4, img_size=32, patch_size=8,
                              depth=2, embed_dim=32, num_heads=4, init_values=1e-5)  # fmt: skip
    return classified(model, 0, 32)


@program
def residual_network_of_torchvision() -> Imported:
    model = models.ResNet(models.resnet.BasicBlock, [1, 1, 1, 1], num_classes=4,
                          zero_init_residual=True)  # fmt: skip
    return classified(model, 0)


@program
def swin() -> Imported:
    model = models.SwinTransformer([2, 2], 16, [2, 2], [2, 2], [4, 4], num_classes=4,
                                   stochastic_depth_prob=0.0)  # fmt: skip
    return classified(model, 3, 32)


@program
def denoising_u_net() -> Imported:
    model = diffusers.UNet2DModel(
        sample_size=8, in_channels=1, out_channels=1, block_out_channels=(8, 16),
        layers_per_block=1, norm_num_groups=4, attention_head_dim=4,
        down_block_types=("DownBlock2D", "AttnDownBlock2D"),
        up_block_types=("AttnUpBlock2D", "UpBlock2D"),
    )  # fmt: skip
    scheduler = diffusers.DDPMScheduler(num_train_timesteps=100)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4)
    noise, times = torch.randn(2, 1, 8, 8), torch.tensor([3, 70])

    def loss(x: torch.Tensor) -> torch.Tensor:
        return F.mse_loss(model(scheduler.add_noise(x, noise, times), times).sample, noise)

    x = torch.randn(2, 1, 8, 8)
    trained(lambda: loss(x), optimizer, 3)
    return gw.capture(loss, x, optimizer=optimizer)


@program
def autoencoder_of_latent_diffusion() -> Imported:
    model = diffusers.AutoencoderKL(block_out_channels=(8, 16), norm_num_groups=4,
                                    down_block_types=("DownEncoderBlock2D",) * 2,
                                    up_block_types=("UpDecoderBlock2D",) * 2)  # fmt: skip
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4)

    def loss(x: torch.Tensor) -> torch.Tensor:
        hidden = model.encode(x).latent_dist
        return F.mse_loss(model.decode(hidden.sample()).sample, x) + 1e-6 * hidden.kl().mean()

    return gw.capture(loss, torch.rand(2, 3, 16, 16), optimizer=optimizer)
