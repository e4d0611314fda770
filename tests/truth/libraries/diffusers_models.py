"""Models of diffusers, with random weights."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import diffusers
import torch
from torch.nn import functional as F

import gradwire as gw
from tests.truth.programs import program

if TYPE_CHECKING:
    from gradwire.runtime.interchange.importing.imported import Imported


def denoised(model: Any, size: tuple[int, ...], **inputs: Any) -> Imported:
    """The loss of a step of training that predicts the noise."""
    scheduler = diffusers.DDPMScheduler(num_train_timesteps=100)
    noise, times = torch.randn(size), torch.tensor([3, 70])[: size[0]]

    def loss(x: torch.Tensor, **inputs: Any) -> torch.Tensor:
        noisy = scheduler.add_noise(x, noise, times)
        return F.mse_loss(model(noisy, timestep=times, **inputs).sample, noise)

    return gw.capture(loss, torch.randn(size), **inputs)


@program
def unconditional_u_net() -> Imported:
    model = diffusers.UNet2DModel(
        sample_size=8, in_channels=1, out_channels=1, block_out_channels=(8, 16),
        layers_per_block=1, norm_num_groups=4, attention_head_dim=4,
        down_block_types=("DownBlock2D", "AttnDownBlock2D"),
        up_block_types=("AttnUpBlock2D", "UpBlock2D"),
    )  # fmt: skip
    return denoised(model, (2, 1, 8, 8))


def _conditional() -> Any:
    return diffusers.UNet2DConditionModel(
        sample_size=8, block_out_channels=(8, 16), layers_per_block=1, norm_num_groups=4,
        down_block_types=("DownBlock2D", "CrossAttnDownBlock2D"), cross_attention_dim=16,
        up_block_types=("CrossAttnUpBlock2D", "UpBlock2D"), attention_head_dim=4,
    )  # fmt: skip


@program
def conditional_u_net() -> Imported:
    text = torch.randn(2, 5, 16)
    return denoised(_conditional(), (2, 4, 8, 8), encoder_hidden_states=text)


@program
def control_net() -> Imported:
    model = _conditional().requires_grad_(False)
    control = diffusers.ControlNetModel.from_unet(
        model, conditioning_embedding_out_channels=(8, 8)
    ).requires_grad_(True)
    noise, time = torch.randn(2, 4, 8, 8), torch.tensor([3, 70])

    def loss(x: torch.Tensor, text: torch.Tensor, hint: torch.Tensor) -> torch.Tensor:
        down, middle = control(x, time, text, hint, return_dict=False)
        found = model(x, time, text, down_block_additional_residuals=down,
                      mid_block_additional_residual=middle)  # fmt: skip
        return F.mse_loss(found.sample, noise)

    return gw.capture(
        loss, torch.randn(2, 4, 8, 8), torch.randn(2, 5, 16), torch.rand(2, 3, 16, 16)
    )


@program
def variational_autoencoder() -> Imported:
    model = diffusers.AutoencoderKL(block_out_channels=(8, 16), norm_num_groups=4,
                                    down_block_types=("DownEncoderBlock2D",) * 2,
                                    up_block_types=("UpDecoderBlock2D",) * 2)  # fmt: skip

    def loss(x: torch.Tensor) -> torch.Tensor:
        hidden = model.encode(x).latent_dist
        return F.mse_loss(model.decode(hidden.sample()).sample, x) + 1e-6 * hidden.kl().mean()

    return gw.capture(loss, torch.rand(2, 3, 16, 16))


@program
def vector_quantised_autoencoder() -> Imported:
    model = diffusers.VQModel(block_out_channels=(8,), norm_num_groups=4, num_vq_embeddings=16)

    def loss(x: torch.Tensor) -> torch.Tensor:
        found = model(x, return_dict=False)
        return F.mse_loss(found[0], x) + found[1].mean()

    return gw.capture(loss, torch.rand(2, 3, 8, 8))


@program
def diffusion_transformer() -> Imported:
    model = diffusers.DiTTransformer2DModel(num_attention_heads=2, attention_head_dim=8,
                                            in_channels=4, num_layers=1, sample_size=8,
                                            num_embeds_ada_norm=100, dropout=0.0)  # fmt: skip
    return denoised(model.eval(), (2, 4, 8, 8), class_labels=torch.tensor([1, 2]))


@program
def stable_diffusion_3() -> Imported:
    model = diffusers.SD3Transformer2DModel(
        sample_size=8, in_channels=4, num_layers=2, attention_head_dim=8, num_attention_heads=2,
        joint_attention_dim=16, caption_projection_dim=16, pooled_projection_dim=8, out_channels=4,
        pos_embed_max_size=8,
    )  # fmt: skip
    inputs = dict(encoder_hidden_states=torch.randn(2, 5, 16), pooled_projections=torch.randn(2, 8))
    return denoised(model, (2, 4, 8, 8), **inputs)


@program
def flux() -> Imported:
    model = diffusers.FluxTransformer2DModel(
        patch_size=1, in_channels=4, num_layers=1, num_single_layers=1, attention_head_dim=8,
        num_attention_heads=2, joint_attention_dim=16, pooled_projection_dim=8,
        axes_dims_rope=(2, 2, 4), guidance_embeds=True,
    )  # fmt: skip
    places, words = torch.zeros(16, 3), torch.zeros(5, 3)
    places[:, 1], places[:, 2] = torch.arange(16) // 4, torch.arange(16) % 4
    noise, guidance = torch.randn(2, 16, 4), torch.ones(2)

    def loss(x: torch.Tensor, text: torch.Tensor, pooled: torch.Tensor) -> torch.Tensor:
        found = model(x, encoder_hidden_states=text, pooled_projections=pooled, img_ids=places,
                      timestep=torch.tensor([0.1, 0.7]), txt_ids=words,
                      guidance=guidance)  # fmt: skip
        return F.mse_loss(found.sample, noise)

    return gw.capture(loss, torch.randn(2, 16, 4), torch.randn(2, 5, 16), torch.randn(2, 8))


@program
def pixart() -> Imported:
    model = diffusers.PixArtTransformer2DModel(
        num_attention_heads=2, attention_head_dim=8, in_channels=4, out_channels=4, num_layers=1,
        sample_size=8, cross_attention_dim=16, caption_channels=16, use_additional_conditions=False,
    )  # fmt: skip
    return denoised(model, (2, 4, 8, 8), encoder_hidden_states=torch.randn(2, 5, 16))


@program
def prior_transformer() -> Imported:
    model = diffusers.PriorTransformer(num_attention_heads=2, attention_head_dim=8, num_layers=1,
                                       embedding_dim=8, num_embeddings=5, additional_embeddings=4,
                                       dropout=0.0)  # fmt: skip

    def loss(x: torch.Tensor, text: torch.Tensor, words: torch.Tensor) -> torch.Tensor:
        found = model(x, torch.tensor([3, 70]), proj_embedding=text, encoder_hidden_states=words)
        return found.predicted_image_embedding.pow(2).mean()

    return gw.capture(loss, torch.randn(2, 8), torch.randn(2, 8), torch.randn(2, 5, 8))
