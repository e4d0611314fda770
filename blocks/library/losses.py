"""Losses: how far a prediction is from its target, and Loss, the head to train on."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Annotated, ClassVar, Literal

import numpy as np
from pydantic import Field

from gradwire.blocks.block import Block, Shape
from gradwire.blocks.elementwise import Elementwise, same_shape, sibling_shape
from gradwire.blocks.errors import DTypeError, ShapeError
from gradwire.blocks.requirements import require_axis, require_float

if TYPE_CHECKING:
    from gradwire.blocks.symbolic import Namespace, Value

Reduction = Literal["mean", "sum", "none"]


class Loss(Elementwise):
    """Marks what is minimised, ``out = x``: the gradient starts here, whatever comes after.

    Any shape, floating dtype. Each element sends back scale / n, where n is 1 (none), the
    length of the first axis (batch) or the number of elements above ``threshold``, at least 1
    (valid). Gradient from later blocks is ignored, but a StopGradient after it still
    stops. Raises DTypeError for integers and booleans. Source: MXNet's MakeLoss.
    """

    symbol: ClassVar[str] = "ℒ"
    formula: ClassVar[str] = r"y = x, \qquad \bar{x} = \frac{s}{n}"
    head: ClassVar[bool] = True
    surrogate: ClassVar[bool] = True

    scale: float = 1.0
    """Gradient of each element before normalisation, dimensionless."""
    normalization: Literal["none", "batch", "valid"] = "none"
    """What the gradient is divided by."""
    threshold: float = 0.0
    """Elements above it count for ``valid``; of no effect otherwise. In units of x."""

    def forward(self, xp: Namespace, x: Value) -> Value:
        return xp.loss_head(
            x, scale=self.scale, normalization=self.normalization, threshold=self.threshold
        )


class _Distance(Block):
    """A loss of elements, reduced; prediction and target have one shape."""

    abstract: ClassVar[bool] = True

    reduction: Reduction = "mean"
    """Mean or sum over all elements (a scalar), or none (the shape of the prediction)."""

    def infer(self, inputs: Mapping[str, Shape | None], output: Shape | None) -> dict[str, Shape]:
        shape = sibling_shape(inputs)
        if shape is None and self.reduction == "none":
            shape = output
        return {} if shape is None else same_shape(inputs, shape)


class MeanSquaredError(_Distance):
    """Mean of squared differences, ``out = mean((prediction - target)²)``.

    Prediction and target have one shape; scalar out, or that shape with reduction none.
    Raises ShapeError where the shapes differ, because broadcasting here is nearly always a mistake.
    """

    symbol: ClassVar[str] = "MSE"
    formula: ClassVar[str] = r"y = \frac{1}{n} \sum_i (p_i - t_i)^2"

    def forward(self, xp: Namespace, prediction: Value, target: Value) -> Value:
        return _reduce(xp, xp.square(_difference(xp, prediction, target)), self.reduction)


class MeanAbsoluteError(_Distance):
    """Mean of absolute differences, ``out = mean(|prediction - target|)``.

    Prediction and target have one shape; scalar out, or that shape with reduction none. The
    gradient is 0 where both are equal. Raises ShapeError where the shapes differ.
    """

    symbol: ClassVar[str] = "MAE"
    formula: ClassVar[str] = r"y = \frac{1}{n} \sum_i |p_i - t_i|"

    def forward(self, xp: Namespace, prediction: Value, target: Value) -> Value:
        return _reduce(xp, xp.abs(_difference(xp, prediction, target)), self.reduction)


class Huber(_Distance):
    """Squared error near the target, absolute error beyond, ``out = mean(h(prediction - target))``.

    ``h(r) = r²/2`` for ``|r| <= delta``, else ``delta * (|r| - delta/2)``. Prediction and target
    have one shape; scalar out, or that shape with reduction none. Raises ShapeError where the
    shapes differ. Source: Huber, Robust estimation of a location parameter, 1964.
    """

    symbol: ClassVar[str] = "Huber"
    formula: ClassVar[str] = (
        r"y = \frac{1}{n} \sum_i \begin{cases} \frac{1}{2} r_i^2 & |r_i| \le \delta \\"
        r" \delta (|r_i| - \frac{\delta}{2}) & \text{otherwise} \end{cases}"
    )

    delta: Annotated[float, Field(gt=0)] = 1.0
    """Difference from which on the loss grows linearly, in units of the prediction."""

    def forward(self, xp: Namespace, prediction: Value, target: Value) -> Value:
        difference = _difference(xp, prediction, target)
        delta = min(self.delta, float(np.finfo(difference.dtype).max))
        near = 0.5 * xp.square(xp.clip(difference, -delta, delta))
        # 0 · inf would make the gradient NaN where the difference is infinite: the two parts add.
        far = delta * xp.relu(xp.abs(difference) - delta)
        return _reduce(xp, near + far, self.reduction)


class CrossEntropy(Block):
    """Cross-entropy of logits against labels, ``out = mean(-sum(p * log_softmax(logits)))``.

    Labels are integer classes, of the shape of logits without ``axis``, or probabilities p of
    the shape of logits. Reduced over all positions, not over the classes. No gradient goes to
    integer labels. Raises ShapeError where labels don't fit, DTypeError for boolean labels; a
    class out of range fails when the diagram runs.
    """

    symbol: ClassVar[str] = "CE"
    formula: ClassVar[str] = (
        r"y = -\frac{1}{n} \sum_i \sum_k p_{ik} \log \frac{e^{z_{ik}}}{\sum_j e^{z_{ij}}}"
    )

    axis: int = -1
    """Axis of the classes in logits."""
    reduction: Reduction = "mean"
    """Mean or sum over positions (a scalar), or none (the shape of logits without ``axis``)."""

    def infer(self, inputs: Mapping[str, Shape | None], output: Shape | None) -> dict[str, Shape]:
        labels = inputs.get("labels")
        if labels and len(labels) > 1 and inputs.get("logits", ()) is None:
            return {"logits": labels}
        return {}

    def forward(self, xp: Namespace, logits: Value, labels: Value) -> Value:
        if labels.dtype == "bool":
            raise DTypeError(
                "Boolean labels are neither classes nor probabilities.",
                expected="integers or floats",
                got="bool",
                next_step="Cast them to int64 or float32.",
            )
        scores = xp.log_softmax(logits, self.axis)
        if labels.dtype.startswith("float"):
            _require_same_shape(logits, labels, "logits", "labels")
            return _reduce(xp, -xp.sum(labels * scores, self.axis), self.reduction)
        _require_classes(labels, logits, self.axis)
        chosen = xp.take_along_axis(scores, xp.expand_dims(labels, self.axis), self.axis)
        return _reduce(xp, -xp.squeeze(chosen, self.axis), self.reduction)


class BinaryCrossEntropy(_Distance):
    """Cross-entropy of yes-or-no predictions, ``out = mean(-t * log(p) - (1 - t) * log(1 - p))``.

    Prediction and target have one shape; targets lie in [0, 1] or are booleans; scalar out, or
    that shape with reduction none. From logits it is exact at any size. ``edges`` says what
    happens to probabilities next to 0 and 1. Raises ShapeError where the shapes differ, DTypeError
    unless the prediction is floating.
    """

    symbol: ClassVar[str] = "BCE"
    formula: ClassVar[str] = r"y = -\frac{1}{n} \sum_i t_i \log p_i + (1 - t_i) \log (1 - p_i)"

    given: Literal["logits", "probabilities"] = "logits"
    """What the prediction is: logits z with p = sigmoid(z), or the probabilities p."""
    edges: Literal["flat", "steep"] = "flat"
    """Probabilities within a rounding step of 0 and 1: flat takes them as that step, with a
    gradient of 0. Steep is PyTorch's rule: logarithms are at least -100, and the gradient is
    ``(p - t) / max(p * (1 - p), 1e-12)``. Of no effect on logits."""

    @property
    def clips(self) -> bool:
        """Whether probabilities next to 0 and 1 have no gradient."""
        return self.given == "probabilities" and self.edges == "flat"

    def forward(self, xp: Namespace, prediction: Value, target: Value) -> Value:
        _require_same_shape(prediction, target)
        require_float(prediction, "prediction")
        target = xp.astype(target, prediction.dtype) if target.dtype == "bool" else target
        if self.given == "logits":
            return _reduce(xp, xp.softplus(prediction) - target * prediction, self.reduction)
        if self.edges == "steep":
            return _reduce(xp, _steep(xp, prediction, target), self.reduction)
        step = float(np.finfo(prediction.dtype).eps)
        return _reduce(
            xp, _surprise(xp, xp.clip(prediction, step, 1 - step), target), self.reduction
        )


def _surprise(xp: Namespace, p: Value, target: Value) -> Value:
    return -target * xp.log(p) - (1 - target) * xp.log1p(-p)


def _steep(xp: Namespace, p: Value, target: Value) -> Value:
    """The surprise with PyTorch's rule at the edges, where a parabola that is 0 has its slope."""
    least = max(1e-12, float(np.finfo(p.dtype).tiny))
    inside = xp.greater_equal(p * (1 - p), least)
    yes, no = (xp.stop_gradient(xp.maximum(x, -100.0)) for x in (xp.log(p), xp.log1p(-p)))
    here = xp.stop_gradient(p)
    slope = (p - here) * (p + here - 2 * target) * (0.5 / least)
    at_edge = slope - target * yes - (1 - target) * no
    return xp.where(inside, _surprise(xp, xp.where(inside, p, 0.5), target), at_edge)


def _difference(xp: Namespace, prediction: Value, target: Value) -> Value:
    """Prediction less target as a float, because unsigned integers would wrap around."""
    _require_same_shape(prediction, target)
    return xp.as_float(prediction) - target


def _require_same_shape(
    a: Value, b: Value, a_name: str = "prediction", b_name: str = "target"
) -> None:
    if a.shape != b.shape:
        raise ShapeError(
            f"{a_name.capitalize()} and {b_name} have different shapes.",
            expected=f"{b_name} of shape {a.shape}",
            got=str(b.shape),
            next_step="Reshape or Broadcast one of them.",
        )


def _require_classes(labels: Value, logits: Value, axis: int) -> None:
    axis = require_axis(logits, axis)
    positions = (*logits.shape[:axis], *logits.shape[axis + 1 :])
    if labels.shape != positions:
        raise ShapeError(
            "Classes don't fit the logits.",
            expected=f"labels of shape {positions}, one class for each position",
            got=f"{labels.shape} for logits of {logits.shape}",
        )


def _reduce(xp: Namespace, terms: Value, reduction: Reduction) -> Value:
    if reduction == "none":
        return terms
    return xp.mean(terms) if reduction == "mean" else xp.sum(terms)
