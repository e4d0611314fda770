"""Products of matrices, and what stands at the end of a network."""

from __future__ import annotations

import math
import string
from typing import TYPE_CHECKING

import numpy as np

from runtime.interchange.importing.onnx.operators.indexing import last_to
from runtime.interchange.importing.onnx.operators.node import RULES, Node, Rule, rule

if TYPE_CHECKING:
    from runtime.interchange.importing.staged import Staged


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
    best = node.stage.block("ArgMax", x, axis=axis)
    hot = node.stage.block("OneHot", best, depth=x.shape[axis], dtype=x.dtype)
    return last_to(hot, axis)


@rule("NegativeLogLikelihoodLoss", "SoftmaxCrossEntropyLoss")
def _likelihood_loss(node: Node) -> tuple[Staged, Staged]:
    """Of classes along axis 1, weighted; those to ignore have weight 0."""
    x, stage = node.x(), node.stage
    softmax = node.operator == "SoftmaxCrossEntropyLoss"
    likelihood = stage.block("LogSoftmax", x, axis=1) if softmax else x
    labels, weight = stage.cast(node.x(1), "int64"), None
    if "ignore_index" in node.attributes:
        ignored = stage.block("Equal", labels, labels.like(node.integer("ignore_index")))
        labels = stage.block("Where", ignored, labels.like(0), labels)
        weight = stage.block("Where", ignored, x.like(0), x.like(1))
    if node.has(2):
        given = stage.block("Gather", node.x(2), labels, axis=0)
        weight = given if weight is None else weight * given
    loss = -stage.block("PickAlong", likelihood, labels, axis=1)
    loss = loss if weight is None else loss * weight
    return _reduced(node, loss, weight), likelihood


def _reduced(node: Node, loss: Staged, weight: Staged | None) -> Staged:
    stage, reduction = node.stage, node.text("reduction", "mean")
    if reduction == "none":
        return loss
    if reduction == "mean" and weight is None:
        return stage.block("Mean", loss)
    total = stage.block("Sum", loss)
    return total if reduction == "sum" or weight is None else total / stage.block("Sum", weight)


@rule("Det")
def _determinant(node: Node) -> Staged:
    return node.stage.block("Determinant", node.x())


@rule("ArrayFeatureExtractor")
def _array_feature_extractor(node: Node) -> Staged:
    flat = node.stage.reshape(node.x(1), (node.x(1).size,))
    return node.stage.block("Gather", node.x(), flat, axis=node.x().ndim - 1)
