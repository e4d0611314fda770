"""What annotations call the objects of PyTorch, of programs that are captured, and of files.

PyTorch's own are there for readers and type checkers alone: nothing here imports it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

if TYPE_CHECKING:
    from torch import Tensor as Tensor
    from torch._ops import OpOverload as OpOverload
    from torch.autograd import Function as Function
    from torch.autograd.graph import Node as Node
    from torch.nn import Module as Module
    from torch.optim import Optimizer as Optimizer
    from torch.utils.hooks import RemovableHandle as RemovableHandle

JSON: TypeAlias = Any
"""A value of a JSON text, of which nothing is known yet."""
Record: TypeAlias = Mapping[str, JSON]
"""An object of a JSON text."""
Args: TypeAlias = Sequence[Any]
"""The arguments of a call by position: of a program, a function or an operator."""
Kwargs: TypeAlias = Mapping[str, Any]
"""Those by name."""
Program: TypeAlias = Callable[..., Any]
"""A program of the user's: a module, or a function."""
Call: TypeAlias = Callable[[], Any]
"""A call that is still to be made, with its arguments in it."""
Hook: TypeAlias = Callable[[Any], Any]
"""What a program lets PyTorch call with a gradient."""
Edge: TypeAlias = tuple[int, int]
"""A node of autograd by its identity, and the number of one of its outputs."""
EdgeKey: TypeAlias = Edge | int
"""What a tensor is known by: an edge, or else its own identity."""
Gradients: TypeAlias = "Sequence[Tensor | None]"
"""What comes to the outputs of a node, or is sent to its inputs; None for nothing."""
Reference: TypeAlias = "Callable[[], Tensor | None]"
"""Gives a tensor; None once it is gone."""
