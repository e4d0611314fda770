"""Loops: a scan runs a body, which is traced once, for each of its steps.

A scan has several results, each a value of the primitive ``scan`` with the same body and inputs:
a carried value after the last step, a value of the body stacked over the steps, or its sum over
them. Whoever computes one of them computes those that are wanted together. Its derivative is a
scan of the same steps in the opposite order, which reads what the steps computed as stacks.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import field
from functools import partial
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, TypeAlias

import numpy as np

from gradwire.blocks.classes.dataclass import dataclass
from gradwire.runtime.calculus.dtypes import NUMPY, is_float
from gradwire.runtime.calculus.primitives.base import LEAF, RESHAPE, WIRE
from gradwire.runtime.calculus.primitives.linear import MATMUL
from gradwire.runtime.calculus.primitives.reduce import SUM
from gradwire.runtime.calculus.primitives.shape import PERMUTE
from gradwire.runtime.calculus.reverse import passes_gradient, sweep, unwrap
from gradwire.runtime.calculus.spelling import refused
from gradwire.runtime.calculus.trace import Trace
from gradwire.runtime.calculus.value import Primitive, Value

if TYPE_CHECKING:
    from gradwire.blocks.block import Shape
    from gradwire.blocks.values import Array
    from gradwire.runtime.calculus.namespace import Namespace

Kind: TypeAlias = Literal["last", "stack", "sum"]
_Slots: TypeAlias = "frozenset[int]"


class Carried(NamedTuple):
    """What a step gets from the step before: a leaf of the body, and the value that it gets."""

    before: Value
    after: Value


def _same(owner: object, step: int) -> object:
    return owner


_Total: TypeAlias = "Mapping[tuple[Kind, Value], Value]"


@dataclass(slots=True, eq=False)
class Body:
    """One step of a scan: a trace whose leaves are the inputs of a step.

    The inputs of the scan are what is carried in, then arrays whose elements along axis 0 are the
    ``rows`` of the steps, then what is ``fixed``, the same in all steps. A carried value keeps its
    shape and dtype. With ``reverse`` the last element comes first; stacks keep the elements' order.
    """

    trace: Trace
    steps: int
    reverse: bool = False
    carried: list[Carried] = field(default_factory=list)
    rows: list[Value] = field(default_factory=list)
    fixed: list[Value] = field(default_factory=list)
    owner: Callable[[Any, int], Any] = _same
    """The owner in a step, by its number, of what an owner of the body does."""
    _reads: dict[Value, _Slots] = field(default_factory=dict)
    _reversed: dict[object, _Reverse] = field(default_factory=dict)

    @property
    def leaves(self) -> list[Value]:
        """The leaves of a step, in the order of the inputs of the scan."""
        return [*(each.before for each in self.carried), *self.rows, *self.fixed]

    def order(self) -> range:
        """The numbers of the steps, in the order in which they run."""
        return range(self.steps)[:: -1 if self.reverse else 1]

    def reads(self, value: Value) -> _Slots:
        """The leaves of a step from which gradient comes to one of its values, by slot."""
        if value not in self._reads:
            found = {value}
            for x in reversed(self.trace.values[: value.index + 1]):
                if x in found:
                    found.update(y for slot, y in enumerate(x.inputs) if passes_gradient(x, slot))
            leaves = enumerate(self.leaves)
            self._reads[value] = frozenset(
                slot for slot, x in leaves if x in found and is_float(x.dtype)
            )
        return self._reads[value]

    def open_slots(self, kind: Kind, value: Value) -> _Slots:
        """The inputs of the scan from which gradient comes to a result, in so many steps."""
        if not is_float(value.dtype):
            return frozenset()
        count = len(self.carried)
        found, now = set[int](), self.reads(value)
        for _ in range(self.steps - 1):
            found |= now if kind != "last" else {slot for slot in now if slot >= count}
            afters = (self.carried[slot].after for slot in now if slot < count)
            before = frozenset().union(*map(self.reads, afters))
            if before == now or (kind != "last" and before <= found):
                break
            now = before
        return frozenset(found | now)


def result(body: Body, inputs: Sequence[Value], kind: Kind, value: Value) -> Value:
    """A result of a scan, of one step or more, on the trace of its inputs.

    ``value`` is one of the body's; for "last" it is what a leaf gets that is carried.
    """
    opened = body.open_slots(kind, value)
    rules = tuple(partial(_rule, slot) if slot in opened else None for slot in range(len(inputs)))
    primitive = Primitive(
        "scan", _infer, _kernel, rules, together=gradients, spelling=refused("it is a loop")
    )
    trace = inputs[0].trace
    return trace.apply(primitive, *inputs, body=body, kind=kind, place=value.index)


def result_of(value: Value) -> Value:
    """The value of the body that a result of a scan has."""
    body: Body = value.attributes["body"]
    return body.trace.values[value.attributes["place"]]


def _infer(*inputs: Value, body: Body, kind: Kind, place: int) -> tuple[Shape, str]:
    value = body.trace.values[place]
    return ((body.steps, *value.shape) if kind == "stack" else value.shape), value.dtype


def _kernel(*arrays: Array, out: Array, body: Body, kind: Kind, place: int) -> None:
    """One result, by the kernels of the body: the reference for every engine."""
    value = body.trace.values[place]
    needed = needed_values([value, *(each.after for each in body.carried)], body.leaves)
    carried, rows = len(body.carried), len(body.rows)
    state, fixed = list(arrays[:carried]), arrays[carried + rows :]
    if kind == "sum":
        out[...] = -0.0 if is_float(value.dtype) else 0
    for step in body.order():
        now = [array[step] for array in arrays[carried : carried + rows]]
        known = dict(zip(body.leaves, (*state, *now, *fixed), strict=True))
        for x in needed:
            known[x] = _computed(x, [known[y] for y in x.inputs])
        if kind == "stack":
            out[step] = known[value]
        elif kind == "sum":
            out += known[value]
        state = [known[each.after] for each in body.carried]
        if kind == "last":
            out[...] = known[value]


def _computed(value: Value, arrays: Sequence[Array]) -> Array:
    if value.primitive.view:
        found: Array = value.kernel(*arrays, **value.attributes)
        return found
    out = np.empty(value.shape, NUMPY[value.dtype])
    value.kernel(*arrays, out=out, **value.attributes)
    return out


def needed_values(outputs: Iterable[Value], known: Iterable[Value]) -> list[Value]:
    """What computes outputs from known values, in order."""
    given = set(known)
    found: dict[int, Value] = {}
    pending = [value for value in outputs if value not in given]
    while pending:
        value = pending.pop()
        if value.index not in found:
            found[value.index] = value
            pending += [x for x in value.inputs if x not in given]
    return [found[place] for place in sorted(found)]


def copied(value: Value, trace: Trace, inputs: Sequence[Value], owner: object) -> Value:
    """The same arithmetic on other inputs, which are like its own, on another trace."""
    trace.owner = owner
    return Value(
        trace, value.primitive, tuple(inputs), value.attributes, value.shape, value.dtype,
        value.weak,
    )  # fmt: skip


def _rule(
    slot: int, xp: Namespace, g: Value, out: Value, *inputs: Value, **attributes: object
) -> Value:
    """The product of one result; see ``gradients`` for those of several."""
    return gradients([(out, g)], [slot])[slot]


def gradients(adjoints: Sequence[tuple[Value, Value]], slots: Iterable[int]) -> dict[int, Value]:
    """What comes back to some inputs of a scan from several of its results, with their adjoints.

    All of ``slots`` are open for a result.
    """
    (first, _), *_ = adjoints
    body: Body = first.attributes["body"]
    inputs, wanted = first.inputs, frozenset(slots)
    total: dict[tuple[Kind, Value], Value] = {}
    for out, adjoint in adjoints:
        key = out.attributes["kind"], result_of(out)
        total[key] = total[key] + adjoint if key in total else adjoint
    order = frozenset((kind, value.index) for kind, value in total), wanted
    if order not in body._reversed:
        body._reversed[order] = _Reversing(body, list(total), wanted).run()
    back = body._reversed[order]
    given = [source(body, inputs, total) for source in back.inputs]
    found = {}
    for slot in sorted(wanted):
        kind, value = back.results[slot]
        if kind == "sum":
            found[slot] = _total(back.body, given, value)
        else:
            found[slot] = result(back.body, given, kind, value)
    return found


def _total(body: Body, inputs: Sequence[Value], value: Value) -> Value:
    """The sum of a value over the steps.

    Σ aᵀb is one product of all steps' a and b, which takes no part in the loop, and a sum over
    axes is one over the steps too.
    """
    xp, primitive = inputs[0].trace.xp, value.primitive
    if primitive is WIRE:
        return _total(body, inputs, value.inputs[0])
    if primitive is RESHAPE:
        return xp.reshape(_total(body, inputs, value.inputs[0]), value.shape)
    if primitive is SUM:
        whole = _stacked(body, inputs, value.inputs[0])
        axes = 0, *(axis + 1 for axis in value.attributes["axes"])
        return xp.reshape(xp.sum(whole, axes), value.shape)
    if primitive is MATMUL and all(x.ndim == 2 for x in value.inputs):
        a, b = value.inputs
        if a.primitive is PERMUTE:
            left = _stacked(body, inputs, a.inputs[0])
            left = xp.permute_dims(xp.reshape(left, (-1, left.shape[2])), (1, 0))
        else:
            left = xp.permute_dims(_stacked(body, inputs, a), (1, 0, 2))
            left = xp.reshape(left, (left.shape[0], -1))
        right = _stacked(body, inputs, b)
        return xp.matmul(left, xp.reshape(right, (-1, right.shape[2])))
    return result(body, inputs, "sum", value)


def _stacked(body: Body, inputs: Sequence[Value], value: Value) -> Value:
    """A value of the steps along a new axis 0, which may be what the scan was given."""
    value = unwrap(value)
    for place, leaf in enumerate(body.rows, len(body.carried)):
        if leaf is value:
            return inputs[place]
    return result(body, inputs, "stack", value)


_Source: TypeAlias = "Callable[[Body, Sequence[Value], Mapping[tuple[Kind, Value], Value]], Value]"


class _Reverse(NamedTuple):
    """The body of a derivative, where its inputs come from, and its results by slot."""

    body: Body
    inputs: Sequence[_Source]
    results: Mapping[int, tuple[Kind, Value]]


class _Reversing:
    """Derives the step of a derivative: from the adjoints after a step those before it."""

    def __init__(
        self, body: Body, wanted: Sequence[tuple[Kind, Value]], slots: frozenset[int]
    ) -> None:
        self._body, self._wanted, self._slots = body, wanted, slots
        self._trace = Trace()
        self._known: dict[Value, Value] = {}
        """Values of the forward body, and what stands for them here."""
        self._rows: list[tuple[Value, _Source]] = []
        self._fixed: list[tuple[Value, _Source]] = []

    def run(self) -> _Reverse:
        body = self._body
        forward = len(body.trace.values)
        leaves = body.leaves
        passed = self._passed()
        seeds: list[tuple[Value, Value]] = []
        for kind, value in self._wanted:
            if kind != "last":
                seed = self._seed(value)
                seeds.append((value, seed))
                here = self._leaf(value.shape, value.dtype, value.owner)
                self._known[seed] = here
                where = self._rows if kind == "stack" else self._fixed
                where.append((here, partial(_adjoint, (kind, value))))
        carried = [slot for slot in passed if slot < len(body.carried)]
        afters = {slot: self._seed(body.carried[slot].after) for slot in carried}
        heads = [*seeds, *((body.carried[slot].after, seed) for slot, seed in afters.items())]
        body.trace.owner = None  # what is derived belongs to what it is derived from
        found = sweep(heads, [leaves[slot] for slot in passed])
        entering: list[tuple[Value, _Source]] = []
        last = {value for kind, value in self._wanted if kind == "last"}
        for slot, seed in afters.items():
            after = body.carried[slot].after
            self._known[seed] = here = self._leaf(after.shape, after.dtype, after.owner)
            source = partial(_adjoint, ("last", after)) if after in last else partial(_zero, slot)
            entering.append((here, source))
            last.discard(after)
        results = {slot: self._here(found[leaves[slot]], forward) for slot in passed
                   if leaves[slot] in found}  # fmt: skip
        back = Body(
            self._trace,
            body.steps,
            not body.reverse,
            [
                Carried(here, results[slot] if slot in results else self._zeros(here))
                for slot, (here, _) in zip(afters, entering, strict=True)
            ],
            [here for here, _ in self._rows],
            [here for here, _ in self._fixed],
            body.owner,
        )
        told = {slot: (self._kind(slot), results[slot]) for slot in self._slots}
        sources = [source for _, source in (*entering, *self._rows, *self._fixed)]
        return _Reverse(back, sources, told)

    def _kind(self, slot: int) -> Kind:
        """What is made of the adjoints of an input in all steps."""
        carried, rows = len(self._body.carried), len(self._body.rows)
        return "last" if slot < carried else "stack" if slot < carried + rows else "sum"

    def _passed(self) -> list[int]:
        """The leaves through which gradient goes: those that are wanted, and those that carry it
        from step to step.
        """
        body = self._body
        count = len(body.carried)
        arriving: set[int] = set()
        new = {slot for slot, each in enumerate(body.carried) if ("last", each.after) in self._keys}
        new |= {s for kind, v in self._wanted if kind != "last" for s in body.reads(v) if s < count}
        while new:
            arriving |= new
            new = {s for n in new for s in body.reads(body.carried[n].after) if s < count}
            new -= arriving
        leading = {slot for slot in self._slots if slot < count}
        while True:
            more = {
                slot for slot in range(count)
                if body.reads(body.carried[slot].after) & (leading | self._slots)
            } - leading  # fmt: skip
            if not more:
                break
            leading |= more
        return sorted(self._slots | (arriving & leading))

    @property
    def _keys(self) -> set[tuple[Kind, Value]]:
        return set(self._wanted)

    def _seed(self, value: Value) -> Value:
        trace, owner = value.trace, value.trace.owner
        trace.owner = value.owner
        seed = trace.apply(LEAF, shape=value.shape, dtype=value.dtype)
        trace.owner = owner
        return seed

    def _leaf(self, shape: Shape, dtype: str, owner: object) -> Value:
        self._trace.owner = owner
        return self._trace.apply(LEAF, shape=shape, dtype=dtype)

    def _zeros(self, like: Value) -> Value:
        return self._trace.xp.zeros_like(like)

    def _here(self, value: Value, forward: int) -> Value:
        """What computes a value of the derivative on the trace of its own body."""
        known, pending = self._known, [value]
        while pending:
            x = pending[-1]
            if x in known:
                pending.pop()
            elif x.index < forward and not (x.primitive.view and x.primitive is not LEAF):
                known[x] = self._residual(x)
            elif missing := [y for y in x.inputs if y not in known]:
                pending += missing
            else:
                known[x] = copied(x, self._trace, [known[y] for y in x.inputs], x.owner)
        return known[value]

    def _residual(self, value: Value) -> Value:
        """A leaf for a value of the forward body: what is fixed, a row, or of a stack."""
        body = self._body
        here = self._leaf(value.shape, value.dtype, value.owner)
        slot = next((slot for slot, leaf in enumerate(body.leaves) if leaf is value), -1)
        if slot >= len(body.carried) + len(body.rows):
            self._fixed.append((here, partial(_input, slot)))
        elif slot >= len(body.carried):
            self._rows.append((here, partial(_input, slot)))
        else:
            self._rows.append((here, partial(_stack, value)))
        return here


def _adjoint(key: tuple[Kind, Value], body: Body, inputs: Sequence[Value], total: _Total) -> Value:
    return total[key]


def _zero(slot: int, body: Body, inputs: Sequence[Value], total: _Total) -> Value:
    """What comes to a carried value after the last step where nobody reads it."""
    return inputs[slot].trace.xp.zeros_like(inputs[slot])


def _input(slot: int, body: Body, inputs: Sequence[Value], total: _Total) -> Value:
    return inputs[slot]


def _stack(value: Value, body: Body, inputs: Sequence[Value], total: _Total) -> Value:
    return result(body, inputs, "stack", value)
