"""What a run has decided that PyTorch promises nobody: what random operators drew, and the order of
equal elements; and a diagram in which random blocks have these numbers.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import torch

from gradwire.blocks.library.pages import Page as PageBlock
from gradwire.blocks.library.sources import Constant
from gradwire.runtime.interchange.importing.torch.capture.arrays import numbers_of
from gradwire.runtime.interchange.importing.torch.operators.products import scale_and_dropped

if TYPE_CHECKING:
    from gradwire.blocks.values import Array
    from gradwire.runtime.diagram.model import Diagram
    from gradwire.runtime.interchange.importing.torch.types import Args, Kwargs, OpOverload, Tensor

_PLAIN = frozenset(
    {"rand", "randn", "rand_like", "randn_like", "randint", "randint_like", "normal", "uniform"}
)
_AROUND = frozenset({"normal.Tensor_Tensor", "normal.Tensor_float", "normal.float_Tensor"})
"""Those with a mean and a deviation, which are blocks of their own."""
_ORDERING = frozenset({"argsort", "sort", "topk"})
"""Those that leave equal elements in any order."""
_DROPOUTS = frozenset(
    {"dropout", "feature_dropout", "alpha_dropout", "feature_alpha_dropout", "native_dropout"}
)


def drawn_by(name: str, args: Args, result: Tensor) -> Array | None:
    """The numbers that the random block of an operator must have had; None where they are lost."""
    numbers = numbers_of(result)
    if name in _AROUND:
        mean, std = (np.asarray(numbers_of(torch.as_tensor(x))) for x in (*args, 1.0)[:2])
        drawn: Array = np.zeros_like(numbers)
        np.divide(numbers - mean, std, out=drawn, where=std != 0, casting="same_kind")
        return drawn
    name = name.partition(".")[0].rstrip("_")
    if name in _PLAIN:
        return numbers
    if name == "bernoulli":  # 1 where the block's number is below the probability
        return 1 - numbers
    if name not in _DROPOUTS:
        return None
    if "alpha" in name:
        lost = scale_and_dropped(float(args[1]))[1] if args[1] < 1 else 0.0
        kept = ~np.isclose(numbers, lost, rtol=1e-4)
    else:
        kept = (numbers != 0) | (numbers_of(args[0]) == 0)
    if name.startswith("feature"):
        kept = np.asarray(kept.all(axis=tuple(range(2, kept.ndim)), keepdims=True))
    return np.where(kept, 1, 0).astype(numbers.dtype)


def with_draws(diagram: Diagram, draws: Mapping[str, Array]) -> Diagram | None:
    """The diagram with constants in place of random blocks, by their paths.

    None where a page is used more than once, and has drawn differently in each.
    """
    pages = dict(diagram.pages)
    put: dict[tuple[str, str], Array] = {}
    for path, numbers in draws.items():
        title, name = _place(diagram, path)
        before = put.setdefault((title, name), numbers)
        if before.shape != numbers.shape or not np.array_equal(before, numbers):
            return None
        page = pages[title]
        constant = Constant(value=numbers, dtype=numbers.dtype.name)
        pages[title] = replace(page, blocks={**page.blocks, name: constant})
    return replace(diagram, pages=pages)


def _place(diagram: Diagram, path: str) -> tuple[str, str]:
    """The page that a block stands on, and its name there."""
    *uses, name = path.split("/")
    title = "main"
    for use in uses:
        block = diagram.pages[title].blocks[use]
        title = block.page if isinstance(block, PageBlock) else title
    return title, name


def order_of_run(
    name: str, operator: OpOverload, args: Args, kwargs: Kwargs, result: Any
) -> Array | None:
    """Where each element of a result stands in the order in which equal elements keep theirs; None
    where that is its order, or for operators that promise one.
    """
    if name not in _ORDERING:
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
