"""Matrix products and contractions."""

from __future__ import annotations

import math
import string
from typing import TYPE_CHECKING

import numpy as np

from gradwire.blocks.errors import ShapeError, TraceError
from gradwire.runtime.calculus.primitives.base import BaseOps, broadcast_shapes
from gradwire.runtime.calculus.spelling import Spelling
from gradwire.runtime.calculus.value import Primitive, Value

if TYPE_CHECKING:
    from gradwire.blocks.block import Shape
    from gradwire.blocks.values import Array
    from gradwire.runtime.calculus.namespace import Namespace
    from gradwire.runtime.calculus.value import Operand

_LETTERS = frozenset(string.ascii_letters)


def _matmul_infer(a: Value, b: Value) -> tuple[Shape, str]:
    batch = broadcast_shapes(a.shape[:-2], b.shape[:-2])
    return (*batch, a.shape[-2], b.shape[-1]), a.dtype


def _matrix_transpose(xp: Namespace, x: Value) -> Value:
    return xp.permute_dims(x, (*range(x.ndim - 2), x.ndim - 1, x.ndim - 2))


def _parse(subscripts: str, ranks: list[int]) -> tuple[list[str], str]:
    """Input terms and output term; raises TraceError for unsupported subscripts."""
    left, arrow, output = subscripts.replace(" ", "").partition("->")
    terms = left.split(",")
    if not arrow:
        letters = sorted(set(left) - {","})
        output = "".join(c for c in letters if left.count(c) == 1)

    def refuse(why: str) -> TraceError:
        return TraceError(
            f"einsum {subscripts!r}: {why}.",
            expected="one letter for each dimension, such as 'bij,bjk->bik'",
        )

    if len(terms) != len(ranks):
        raise refuse(f"{len(terms)} terms for {len(ranks)} arrays")
    for term, rank in zip(terms, ranks, strict=True):
        if len(set(term)) != len(term):
            raise refuse(f"a letter occurs twice in {term!r}")
        if len(term) != rank:
            raise refuse(f"term {term!r} for an array of rank {rank}")
    if not _LETTERS.issuperset("".join(terms) + output):
        raise refuse("only letters are allowed")
    if len(set(output)) != len(output) or set(output) - set("".join(terms)):
        raise refuse(f"output {output!r} must consist of input letters, each once")
    return terms, output


def _einsum_infer(*inputs: Value, terms: tuple[str, ...], output: str) -> tuple[Shape, str]:
    lengths: dict[str, int] = {}
    for term, x in zip(terms, inputs, strict=True):
        for letter, length in zip(term, x.shape, strict=True):
            if lengths.setdefault(letter, length) != length:
                raise ShapeError(
                    f"einsum: index {letter!r} has lengths {lengths[letter]} and {length}."
                )
    return tuple(lengths[c] for c in output), inputs[0].dtype


def _einsum_kernel(*arrays: Array, out: Array, terms: tuple[str, ...], output: str) -> None:
    np.einsum(f"{','.join(terms)}->{output}", *arrays, out=out, optimize=True)


def _einsum_rule(
    xp: Namespace,
    g: Value,
    out: Value,
    slot: int,
    inputs: tuple[Value, ...],
    *,
    terms: tuple[str, ...],
    output: str,
) -> Value:
    """The gradient contracted with the other operands; a letter that only this operand has was
    summed away, so its gradient is repeated along it.
    """
    others = [i for i in range(len(inputs)) if i != slot]
    seen = set(output).union(*(terms[i] for i in others))
    reached = "".join(c for c in terms[slot] if c in seen)
    parts = [output, *(terms[i] for i in others)]
    back = xp.einsum(f"{','.join(parts)}->{reached}", g, *(inputs[i] for i in others))
    shape = inputs[slot].shape
    kept = tuple(n if c in seen else 1 for c, n in zip(terms[slot], shape, strict=True))
    return xp.broadcast_to(xp.reshape(back, kept), shape)


MATMUL = Primitive(
    "matmul",
    _matmul_infer,
    np.matmul,
    (
        lambda xp, g, out, a, b: g @ _matrix_transpose(xp, b),
        lambda xp, g, out, a, b: _matrix_transpose(xp, a) @ g,
    ),
    spelling=Spelling(
        "a @ b",
        "a @ b",
        "a @ b",
        latex=(r"a:product\, b:product", "product"),
        plain=("a:product @ b:power", "product"),
    ),
)
EINSUM = Primitive("einsum", _einsum_infer, _einsum_kernel, (_einsum_rule,), variadic=True)


class LinearOps(BaseOps):
    """Matrix products and einsum."""

    __slots__ = ()

    def matmul(self, a: Operand, b: Operand) -> Value:
        """Matrix product over the last two axes; others broadcast.

        A vector is a row on the left and a column on the right, and that axis is removed.
        """
        a, b = self.asarray(a), self.asarray(b)
        if not a.ndim or not b.ndim:
            raise ShapeError(
                f"matmul needs vectors or matrices, got shapes {list(a.shape)} "
                f"and {list(b.shape)}.",
                next_step="Use Mul for scalars.",
            )
        columns, rows = a.shape[-1], b.shape[-2 if b.ndim > 1 else -1]
        if columns != rows:
            raise ShapeError(
                f"Shapes {list(a.shape)} and {list(b.shape)} can't be multiplied: "
                f"{columns} columns meet {rows} rows.",
                next_step="Transpose one of them, or use an elementwise Mul.",
            )
        a, b, _ = self._promoted(a, b, numbers=True)
        if a.ndim > 2 and b.ndim == 2:
            # One large product, forward and backward, instead of one for each matrix of the batch.
            stacked = self.reshape(a, (math.prod(a.shape[:-1]), a.shape[-1]))
            flat = self.trace.apply(MATMUL, stacked, b)
            return self.reshape(flat, (*a.shape[:-1], b.shape[1]))
        left = self.reshape(a, (1, *a.shape)) if a.ndim == 1 else a
        right = self.reshape(b, (*b.shape, 1)) if b.ndim == 1 else b
        result = self.trace.apply(MATMUL, left, right)
        shape = list(result.shape)
        if b.ndim == 1:
            del shape[-1]
        if a.ndim == 1:
            del shape[-1 if b.ndim == 1 else -2]
        return self.reshape(result, tuple(shape))

    def einsum(self, subscripts: str, *arrays: Operand) -> Value:
        """Contraction in Einstein's notation, ``"bij,bjk->bik"``: letters, each once a term."""
        values = self._common(arrays, numbers=True)
        terms, output = _parse(subscripts, [x.ndim for x in values])
        return self.trace.apply(EINSUM, *values, terms=tuple(terms), output=output)
