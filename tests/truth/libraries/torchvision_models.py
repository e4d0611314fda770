"""Models and operations of torchvision, with random weights."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch
from torch import nn
from torch.nn import functional as F
from torchvision import models, ops
from torchvision.transforms import v2

import gradwire as gw
from tests.truth.programs import program

if TYPE_CHECKING:
    from gradwire.runtime.interchange.importing.imported import Imported


def classified(model: nn.Module, size: int = 32) -> Imported:
    """The loss of a model of images in training, without dropout."""
    for module in model.modules():
        if isinstance(module, nn.Dropout):
            module.p = 0.0

    def loss(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        return F.cross_entropy(model(x), y)

    return gw.capture(loss, torch.randn(2, 3, size, size), torch.tensor([0, 3]))


@program
def resnet18() -> Imported:
    return classified(models.ResNet(models.resnet.BasicBlock, [1, 1, 1, 1], num_classes=4))


@program
def mobilenet_v2() -> Imported:
    settings = [[1, 8, 1, 1], [6, 12, 2, 2]]
    return classified(models.MobileNetV2(num_classes=4, inverted_residual_setting=settings))


@program
def shufflenet() -> Imported:
    return classified(models.ShuffleNetV2([2, 2, 2], [8, 16, 32, 32, 64], num_classes=4))


@program
def squeezenet() -> Imported:
    return classified(models.squeezenet1_1(num_classes=4), size=64)


@program
def densenet() -> Imported:
    return classified(models.DenseNet(4, (2, 2), 8, num_classes=4))


@program
def vision_transformer() -> Imported:
    return classified(models.VisionTransformer(32, 8, 2, 4, 32, 48, num_classes=4))


@program
def swin_v2() -> Imported:
    block = models.swin_transformer.SwinTransformerBlockV2
    merging = models.swin_transformer.PatchMergingV2
    return classified(models.SwinTransformer([2, 2], 16, [2, 1], [2, 2], [4, 4], num_classes=4,
                                             stochastic_depth_prob=0.0, block=block,
                                             downsample_layer=merging))  # fmt: skip


@program
def convnext() -> Imported:
    settings = [models.convnext.CNBlockConfig(8, 16, 1), models.convnext.CNBlockConfig(16, None, 1)]
    return classified(models.ConvNeXt(settings, num_classes=4))


@program
def max_vit() -> Imported:
    return classified(models.MaxVit((32, 32), 8, 4, [8], [1], 8, 0.0, num_classes=4))


@program
def segmentation_with_dilation() -> Imported:
    backbone = models.resnet18(weights=None)
    body = nn.Sequential(backbone.conv1, backbone.bn1, nn.ReLU(), backbone.layer1)
    head = models.segmentation.deeplabv3.DeepLabHead(64, 3, atrous_rates=(2, 3, 4))
    for module in head.modules():
        if isinstance(module, nn.Dropout):
            module.p = 0.0

    def loss(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        y_ = F.interpolate(head(body(x)), size=x.shape[-2:], mode="bilinear", align_corners=False)
        return F.cross_entropy(y_, y)

    return gw.capture(loss, torch.randn(2, 3, 16, 16), torch.randint(0, 3, (2, 16, 16)))


@program
def feature_pyramid_with_focal_loss() -> Imported:
    first, second = nn.Conv2d(3, 8, 3, 2, 1), nn.Conv2d(8, 16, 3, 2, 1)
    pyramid, head = ops.FeaturePyramidNetwork([8, 16], 8), nn.Conv2d(8, 2, 1)

    def loss(x: torch.Tensor) -> torch.Tensor:
        a = first(x).relu()
        levels = pyramid({"a": a, "b": second(a).relu()})
        found = torch.cat([head(level).flatten() for level in levels.values()])
        return ops.sigmoid_focal_loss(
            found, (torch.arange(len(found)) % 2).float(), reduction="mean"
        )

    return gw.capture(loss, torch.randn(1, 3, 16, 16))


@program
def regions_of_interest() -> Imported:
    body, head = nn.Conv2d(3, 4, 3, padding=1), nn.Linear(16, 4)
    boxes = torch.tensor([[0, 1.0, 1.0, 6.0, 7.0], [0, 2.0, 0.0, 7.5, 5.0]])

    def loss(x: torch.Tensor) -> torch.Tensor:
        found = head(ops.roi_align(body(x), boxes, output_size=2, aligned=True).flatten(1))
        return ops.complete_box_iou_loss(found.cumsum(1).abs(), boxes[:, 1:], reduction="mean")

    return gw.capture(loss, torch.randn(1, 3, 8, 8))


@program
def deformable_convolution() -> Imported:
    offsets = nn.Conv2d(3, 18, 3, padding=1)
    deformed = ops.DeformConv2d(3, 4, 3, padding=1)

    def loss(x: torch.Tensor) -> torch.Tensor:
        return deformed(x, offsets(x)).pow(2).mean()

    return gw.capture(loss, torch.randn(1, 3, 6, 6))


@program
def video_resnet() -> Imported:
    video = models.video.resnet
    model = video.VideoResNet(video.BasicBlock, [video.Conv3DSimple] * 4, [1, 1, 1, 1],
                              video.BasicStem, num_classes=4)  # fmt: skip

    def loss(x: torch.Tensor) -> torch.Tensor:
        return F.cross_entropy(model(x), torch.tensor([1, 2]))

    return gw.capture(loss, torch.randn(2, 3, 4, 16, 16))


@program
def augmented_images() -> Imported:
    model = nn.Sequential(nn.Conv2d(3, 4, 3), nn.ReLU(), nn.AdaptiveAvgPool2d(1), nn.Flatten())
    change = v2.Normalize([0.5] * 3, [0.2] * 3)

    def loss(x: torch.Tensor) -> torch.Tensor:
        y = v2.functional.hflip(change(x))
        return F.cross_entropy(model(y), torch.tensor([1, 2]))

    return gw.capture(loss, torch.rand(2, 3, 8, 8))
