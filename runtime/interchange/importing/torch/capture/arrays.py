"""The numbers of tensors as arrays."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import torch

from gradwire.runtime.interchange.importing.imported import UnsupportedError
from gradwire.runtime.interchange.importing.torch.capture.frames import user_place

if TYPE_CHECKING:
    from numpy.typing import NDArray


def dtype_name(dtype: Any) -> str:
    """Our name of a dtype; bfloat16 is computed as float32, of the same range."""
    name = str(dtype).removeprefix("torch.")
    return "float32" if name == "bfloat16" else name


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
