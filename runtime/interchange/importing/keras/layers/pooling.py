"""Pooling, padding, cropping and enlarging of images and sequences."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

from gradwire.runtime.interchange.importing.keras.layers.convolution import image, result
from gradwire.runtime.interchange.importing.meanings import windows
from gradwire.runtime.interchange.importing.staged import put

if TYPE_CHECKING:
    from gradwire.runtime.interchange.importing.keras.call import LayerCall, Operator
    from gradwire.runtime.interchange.importing.staged import Staged

_MODES = {"nearest": "nearest", "bilinear": "linear"}


def _pooling(kind: str, rank: int, call: LayerCall) -> Staged:
    has_strides = call.config.json("strides") is not None
    y = windows.pool(
        kind, image(call, rank), call.config.wholes("pool_size", rank),
        call.config.wholes("strides", rank) if has_strides else None,
        call.config.text("padding", "valid"), count_include_pad=False,
    )  # fmt: skip
    return result(call, y)


def _global(kind: str, rank: int, call: LayerCall) -> Staged:
    keepdims = call.config.flag("keepdims", False)
    y = windows.pool_everywhere(kind, image(call, rank), keepdims)
    return result(call, y) if keepdims else y


def _pairs(call: LayerCall, key: str, rank: int) -> list[tuple[int, int]]:
    """Two lengths for each spatial axis, given as one number, one for each axis, or pairs."""
    given: Any = call.config.json(key)
    parts = given if isinstance(given, list) else [given] * (rank if rank > 1 else 2)
    if rank == 1:
        parts = [parts]
    found = [part if isinstance(part, list) else [part, part] for part in parts]
    if len(found) != rank or not all(
        len(pair) == 2 and all(type(n) is int and 0 <= n < 2**31 for n in pair) for pair in found
    ):
        raise call.unsupported(f"its {key} is {str(given)[:80]}")
    return [(pair[0], pair[1]) for pair in found]


def _padding(rank: int, call: LayerCall) -> Staged:
    pairs = _pairs(call, "padding", rank)
    y = put("Pad", image(call, rank), widths=((0, 0), (0, 0), *pairs))
    return result(call, y)


def _cropping(rank: int, call: LayerCall) -> Staged:
    x = image(call, rank)
    for axis, (before, after) in enumerate(_pairs(call, "cropping", rank), 2):
        x = call.stage.cut(x, axis, before, x.shape[axis] - after)
    return result(call, x)


def _enlarged(call: LayerCall) -> Staged:
    """Every pixel repeated, or what lies between them interpolated."""
    x, size = image(call, 2), call.config.wholes("size", 2)
    mode = call.config.text("interpolation", "nearest")
    if mode not in _MODES:
        raise call.unsupported(f"its interpolation is {mode[:20]!r}")
    sizes = tuple(n * times for n, times in zip(x.shape[2:], size, strict=True))
    y = put("Resize", x, mode=_MODES[mode], sizes=sizes, axes=(2, 3), rounding="round_prefer_ceil")
    return result(call, y)


LAYERS: dict[str, Operator] = {"UpSampling2D": _enlarged}
for _rank in (1, 2, 3):
    LAYERS |= {
        f"MaxPooling{_rank}D": partial(_pooling, "Max", _rank),
        f"AveragePooling{_rank}D": partial(_pooling, "Avg", _rank),
        f"GlobalMaxPooling{_rank}D": partial(_global, "Max", _rank),
        f"GlobalAveragePooling{_rank}D": partial(_global, "Mean", _rank),
        f"ZeroPadding{_rank}D": partial(_padding, _rank),
        f"Cropping{_rank}D": partial(_cropping, _rank),
    }
