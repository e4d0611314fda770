"""The order in which PyTorch leaves equal elements where it promises none."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from gradwire.blocks.values import Array

_LEFT_OPEN = frozenset({"argsort", "sort", "topk"})


def order_of_run(
    name: str, operator: Any, args: Sequence[Any], kwargs: Mapping[str, Any], result: Any
) -> Array | None:
    """Where each element of a result stands in the order in which equal elements keep theirs; None
    where that is its order, or for operators that promise one.
    """
    if name not in _LEFT_OPEN:
        return None
    given: dict[str, Any] = {
        argument.name: args[place] if place < len(args) else kwargs.get(argument.name)
        for place, argument in enumerate(operator._schema.arguments)
    }
    x, dim = given["self"], -1 if given.get("dim") is None else given["dim"]
    if not x.ndim or x.is_meta:
        return None
    is_falling = given.get("largest") is not False if name == "topk" else given.get("descending")
    places = result if name == "argsort" else result[1]
    kept = torch.argsort(x.detach(), dim=dim, descending=bool(is_falling), stable=True)
    order = torch.argsort(kept, dim=dim).gather(dim, places)
    count = places.shape[dim]
    plain = torch.arange(count).view(*[-1 if a == dim % x.ndim else 1 for a in range(x.ndim)])
    if torch.equal(order.cpu(), plain.expand(places.shape)) or bool((order >= count).any()):
        return None
    found: Array = order.cpu().numpy()
    return found
