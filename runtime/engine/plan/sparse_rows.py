"""Gradients of tables from which a few rows were looked up, as rows and values; results of which
some are known so, of which whole arrays are made when they are read; and which gradients are such,
by the arithmetic that they come from.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from math import prod
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import DTypeLike, NDArray

from gradwire.blocks.classes.dataclass import dataclass
from gradwire.runtime.calculus.primitives.base import CAST
from gradwire.runtime.calculus.primitives.gather import SCATTER_ADD
from gradwire.runtime.engine.plan.simplify import IDENTITIES, is_zero

if TYPE_CHECKING:
    from gradwire.blocks.block import Shape
    from gradwire.blocks.values import Array
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


@dataclass(frozen=True, slots=True, eq=False)
class SparseRows:
    """An array of which all rows that are not listed are 0: the gradient of a table.

    ``dense()`` and every function of NumPy, which takes it for an array, give the whole array.
    """

    rows: NDArray[np.intp]
    """Numbers of rows, in ascending order, each once."""
    values: Array
    """These rows: (rows, …)."""
    length: int
    """Rows of the whole array."""

    @property
    def shape(self) -> Shape:
        """The shape of the whole array."""
        return (self.length, *self.values.shape[1:])

    @property
    def dtype(self) -> np.dtype[Any]:
        """The dtype of the numbers."""
        return self.values.dtype

    @property
    def size(self) -> int:
        """Elements of the whole array."""
        return prod(self.shape)

    def dense(self) -> Array:
        """The whole array."""
        found = np.zeros(self.shape, self.dtype)
        found[self.rows] = self.values
        return found

    def fill(self, out: Array, clear: Callable[[Array], object] | None = None) -> None:
        """Write the whole array, of which ``clear`` sets all elements to 0."""
        if clear is None:
            out.fill(0)
        else:
            clear(out)
        out[self.rows] = self.values

    def __array__(self, dtype: DTypeLike | None = None, copy: bool | None = None) -> Array:
        if copy is False:
            raise ValueError("The whole array of sparse rows is always a new one.")
        return self.dense().astype(dtype or self.dtype, copy=False)

    def __repr__(self) -> str:
        return f"SparseRows({len(self.rows)} rows of {list(self.shape)}, {self.dtype})"


def added(terms: Sequence[SparseRows]) -> SparseRows:
    """The sum of several in their order, with the bits that whole arrays would have."""
    if len(terms) == 1:
        return terms[0]
    rows = np.unique(np.concatenate([term.rows for term in terms]))
    total = np.zeros((len(rows), *terms[0].values.shape[1:]), terms[0].dtype)
    for number, term in enumerate(terms):
        places = np.searchsorted(rows, term.rows)
        if number:
            total[places] += term.values
        else:
            total[places] = term.values
    return SparseRows(rows, total, terms[0].length)


def numbers_of(array: Array | SparseRows) -> Array:
    """All numbers of an array that may differ from 0."""
    return array.values if isinstance(array, SparseRows) else array


def rows_of(array: Array) -> SparseRows:
    """The rows of an array that are not 0, copied."""
    rows = np.flatnonzero(array.reshape(len(array), -1).any(axis=1))
    return SparseRows(rows, array[rows], len(array))


class WholeOnRead(Mapping[str, "Array | None"]):
    """Arrays by name; of those that are known by rows a whole one is made when it is first read."""

    def __init__(self, results: Mapping[str, Array | SparseRows | None]) -> None:
        self.compact = results
        """The same results, with rows in place of the arrays that are made of them."""
        self._made: dict[str, Array] = {}

    @property
    def rows(self) -> dict[str, SparseRows]:
        """The results that are known by rows."""
        return {name: x for name, x in self.compact.items() if isinstance(x, SparseRows)}

    def __getitem__(self, name: str) -> Array | None:
        found = self.compact[name]
        if not isinstance(found, SparseRows):
            return found
        if name not in self._made:
            self._made[name] = found.dense()
        return self._made[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self.compact)

    def __len__(self) -> int:
        return len(self.compact)

    def __contains__(self, name: object) -> bool:
        return name in self.compact

    def __repr__(self) -> str:
        return repr(dict(self.compact))


def compact(results: Mapping[str, Any]) -> Mapping[str, Any]:
    """Results with rows in place of arrays that are made of them: for who measures them all."""
    return results.compact if isinstance(results, WholeOnRead) else results


def rows_reader(read: Callable[[], SparseRows]) -> Callable[[], SparseRows]:
    """Reads rows whose numbers nobody can change, as whole arrays may be made of them later."""

    def reader() -> SparseRows:
        found = read()
        rows, values = found.rows.view(), found.values.view()
        rows.flags.writeable = values.flags.writeable = False
        return SparseRows(rows, values, found.length)

    return reader
