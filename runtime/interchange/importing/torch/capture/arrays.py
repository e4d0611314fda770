"""The numbers of tensors as arrays."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import torch

from gradwire.runtime.interchange.importing.imported import UnsupportedError
from gradwire.runtime.interchange.importing.torch.capture.frames import user_place

if TYPE_CHECKING:
    from numpy.typing import NDArray


_WIDER = {"bfloat16": "float32", "complex64": "float32", "complex128": "float64"}


def dtype_name(dtype: Any) -> str:
    """Our name of a dtype; bfloat16 is computed as float32, of the same range, and complex numbers
    are pairs.
    """
    name = str(dtype).removeprefix("torch.")
    return "float32" if name.startswith("float8") else _WIDER.get(name, name)


def is_plain(tensor: Any) -> bool:
    """Whether a tensor's numbers are real, and all there."""
    return not (
        tensor.layout != torch.strided
        or tensor.is_complex()
        or tensor.is_quantized
        or str(tensor.dtype).startswith("torch.float8")
    )


def encoded(tensor: Any) -> NDArray[Any]:
    """The numbers of any tensor as a plain real array: complex ones as pairs along a last axis."""
    plain = dense(tensor.detach())
    plain = plain.dequantize() if plain.is_quantized else plain
    if plain.is_complex():
        plain = torch.view_as_real(plain.resolve_conj())
    if str(plain.dtype).startswith("torch.float8"):
        plain = plain.float()
    return numbers_of(plain)


def is_transformed() -> bool:
    """Whether torch.func transforms what runs now."""
    return torch._C._functorch.peek_interpreter_stack() is not None


def require_numbers(tensor: Any) -> None:
    """Raise UnsupportedError for what torch.func transforms, which has no numbers of its own."""
    if torch._C._functorch.is_functorch_wrapped_tensor(tensor):
        written = user_place().written
        raise UnsupportedError("torch.func", "what it transforms has no numbers", written=written)


def dense(tensor: Any) -> Any:
    """A tensor with all of its elements."""
    return tensor if tensor.layout == torch.strided else tensor.to_dense()


def numbers_of(tensor: Any) -> NDArray[Any]:
    """A copy of a tensor's numbers."""
    plain = tensor.detach().cpu().resolve_conj().resolve_neg()
    if plain.dtype == torch.bfloat16:
        plain = plain.float()
    if plain.is_complex() or plain.is_sparse or plain.is_quantized:
        raise UnsupportedError("a tensor", f"of {plain.dtype} and layout {plain.layout}")
    return np.array(plain.numpy())
