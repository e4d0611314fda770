"""Computes the parts of a rolled computation while JAX traces: loops by ``lax.scan``."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

from jax import lax
from jax import numpy as jnp

from gradwire.blocks.classes.identity import by_identity
from gradwire.runtime.calculus.dtypes import NUMPY, is_float
from gradwire.runtime.calculus.primitives.base import CONSTANT
from gradwire.runtime.engine.jax.repeats.parts import Joined, Loop, Span, Zeros
from gradwire.runtime.engine.jax.scans import scanned

if TYPE_CHECKING:
    from gradwire.runtime.calculus import Value
    from gradwire.runtime.engine.jax.repeats.parts import Computed, Part, Piece, Rows

Env: TypeAlias = "dict[Value, Any]"
Apply: TypeAlias = "Callable[[Value, Sequence[Any]], Any]"
"""Computes a value from the arrays of its inputs; or says whether that fails, if it can."""


@by_identity
class Failure(NamedTuple):
    """Some values of one kind, and for each whether its arithmetic failed: an array (n,)."""

    values: Sequence[Value]
    flags: Any


def evaluate(parts: Sequence[Part], env: Env, apply: Apply, failure: Apply) -> list[Failure]:
    """Compute all parts, and put the values outside loops into ``env``.

    Leaves are there already, and constants may be.
    Returns what may have failed, in order. ``apply(value, arrays)`` computes a value, and
    ``failure(value, arrays)`` is None for one that can't fail. Values within loops are copies
    with the same primitive, attributes and owner.
    """
    failures = []
    scans = _scans(parts)
    for part in parts:
        if isinstance(part, Loop):
            failures += _loop(part, env, apply, failure)
        elif isinstance(part, Joined):
            env[part.value] = _joined(part, env)
        elif part[0].primitive is CONSTANT:
            env.setdefault(part[0], jnp.asarray(part[0].attributes["array"]))
        elif part[0] not in env and part[0].primitive.together is not None:
            arrays = [env[x] for x in part[1]]
            found, told = scanned(scans[_key(part)], arrays, apply, failure)
            env.update(found)
            failures += [Failure(values, flags) for values, flags in told]
        elif part[0] not in env:
            value, arrays = part[0], [env[x] for x in part[1]]
            flag = failure(value, arrays)
            if flag is not None:
                failures.append(Failure((value,), jnp.reshape(flag, (1,))))
            env[value] = apply(value, arrays)
    return failures


def _scans(parts: Sequence[Part]) -> dict[Hashable, list[Value]]:
    """The results of each scan that are wanted."""
    found: dict[Hashable, list[Value]] = {}
    for part in parts:
        if not isinstance(part, Loop | Joined) and part[0].primitive.together is not None:
            found.setdefault(_key(part), []).append(part[0])
    return found


def _key(part: Computed) -> Hashable:
    """What the results of one scan have in common."""
    return id(part[0].attributes["body"]), *map(id, part[1])


def _loop(loop: Loop, env: Env, apply: Apply, failure: Apply) -> list[Failure]:
    """Run a loop and put what is read of it into ``env``."""
    fixed = {slot: env[value] for slot, value in loop.fixed}
    within: list[Sequence[Value]] = []

    def step(carried: Sequence[Any], number: Any) -> tuple[list[Any], tuple[list[Any], list[Any]]]:
        inside = dict(fixed)
        inside.update((each.slot, x) for each, x in zip(loop.carried, carried, strict=True))
        inside.update((slot, _row(rows, slot, number, env)) for slot, rows in loop.rows)
        found = evaluate(loop.parts, inside, apply, failure)
        within[:] = [each.values for each in found]
        stacked = [_typed(inside[copy], copy) for _, copy in loop.stacks]
        after = [_typed(inside[each.result], each.slot) for each in loop.carried]
        return after, (stacked, [each.flags for each in found])

    initial = [_initial(each.slot, each.initial, env) for each in loop.carried]
    numbers = jnp.arange(loop.steps, dtype=jnp.int32)
    if loop.reverse:
        numbers = jnp.flip(numbers)
    after, (stacked, flags) = lax.scan(step, initial, numbers, reverse=loop.reverse)
    env.update((stack, array) for (stack, _), array in zip(loop.stacks, stacked, strict=True))
    env.update((value, after[i]) for value, i in loop.last)
    env.update((value, _taken(env[stack], place, env)) for value, stack, place in loop.single)
    return [
        Failure(_originals(loop, values), jnp.reshape(each, (-1,)))
        for values, each in zip(within, flags, strict=True)
    ]


def _originals(loop: Loop, values: Sequence[Value]) -> list[Value]:
    """The values that those within a loop stand for, in the order of the rows of a stack."""
    steps = range(loop.steps)[:: -1 if loop.reverse else 1]
    return [loop.originals[value][step] for step in steps for value in values]


def _taken(stack: Any, place: Value, env: Env) -> Any:
    """One row of a stack."""
    row = env.get(place, place.attributes["array"])
    return jnp.squeeze(lax.dynamic_slice_in_dim(stack, row, 1), 0)


def _row(rows: Rows, slot: Value, number: Any, env: Env) -> Any:
    """What a step reads of an array."""
    start = jnp.int32(rows.start) + jnp.int32(rows.stride) * number
    found = lax.dynamic_slice_in_dim(env[rows.base], start, rows.size, rows.axis)
    return jnp.reshape(found, slot.shape)


def _initial(slot: Value, initial: Value | None, env: Env) -> Any:
    if initial is not None:
        return _typed(env[initial], slot)
    return jnp.full(slot.shape, -0.0 if is_float(slot.dtype) else 0, NUMPY[slot.dtype])


def _typed(array: Any, like: Value) -> Any:
    """The array in the dtype of a value, without JAX's weak types, which a loop can't carry."""
    return lax.convert_element_type(array, NUMPY[like.dtype])


def _joined(joined: Joined, env: Env) -> Any:
    pieces = [_piece(piece, joined, env) for piece in joined.pieces]
    return pieces[0] if len(pieces) == 1 else jnp.concatenate(pieces, joined.axis)


def _piece(piece: Piece, joined: Joined, env: Mapping[Value, Any]) -> Any:
    """A piece as a part of the whole: results of steps one after the other along the axis."""
    value, axis = joined.value, joined.axis
    if isinstance(piece, Zeros):
        shape = (*value.shape[:axis], piece.length, *value.shape[axis + 1 :])
        return jnp.zeros(shape, NUMPY[value.dtype])
    if not isinstance(piece, Span):
        return jnp.asarray(env[piece]) if piece.shape else jnp.reshape(env[piece], (1,))
    rows = env[piece.stack]
    if (piece.start, piece.stop) != (0, len(rows)):
        rows = lax.slice_in_dim(rows, piece.start, piece.stop)
    if piece.flipped:
        rows = jnp.flip(rows, 0)
    rows = jnp.moveaxis(rows, 0, axis) if rows.ndim > 1 else jnp.expand_dims(rows, 1)
    shape = rows.shape
    length = shape[axis] * shape[axis + 1]
    return jnp.reshape(rows, (*shape[:axis], length, *shape[axis + 2 :]))
