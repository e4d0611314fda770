"""Models of timm, with random weights."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import timm
import torch
from torch.nn import functional as F

import gradwire as gw
from tests.truth.programs import program

if TYPE_CHECKING:
    from gradwire.runtime.interchange.importing.imported import Imported


def classified(name: str, size: int = 32, **options: Any) -> Imported:
    """The loss of a model of images in training."""
    model = timm.create_model(name, pretrained=False, num_classes=4, **options)

    def loss(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        return F.cross_entropy(model(x), y)

    return gw.capture(loss, torch.randn(2, 3, size, size), torch.tensor([0, 3]))


@program
def resnet() -> Imported:
    return classified("resnet10t", channels=(8, 8, 16, 16))


@program
def efficientnet() -> Imported:
    return classified("test_efficientnet")


@program
def convnext() -> Imported:
    return classified("convnext_atto", depths=(1, 1, 1, 1), dims=(8, 8, 16, 16))


@program
def vit() -> Imported:
    return classified("vit_tiny_patch16_224", img_size=32, patch_size=8, embed_dim=32, depth=2,
                      num_heads=4)  # fmt: skip


@program
def vit_with_registers_and_layer_scale() -> Imported:
    return classified("vit_small_patch14_reg4_dinov2", img_size=28, embed_dim=32, depth=2,
                      num_heads=4, size=28)  # fmt: skip


@program
def swin() -> Imported:
    return classified("swin_tiny_patch4_window7_224", img_size=32, embed_dim=16, depths=(2, 1),
                      num_heads=(2, 2), window_size=4)  # fmt: skip


@program
def mobilenet_v3() -> Imported:
    return classified("mobilenetv3_small_050")


@program
def regnet() -> Imported:
    return classified("regnetx_002")


@program
def mixer() -> Imported:
    return classified("mixer_s32_224", img_size=64, size=64)


@program
def poolformer() -> Imported:
    return classified("poolformer_s12", size=64)


@program
def ghostnet() -> Imported:
    return classified("ghostnet_050", size=64)


@program
def edgenext() -> Imported:
    return classified("edgenext_xx_small", depths=(1, 1, 1, 1), size=64)


@program
def mobilevit() -> Imported:
    return classified("mobilevit_xxs", size=64)


@program
def xcit() -> Imported:
    return classified("xcit_nano_12_p16_224", depth=1, size=32, img_size=32)


@program
def normalizer_free_net() -> Imported:
    return classified("test_nfnet")
