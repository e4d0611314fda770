"""Which gradients are 0 but for some rows, by the arithmetic that they come from."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, NamedTuple

from gradwire.runtime.calculus.primitives.base import CAST
from gradwire.runtime.calculus.primitives.gather import SCATTER_ADD
from gradwire.runtime.engine.plan.simplify import IDENTITIES, is_zero

if TYPE_CHECKING:
    from gradwire.runtime.calculus import Value

LEAST = 1 << 14
"""Elements of a table from which rows are worth looking for."""
FEWER = 4
"""How many times as many rows a table must have as indices."""
_DEEPEST = 8
"""Sums within products within sums that are looked into."""

InputsOf = Callable[["Value"], "Sequence[Value] | None"]
"""What a value is computed from; None where it is not to be looked into."""


class Lookup(NamedTuple):
    """Rows of ``updates`` added into zeros at ``indices``."""

    value: Value
    indices: Value
    updates: Value


class Scaled(NamedTuple):
    """A form times a number; without a ``factor``, cast to the dtype of the value."""

    value: Value
    of: Form
    factor: Value | None = None


class Total(NamedTuple):
    """The sum of forms in their order."""

    terms: tuple[Form, ...]
    links: tuple[Value, ...]
    """The partial sums, and the sum."""

    @property
    def value(self) -> Value:
        """The sum."""
        return self.links[-1]


Form = Lookup | Scaled | Total


def form_of(value: Value, inputs_of: InputsOf | None = None) -> Form | None:
    """How a value is computed by rows; None if it is not 0 but for a few.

    ``inputs_of`` is what plans compute it from; by default what the trace does.
    """
    large = value.ndim > 0 and value.size >= LEAST
    form = _form(value, inputs_of or _traced, _DEEPEST) if large else None
    return form if form is not None and FEWER * _indices(form) <= value.shape[0] else None


def lookups(form: Form) -> list[Lookup]:
    """The lookups that a form is made of, in their order."""
    if isinstance(form, Lookup):
        return [form]
    if isinstance(form, Scaled):
        return lookups(form.of)
    return [found for term in form.terms for found in lookups(term)]


def inside(form: Form) -> list[Value]:
    """All values of a form, in the order of evaluation; the last is the form's."""
    if isinstance(form, Lookup):
        return [form.value]
    if isinstance(form, Scaled):
        return [*inside(form.of), form.value]
    return [*(value for term in form.terms for value in inside(term)), *form.links]


def read_by(form: Form) -> list[Value]:
    """The values that a form is computed from."""
    if isinstance(form, Lookup):
        return [form.indices, form.updates]
    if isinstance(form, Scaled):
        return [*read_by(form.of), *([] if form.factor is None else [form.factor])]
    return [value for term in form.terms for value in read_by(term)]


def _indices(form: Form) -> int:
    return sum(lookup.indices.size for lookup in lookups(form))


def _traced(value: Value) -> Sequence[Value]:
    return [_unmarked(x) for x in value.inputs]


def _unmarked(value: Value) -> Value:
    while value.primitive in IDENTITIES:
        value = value.inputs[0]
    return value


def _form(value: Value, inputs_of: InputsOf, depth: int) -> Form | None:
    value = _unmarked(value)
    terms: list[Form] = []
    links: list[Value] = []
    while value.primitive.name == "add":
        inputs = inputs_of(value)
        if inputs is None or any(x.shape != value.shape for x in inputs):
            return None
        links.append(value)
        value, last = inputs
        term = _term(last, inputs_of, depth)
        if term is None:
            return None
        terms.append(term)
    first = _term(value, inputs_of, depth)
    if first is None or not terms:
        return first
    return Total((first, *reversed(terms)), tuple(reversed(links)))


def _term(value: Value, inputs_of: InputsOf, depth: int) -> Form | None:
    primitive, inputs = value.primitive, inputs_of(value)
    if inputs is None or not depth:
        return None
    if primitive is SCATTER_ADD:
        base, indices, updates = inputs
        fits = not value.attributes["axis"] and is_zero(base)
        return Lookup(value, indices, updates) if fits else None
    if primitive is CAST:
        of = _form(inputs[0], inputs_of, depth - 1)
        return of and Scaled(value, of)
    if primitive.name == "multiply":
        factor, x = sorted(inputs, key=lambda operand: operand.size)
        of = None if factor.shape else _form(x, inputs_of, depth - 1)
        return of and Scaled(value, of, factor)
    return _form(value, inputs_of, depth - 1) if primitive.name == "add" else None
