"""Questions about what is frozen, and about modes in which gradient is off."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch
from torch import nn
from torch.nn import functional as F
from torch.utils.checkpoint import checkpoint

import gradwire as gw
from tests.truth.cases import case

if TYPE_CHECKING:
    from gradwire.runtime.interchange.importing.imported import Imported


@case(
    "None of the inputs have requires_grad=True. Gradients will be None",
    "a reentrant checkpoint passes gradient only where one of its inputs needs it",
    "checkpoint",
    "use_reentrant=False",
    at="out = checkpoint(stem",
    address="https://github.com/Lyken17/pytorch-memonger/issues/4",
    never=("Nothing wrong",),
)
def a_checkpoint_over_the_input() -> Imported:
    stem, head = nn.Linear(3, 3), nn.Linear(3, 1)

    def loss(image: torch.Tensor) -> torch.Tensor:
        out = checkpoint(stem, image, use_reentrant=True)
        return head(out).pow(2).mean()

    return gw.capture(loss, torch.ones(2, 3))


@case(
    "with gradient checkpointing, lora_A and lora_B get no gradient",
    "the embeddings are frozen, so that no input of the reentrant checkpoint needs gradient",
    "use_reentrant=False",
    "enable_input_require_grads()",
    at="h = checkpoint(block",
    address="https://github.com/microsoft/LoRA/issues/120",
    never=("Nothing wrong",),
)
def adapters_in_a_checkpoint() -> Imported:
    class Adapted(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.base = nn.Linear(4, 4).requires_grad_(False)
            self.lora_A, self.lora_B = nn.Linear(4, 1, bias=False), nn.Linear(1, 4, bias=False)

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return self.base(x) + self.lora_B(self.lora_A(x))

    embed = nn.Embedding(5, 4).requires_grad_(False)
    block, head = Adapted(), nn.Linear(4, 5)

    def loss(tokens: torch.Tensor) -> torch.Tensor:
        h = checkpoint(block, embed(tokens), use_reentrant=True)
        return F.cross_entropy(head(h), tokens)

    return gw.capture(loss, torch.tensor([1, 3]))


@case(
    "the last layer is trained although its requires_grad was set to False",
    "requires_grad of a module is an attribute without meaning; parameters have their own",
    "outc.requires_grad",
    "requires_grad_(False)",
    address="https://github.com/CSCYQJ/MICCAI23-ProtoContra-SFDA/issues/18",
    about=("outc.weight",),
)
def a_module_frozen_by_an_attribute() -> Imported:
    class Net(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.inc, self.outc = nn.Linear(3, 3), nn.Linear(3, 2)

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return self.outc(torch.relu(self.inc(x))).pow(2).mean()

    net = Net()
    net.outc.requires_grad = False  # type: ignore[assignment]  # the mistake
    return gw.capture(net, torch.ones(2, 3))


@case(
    "are the features frozen by param.require_grad = False",
    "the attribute is called requires_grad; another name is accepted and does nothing",
    "require_grad",
    "requires_grad_(False)",
    address="https://github.com/udacity/deep-learning-v2-pytorch/issues/12",
    about=("features.weight",),
)
def parameters_frozen_by_another_name() -> Imported:
    class Classifier(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.features, self.classifier = nn.Linear(4, 4), nn.Linear(4, 2)

        def forward(self, x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
            return F.cross_entropy(self.classifier(torch.relu(self.features(x))), y)

    model = Classifier()
    for parameter in model.features.parameters():
        parameter.require_grad = False  # type: ignore[attr-defined]  # the mistake
    return gw.capture(model, torch.eye(2, 4), torch.tensor([0, 1]))


@case(
    "backward() raises after backbone and head were frozen",
    "nothing that is left requires gradient",
    "Nothing is trained: all 4 variables are frozen",
    "requires_grad_()",
    address="https://github.com/open-mmlab/mmdetection/issues/3667",
    never=("Nothing wrong",),
)
def everything_frozen() -> Imported:
    class Detector(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.backbone, self.bbox_head = nn.Linear(3, 3), nn.Linear(3, 4)

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return F.smooth_l1_loss(self.bbox_head(self.backbone(x)), torch.ones(2, 4))

    detector = Detector()
    for part in (detector.backbone, detector.bbox_head):
        for parameter in part.parameters():
            parameter.requires_grad = False
    return gw.capture(detector, torch.ones(2, 3))


@case(
    "does train(False) or eval() turn off gradients",
    "it changes layers such as Dropout and BatchNorm; gradient is computed as before",
    "every trained variable gets a gradient",
    address="https://github.com/pytorch/tutorials/issues/1756",
    never=("No gradient", "frozen"),
)
def gradient_in_evaluation() -> Imported:
    model = nn.Sequential(nn.Linear(3, 3), nn.BatchNorm1d(3), nn.Dropout(0.5), nn.Linear(3, 1))
    model.eval()

    def loss(x: torch.Tensor) -> torch.Tensor:
        return model(x).pow(2).mean()

    return gw.capture(loss, torch.eye(3))


@case(
    "fine-tuning raises: does not require grad and does not have a grad_fn",
    "the features are computed under no_grad, and only the backbone has parameters",
    "no_grad",
    "Without no_grad",
    at="with torch.no_grad():",
    address="https://github.com/sicara/easy-few-shot-learning/issues/40",
    never=("Nothing wrong",),
)
def features_without_gradient() -> Imported:
    backbone = nn.Linear(4, 3)

    def features_of(images: torch.Tensor) -> torch.Tensor:
        with torch.no_grad():
            return backbone(images)

    def loss(support: torch.Tensor, queries: torch.Tensor, labels: torch.Tensor) -> torch.Tensor:
        scores = -torch.cdist(features_of(queries), features_of(support))
        return F.cross_entropy(scores, labels)

    return gw.capture(loss, torch.eye(2, 4), torch.ones(2, 4), torch.tensor([0, 1]))


@case(
    "a layer in eval mode gives its input no gradient",
    "the layer turns gradient off unless it is in training mode, which is another thing",
    "set_grad_enabled",
    "Without layer/set_grad_enabled",
    at="with torch.set_grad_enabled(self.training):",
    address="https://github.com/NVIDIA/TransformerEngine/pull/72",
    never=("Nothing wrong",),
)
def gradient_by_the_mode_of_a_layer() -> Imported:
    class Layer(nn.Linear):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            with torch.set_grad_enabled(self.training):
                return super().forward(x)

    layer = Layer(2, 2).eval()
    x = torch.ones(2, 2, requires_grad=True)

    def mean(x: torch.Tensor) -> torch.Tensor:
        return layer(x).mean()

    return gw.capture(mean, x)
