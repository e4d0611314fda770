"""Optimisers for ``Session.step``: classes with the options of the methods."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from inspect import Parameter, Signature
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

import numpy as np
from pydantic import ValidationError

from gradwire.blocks.errors import RunError
from gradwire.blocks.nearest import did_you_mean
from gradwire.blocks.parameter_errors import expected_text
from gradwire.runtime.diagram.optimisers import (
    AdadeltaMethod,
    AdagradMethod,
    AdamaxMethod,
    AdamMethod,
    AdamWMethod,
    LionMethod,
    Method,
    NAdamMethod,
    RAdamMethod,
    RMSpropMethod,
    SGDMethod,
)
from gradwire.runtime.engine.plan.sparse_rows import SparseRows
from gradwire.runtime.training.optimisers.arithmetic import CHUNK, Arithmetic

if TYPE_CHECKING:
    from gradwire.blocks.values import Array


class _Spec(NamedTuple):
    dtype: np.dtype[np.generic]
    shape: tuple[int, ...]


class _Span(NamedTuple):
    """Variables side by side that have had the same number of updates: small ones, or one."""

    dtype: np.dtype[np.generic]
    names: tuple[str, ...]
    start: int
    stop: int


class MethodOptimiser:
    """An optimiser with its state: moves variables that have a gradient, and only these.

    A variable whose gradient is None keeps its value and its state, and the step does not count for
    it: neither decay nor momentum moves it. Options and their defaults are PyTorch's. All variables
    of one dtype are updated together. Raises RunError for an option that is not one.
    """

    method_type: ClassVar[type[Method]]

    def __init_subclass__(cls) -> None:
        fields = {"lr": None, **cls.method_type.model_fields}
        fields.pop("kind")
        parameters = [
            Parameter(
                name,
                Parameter.POSITIONAL_OR_KEYWORD if name == "lr" else Parameter.KEYWORD_ONLY,
                default=cls.method_type.model_fields[name].default,
            )
            for name in fields
        ]
        cls.__signature__ = Signature(parameters)  # type: ignore[attr-defined]  # read by inspect

    def __init__(self, *lr: float, **options: object) -> None:
        self.method = self._method(lr, options)
        """Its options."""
        self._arithmetic = Arithmetic(self.method)
        self._specs: dict[str, _Spec] = {}
        self._counts: dict[str, int] = {}
        self._places: dict[str, tuple[int, int]] = {}
        self._slots: dict[np.dtype[np.generic], dict[str, Array]] = {}
        self._present: tuple[str, ...] = ()
        self._spans: list[_Span] = []

    @property
    def lr(self) -> float:
        """The learning rate."""
        return self.method.lr

    def __repr__(self) -> str:
        given = self.method.model_dump(exclude_defaults=True, exclude={"kind"})
        shown = {"lr": self.method.lr} | {k: v for k, v in given.items() if k != "kind"}
        options = ", ".join(f"{name}={value!r}" for name, value in shown.items())
        return f"{type(self).__name__}({options})"

    def update(
        self, values: Mapping[str, Array], gradients: Mapping[str, Array | None]
    ) -> dict[str, Array]:
        """New values of the variables that have a gradient, in their old dtypes."""
        return self.update_rows(values, gradients)

    @property
    def takes_rows(self) -> bool:
        """Whether ``update_rows`` does what ``update`` does."""
        return type(self).update is MethodOptimiser.update

    def update_rows(
        self, values: Mapping[str, Array], gradients: Mapping[str, Array | SparseRows | None]
    ) -> dict[str, Array]:
        """As ``update``. Of a table whose gradient is given as rows, only these are computed, if
        the others keep every bit. Values are left as they are, and new ones belong to the caller.
        """
        given = {name: g for name, g in gradients.items() if g is not None}
        specs = {name: _Spec(values[name].dtype, values[name].shape) for name in given}
        if any(self._specs.get(name) != spec for name, spec in specs.items()):
            self._lay_out(specs)
        tables = {n: g for n, g in given.items() if isinstance(g, SparseRows) and self._rests(n)}
        present = tuple(name for name in given if name not in tables)
        if present != self._present:
            self._present, self._spans = present, self._find_spans(present)
        moved = {name: self._moved(name, values[name], rows) for name, rows in tables.items()}
        for dtype, names, start, stop in self._spans:
            flat = np.concatenate([values[name].reshape(-1) for name in names])
            gradient = _side_by_side([np.asarray(given[name], dtype) for name in names])
            count = self._counts[names[0]] + 1
            slots = {slot: array[start:stop] for slot, array in self._slots[dtype].items()}
            self._move(flat, gradient, slots, count)
            for name in names:
                at, end = self._places[name]
                moved[name] = flat[at - start : end - start].reshape(self._specs[name].shape)
                self._counts[name] = count
        return {name: moved[name] for name in given}

    def _rests(self, name: str) -> bool:
        dtype = self._specs[name].dtype
        return self._arithmetic.rests(dtype, self.method.weight_decay)

    def _moved(self, name: str, values: Array, gradient: SparseRows) -> Array:
        """A table with rows that have moved, as has their state."""
        at, end = self._places[name]
        slots = {k: x[at:end].reshape(values.shape) for k, x in self._slots[values.dtype].items()}
        rows = gradient.rows
        some = {slot: array[rows] for slot, array in slots.items()}
        part, found = values[rows], values.copy()
        self._counts[name] += 1
        flat = {slot: array.reshape(-1) for slot, array in some.items()}
        self._move(part.reshape(-1), gradient.values.reshape(-1), flat, self._counts[name])
        for slot, array in slots.items():
            array[rows] = some[slot]
        found[rows] = part
        return found

    def _move(self, values: Array, gradient: Array, slots: Mapping[str, Array], count: int) -> None:
        with np.errstate(all="ignore"):  # what is not finite shows in the values
            self._arithmetic.update(
                values,
                gradient,
                slots,
                count=count,
                lr=self.method.lr,
                weight_decay=self.method.weight_decay,
            )

    def state(self, name: str) -> dict[str, Any]:
        """Copies of the state of a variable by PyTorch's names, and ``step``, its updates so far.

        Empty for a variable that has had no gradient yet.
        """
        if not self._counts.get(name):
            return {}
        at, end = self._places[name]
        spec = self._specs[name]
        slots = self._slots[spec.dtype].items()
        found = {slot: array[at:end].reshape(spec.shape).copy() for slot, array in slots}
        return found | {"step": self._counts[name]}

    def _lay_out(self, specs: Mapping[str, _Spec]) -> None:
        """Make room for new variables; one of another shape than before starts anew."""
        same = [name for name, spec in self._specs.items() if specs.get(name, spec) == spec]
        kept = {name: self.state(name) for name in same}
        for name, spec in specs.items():
            if self._specs.get(name) != spec:
                self._counts[name] = 0
        self._specs = self._specs | dict(specs)
        self._present, self._places, self._slots = (), {}, {}
        for dtype in dict.fromkeys(spec.dtype for spec in self._specs.values()):
            size = 0
            for name, spec in self._specs.items():
                if spec.dtype == dtype:
                    end = size + int(np.prod(spec.shape, dtype=np.int64))
                    self._places[name] = size, end
                    size = end
            self._slots[dtype] = self._arithmetic.slots(np.empty(size, dtype))
        for name, state in kept.items():
            at, end = self._places[name]
            for slot, array in self._slots[self._specs[name].dtype].items():
                if slot in state:
                    array[at:end] = state[slot].reshape(-1)

    def _find_spans(self, present: tuple[str, ...]) -> list[_Span]:
        """The variables that are updated together."""
        spans: list[_Span] = []
        wanted = set(present)
        for dtype in self._slots:
            members = (name for name, spec in self._specs.items() if spec.dtype == dtype)
            for name in members:
                if name not in wanted:
                    continue
                at, end = self._places[name]
                last = spans[-1] if spans else None
                if (
                    last is not None
                    and last.dtype == dtype
                    and last.stop == at
                    and max(last.stop - last.start, end - at) <= CHUNK
                    and self._counts[last.names[0]] == self._counts[name]
                ):
                    spans[-1] = last._replace(names=(*last.names, name), stop=end)
                else:
                    spans.append(_Span(dtype, (name,), at, end))
        return spans

    def _method(self, lr: tuple[float, ...], options: dict[str, object]) -> Method:
        called, known = type(self).__name__, [*self.method_type.model_fields]
        known.remove("kind")
        if len(lr) > 1 or (lr and "lr" in options):
            raise RunError(f"{called} takes lr once, and other options by name.")
        given = options | ({"lr": lr[0]} if lr else {})
        for name in given:
            if name not in known:
                raise RunError(
                    f"{called} has no option {name!r}.",
                    expected="one of " + ", ".join(known),
                    next_step=did_you_mean(name, known),
                )
        plain = {k: v.item() if isinstance(v, np.generic) else v for k, v in given.items()}
        try:
            return self.method_type(**plain)
        except ValidationError as error:
            first = error.errors(include_url=False)[0]
            raise _wrong(called, str(first["loc"][0]), given, expected_text(first)) from None


def _side_by_side(arrays: Sequence[Array]) -> Array:
    """The elements of all, which are only read."""
    flat = [x.reshape(-1) for x in arrays]
    return flat[0] if len(flat) == 1 else np.concatenate(flat)


def _wrong(called: str, name: str, given: Mapping[str, object], expected: str) -> RunError:
    value = given[name]
    climbs = name == "lr" and isinstance(value, float | int) and value < 0
    return RunError(
        f"{name} of {called} is wrong.",
        expected=expected or None,
        got=repr(value)[:80],
        next_step="To climb a gradient, write maximize=True." if climbs else None,
    )


class SGD(MethodOptimiser):
    """Gradient descent, with momentum and Nesterov's look ahead."""

    method_type = SGDMethod

    @property
    def is_plain(self) -> bool:
        """Whether a step is just ``v -= lr * g``."""
        return self.method == SGDMethod(lr=self.method.lr)


class Adam(MethodOptimiser):
    """Steps of about the size of the rate; ``weight_decay`` is added to the gradient, as L2."""

    method_type = AdamMethod


class AdamW(MethodOptimiser):
    """Adam with weight decay apart from the gradient."""

    method_type = AdamWMethod


class RMSprop(MethodOptimiser):
    """Divides a gradient by the root of the mean of its squares."""

    method_type = RMSpropMethod


class Adagrad(MethodOptimiser):
    """Divides a gradient by the root of the sum of its squares."""

    method_type = AdagradMethod


class Adadelta(MethodOptimiser):
    """Scales a gradient by the root of the mean of squared changes over that of its squares."""

    method_type = AdadeltaMethod


class Lion(MethodOptimiser):
    """Steps by the sign of a mean of gradients; weight decay is apart from the gradient."""

    method_type = LionMethod


class NAdam(MethodOptimiser):
    """Adam with Nesterov's look ahead."""

    method_type = NAdamMethod


class RAdam(MethodOptimiser):
    """Adam that waits with dividing until the mean of squares is reliable."""

    method_type = RAdamMethod


class Adamax(MethodOptimiser):
    """Adam with the largest gradient so far, fading, in place of the mean of squares."""

    method_type = AdamaxMethod
