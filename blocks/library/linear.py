"""Products of vectors and matrices."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Annotated, ClassVar

from pydantic import Field

from gradwire.blocks.block import Block, Shape, Source
from gradwire.blocks.elementwise import Elementwise
from gradwire.blocks.errors import ShapeError
from gradwire.blocks.library.sources import Variable

if TYPE_CHECKING:
    from gradwire.blocks.symbolic import Namespace, Value


class MatMul(Block):
    """Matrix product, ``out = a @ b``: (…, n, k) and (…, k, m) give (…, n, m).

    A vector counts as a row on the left and as a column on the right; leading axes broadcast.
    Raises ShapeError where the inner lengths differ or a side is a scalar.
    """

    symbol: ClassVar[str] = "@"
    formula: ClassVar[str] = r"y_{ij} = \sum_k a_{ik} b_{kj}"

    def infer(self, inputs: Mapping[str, Shape | None], output: Shape | None) -> dict[str, Shape]:
        if output is None or len(output) < 2:
            return {}
        a, b = inputs.get("a"), inputs.get("b")
        if a is None and b is not None and len(b) >= 2:
            return {"a": (*output[:-1], b[-2])}
        if b is None and a is not None and len(a) >= 2:
            return {"b": (a[-1], output[-1])}
        return {}

    def forward(self, xp: Namespace, a: Value, b: Value) -> Value:
        return xp.matmul(a, b)


class Dot(Elementwise):
    """Inner product along the last axis, ``out = sum(a * b)``: (…, n) and (…, n) give (…).

    Two vectors give a scalar; leading axes broadcast. Raises ShapeError where the last lengths
    differ or a side is a scalar.
    """

    symbol: ClassVar[str] = "⟨a,b⟩"
    formula: ClassVar[str] = r"y = \sum_i a_i b_i"

    def infer(self, inputs: Mapping[str, Shape | None], output: Shape | None) -> dict[str, Shape]:
        return super().infer(inputs, None)

    def forward(self, xp: Namespace, a: Value, b: Value) -> Value:
        _require_last_axis(a, b)
        return xp.sum(a * b, axis=-1)


class CosineSimilarity(Elementwise):
    """Cosine of the angle along the last axis, ``out = <a, b> / (|a| |b|)``: (…, n) gives (…).

    In [-1, 1]; 0, with gradient 0 for both sides, where a side is 0. Leading axes broadcast.
    Raises ShapeError where the last lengths differ or a side is a scalar.
    """

    symbol: ClassVar[str] = "cosφ"
    formula: ClassVar[str] = r"y = \frac{\langle a, b \rangle}{\|a\| \, \|b\|}"

    def infer(self, inputs: Mapping[str, Shape | None], output: Shape | None) -> dict[str, Shape]:
        return super().infer(inputs, None)

    def forward(self, xp: Namespace, a: Value, b: Value) -> Value:
        _require_last_axis(a, b)
        lengths = [xp.norm(x, axis=-1, keepdims=True) for x in (a, b)]
        no_angle = xp.equal(lengths[0], 0) | xp.equal(lengths[1], 0)
        units = [
            x / xp.where(xp.equal(length, 0), xp.ones_like(length), length)
            for x, length in zip((a, b), lengths, strict=True)
        ]
        return xp.sum(xp.where(no_angle, 0.0, units[0] * units[1]), axis=-1)


class Linear(Block):
    """Affine map of the last axis, ``out = x @ weight.T + bias``.

    x (…, features), weight (units, features), bias (units,), out (…, units); a bias that is
    neither wired nor owned is left out. Variables of open shape take theirs from x and ``units``.
    Its own weight is Glorot uniform, its own bias 0. Raises ShapeError where the shapes don't fit.

    Source: Glorot & Bengio 2010.
    """

    symbol: ClassVar[str] = "Wx+b"
    formula: ClassVar[str] = r"y = x W^{\top} + b"
    ownable: ClassVar[Mapping[str, Source]] = {
        "weight": Variable(initialiser="glorot_uniform"),
        "bias": Variable(initialiser="zeros"),
    }

    units: Annotated[int, Field(ge=1)] | None = None
    """Length of the last axis of the output; null to take it from weight or bias."""

    def infer(self, inputs: Mapping[str, Shape | None], output: Shape | None) -> dict[str, Shape]:
        x, weight, bias = (inputs.get(name) for name in ("x", "weight", "bias"))
        units = next(
            (shape[0] for shape in (weight, bias) if shape),
            self.units or (output[-1] if output else None),
        )
        features = x[-1] if x else weight[1] if weight and len(weight) == 2 else None
        found: dict[str, Shape] = {}
        if units is not None:
            found["bias"] = (units,)
            if features is not None:
                found["weight"] = (units, features)
        if features is not None and output:
            found["x"] = (*output[:-1], features)
        return {n: s for n, s in found.items() if n in inputs and inputs[n] is None}

    def forward(self, xp: Namespace, x: Value, weight: Value, bias: Value | None = None) -> Value:
        self._check(x, weight, bias)
        out = xp.matmul(x, xp.permute_dims(weight, (1, 0)))
        return out if bias is None else out + bias

    def _check(self, x: Value, weight: Value, bias: Value | None) -> None:
        if weight.ndim != 2 or x.ndim == 0 or x.shape[-1] != weight.shape[1]:
            raise ShapeError(
                "Weight and x don't fit.",
                expected="weight (units, features) and x (…, features)",
                got=f"{weight.shape} and {x.shape}",
            )
        if self.units not in (None, weight.shape[0]):
            raise ShapeError(
                "Weight doesn't have as many rows as there are units.",
                expected=f"weight ({self.units}, {x.shape[-1]})",
                got=str(weight.shape),
            )
        if bias is not None and bias.shape != weight.shape[:1]:
            raise ShapeError(
                "Bias doesn't fit the weight.", expected=str(weight.shape[:1]), got=str(bias.shape)
            )


class Einsum(Block):
    """Sum of products by index, ``out = einsum(subscripts, terms.0, terms.1, …)``.

    A letter stands once in a term. Raises TraceError where the subscripts don't fit the terms.
    """

    symbol: ClassVar[str] = "Σᵢⱼ"
    formula: ClassVar[str] = r"y_{ik} = \sum_j t^{(0)}_{ij} t^{(1)}_{jk} \cdots"

    subscripts: Annotated[str, Field(pattern=r"^[A-Za-z]*(,[A-Za-z]*)*->[A-Za-z]*$")] = "ij,jk->ik"
    """One letter an axis, terms apart by commas, and the axes of the output: ``ij,jk->ik``."""

    def label(self) -> str:
        return self.subscripts.replace("->", "→")

    def forward(self, xp: Namespace, *terms: Value) -> Value:
        return xp.einsum(self.subscripts, *terms)


def _require_last_axis(a: Value, b: Value) -> None:
    if not (a.shape and b.shape and a.shape[-1] == b.shape[-1]):
        raise ShapeError(
            "The last axes of a and b have different lengths.",
            expected="(…, n) and (…, n)",
            got=f"{a.shape} and {b.shape}",
        )
