"""After each test PyTorch is as it was before."""

from __future__ import annotations

import sys
from collections.abc import Iterator

import pytest


@pytest.fixture(autouse=True)
def nothing_is_left() -> Iterator[None]:
    """No mode is on, and ``torch.compile`` is PyTorch's."""
    yield
    torch = sys.modules.get("torch")
    if torch is not None:
        assert torch._C._len_torch_function_stack() == 0
        assert torch._C._len_torch_dispatch_stack() == 0
        assert not hasattr(torch.compile, "__wrapped__")
