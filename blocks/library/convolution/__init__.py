"""Signals, images and volumes: convolution and pooling; channels come first (N, C, …)."""

from blocks.library.convolution.convolutions import Conv1D, Conv2D, Conv3D
from blocks.library.convolution.pooling import (
    AvgPool1D,
    AvgPool2D,
    AvgPool3D,
    MaxPool1D,
    MaxPool2D,
    MaxPool3D,
)
from blocks.library.convolution.transposed import (
    ConvTranspose1D,
    ConvTranspose2D,
    ConvTranspose3D,
)

__all__ = [
    "AvgPool1D",
    "AvgPool2D",
    "AvgPool3D",
    "Conv1D",
    "Conv2D",
    "Conv3D",
    "ConvTranspose1D",
    "ConvTranspose2D",
    "ConvTranspose3D",
    "MaxPool1D",
    "MaxPool2D",
    "MaxPool3D",
]
