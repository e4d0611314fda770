"""Models of images of transformers, with random weights."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch
import transformers as hf

from tests.truth.libraries.transformers_text import captured, words
from tests.truth.programs import program

if TYPE_CHECKING:
    from gradwire.runtime.interchange.importing.imported import Imported

PATCHES = dict(hidden_size=32, num_hidden_layers=2, num_attention_heads=4, intermediate_size=48,
               image_size=16, patch_size=4)  # fmt: skip
TEXT = dict(vocab_size=64, hidden_size=32, num_hidden_layers=1, num_attention_heads=4,
            intermediate_size=48, max_position_embeddings=16)  # fmt: skip


def images(size: int = 16, channels: int = 3) -> torch.Tensor:
    """Two images."""
    return torch.randn(2, channels, size, size)


def labels() -> torch.Tensor:
    """The classes of two images."""
    return torch.tensor([0, 1])


@program
def vit() -> Imported:
    model = hf.ViTForImageClassification(hf.ViTConfig(**PATCHES))
    return captured(model, pixel_values=images(), labels=labels())


@program
def deit() -> Imported:
    model = hf.DeiTForImageClassification(hf.DeiTConfig(**PATCHES))
    return captured(model, pixel_values=images(), labels=labels())


@program
def beit() -> Imported:
    model = hf.BeitForImageClassification(hf.BeitConfig(**PATCHES))
    return captured(model, pixel_values=images(), labels=labels())


@program
def dinov2() -> Imported:
    config = hf.Dinov2Config(hidden_size=32, num_hidden_layers=2, num_attention_heads=4,
                             mlp_ratio=2, image_size=16, patch_size=4)  # fmt: skip
    model = hf.Dinov2ForImageClassification(config)
    return captured(model, pixel_values=images(), labels=labels())


@program
def masked_autoencoder() -> Imported:
    config = hf.ViTMAEConfig(**PATCHES, decoder_hidden_size=16, decoder_num_hidden_layers=1,
                             decoder_num_attention_heads=2,
                             decoder_intermediate_size=24)  # fmt: skip
    noise = torch.rand(2, 16)
    return captured(hf.ViTMAEForPreTraining(config), pixel_values=images(), noise=noise)


@program
def swin() -> Imported:
    config = hf.SwinConfig(image_size=16, patch_size=2, embed_dim=16, depths=[1, 1],
                           num_heads=[2, 2], window_size=4, drop_path_rate=0.0)  # fmt: skip
    model = hf.SwinForImageClassification(config)
    return captured(model, pixel_values=images(), labels=labels())


@program
def convnext() -> Imported:
    config = hf.ConvNextConfig(hidden_sizes=[8, 16], depths=[1, 1], num_stages=2)
    model = hf.ConvNextForImageClassification(config)
    return captured(model, pixel_values=images(32), labels=labels())


@program
def resnet() -> Imported:
    config = hf.ResNetConfig(embedding_size=8, hidden_sizes=[8, 16], depths=[1, 1],
                             layer_type="basic")  # fmt: skip
    model = hf.ResNetForImageClassification(config)
    return captured(model, pixel_values=images(32), labels=labels())


@program
def mobilevit() -> Imported:
    config = hf.MobileViTConfig(image_size=64, hidden_sizes=[16, 24, 32], num_attention_heads=2,
                                neck_hidden_sizes=[8, 8, 8, 8, 8, 8, 16])  # fmt: skip
    model = hf.MobileViTForImageClassification(config)
    return captured(model, pixel_values=images(64), labels=labels())


@program
def segformer() -> Imported:
    config = hf.SegformerConfig(depths=[1, 1, 1, 1], hidden_sizes=[8, 8, 16, 16],
                                num_attention_heads=[1, 1, 2, 2], decoder_hidden_size=16,
                                drop_path_rate=0.0, num_labels=3)  # fmt: skip
    model = hf.SegformerForSemanticSegmentation(config)
    masks = torch.randint(0, 3, (2, 64, 64))
    return captured(model, pixel_values=images(64), labels=masks)


@program
def depth_anything() -> Imported:
    backbone = hf.Dinov2Config(hidden_size=16, num_hidden_layers=4, num_attention_heads=2,
                               mlp_ratio=2, image_size=16, patch_size=4,
                               reshape_hidden_states=False,
                               out_indices=[1, 2, 3, 4])  # fmt: skip
    config = hf.DepthAnythingConfig(backbone_config=backbone, patch_size=4, fusion_hidden_size=8,
                                    neck_hidden_sizes=[8, 8, 8, 8], reassemble_hidden_size=16,
                                    head_hidden_size=8)  # fmt: skip
    model = hf.DepthAnythingForDepthEstimation(config)
    return captured_mean(model, "predicted_depth", images())


@program
def clip() -> Imported:
    config = hf.CLIPConfig(text_config={**TEXT, "eos_token_id": 2}, vision_config=PATCHES,
                           projection_dim=16)  # fmt: skip
    text = words()
    text[:, -1] = 2
    model = hf.CLIPModel(config)
    return captured(model, input_ids=text, pixel_values=images(), return_loss=True)


@program
def siglip() -> Imported:
    config = hf.SiglipConfig(text_config=TEXT, vision_config=PATCHES)
    model = hf.SiglipModel(config)
    return captured(model, input_ids=words(), pixel_values=images(), return_loss=True)


@program
def blip_for_captions() -> Imported:
    text = {**TEXT, "encoder_hidden_size": 32, "bos_token_id": 1, "sep_token_id": 2}
    config = hf.BlipConfig(text_config=text, vision_config=PATCHES)
    model = hf.BlipForConditionalGeneration(config)
    x = words()
    return captured(model, input_ids=x, pixel_values=images(), labels=x)


@program
def yolos_with_matching() -> Imported:
    config = hf.YolosConfig(**{**PATCHES, "image_size": [16, 16]}, num_detection_tokens=4,
                            num_labels=3, use_mid_position_embeddings=False)  # fmt: skip
    boxes = {"class_labels": torch.tensor([1]), "boxes": torch.tensor([[0.5, 0.5, 0.2, 0.3]])}
    model = hf.YolosForObjectDetection(config)
    return captured(model, pixel_values=images(), labels=[boxes, boxes])


def captured_mean(model: hf.PreTrainedModel, output: str, *args: torch.Tensor) -> Imported:
    """The mean of the squares of an output."""
    return captured(_Squared(model, output), x=args[0])


class _Squared(torch.nn.Module):
    def __init__(self, model: torch.nn.Module, output: str) -> None:
        super().__init__()
        self.model, self.output = model, output

    def forward(self, x: torch.Tensor) -> hf.utils.ModelOutput:
        found = getattr(self.model(x), self.output)
        return hf.modeling_outputs.MaskedLMOutput(loss=found.pow(2).mean())
