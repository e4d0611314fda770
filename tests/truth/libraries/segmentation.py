"""Models of segmentation_models_pytorch, with random weights."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import segmentation_models_pytorch as smp
import torch

import gradwire as gw
from tests.truth.programs import program

if TYPE_CHECKING:
    from gradwire.runtime.interchange.importing.imported import Imported

PLAIN = dict(encoder_name="resnet18", encoder_weights=None, classes=2)


def masked(model: torch.nn.Module, loss_of: Any = None, size: int = 64) -> Imported:
    """The loss of a model that finds the mask of an image."""
    for module in model.modules():
        if isinstance(module, torch.nn.Dropout | torch.nn.Dropout2d):
            module.p = 0.0
    chosen = loss_of or smp.losses.DiceLoss("multiclass")

    def loss(x: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
        return chosen(model(x), mask)

    shape = 2, size, size
    return gw.capture(loss, torch.randn(2, 3, size, size), torch.randint(0, 2, shape))


@program
def u_net() -> Imported:
    return masked(smp.Unet(**PLAIN, encoder_depth=3, decoder_channels=(16, 8, 8)))


@program
def nested_u_net() -> Imported:
    return masked(smp.UnetPlusPlus(**PLAIN, encoder_depth=3, decoder_channels=(16, 8, 8)))


@program
def feature_pyramid_with_focal_loss() -> Imported:
    model = smp.FPN(**PLAIN, decoder_pyramid_channels=16, decoder_segmentation_channels=32)
    return masked(model, smp.losses.FocalLoss("multiclass"))


@program
def link_net_with_lovasz_loss() -> Imported:
    return masked(smp.Linknet(**PLAIN, encoder_depth=3), smp.losses.LovaszLoss("multiclass"))


@program
def pyramid_scene_parsing_with_jaccard_loss() -> Imported:
    model = smp.PSPNet(**PLAIN, psp_out_channels=16)
    return masked(model, smp.losses.JaccardLoss("multiclass"))


@program
def multi_scale_attention_with_tversky_loss() -> Imported:
    model = smp.MAnet(**PLAIN, encoder_depth=3, decoder_channels=(16, 8, 8), decoder_pab_channels=8)
    return masked(model, smp.losses.TverskyLoss("multiclass"))


@program
def dilated_pyramid() -> Imported:
    return masked(smp.DeepLabV3Plus(**PLAIN, decoder_channels=16, decoder_atrous_rates=(2, 3, 4)))


@program
def squeeze_and_excitation_in_the_decoder() -> Imported:
    model = smp.Unet(**PLAIN, encoder_depth=3, decoder_channels=(32, 16, 16),
                     decoder_attention_type="scse")  # fmt: skip
    return masked(model, smp.losses.SoftCrossEntropyLoss(smooth_factor=0.1))


@program
def segformer() -> Imported:
    return masked(smp.Segformer(**PLAIN, decoder_segmentation_channels=16))
