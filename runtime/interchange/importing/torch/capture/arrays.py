"""The numbers of tensors as arrays."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np
import torch

from gradwire.runtime.calculus.measuring import ROW, Measured, added_up, measured, row_weights
from gradwire.runtime.interchange.importing.imported import UnsupportedError
from gradwire.runtime.interchange.importing.torch.capture.frames import user_place

if TYPE_CHECKING:
    from gradwire.blocks.values import Array
    from gradwire.runtime.interchange.importing.torch.types import Tensor


_COPIED = 1 << 20
"""Elements that may be copied to be measured."""
_PLAIN = 1e-12, 1e12
"""Between these largest magnitudes, float32 can add up squares."""
_WEIGHTS = {
    dtype: torch.tensor(row_weights(), dtype=dtype) for dtype in (torch.float32, torch.float64)
}
_WIDER = {"bfloat16": "float32", "complex64": "float32", "complex128": "float64"}


def dtype_name(dtype: torch.dtype) -> str:
    """Our name of a dtype; bfloat16 is computed as float32, of the same range, and complex numbers
    are pairs.
    """
    name = str(dtype).removeprefix("torch.")
    return "float32" if name.startswith("float8") else _WIDER.get(name, name)


def is_plain(tensor: Tensor) -> bool:
    """Whether a tensor's numbers are real, and all there."""
    return not (
        tensor.layout != torch.strided
        or tensor.is_complex()
        or tensor.is_quantized
        or str(tensor.dtype).startswith("torch.float8")
    )


def encoded(tensor: Tensor) -> Array:
    """The numbers of any tensor as a plain real array: complex ones as pairs along a last axis."""
    return np.array(shown(tensor))


def shown(tensor: Tensor) -> Array:
    """The same where the tensor has them, if it can be: what is written to it shows."""
    plain = dense(tensor.detach())
    plain = plain.dequantize() if plain.is_quantized else plain
    if plain.is_complex():
        plain = torch.view_as_real(plain.resolve_conj())
    if str(plain.dtype).startswith("torch.float8"):
        plain = plain.float()
    return _shown(plain)


def is_transformed() -> bool:
    """Whether torch.func transforms what runs now."""
    return torch._C._functorch.peek_interpreter_stack() is not None


def require_numbers(tensor: Tensor) -> None:
    """Raise UnsupportedError for what torch.func transforms, which has no numbers of its own."""
    if torch._C._functorch.is_functorch_wrapped_tensor(tensor):
        written = user_place().written
        raise UnsupportedError("torch.func", "what it transforms has no numbers", written=written)


def dense(tensor: Tensor) -> Tensor:
    """A tensor with all of its elements."""
    return tensor if tensor.layout == torch.strided else tensor.to_dense()


def numbers_of(tensor: Tensor) -> Array:
    """A copy of a tensor's numbers."""
    return np.array(_shown(tensor))


def _shown(tensor: Tensor) -> Array:
    if tensor.is_meta:
        why = "it has no numbers; capture(structure=True) needs none"
        raise UnsupportedError("a tensor on the meta device", why, written=user_place().written)
    plain = tensor.detach().cpu().resolve_conj().resolve_neg()
    if plain.dtype == torch.bfloat16:
        plain = plain.float()
    if plain.is_complex() or plain.is_sparse or plain.is_quantized:
        raise UnsupportedError("a tensor", f"of {plain.dtype} and layout {plain.layout}")
    array: Array = plain.numpy()
    return array


def in_short(tensor: Tensor) -> Measured:
    """What ``measured`` says of a tensor's numbers; large ones are measured where they are."""
    plain = tensor.detach()
    is_simple = plain.layout == torch.strided and plain.dtype in _WEIGHTS and not plain.is_neg()
    if not is_simple or plain.device.type != "cpu" or plain.numel() < ROW:
        return measured(shown(plain))
    low, high = torch.aminmax(plain)
    peak = float(torch.maximum(high, -low))
    if not peak:
        return Measured(plain.numel(), 0.0, 0.0, (0, 0, 0))
    if not _PLAIN[0] < peak < _PLAIN[1]:
        return measured(shown(plain))
    if plain.numel() > _COPIED and not plain.is_contiguous():
        return Measured(plain.numel(), _size(plain), math.nan, (0, 0, 0))
    flat, weights = plain.reshape(-1), _WEIGHTS[plain.dtype]
    end = flat.numel() // ROW * ROW
    whole, rest = flat[:end].view(-1, ROW), flat[end:]
    rows = np.append((whole @ weights).numpy(), float(rest @ weights[: rest.numel()]))
    return Measured(flat.numel(), _size(whole, rest), added_up(rows), (0, 0, 0))


def _size(*parts: Tensor) -> float:
    """The root mean square of tensors together, added up by rows so that rounding stays small."""
    norms = [torch.linalg.vector_norm(part, dim=-1).double() for part in parts if part.numel()]
    squares = sum(float(norm.square().sum()) for norm in norms)
    return math.sqrt(squares / sum(part.numel() for part in parts))


def divided(numbers: Array, scale: float) -> Array:
    """Gradients without a factor of the loss."""
    if scale == 1:
        return numbers
    with np.errstate(all="ignore"):  # an overflow is what a GradScaler is there for
        quotient: Array = np.divide(numbers, scale, dtype=numbers.dtype)
    return quotient


def numbers_or_zeros(tensor: Tensor) -> Array:
    """The numbers of a tensor; zeros in place of what it has none of."""
    if tensor.is_meta:
        return np.zeros(tuple(tensor.shape), dtype_name(tensor.dtype))
    return encoded(tensor)
