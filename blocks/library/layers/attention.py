"""Layers of transformers: embedding and attention."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, Annotated, ClassVar

from pydantic import Field

from gradwire.blocks.block import Block, Shape, Source
from gradwire.blocks.errors import ShapeError
from gradwire.blocks.library.sources import Variable
from gradwire.blocks.requirements import require_integer

if TYPE_CHECKING:
    from gradwire.blocks.symbolic import Namespace, Value


class Embedding(Block):
    """A row of the weight for each index, ``out[i, …] = weight[indices[i], …]``.

    Integer indices (…) in [-rows, rows) and weight (rows, features) give (…, features). The
    gradients of repeated rows add up; no gradient goes to indices. A weight of open shape takes it
    from ``rows`` and ``features``; its own is normal. Raises ShapeError where the shapes don't
    fit, DTypeError unless indices are integers; an index out of range fails when the diagram runs.
    """

    family: ClassVar[str] = "layers"
    symbol: ClassVar[str] = "W[i]"
    formula: ClassVar[str] = r"y_{i} = W_{k_i}"
    ownable: ClassVar[Mapping[str, Source]] = {"weight": Variable(initialiser="normal")}

    rows: Annotated[int, Field(ge=1)] | None = None
    """Number of rows, as of words in a vocabulary; null to take it from the weight."""
    features: Annotated[int, Field(ge=1)] | None = None
    """Length of a row; null to take it from the weight."""
    padding: int | None = None
    """Row that gets no gradient, negative from the end; null for none."""

    def infer(self, inputs: Mapping[str, Shape | None], output: Shape | None) -> dict[str, Shape]:
        features = self.features or (output[-1] if output else None)
        if self.rows is None or features is None or inputs.get("weight", ()) is not None:
            return {}
        return {"weight": (self.rows, features)}

    def forward(self, xp: Namespace, indices: Value, weight: Value) -> Value:
        require_integer(indices, "indices")
        self._check(weight)
        rows = xp.take(weight, indices, axis=0)
        if self.padding is None:
            return rows
        count = weight.shape[0]
        place = xp.remainder(xp.astype(indices, "int64"), count)
        padded = xp.expand_dims(xp.equal(place, self.padding % count), -1)
        return xp.where(padded, xp.stop_gradient(rows), rows)

    def _check(self, weight: Value) -> None:
        wanted = (self.rows, self.features)
        fits = weight.ndim == 2 and all(
            n in (None, m) for n, m in zip(wanted, weight.shape, strict=True)
        )
        if not fits:
            raise ShapeError(
                "Weight doesn't fit the block.",
                expected=f"({self.rows or 'rows'}, {self.features or 'features'})",
                got=str(weight.shape),
            )
        count = weight.shape[0]
        if self.padding is not None and not -count <= self.padding < count:
            raise ShapeError(
                f"Row {self.padding} for padding is not in the weight.",
                expected=f"a row from {-count} to {count - 1}",
            )


class Attention(Block):
    """Scaled dot-product attention, ``out = softmax(scale * query @ keyᵀ) @ value``.

    query (…, n, d), key (…, m, d) and value (…, m, e) give (…, n, e); leading axes broadcast. A
    boolean mask (…, n, m) is true where a query attends to a key, a float mask is added before the
    softmax; no gradient goes to a boolean one. A query that attends to nothing gets 0, with
    gradient 0. Raises ShapeError where the shapes don't fit.

    Source: Vaswani et al. 2017.
    """

    family: ClassVar[str] = "layers"
    symbol: ClassVar[str] = "QKV"
    formula: ClassVar[str] = r"Y = \operatorname{softmax}\left( s \, Q K^{\top} + M \right) V"

    causal: bool = False
    """Whether query i attends to keys 0 to i alone."""
    scale: float | None = None
    """Factor s of the products; null for 1/√d."""

    def forward(
        self, xp: Namespace, query: Value, key: Value, value: Value, mask: Value | None = None
    ) -> Value:
        self._check(query, key, value)
        query = xp.as_float(query)
        scale = 1 / math.sqrt(max(1, query.shape[-1])) if self.scale is None else self.scale
        last = (*range(key.ndim - 2), key.ndim - 1, key.ndim - 2)
        scores = xp.matmul(query * scale, xp.permute_dims(key, last))
        if self.causal:
            later = xp.arange(scores.shape[-1]) > xp.expand_dims(xp.arange(scores.shape[-2]), -1)
            scores = xp.where(later, -math.inf, scores)
        if mask is None:
            return xp.matmul(xp.softmax(scores, axis=-1), value)
        scores = xp.where(mask, scores, -math.inf) if mask.dtype == "bool" else scores + mask
        attends = xp.any(xp.not_equal(scores, -math.inf), axis=-1, keepdims=True)
        weights = xp.softmax(xp.where(attends, scores, 0.0), axis=-1)
        return xp.matmul(xp.where(attends, weights, 0.0), value)

    def _check(self, query: Value, key: Value, value: Value) -> None:
        fits = (
            min(query.ndim, key.ndim, value.ndim) >= 2
            and query.shape[-1] == key.shape[-1]
            and key.shape[-2] == value.shape[-2] > 0
        )
        if not fits:
            raise ShapeError(
                "Query, key and value don't fit.",
                expected="(…, n, d), (…, m, d) and (…, m, e), m above 0",
                got=f"{query.shape}, {key.shape} and {value.shape}",
            )
