"""Clipping of the gradients of an optimiser, all together."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from gradwire.blocks.values import Array
    from gradwire.runtime.diagram.training import Clip

_ROOM = 1e-6
"""Added to the norm, as PyTorch does."""


def clip_gradients(gradients: Iterable[Array], clip: Clip, norm: float) -> None:
    """Limit gradients in place: each number, or all together by their Euclidean ``norm``.

    Source: Pascanu, Mikolov & Bengio 2013, On the Difficulty of Training Recurrent Neural Networks.
    """
    if clip.by == "value":
        for gradient in gradients:
            np.clip(gradient, -clip.limit, clip.limit, out=gradient)
    elif (factor := min(1.0, clip.limit / (norm + _ROOM))) < 1:
        for gradient in gradients:
            np.multiply(gradient, factor, out=gradient)
