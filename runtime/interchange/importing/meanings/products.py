"""Sums of products, linear systems and attention."""

from __future__ import annotations

import string
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from gradwire.runtime.interchange.importing.imported import UnsupportedError
from gradwire.runtime.interchange.importing.meanings.shapes import swap
from gradwire.runtime.interchange.importing.staged import put

if TYPE_CHECKING:
    from gradwire.runtime.interchange.importing.staged import Staged

Axes: TypeAlias = "tuple[Sequence[int], Sequence[int]]"
"""Axes of one value, and of another one those that go with them."""


def einsum(equation: str, values: Sequence[Staged]) -> Staged:
    """Letters for the axes of an ellipsis; a letter twice in a term takes the diagonal."""
    equation = equation.replace(" ", "")
    left, arrow, right = equation.partition("->")
    terms, values = left.split(","), list(values)
    if len(terms) != len(values):
        raise UnsupportedError("Einsum", f"{len(terms)} terms for {len(values)} inputs")
    if not arrow:
        once = sorted(c for c in set(left) - set(",.") if left.count(c) == 1)
        right = ("..." if "..." in left else "") + "".join(once)
    spans = [x.ndim - len(t.replace("...", "")) for t, x in zip(terms, values, strict=True)]
    most = max((n for n, t in zip(spans, terms, strict=True) if "..." in t), default=0)
    dots = "".join([c for c in string.ascii_letters if c not in equation][: max(most, 0)])
    for i, (term, span) in enumerate(zip(terms, spans, strict=True)):
        named = term.replace("...", dots[len(dots) - span :] if span > 0 else "")
        terms[i], values[i] = _without_repeats(named, values[i])
    subscripts = ",".join(terms) + "->" + right.replace("...", dots)
    return values[0].stage.block("Einsum", *values, subscripts=subscripts)


def _without_repeats(term: str, x: Staged) -> tuple[str, Staged]:
    """A term in which each letter stands once, and the diagonals of ``x`` that it names."""
    for letter in dict.fromkeys(term):
        while term.count(letter) > 1:
            first = term.index(letter)
            second = term.index(letter, first + 1)
            shape = [1] * x.ndim
            shape[first] = shape[second] = x.shape[first]
            mask = x.stage.constant(np.eye(x.shape[first], dtype=bool).reshape(shape))
            x = put("Sum", put("Where", mask, x, x.like(0)), axis=second)
            term = term[:second] + term[second + 1 :]
    return term, x


def contract(a: Staged, b: Staged, over: Axes, batch: Axes = ((), ())) -> Staged:
    """Sums of products over axes, for each element of the batch: its axes, those of a, of b."""
    count = len(batch[0])
    if len(over[0]) == 1 and tuple(batch[0]) == tuple(batch[1]) == tuple(range(count)):
        (i,), (j,) = over
        if not count and ((b.ndim == 2 and j == 0 and i == a.ndim - 1) or a.ndim == b.ndim == 1):
            return a @ b
        if a.ndim == b.ndim == count + 2:
            a = a if i == count + 1 else swap(a, -2, -1)
            return a @ (b if j == count else swap(b, -2, -1))
    letters = iter(string.ascii_letters)
    names: tuple[dict[int, str], dict[int, str]] = ({}, {})
    for i, j in zip((*batch[0], *over[0]), (*batch[1], *over[1]), strict=True):
        names[0][i] = names[1][j] = next(letters)
    out = "".join(names[0][i] for i in batch[0])
    for own, x in zip(names, (a, b), strict=True):
        free = {axis: next(letters) for axis in range(x.ndim) if axis not in own}
        own |= free
        out += "".join(free.values())
    left, right = ("".join(own[axis] for axis in sorted(own)) for own in names)
    return put("Einsum", a, b, subscripts=f"{left},{right}->{out}")


def solve(a: Staged, b: Staged) -> Staged:
    """The x of ``a @ x = b``; rows of b are vectors where they are as many as those of a."""
    if b.ndim != 1 and b.shape != a.shape[:-1]:
        return put("Solve", a, b)
    columns = put("Solve", a, b.stage.reshape(b, (*b.shape, 1)))
    return b.stage.reshape(columns, columns.shape[:-1])


def solve_right(a: Staged, b: Staged) -> Staged:
    """The x of ``x @ a = b``."""
    return swap(put("Solve", swap(a, -2, -1), swap(b, -2, -1)), -2, -1)


def triangular_solve(
    a: Staged,
    b: Staged,
    upper: bool,
    left: bool = True,
    transpose: bool = False,
    unitriangular: bool = False,
) -> Staged:
    """The x of ``a @ x = b`` or ``x @ a = b``, with one triangle of a, or with that turned."""
    offset = 0 if not unitriangular else 1 if upper else -1
    kept = put("Triangle", a, part="upper" if upper else "lower", offset=offset)
    if unitriangular:  # the diagonal counts as ones
        kept = kept + a.stage.constant(np.eye(a.shape[-1], dtype=a.dtype))
    kept = swap(kept, -2, -1) if transpose else kept
    return put("Solve", kept, b) if left else solve_right(kept, b)


def by_head(x: Staged, heads: int) -> Staged:
    """(batch, steps, heads * size) as (batch, heads, steps, size)."""
    batch, steps, width = x.shape
    split = x.stage.reshape(x, (batch, steps, heads, width // heads))
    return x.stage.transpose(split, (0, 2, 1, 3))


def attention(
    query: Staged,
    key: Staged,
    value: Staged,
    mask: Staged | None = None,
    causal: bool = False,
    scale: float | None = None,
    dropped: Callable[[Staged], Staged] | None = None,
) -> Staged:
    """``softmax(query @ key.T * scale + mask) @ value``; in parts where weights are dropped."""
    if dropped is None and not (causal and mask is not None):
        return put("Attention", query, key, value, mask, causal=causal, scale=scale)
    by = query.shape[-1] ** -0.5 if scale is None else scale
    scores = (query @ swap(key, -2, -1)) * by
    if causal:
        mask = query.stage.constant(np.tri(query.shape[-2], key.shape[-2], dtype=bool))
    if mask is not None and mask.dtype == "bool":
        scores = put("Where", mask, scores, scores.like(-np.inf))
    elif mask is not None:
        scores = scores + mask
    weights = put("Softmax", scores, axis=-1)
    return (weights if dropped is None else dropped(weights)) @ value
