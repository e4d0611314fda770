"""Products of matrices, and what stands at the end of a network."""

from __future__ import annotations

import math
import string
from typing import TYPE_CHECKING

import numpy as np

from gradwire.runtime.interchange.importing.meanings import losses
from gradwire.runtime.interchange.importing.meanings.indexing import one_hot
from gradwire.runtime.interchange.importing.onnx.operators.elementwise import aligned
from gradwire.runtime.interchange.importing.onnx.operators.node import RULES, Node, Rule, rule
from gradwire.runtime.interchange.importing.staged import put

if TYPE_CHECKING:
    from types import NotImplementedType

    from gradwire.runtime.interchange.importing.staged import Staged


@rule("Gemm")
def _gemm(node: Node) -> Staged:
    """A Linear block where it is one, with a weight (out, in)."""
    a, b, c, stage = node.x(0), node.x(1), node.get(2), node.stage
    alpha, beta = node.number("alpha", 1.0), node.number("beta", 1.0)
    plain = alpha == beta == 1.0 and node.integer("transB") and not node.integer("transA")
    if plain and a.is_float and (c is None or c.shape == b.shape[:1]):
        return stage.block("Linear", a, b, c)
    a = stage.transpose(a, (1, 0)) if node.integer("transA") else a
    b = stage.transpose(b, (1, 0)) if node.integer("transB") else b
    y = a @ b
    y = y if alpha == 1.0 else y * alpha
    if c is None or beta == 0.0:
        return y
    return y + (c if beta == 1.0 else c * beta)


@rule("MatMul")
def _mat_mul(node: Node) -> Staged:
    """A Linear block where the right side is a weight (out, in) that is transposed for it."""
    a, b = node.x(0), node.x(1)
    weight = _turned(b)
    if weight is not None and a.is_float and a.ndim > 1:
        return node.stage.block("Linear", a, weight)
    return a @ b


def _turned(x: Staged) -> Staged | None:
    """The variable that this is the transpose of."""
    if x.source is None or x.source.block.type_name() != "Transpose" or x.ndim != 2:
        return None
    given = x.source.inputs["x"]
    return given if _is_variable(given) else None


def _is_variable(x: Staged) -> bool:
    return x.source is not None and x.source.block.type_name() == "Variable"


@rule("Add")
def _add(node: Node) -> Staged:
    """A Linear block with its bias, where both are of one module."""
    first, second = aligned(node)
    for linear, bias in ((first, second), (second, first)):
        source = linear.source
        if source is None or source.block.type_name() != "Linear" or "bias" in source.inputs:
            continue
        one = bias.source is not None and _is_variable(bias) and bias.source.scope is source.scope
        if one and bias.shape == linear.shape[-1:]:
            return node.stage.block("Linear", source.inputs["x"], source.inputs["weight"], bias)
    return first + second


@rule("Einsum")
def _einsum(node: Node) -> Staged:
    """Letters for the axes of an ellipsis; a letter twice in a term takes the diagonal."""
    equation = node.text("equation").replace(" ", "")
    left, arrow, right = equation.partition("->")
    terms, values = left.split(","), node.values()
    if len(terms) != len(values):
        raise node.unsupported(f"{len(terms)} terms for {len(values)} inputs")
    if not arrow:
        single = sorted(c for c in set(left) - set(",.") if left.count(c) == 1)
        right = ("..." if "..." in left else "") + "".join(single)
    free = [c for c in string.ascii_letters if c not in equation]
    spans = [
        x.ndim - len(term.replace("...", ""))
        for term, x in zip(terms, values, strict=True)
        if "..." in term
    ]
    dots = "".join(free[: max(spans, default=0)])
    for i, (term, x) in enumerate(zip(terms, values, strict=True)):
        span = x.ndim - len(term.replace("...", ""))
        named = term.replace("...", dots[len(dots) - span :] if span > 0 else "")
        terms[i], values[i] = _without_repeats(named, x)
    subscripts = ",".join(terms) + "->" + right.replace("...", dots)
    return node.stage.block("Einsum", *values, subscripts=subscripts)


def _without_repeats(term: str, x: Staged) -> tuple[str, Staged]:
    """A term in which each letter stands once, and the diagonals of ``x`` that it names."""
    for letter in dict.fromkeys(term):
        while term.count(letter) > 1:
            first = term.index(letter)
            second = term.index(letter, first + 1)
            shape = [1] * x.ndim
            shape[first] = shape[second] = x.shape[first]
            mask = x.stage.constant(np.eye(x.shape[first], dtype=bool).reshape(shape))
            diagonal = x.stage.block("Where", mask, x, x.like(0))
            x = x.stage.block("Sum", diagonal, axis=second)
            term = term[:second] + term[second + 1 :]
    return term, x


def _over_an_axis(kind: str) -> Rule:
    """Before opset 13 over all axes from one on, put together."""

    def softmax(node: Node) -> Staged:
        x, stage = node.x(), node.stage
        if node.opset >= 13:
            return stage.block(kind, x, axis=node.axis(-1))
        axis = node.axis(1)
        if axis == x.ndim - 1:
            return stage.block(kind, x, axis=axis)
        flat = stage.reshape(x, (math.prod(x.shape[:axis]), math.prod(x.shape[axis:])))
        return stage.reshape(stage.block(kind, flat, axis=1), x.shape)

    return softmax


RULES["Softmax"], RULES["LogSoftmax"] = _over_an_axis("Softmax"), _over_an_axis("LogSoftmax")


@rule("Hardmax")
def _hardmax(node: Node) -> Staged:
    x, axis = node.x(), node.axis(-1 if node.opset >= 13 else 1)
    return one_hot(put("ArgMax", x, axis=axis), x.shape[axis], x.dtype, axis)


@rule("NegativeLogLikelihoodLoss", "SoftmaxCrossEntropyLoss")
def _likelihood_loss(node: Node) -> tuple[Staged, Staged]:
    """Of classes along axis 1; the second output are the logarithms of probabilities."""
    x, labels = node.x(), node.stage.cast(node.x(1), "int64")
    scores = put("LogSoftmax", x, axis=1) if node.operator == "SoftmaxCrossEntropyLoss" else x
    ignored = node.integer("ignore_index") if "ignore_index" in node.attributes else None
    reduction = losses.REDUCTIONS.get(node.text("reduction", "mean"))
    if reduction is None:
        raise node.unsupported(f"its reduction is {node.text('reduction')[:20]!r}")
    return losses.cross_entropy(
        scores, labels, 1, reduction, node.get(2), ignored, logits=False
    ), scores


@rule("Det")
def _determinant(node: Node) -> Staged:
    return node.stage.block("Determinant", node.x())


@rule("ArrayFeatureExtractor")
def _array_feature_extractor(node: Node) -> Staged:
    flat = node.stage.reshape(node.x(1), (node.x(1).size,))
    return node.stage.block("Gather", node.x(), flat, axis=node.x().ndim - 1)


_PLAIN = {"is_causal", "scale", "q_num_heads", "kv_num_heads"}
"""Attributes of Attention that its block has."""


@rule("Attention")
def _attention(node: Node) -> Staged | NotImplementedType:
    """One block, unless it keeps keys and values, has a cap or a window, or shares heads."""
    query, key, value, mask = node.x(0), node.x(1), node.x(2), node.get(3)
    heads = node.integer("q_num_heads"), node.integer("kv_num_heads")
    shared = heads[0] != heads[1] or query.shape[:-2] != key.shape[:-2]
    more = len(node.inputs) > 4 or any(map(node.wants, (1, 2, 3)))
    short = mask is not None and mask.shape[-1] != key.shape[-2]
    if shared or more or short or node.attributes.keys() - _PLAIN:
        return NotImplemented  # type: ignore[no-any-return]  # mypy takes it for Any
    stage, size = node.stage, heads[0]
    parts = [_by_head(x, size) if query.ndim == 3 else x for x in (query, key, value)]
    scale = node.number("scale") if "scale" in node.attributes else None
    y = stage.block("Attention", *parts, mask, causal=bool(node.integer("is_causal")), scale=scale)
    if query.ndim == 4:
        return y
    y = stage.transpose(y, (0, 2, 1, 3))
    return stage.reshape(y, (*y.shape[:2], y.shape[2] * y.shape[3]))


def _by_head(x: Staged, heads: int) -> Staged:
    """(batch, steps, heads * size) as (batch, heads, steps, size)."""
    batch, steps, width = x.shape
    split = x.stage.reshape(x, (batch, steps, heads, width // heads))
    return x.stage.transpose(split, (0, 2, 1, 3))
