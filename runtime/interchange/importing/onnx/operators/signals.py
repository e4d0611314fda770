"""Fourier transforms, as products with constant matrices."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from gradwire.runtime.interchange.importing.meanings.shapes import move, pad
from gradwire.runtime.interchange.importing.onnx.operators.node import (
    OperatorNode,
    require_small,
    rule,
)

if TYPE_CHECKING:
    from gradwire.blocks.values import Array
    from gradwire.runtime.interchange.importing.staged import Staged

MAX_LENGTH = 4096
"""Elements that are transformed together, by a matrix."""


@rule("DFT")
def _dft(node: OperatorNode) -> Staged:
    """Complex numbers are pairs along the last axis."""
    x = node.x()
    axis = node.known_integer(2, -2) if node.opset >= 20 else node.integer("axis", 1)
    axis %= x.ndim
    inverse, one_sided = bool(node.integer("inverse")), bool(node.integer("onesided"))
    half = inverse and one_sided
    length = node.known_integer(1, 2 * (x.shape[axis] - 1) if half else x.shape[axis])
    _require_matrix(node, length)
    if half:
        return _real(x, axis, length)
    widths = [(0, length - n if i == axis else 0) for i, n in enumerate(x.shape)]
    return _transformed(pad(x, widths), axis, _matrix(length, inverse, one_sided))


def _require_matrix(node: OperatorNode, length: int) -> None:
    if not 0 < length <= MAX_LENGTH:
        raise node.unsupported(f"a transform of {length} elements is too large")


def _real(x: Staged, axis: int, length: int) -> Staged:
    """The real numbers, along a last axis of 1, whose spectrum has this as its first half."""
    used = min(length // 2 + 1, x.shape[axis])
    x = x.stage.cut(x, axis, 0, used)
    twice = np.where((np.arange(used) % (length / 2)) == 0, 1.0, 2.0)
    matrix = _matrix(length, inverse=True, one_sided=False)[:used] * twice[:, None]
    whole = _transformed(x, axis, matrix)
    return x.stage.cut(whole, -1, 0, 1)


def _matrix(length: int, inverse: bool, one_sided: bool) -> Array:
    """The matrix of a discrete Fourier transform, (time, frequency)."""
    frequencies = length // 2 + 1 if one_sided else length
    turns = np.outer(np.arange(length), np.arange(frequencies)) % length / length
    matrix: Array = np.exp((2j if inverse else -2j) * np.pi * turns)
    return matrix / length if inverse else matrix


def _transformed(x: Staged, axis: int, matrix: Array) -> Staged:
    """The product of complex numbers with a complex matrix along an axis before the last."""
    stage, (before, after), moved = x.stage, matrix.shape, move(x, axis, -2)
    outer, parts = moved.shape[:-2], moved.shape[-1]
    of_real, of_imaginary = (np.stack([y.real, y.imag], -1) for y in (matrix, 1j * matrix))
    table = np.stack([of_real, of_imaginary][:parts], 1).reshape(before * parts, after * 2)
    flat = stage.reshape(moved, (*outer, before * parts))
    y = stage.reshape(flat @ stage.constant(table.astype(x.dtype)), (*outer, after, 2))
    return move(y, -2, axis)


@rule("STFT")
def _stft(node: OperatorNode) -> Staged:
    """The transform of frames, each ``step`` after the one before, times a window."""
    x, stage, step = node.x(), node.stage, node.known_integer(1)
    window = node.get(2)
    length = node.known_integer(3, window.shape[0] if window is not None else x.shape[1])
    count = (x.shape[1] - length) // step + 1 if step > 0 else 0
    if count < 1:
        raise node.unsupported("the signal is shorter than a frame")
    places = np.arange(length) + step * np.arange(count)[:, None]
    _require_matrix(node, length)
    if x.ndim == 2:
        x = stage.reshape(x, (*x.shape, 1))
    frames = stage.block("Gather", x, stage.constant(places.astype(np.int64)), axis=1)
    if window is not None:
        if window.shape[0] != length:
            raise node.unsupported("a window of another length than the frames")
        frames = frames * stage.reshape(window, (length, 1))
    one_sided = bool(node.integer("onesided", 1))
    return _transformed(frames, 2, _matrix(length, False, one_sided))


@rule("MelWeightMatrix")
def _mel_weights(node: OperatorNode) -> Staged:
    """Triangles evenly spread over the mel scale, (spectrogram, mel)."""
    bins, length, rate = (node.known_integer(i) for i in range(3))
    low, high = (float(node.known(i).item()) for i in (3, 4))
    spectrum, _ = require_small(node, (length // 2 + 1, max(bins, 0)))
    edges = _mel(low) + np.arange(bins + 2) * (_mel(high) - _mel(low)) / (bins + 2)
    hertz = 700 * (10 ** (edges / 2595) - 1)
    places = np.floor((length + 1) * hertz / rate).astype(np.int64)
    left, centre, right = places[:-2], places[1:-1], places[2:]
    at = np.arange(spectrum)[:, None]
    rising = (at - left) / np.maximum(centre - left, 1)
    falling = (right - at) / np.maximum(right - centre, 1)
    weights = np.where(at == centre, 1, np.maximum(np.minimum(rising, falling), 0))
    dtype = node.dtype("output_datatype", "float32")
    return node.stage.constant(weights.astype(dtype))


def _mel(hertz: float) -> float:
    return float(2595 * np.log10(1 + hertz / 700))
