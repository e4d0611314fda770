"""Models of x-transformers, with random weights."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch
import x_transformers as xt
from torch.nn import functional as F

import gradwire as gw
from tests.truth.programs import program

if TYPE_CHECKING:
    from gradwire.runtime.interchange.importing.imported import Imported


def causal(**options: Any) -> Imported:
    """The loss of a decoder with these options."""
    layers = xt.Decoder(dim=32, depth=2, heads=4, attn_dim_head=8, **options)
    model = xt.TransformerWrapper(num_tokens=40, max_seq_len=16, attn_layers=layers)

    def loss(x: torch.Tensor) -> torch.Tensor:
        return F.cross_entropy(model(x[:, :-1]).flatten(0, 1), x[:, 1:].flatten())

    return gw.capture(loss, torch.randint(0, 40, (2, 10)))


@program
def plain() -> Imported:
    return causal()


@program
def rotary_positions() -> Imported:
    return causal(rotary_pos_emb=True, attn_flash=True)


@program
def linear_biases_of_positions() -> Imported:
    return causal(alibi_pos_bias=True, alibi_num_heads=2)


@program
def relative_positions() -> Imported:
    return causal(rel_pos_bias=True)


@program
def gated_linear_units_and_rms_norm() -> Imported:
    return causal(ff_glu=True, use_rmsnorm=True)


@program
def normalised_queries_and_keys() -> Imported:
    return causal(attn_qk_norm=True)


@program
def sparse_attention() -> Imported:
    return causal(attn_sparse_topk=3)


@program
def talking_heads() -> Imported:
    return causal(attn_pre_talking_heads=True, attn_post_talking_heads=True)


@program
def memory_of_keys_and_sandwich_norm() -> Imported:
    return causal(attn_num_mem_kv=2, sandwich_norm=True)


@program
def encoder_of_images() -> Imported:
    model = xt.ViTransformerWrapper(image_size=16, patch_size=4, num_classes=3,
                                    attn_layers=xt.Encoder(dim=32, depth=1, heads=4))  # fmt: skip

    def loss(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        return F.cross_entropy(model(x), y)

    return gw.capture(loss, torch.randn(2, 3, 16, 16), torch.tensor([0, 2]))


@program
def autoregressive_wrapper() -> Imported:
    layers = xt.Decoder(dim=32, depth=1, heads=4, attn_kv_heads=2, shift_tokens=1)
    model = xt.AutoregressiveWrapper(
        xt.TransformerWrapper(num_tokens=40, max_seq_len=16, attn_layers=layers)
    )
    return gw.capture(model, torch.randint(0, 40, (2, 10)))
