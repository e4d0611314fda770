"""What a program computed in one run, where there are no rules: its values and its products.

A vector-Jacobian product of one run is that of the gradient that arrived then. Rules are linear, so
it is known for sums of multiples of these too. Where the program is at hand, it is asked for any
gradient but those of the run's losses and their sums, as its own rules may not be linear.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain, combinations, islice
from typing import TYPE_CHECKING, Any

import numpy as np

from gradwire.blocks.errors import ShapeError
from gradwire.runtime.calculus.measuring import Measured, measured
from gradwire.runtime.calculus.primitives.base import BaseOps
from gradwire.runtime.calculus.value import NoDerivative, Primitive, Rule, Value

if TYPE_CHECKING:
    from gradwire.blocks.library.recorded import RecordedOutput, RecordedRun
    from gradwire.blocks.values import Array
    from gradwire.runtime.calculus.namespace import Namespace
    from gradwire.runtime.calculus.value import Operand

WITHIN = 1e-3
"""How far from what was recorded arrays may be, relative to the largest of them: both were computed
with rounding, and another input is further away.
"""
MOST_SUMS = 256
"""Sums of the gradients of several losses that are compared, at most."""
_CLOSED = NoDerivative("is recorded, and no gradient came from it to this input")
_WHOLE = NoDerivative("gives no floating-point numbers, so it has no derivative")
_UNASKED = NoDerivative(
    "is recorded, and no gradient was asked for at this input: what would come is not known",
    remedy=None,
)


class RecordedOps(BaseOps):
    """Operations that have no rules, as they were in a run."""

    __slots__ = ()

    def recorded(self, run: RecordedRun, *inputs: Operand) -> tuple[Value, ...]:
        """The outputs of a run whose inputs are these. Raises ShapeError for other shapes."""
        xs = [self.asarray(x) for x in inputs]
        for place, (x, kind) in enumerate(zip(xs, run.inputs, strict=True)):
            if (x.shape, x.dtype) != kind:
                raise ShapeError(
                    f"Input {place} is not as it was when the run was recorded.",
                    expected=f"{kind[1]} of shape {list(kind[0])}",
                    got=f"{x.dtype} of shape {list(x.shape)}",
                )
        return tuple(
            self._output(run, place, output, xs) for place, output in enumerate(run.outputs)
        )

    def _output(
        self, run: RecordedRun, place: int, output: RecordedOutput, xs: Sequence[Value]
    ) -> Value:
        key = id(run), place  # or equal-looking values would be taken for one

        def kernel(*arrays: Array, out: Array, of: object) -> None:
            if output.value is None:
                _require_numbers(run)
                np.copyto(out, arrays[0])
            elif (live := run.live) is not None and not live.knows(arrays):
                np.copyto(out, live.value(run, place, arrays))
            else:
                _require_same(run, arrays)
                np.copyto(out, output.value)

        def rule(slot: int) -> Rule:
            def product(g: Array, *arrays: Array, out: Array, of: object) -> None:
                np.copyto(out, _product(run, place, slot, g, arrays))

            primitive = Primitive(
                "recorded_product",
                lambda g, *xs, of: (xs[slot].shape, xs[slot].dtype),
                product,
                (None,) * (1 + len(xs)),
                no_derivative=_CLOSED,
            )

            def back(xp: Namespace, g: Value, out: Value, *xs: Value, of: object) -> Value:
                return xp.trace.apply(primitive, g, *xs, of=(*key, slot))

            return back

        is_float = output.kind[1].startswith("float")
        rules = tuple(rule(slot) if run.passes(place, slot) else None for slot in range(len(xs)))
        primitive = Primitive(
            "recorded",
            lambda *_, of: output.kind,
            kernel,
            rules,
            no_derivative=_CLOSED if is_float else _WHOLE,
            closed=dict.fromkeys(run.unknown, _UNASKED) if is_float else {},
        )
        return self.trace.apply(primitive, *xs, of=key)


def _require_same(run: RecordedRun, arrays: Sequence[Array]) -> None:
    """Raise ValueError where an input is another than in the run, or no numbers were recorded."""
    _require_numbers(run)
    if run.is_left_out:
        raise ValueError(f"{run.known}, and its numbers were left out")
    for place, (array, seen) in enumerate(zip(arrays, run.seen, strict=True)):
        count, size, projection, nan, above, below = seen
        if count < 0:
            continue
        before = Measured(int(count), size, projection, (int(nan), int(above), int(below)))
        if measured(array).is_apart(before, WITHIN, 0.0):
            raise ValueError(
                f"{run.known}, and its input {place} is another now: its values are unknown"
                f"{run.why_not}"
            )


def _require_numbers(run: RecordedRun) -> None:
    if not run.has_numbers:
        raise ValueError(f"{run.named} was recorded without numbers")


def _product(run: RecordedRun, place: int, slot: int, g: Array, arrays: Sequence[Array]) -> Any:
    """The product of a gradient, as a sum of multiples of those that arrived in the run, or else
    by asking the program.

    Raises ValueError where it is no such sum, and nobody can be asked.
    """
    output, live = run.outputs[place], run.live
    if live is not None and not (_was_asked(run, output, slot) and live.knows(arrays)):
        return live.product(run, place, slot, g, arrays)
    _require_same(run, arrays)
    known = [loss for loss in output.losses if loss.arrived is not None]
    arrived = [loss.arrived for loss in known if loss.arrived is not None]
    rounding = [loss.rounding for loss in known]
    factors = _parts(arrived, g, rounding)
    if factors is None and live is not None:
        return live.product(run, place, slot, g, arrays)  # what a function does may not be linear
    factors = factors or _factors(arrived, g, rounding)
    if factors is None:
        raise ValueError(
            f"{run.known}, and the gradient that comes to it is another now: what it sends on is "
            f"unknown{run.why_not}"
        )
    total: Array | float = 0.0
    for loss, factor in zip(known, factors, strict=True):
        product = loss.products.get(slot)
        if product is not None and factor:
            total = total + factor * product
    return total


def _was_asked(run: RecordedRun, output: RecordedOutput, slot: int) -> bool:
    """Whether the run had gradient go from an output to an input, if any came to it."""
    return slot in output.depends and slot not in run.unasked


def _parts(arrived: Sequence[Array], g: Array, rounding: Sequence[float]) -> Sequence[float] | None:
    """1 for each gradient of some that add up to this one, as several losses do; 0 for the others.

    Below ``rounding`` the gradients of a loss are 0 but for rounding.
    """
    places = range(len(arrived))
    sizes = [1, len(arrived), *range(2, len(arrived))]
    found: list[tuple[float, tuple[int, ...]]] = []
    for chosen in islice(chain(*(combinations(places, size) for size in sizes)), MOST_SUMS):
        with np.errstate(invalid="ignore", over="ignore"):
            whole = np.asarray(sum(arrived[i] for i in chosen))
            if chosen and is_close(whole, g, sum(rounding[i] for i in chosen)):
                apart = np.abs(whole - g)
                found.append((float(apart[np.isfinite(apart)].max(initial=0.0)), chosen))
    if not found:
        return None
    _, nearest = min(found)  # one loss may be that much larger than all others
    return [float(place in nearest) for place in places]


def _factors(
    arrived: Sequence[Array], g: Array, rounding: Sequence[float]
) -> Sequence[float] | None:
    """The numbers by which to multiply gradients for their sum to be this one; None without any."""
    count = len(arrived)
    if not np.any(g):
        return [0.0] * count
    columns = np.array([each.ravel() for each in arrived], np.float64).reshape(count, g.size)
    wanted, least = g.astype(np.float64).ravel(), sum(rounding)
    finite = np.isfinite(wanted) & np.isfinite(columns).all(axis=0)
    if not count or not finite.any():
        return None
    found = np.linalg.lstsq(columns[:, finite].T, wanted[finite])[0]
    with np.errstate(invalid="ignore"):
        whole = sum(k * column for k, column in zip(found, columns, strict=True) if k)
    return [float(k) for k in found] if is_close(np.asarray(whole), wanted, least) else None


def is_close(one: Array, other: Array, least: float) -> bool:
    """Whether arrays are the same but for rounding, of which ``least`` is expected."""
    finite = other[np.isfinite(other)]
    within = max(least, WITHIN * float(np.abs(finite).max(initial=0.0)))
    return bool(np.allclose(one, other, rtol=0.0, atol=within, equal_nan=True))
