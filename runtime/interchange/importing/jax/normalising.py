"""Recognises the normalisation of rows, as Flax, Equinox and users write it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gradwire.runtime.interchange.importing.jax.sources import axes_of, bare, inputs_of, kind_of

if TYPE_CHECKING:
    from gradwire.runtime.interchange.importing.stage import Stage
    from gradwire.runtime.interchange.importing.staged import Staged


def layer_norm(stage: Stage, y: Staged) -> Staged | None:
    """``(x - mean) / sqrt(variance + epsilon) * weight + bias``, with its factors in any order."""
    product, bias = inputs_of(y)
    above, below = _factors(product)
    centred = [factor for factor in above if kind_of(factor) == "Sub"]
    weights = [factor for factor in above if factor not in centred and factor.array is None]
    if len(centred) != 1 or len(weights) != 1 or len(below) != 1:
        return None
    (x, mean), (weight,), (root,) = inputs_of(centred[0]), weights, below
    rows = x.shape[-1:]
    if kind_of(root) != "Sqrt" or not _is_mean(mean, x) or weight.shape != rows != ():
        return None
    epsilon = _epsilon(inputs_of(root)[0], x)
    plain = all(_is_one(factor, [*centred, *weights]) for factor in above)
    if epsilon is None or bias.shape != rows or not plain:
        return None
    return stage.block("LayerNorm", x, weight, bias, epsilon=epsilon)


def _is_one(factor: Staged, others: list[Staged]) -> bool:
    """Whether a factor changes nothing, or is one of the others."""
    if any(factor is other for other in others):
        return True
    return factor.array is not None and bool((factor.array == 1).all())


def _factors(x: Staged) -> tuple[list[Staged], list[Staged]]:
    """The factors of a product above and below the line."""
    x = bare(x) if kind_of(bare(x)) in ("Mul", "Div") else x
    if kind_of(x) not in ("Mul", "Div"):
        return [x], []
    one, other = (_factors(factor) for factor in inputs_of(x))
    if kind_of(x) == "Div":
        other = other[::-1]
    return [*one[0], *other[0]], [*one[1], *other[1]]


def _is_mean(mean: Staged, of: Staged) -> bool:
    """Whether it is the mean of the last axis."""
    found = bare(mean)
    return kind_of(found) == "Mean" and inputs_of(found)[0] is of and axes_of(found) in (
        (of.ndim - 1,), (-1,)
    )  # fmt: skip


def _epsilon(total: Staged, x: Staged) -> float | None:
    """The number added to the variance of x; None where something else is."""
    if kind_of(total) != "Add":
        return None
    variance, epsilon = inputs_of(total)
    if epsilon.array is None or epsilon.size != 1 or not _is_variance(bare(variance), x):
        return None
    return float(f"{float(epsilon.array.reshape(())):.7g}")


def _is_variance(variance: Staged, x: Staged) -> bool:
    """The mean square of what is centred, or the mean square less the square of the mean."""
    if kind_of(variance) == "Maximum":  # with 0, against rounding
        variance = next((bare(v) for v in inputs_of(variance) if v.array is None), variance)
    if kind_of(variance) == "Mean":
        (square,) = inputs_of(variance)
        if kind_of(square) != "Square" or not _is_mean(variance, square):
            return False
        (centred,) = inputs_of(square)
        return kind_of(centred) == "Sub" and inputs_of(centred)[0] is x and _is_mean(
            inputs_of(centred)[1], x
        )  # fmt: skip
    if kind_of(variance) != "Sub":
        return False
    squares, square = inputs_of(variance)
    return (
        kind_of(squares) == "Mean"
        and kind_of(inputs_of(squares)[0]) == "Square"
        and _is_mean(squares, inputs_of(squares)[0])
        and inputs_of(inputs_of(squares)[0])[0] is x
        and kind_of(square) == "Square"
        and _is_mean(inputs_of(square)[0], x)
    )
