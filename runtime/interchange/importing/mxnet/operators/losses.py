"""Losses, and outputs that bring their own gradient: what later operators send back is ignored."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from gradwire.runtime.interchange.importing.meanings import indexing, losses

if TYPE_CHECKING:
    from gradwire.runtime.interchange.importing.meanings.losses import Reduction
    from gradwire.runtime.interchange.importing.mxnet.call import MXNetCall, Operator
    from gradwire.runtime.interchange.importing.staged import Staged

_NORMALISATIONS = {"null": "none", "batch": "batch", "valid": "valid"}


def _make_loss(call: MXNetCall) -> Staged:
    scale, threshold = (
        call.attributes.number("grad_scale", 1.0),
        call.attributes.number("valid_thresh"),
    )
    normalization = call.choice("normalization", _NORMALISATIONS, "null")
    if normalization == "batch" and not call.x().ndim:
        normalization = "none"  # a full sum has one element there, on an axis of its own
    return call.stage.loss(
        call.x(), call.name, scale=scale, threshold=threshold, normalization=normalization
    )


def _fixed(call: MXNetCall, label: Staged) -> Staged:
    """A label, which gets no gradient."""
    passes = label.is_float and label.source is not None
    if passes and label.source is not None and label.source.block.type_name() != "Input":
        return call.stage.block("StopGradient", label)
    return label


def _shown(call: MXNetCall, x: Staged) -> Staged:
    """What the output gives; what reads it sends nothing back."""
    return call.stage.block("StopGradient", x) if call.is_read else x


def _softmax_output(call: MXNetCall) -> Staged:
    """The softmax; its gradient is that of the cross-entropy with the labels.

    The labels are classes, of the shape of the scores without the axis of classes.
    """
    scores, attributes = call.x(0), call.attributes
    multiple = attributes.flag("multi_output")
    if not multiple and not attributes.flag("preserve_shape") and scores.ndim > 2:
        scores = call.stage.reshape(scores, (scores.shape[0], -1))
    axis = 1 if multiple else scores.ndim - 1
    places = scores.shape[:axis] + scores.shape[axis + 1 :]
    label = _fixed(call, call.x(1, places))
    if label.shape == scores.shape or attributes.number("smooth_alpha"):
        raise call.unsupported("its labels are probabilities, or smoothed")
    classes = call.stage.reshape(indexing.whole(label), places)
    scale = attributes.number("grad_scale", 1.0)
    normalisation = call.choice("normalization", _NORMALISATIONS, "null")
    if normalisation == "batch":
        scale /= max(scores.shape[0], 1)
    ignored = int(attributes.number("ignore_label", -1)) if attributes.flag("use_ignore") else None
    reduction: Reduction = "mean" if normalisation == "valid" else "sum"
    total = losses.cross_entropy(scores, classes, axis, reduction, ignored=ignored, least=1.0)
    call.stage.loss(total, f"{call.name}_loss", scale=scale)
    return _shown(call, call.block("Softmax", scores, axis=axis))


def _regression(kind: Literal["linear", "absolute", "logistic"]) -> Operator:
    """A prediction whose gradient is that of a distance to the labels, by output of a sample."""

    def operator(call: MXNetCall) -> Staged:
        x = call.x(0)
        label = call.stage.reshape(_fixed(call, call.x(1, x.shape)), x.shape)
        outputs = max(x.size // max(x.shape[0], 1), 1) if x.ndim else 1
        scale = call.attributes.number("grad_scale", 1.0) / outputs
        total = _distance(kind, x, label)
        call.stage.loss(total, f"{call.name}_loss", scale=scale)
        return _shown(call, call.block("Sigmoid", x) if kind == "logistic" else x)

    return operator


def _distance(kind: str, x: Staged, label: Staged) -> Staged:
    if kind == "linear":
        return losses.distance("MeanSquaredError", x, label, "sum") * 0.5
    if kind == "absolute":
        return losses.distance("MeanAbsoluteError", x, label, "sum")
    return losses.binary(x, label, "sum", given="logits")


def _cross_entropy(call: MXNetCall) -> Staged:
    """The sum of the cross-entropies of rows, an ordinary value."""
    scores = call.x(0)
    classes = indexing.whole(_fixed(call, call.x(1, scores.shape[:1])))
    return losses.cross_entropy(scores, classes, reduction="sum")


OPERATORS: dict[str, Operator] = {
    "MakeLoss": _make_loss, "make_loss": _make_loss,
    "SoftmaxOutput": _softmax_output, "Softmax": _softmax_output,
    "LinearRegressionOutput": _regression("linear"),
    "MAERegressionOutput": _regression("absolute"),
    "LogisticRegressionOutput": _regression("logistic"),
    "softmax_cross_entropy": _cross_entropy,
}  # fmt: skip
KEEPING = ("MakeLoss", "make_loss")
"""Those whose input and output have one shape."""
