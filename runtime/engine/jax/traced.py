"""Values of a trace as a function that JAX can compile: each primitive as it is spelled, or by a
row, to the numbers of numpy kernels, and each scan as one ``lax.scan``.

What XLA makes of them differs: numbers below the least normal one are 0 on a processor; functions
round in another way, by up to 8 units in the last place; sums are added in another order; dividing
by a broadcast number is multiplying by its reciprocal; constants that are added one after the
other are added up first; float64 becomes float16 by way of float32; of 0 and −0, ``maximum`` may
take the other one.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cache
from types import CodeType, MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

import jax
import numpy as np
from jax import lax
from jax import numpy as jnp

from gradwire.blocks.classes.identity import by_identity
from gradwire.blocks.errors import Location, RunError
from gradwire.blocks.plugins import is_own
from gradwire.runtime.calculus import Trace, result_of
from gradwire.runtime.calculus.dtypes import NUMPY, is_float
from gradwire.runtime.calculus.primitives.base import CONSTANT, LEAF
from gradwire.runtime.calculus.scan import copied, needed_values
from gradwire.runtime.engine.jax.rows import arithmetic, convolution, indexing, matrices, shaping
from gradwire.runtime.engine.jax.rows.base import broadcast
from gradwire.runtime.engine.plan.simplify import simplify

if TYPE_CHECKING:
    from gradwire.blocks.values import Array
    from gradwire.runtime.calculus import Body, Value
    from gradwire.runtime.engine.jax.rows.base import JaxRow


def called(value: Value, arrays: Sequence[jax.Array]) -> jax.Array:
    """The value as its numpy kernel computes it, on the host in each run."""

    def compute(*given: Any) -> Any:
        inputs = [np.asarray(x) for x in given]
        if value.primitive.view:
            found = value.primitive.kernel(*inputs, **value.attributes)
            return np.ascontiguousarray(found, value.dtype)
        out = np.empty(value.shape, value.dtype)
        with np.errstate(all="ignore"):
            value.kernel(*inputs, out=out, **value.attributes)
        return out

    shape = jax.ShapeDtypeStruct(value.shape, value.dtype)
    return jax.pure_callback(compute, shape, *arrays, vmap_method="sequential")


_FAMILIES = (arithmetic, shaping, indexing, matrices, convolution)  # fmt: skip
ROWS: Mapping[str, JaxRow] = MappingProxyType(
    {name: row for family in _FAMILIES for name, row in family.ROWS.items()}
)
"""The rows of primitives that are not what they are spelled as, by name."""


def apply(value: Value, arrays: Sequence[Any]) -> Any:
    """A value, in its dtype and shape, from the arrays of its inputs; within ``enable_x64``.

    Transcendental functions of float32 scalars are computed in float64, as numpy's are. A primitive
    of a plug-in that is not spelled for JAX is called on the host.
    """
    primitive, row = value.primitive, _row(value)
    inputs = [jnp.asarray(x) for x in arrays]
    if row is None and not isinstance(primitive.spelling.jax, str):
        return called(value, inputs)
    if primitive.elementwise:
        inputs = list(broadcast(*inputs))
    if primitive.transcendental and not value.shape and value.dtype == "float32":
        inputs = [x.astype(jnp.float64) for x in inputs]
    found = _spelled(value, inputs) if row is None else row.compute(*inputs, **value.attributes)
    return found.astype(value.dtype)


def _spelled(value: Value, inputs: Sequence[Any]) -> Any:
    """What a primitive is by its spelling, which names its inputs and attributes."""
    names = {"jax": jax, "jnp": jnp, "lax": lax, "shape": value.shape, "dtype": value.dtype}
    names |= zip("abc", inputs, strict=False)
    return eval(_code(str(value.primitive.spelling.jax)), names | dict(value.attributes))


@cache
def _code(text: str) -> CodeType:
    return compile(text, "<spelling>", "eval")


def failure(value: Value, arrays: Sequence[Any]) -> Any | None:
    """Whether the numpy kernel raises for these inputs, a boolean of rank 0; None if for none."""
    row = _row(value)
    if row is None or row.fails is None or (row.safe is not None and row.safe(value)):
        return None
    return row.fails(*map(jnp.asarray, arrays), **value.attributes)


def _row(value: Value) -> JaxRow | None:
    """The row of a primitive of the runtime; a plug-in's may have any name."""
    return ROWS.get(value.primitive.name) if is_own(value.primitive.kernel) else None


Apply: TypeAlias = "Callable[[Value, Sequence[Any]], Any]"
"""Computes a value from the arrays of its inputs; or says whether that fails, if it can."""
Computed: TypeAlias = "tuple[Value, list[Value]]"
"""A value and its inputs."""


@by_identity
class Failure(NamedTuple):
    """Some values, and for each whether its arithmetic failed: an array (n,)."""

    values: Sequence[Value]
    flags: Any


def evaluate(
    computed: Sequence[Computed], env: dict[Value, Any], apply: Apply, failure: Apply
) -> list[Failure]:
    """Compute values in order, and put them into ``env``.

    Leaves are there already, and constants may be. Returns what may have failed, in order.
    ``apply(value, arrays)`` computes a value, and ``failure(value, arrays)`` is None for one that
    can't fail. Values within scans are those of their bodies.
    """
    failures = []
    scans = _scans(computed)
    for value, inputs in computed:
        if value in env:
            continue
        if value.primitive is CONSTANT:
            env[value] = jnp.asarray(value.attributes["array"])
            continue
        arrays = [env[x] for x in inputs]
        if value.primitive.together is not None:
            found, told = _scanned(scans[_key(value, inputs)], arrays, apply, failure)
            env.update(found)
            failures += told
            continue
        if (flag := failure(value, arrays)) is not None:
            failures.append(Failure((value,), jnp.reshape(flag, (1,))))
        env[value] = apply(value, arrays)
    return failures


def count_operations(computed: Sequence[Computed]) -> int:
    """How many operations are compiled: those of a scan once."""
    scans = _scans(computed).values()
    single = sum(value.primitive.together is None for value, _ in computed)
    return single + sum(len(_needed(values)) for values in scans)


def _scans(computed: Sequence[Computed]) -> dict[object, list[Value]]:
    """The results of each scan that are wanted."""
    found: dict[object, list[Value]] = {}
    for value, inputs in computed:
        if value.primitive.together is not None:
            found.setdefault(_key(value, inputs), []).append(value)
    return found


def _key(value: Value, inputs: Sequence[Value]) -> object:
    """What the results of one scan have in common."""
    return id(value.attributes["body"]), *map(id, inputs)


def _needed(values: Sequence[Value]) -> list[Value]:
    """What a step computes for results of a scan."""
    body: Body = values[0].attributes["body"]
    afters = [each.after for each in body.carried]
    return needed_values([*map(result_of, values), *afters], body.leaves)


def _scanned(
    values: Sequence[Value], arrays: Sequence[Any], apply: Apply, failure: Apply
) -> tuple[Mapping[Value, Any], list[Failure]]:
    """The results of one scan that are wanted, from the arrays of its inputs, and what may have
    failed. See ``evaluate`` for the functions.
    """
    body: Body = values[0].attributes["body"]
    count, rows = len(body.carried), len(body.rows)
    wanted: dict[str, dict[Value, Value]] = {"last": {}, "stack": {}, "sum": {}}
    for value in values:
        wanted[value.attributes["kind"]][value] = result_of(value)
    afters = [each.after for each in body.carried]
    needed = [(x, list(x.inputs)) for x in _needed(values)]
    fixed = arrays[count + rows :]
    checked: list[Value] = []

    def step(carried: Any, now: Any) -> Any:
        state, totals = carried
        known = dict(zip(body.leaves, (*state, *now, *fixed), strict=True))
        told = evaluate(needed, known, apply, failure)
        checked[:] = [x for each in told for x in each.values]
        summed = [
            total + _typed(known[value], value)
            for total, value in zip(totals, wanted["sum"].values(), strict=True)
        ]
        stacked = [_typed(known[value], value) for value in wanted["stack"].values()]
        flags = jnp.concatenate([jnp.zeros(0, jnp.bool_), *(each.flags for each in told)])
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
    every = [_in_step(body, x, step) for step in range(body.steps) for x in checked]
    return found, [Failure(every, jnp.reshape(flags, (-1,)))] if every else []


def _in_step(body: Body, value: Value, step: int) -> Value:
    """A value as that of a step, for the name of its block."""
    return copied(value, Trace(), value.inputs, body.owner(value.owner, step))


def _typed(array: Any, like: Value) -> Any:
    """The array in the dtype of a value, without JAX's weak types, which a loop can't carry."""
    return lax.convert_element_type(array, NUMPY[like.dtype])


_INLINE = 1 << 10
"""Elements up to which a constant is a part of the program; larger ones are passed to it."""


class Traced:
    """Computes outputs from ``leaves`` and ``constants``, both passed as arrays."""

    def __init__(self, outputs: Sequence[Value]) -> None:
        self.outputs = list(dict.fromkeys(outputs))
        self._computed, self._same = simplify(self.outputs)
        self.leaves = [v for v, _ in self._computed if v.primitive is LEAF]
        self.constants = {
            v: v.attributes["array"]
            for v, _ in self._computed
            if v.primitive is CONSTANT and v.size > _INLINE
        }
        """Large constants, which stay out of the program."""
        self.checked: list[Value] = []
        """The values whose arithmetic may fail, of scans those of all steps, once it was traced."""

    @property
    def operations(self) -> int:
        """How many operations are compiled."""
        return count_operations(self._computed)

    @property
    def values(self) -> list[Value]:
        """What is computed: neither leaves nor constants."""
        return [v for v, _ in self._computed if v.primitive not in (LEAF, CONSTANT)]

    def __call__(self, known: Mapping[Value, Any]) -> tuple[list[Any], Any]:
        """The outputs, and for each of ``checked`` whether it failed, a boolean array (n,).

        ``known`` are leaves and constants. Called while JAX traces.
        """
        found = dict(known)
        failures = evaluate(self._computed, found, apply, failure)
        self.checked = [value for each in failures for value in each.values]
        flags = [jnp.zeros(0, jnp.bool_), *(each.flags for each in failures)]
        outputs = [found[self._same.of(value)] for value in self.outputs]
        return outputs, jnp.concatenate(flags)


def require_success(checked: Sequence[Value], flags: Array) -> None:
    """Raise RunError with the first block whose arithmetic failed; flags have the values last."""
    if checked and flags.any():
        failures = np.flatnonzero(flags.reshape(-1, len(checked)).any(axis=0))
        raise _failed(checked[failures[0]])


def _failed(value: Value) -> RunError:
    """The error of a value whose arithmetic failed."""
    row = ROWS[value.primitive.name]
    why = row.why(value) if row.why is not None else "the numbers are not allowed here"
    place = Location(block=value.owner) if value.owner else None
    return RunError(f"The run failed: {why.rstrip('.')}.", location=place)
