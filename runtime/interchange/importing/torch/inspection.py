"""What PyTorch says of its operators and tensors."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import torch

from gradwire.runtime.interchange.importing.torch.nested import each
from gradwire.runtime.interchange.importing.torch.operators.families import find
from gradwire.runtime.interchange.importing.torch.performing import HANDLED

if TYPE_CHECKING:
    from gradwire.runtime.interchange.importing.torch.types import (
        Args,
        Kwargs,
        Node,
        OpOverload,
        Tensor,
    )

_EQUAL = (
    "What comes back through its vectors is divided by differences of {0}: it is not finite where "
    "some are equal, as several zeros are. Let the loss read the {0} alone, or what doesn't depend "
    "on the choice of vectors, or keep them apart by adding a little to the input."
)
CAVEATS = {
    "_linalg_svd": _EQUAL.format("singular values"),
    **dict.fromkeys(("_linalg_eigh", "linalg_eig"), _EQUAL.format("eigenvalues")),
}
"""What is said besides of operators whose gradient is not finite everywhere."""


def name_of(operator: OpOverload) -> str:
    """What an operator is called, ``add.Tensor``; with its library where that is not ATen."""
    space, _, name = operator._schema.name.partition("::")
    overload = operator._overloadname
    base = name if space == "aten" else f"{space}::{name}"
    return base if overload in ("", "default") else f"{base}.{overload}"


def is_leaf(tensor: Tensor) -> bool | None:
    """Whether a tensor is a leaf; None for one that PyTorch lets nobody differentiate."""
    try:
        return bool(tensor.is_leaf)
    except RuntimeError:
        return None


def node_of(tensor: Tensor) -> Node | None:
    """The node that made a tensor; None for a leaf, and where PyTorch lets nobody differentiate."""
    try:
        return tensor.grad_fn
    except RuntimeError:
        return None


def has_rule(name: str) -> bool:
    """Whether blocks are known for an operator, or for the one that it does in place."""
    base, _, overload = name.partition(".")
    return bool(find(name) or find(f"{base.rstrip('_')}.{overload}") or base in HANDLED)


def is_composite(operator: OpOverload) -> bool:
    """Whether blocks are known only for the operators that this one consists of."""
    name = name_of(operator)
    if name == "narrow.Tensor":  # begins at a number that the run computes
        return True
    if find(name) or find(name.rstrip("_")) or name.partition(".")[0] in HANDLED:
        return False
    key = torch._C.DispatchKey.CompositeImplicitAutograd
    has: bool = torch._C._dispatch_has_kernel_for_dispatch_key(operator.name(), key)
    return has


def base_of(tensor: Tensor) -> Tensor:
    """The tensor that one is a view of, as autograd has it; by default itself."""
    return tensor._base if tensor._is_view() else tensor


def lies_like(a: Tensor, b: Tensor) -> bool:
    """Whether the elements of two tensors of one memory have the same places in it."""
    of_a = a.shape, a.stride(), a.storage_offset()
    return bool(of_a == (b.shape, b.stride(), b.storage_offset()))


def memory_of(tensor: Tensor) -> int:
    """Where the numbers of a tensor begin in memory; 0 for one that has none."""
    if tensor.layout != torch.strided or not tensor.numel():
        return 0
    storage = tensor.untyped_storage()
    place: int = storage._cdata if tensor.is_meta else storage.data_ptr()
    return place


def written_to(operator: OpOverload, args: Args, kwargs: Kwargs) -> list[Tensor]:
    """The tensors among its arguments that an operator writes to, as its schema has it."""
    declared = operator._schema.arguments
    given = {x.name: value for x, value in zip(declared, args, strict=False)} | dict(kwargs)
    written = [given.get(x.name) for x in declared if x.is_write]
    return tensors_in(written)


def tensors_in(nested: object) -> list[Tensor]:
    """The tensors among arguments or results, in order."""
    return [x for x in each(nested) if isinstance(x, torch.Tensor)]


def nodes_behind(root: Node | None) -> Iterator[Node]:
    """The nodes of autograd's graph that gradient at one of them may come to, itself the first."""
    pending, seen = [root], set[object]()
    while pending:
        node = pending.pop()
        if node is not None and node not in seen:
            seen.add(node)
            yield node
            pending += [before for before, _ in node.next_functions]
