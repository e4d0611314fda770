"""Products of arrays over any axes."""

from __future__ import annotations

from string import ascii_letters
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from gradwire.runtime.interchange.importing.jax.jaxprs import Params
    from gradwire.runtime.interchange.importing.jax.operations.handlers import Whole
    from gradwire.runtime.interchange.importing.stage import Stage
    from gradwire.runtime.interchange.importing.staged import Staged


def dot_general(stage: Stage, params: Params, a: Staged, b: Staged) -> Staged:
    """Sums of products over some axes, for each element of the batch axes."""
    (over_a, over_b), (batch_a, batch_b) = params["dimension_numbers"]
    wanted = params.get("preferred_element_type")
    if not a.is_float and wanted is not None:
        a, b = (stage.cast(x, str(np.dtype(wanted))) for x in (a, b))
    product = _product(stage, a, b, over_a, over_b, batch_a, batch_b)
    if product is not None:
        return product
    subscripts = _subscripts(a.ndim, b.ndim, over_a, over_b, batch_a, batch_b)
    return stage.block("Einsum", a, b, subscripts=subscripts)


def _product(
    stage: Stage,
    a: Staged,
    b: Staged,
    over_a: tuple[int, ...],
    over_b: tuple[int, ...],
    batch_a: tuple[int, ...],
    batch_b: tuple[int, ...],
) -> Staged | None:
    """The MatMul that it is, if it is one."""
    if len(over_a) != 1:
        return None
    count = len(batch_a)
    leading = tuple(range(count))
    plain = tuple(batch_a) == tuple(batch_b) == leading
    if plain and not count and b.ndim == 2 and over_b[0] == 0 and over_a[0] == a.ndim - 1 >= 0:
        return a @ b
    if plain and a.ndim == b.ndim == count + 2:
        left = a if over_a[0] == count + 1 else stage.transpose(a, (*leading, count + 1, count))
        right = b if over_b[0] == count else stage.transpose(b, (*leading, count + 1, count))
        return left @ right
    if not count and a.ndim == b.ndim == 1:
        return a @ b
    return None


def _subscripts(
    rank_a: int,
    rank_b: int,
    over_a: tuple[int, ...],
    over_b: tuple[int, ...],
    batch_a: tuple[int, ...],
    batch_b: tuple[int, ...],
) -> str:
    """As of numpy.einsum: batch axes first, then the free axes of a, then those of b."""
    letters = iter(ascii_letters)
    names_a: dict[int, str] = {}
    names_b: dict[int, str] = {}
    for i, j in zip((*batch_a, *over_a), (*batch_b, *over_b), strict=True):
        names_a[i] = names_b[j] = next(letters)
    batch = "".join(names_a[i] for i in batch_a)
    free_a = [i for i in range(rank_a) if i not in names_a]
    free_b = [j for j in range(rank_b) if j not in names_b]
    names_a |= {i: next(letters) for i in free_a}
    names_b |= {j: next(letters) for j in free_b}
    out = batch + "".join(names_a[i] for i in free_a) + "".join(names_b[j] for j in free_b)
    left = "".join(names_a[i] for i in range(rank_a))
    right = "".join(names_b[j] for j in range(rank_b))
    return f"{left},{right}->{out}"


PRODUCTS: dict[str, Whole] = {"dot_general": dot_general}
