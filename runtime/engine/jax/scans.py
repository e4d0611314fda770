"""Computes scans while JAX traces: all results of one by one ``lax.scan``."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from jax import lax
from jax import numpy as jnp

from gradwire.runtime.calculus import Trace
from gradwire.runtime.calculus.dtypes import NUMPY, is_float
from gradwire.runtime.calculus.primitives.base import CONSTANT
from gradwire.runtime.calculus.scan import copied, needed_values, result_of

if TYPE_CHECKING:
    from gradwire.runtime.calculus import Value
    from gradwire.runtime.calculus.scan import Body

Apply = Callable[["Value", Sequence[Any]], Any]


def scanned(
    values: Sequence[Value], arrays: Sequence[Any], apply: Apply, failure: Apply
) -> tuple[Mapping[Value, Any], Sequence[tuple[Sequence[Value], Any]]]:
    """The results of one scan that are wanted, from the arrays of its inputs, and what may have
    failed: values, with a boolean for each. See ``evaluate`` for the functions.
    """
    body: Body = values[0].attributes["body"]
    count, rows = len(body.carried), len(body.rows)
    wanted: dict[str, dict[Value, Value]] = {"last": {}, "stack": {}, "sum": {}}
    for value in values:
        wanted[value.attributes["kind"]][value] = result_of(value)
    afters = [each.after for each in body.carried]
    needed = needed_values([*map(result_of, values), *afters], body.leaves)
    fixed = arrays[count + rows :]
    checked: list[Value] = []

    def step(carried: Any, now: Any) -> Any:
        state, totals = carried
        known = dict(zip(body.leaves, (*state, *now, *fixed), strict=True))
        flags = []
        checked.clear()
        for x in needed:
            if x.primitive is CONSTANT:
                known[x] = jnp.asarray(x.attributes["array"])
                continue
            inputs = [known[y] for y in x.inputs]
            if (flag := failure(x, inputs)) is not None:
                checked.append(x)
                flags.append(jnp.reshape(flag, ()))
            known[x] = apply(x, inputs)
        summed = [
            total + _typed(known[value], value)
            for total, value in zip(totals, wanted["sum"].values(), strict=True)
        ]
        stacked = [_typed(known[value], value) for value in wanted["stack"].values()]
        return ([_typed(known[x], x) for x in afters], summed), (stacked, flags)

    state = [_typed(x, each.before) for x, each in zip(arrays, body.carried, strict=False)]
    totals = [
        jnp.full(value.shape, -0.0 if is_float(value.dtype) else 0, NUMPY[value.dtype])
        for value in wanted["sum"].values()
    ]
    given = [_typed(x, leaf) for x, leaf in zip(arrays[count:], body.rows, strict=False)]
    (state, totals), (stacks, flags) = lax.scan(
        step, (state, totals), given, length=body.steps, reverse=body.reverse
    )
    last = dict(zip(afters, state, strict=True))
    found = {value: last[of] for value, of in wanted["last"].items()}
    found |= zip(wanted["stack"], stacks, strict=True)
    found |= zip(wanted["sum"], totals, strict=True)
    order = range(body.steps)
    failures = [
        ([_in_step(body, x, step) for step in order], each)
        for x, each in zip(checked, flags, strict=True)
    ]
    return found, failures


def _in_step(body: Body, value: Value, step: int) -> Value:
    """A value as that of a step, for the name of its block."""
    return copied(value, Trace(), value.inputs, body.owner(value.owner, step))


def _typed(array: Any, like: Value) -> Any:
    """The array in the dtype of a value, without JAX's weak types, which a loop can't carry."""
    return lax.convert_element_type(array, NUMPY[like.dtype])
