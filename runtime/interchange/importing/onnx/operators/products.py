"""Products of matrices, and what stands at the end of a network."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gradwire.runtime.interchange.importing.meanings import activations as act
from gradwire.runtime.interchange.importing.meanings import losses, products
from gradwire.runtime.interchange.importing.meanings.indexing import one_hot
from gradwire.runtime.interchange.importing.onnx.operators.elementwise import aligned
from gradwire.runtime.interchange.importing.onnx.operators.node import (
    RULES,
    OperatorNode,
    Rule,
    rule,
)
from gradwire.runtime.interchange.importing.staged import put

if TYPE_CHECKING:
    from types import NotImplementedType

    from gradwire.runtime.interchange.importing.staged import Staged


@rule("Gemm")
def _gemm(node: OperatorNode) -> Staged:
    """A Linear block where it is one, with a weight (out, in)."""
    a, b, c, stage = node.x(0), node.x(1), node.get(2), node.stage
    alpha, beta = node.number("alpha", 1.0), node.number("beta", 1.0)
    plain = alpha == beta == 1.0 and node.integer("transB") and not node.integer("transA")
    if plain and a.is_float and (c is None or c.shape == b.shape[:1]):
        return put("Linear", a, b, c)
    a = stage.transpose(a, (1, 0)) if node.integer("transA") else a
    b = stage.transpose(b, (1, 0)) if node.integer("transB") else b
    y = a @ b
    y = y if alpha == 1.0 else y * alpha
    if c is None or beta == 0.0:
        return y
    return y + (c if beta == 1.0 else c * beta)


@rule("MatMul")
def _mat_mul(node: OperatorNode) -> Staged:
    """A Linear block where the right side is a weight (out, in) that is transposed for it."""
    a, b = node.x(0), node.x(1)
    weight = _turned(b)
    if weight is not None and a.is_float and a.ndim > 1:
        return put("Linear", a, weight)
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
def _add(node: OperatorNode) -> Staged:
    """A Linear block with its bias, where both are of one module."""
    first, second = aligned(node)
    for linear, bias in ((first, second), (second, first)):
        source = linear.source
        if source is None or source.block.type_name() != "Linear" or "bias" in source.inputs:
            continue
        one = bias.source is not None and _is_variable(bias) and bias.source.scope is source.scope
        if one and bias.shape == linear.shape[-1:]:
            return put("Linear", source.inputs["x"], source.inputs["weight"], bias)
    return first + second


def _softmax(kind: str) -> Rule:
    """Before opset 13 over all axes from one on, put together."""
    return lambda n: (
        put(kind, n.x(), axis=n.axis(-1))
        if n.opset >= 13
        else act.softmax_of_all(n.x(), n.axis(1), kind)
    )


@rule("Hardmax")
def _hardmax(node: OperatorNode) -> Staged:
    x, axis = node.x(), node.axis(-1 if node.opset >= 13 else 1)
    return one_hot(put("ArgMax", x, axis=axis), x.shape[axis], x.dtype, axis)


@rule("NegativeLogLikelihoodLoss", "SoftmaxCrossEntropyLoss")
def _likelihood_loss(node: OperatorNode) -> tuple[Staged, Staged]:
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


_PLAIN = {"is_causal", "scale", "q_num_heads", "kv_num_heads"}
"""Attributes of Attention that its block has."""


@rule("Attention")
def _attention(node: OperatorNode) -> Staged | NotImplementedType:
    """One block, unless it keeps keys and values, has a cap or a window, or shares heads."""
    query, key, value, mask = node.x(0), node.x(1), node.x(2), node.get(3)
    heads = node.integer("q_num_heads"), node.integer("kv_num_heads")
    shared = heads[0] != heads[1] or query.shape[:-2] != key.shape[:-2]
    more = len(node.inputs) > 4 or any(map(node.wants, (1, 2, 3)))
    short = mask is not None and mask.shape[-1] != key.shape[-2]
    if shared or more or short or node.attributes.keys() - _PLAIN:
        return NotImplemented  # type: ignore[no-any-return]  # mypy takes it for Any
    stage, size = node.stage, heads[0]
    parts = [products.by_head(x, size) if query.ndim == 3 else x for x in (query, key, value)]
    scale = node.number("scale") if "scale" in node.attributes else None
    y = put("Attention", *parts, mask, causal=bool(node.integer("is_causal")), scale=scale)
    if query.ndim == 4:
        return y
    y = stage.transpose(y, (0, 2, 1, 3))
    return stage.reshape(y, (*y.shape[:2], y.shape[2] * y.shape[3]))


RULES.update({
    "Einsum": lambda n: products.einsum(n.text("equation"), n.values()),
    "Softmax": _softmax("Softmax"),
    "LogSoftmax": _softmax("LogSoftmax"),
    "Det": lambda n: put("Determinant", n.x()),
    "ArrayFeatureExtractor": lambda n: put(
        "Gather", n.x(), n.stage.reshape(n.x(1), (n.x(1).size,)), axis=n.x().ndim - 1
    ),
})  # fmt: skip
