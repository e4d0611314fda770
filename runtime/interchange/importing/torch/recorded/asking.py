"""Asks PyTorch again what it made of a call that no block computes, for other inputs and gradients.

It is asked in the process that has captured the program: a file keeps nothing of a call. The call
of an operator is tried as soon as the program has ended, that of a custom function, which may do
anything, when it is asked for something that the run has not shown.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from threading import Lock
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

import numpy as np
import torch
from torch.utils._python_dispatch import TorchDispatchMode

from gradwire.blocks.classes.identity import by_identity
from gradwire.runtime.calculus.primitives.recorded import is_close
from gradwire.runtime.interchange.importing.staged import Staged
from gradwire.runtime.interchange.importing.torch.capture.arrays import encoded, shown
from gradwire.runtime.interchange.importing.torch.inspection import memory_of, tensors_in

if TYPE_CHECKING:
    from functools import partial

    from gradwire.blocks.library.recorded import RecordedRun
    from gradwire.blocks.values import Array
    from gradwire.runtime.interchange.importing.torch.types import (
        Args,
        Kwargs,
        OpOverload,
        Program,
        Tensor,
    )

PlaceOf: TypeAlias = "Callable[[Tensor], int | None]"
"""Gives the number of the input that a tensor is."""
Given: TypeAlias = "list[Tensor | None]"
IN_PLACE = "it writes in place"
RANDOM = "it draws random numbers"
HIDDEN = "it reads a tensor that is not among its arguments"
OUTSIDE = "it writes to a tensor that its operators have not made"
LEFT = "numbers leave PyTorch inside of it and come back"
NESTED = "a tensor among its arguments is inside of a container"
NOT_PLAIN = "a tensor among its arguments has no plain numbers"
NOT_ALL = "not all that its gradients depend on is among its arguments"
AUTOCAST = "it ran under autocast"
ELSEWHERE = "it reads memory from where its argument does not begin"
UNSEEN = "another recorded block of this diagram can't tell other inputs from those of the run"
OTHERWISE = "asked for the inputs of the run, PyTorch gives {} than in the run"
FAILS = "asked for the inputs of the run, PyTorch fails: {}"
_ROUNDING = 32
"""Machine epsilons of the largest number by which the inputs of a run are off in another engine."""


@by_identity
class RecordedCall(NamedTuple):
    """A call that the program has made."""

    function: Program
    args: Args
    kwargs: Kwargs
    picks: Sequence[int]
    """Which tensors of its result are the outputs that no block computes."""
    is_operator: bool
    why_not: str = ""
    """Why it can't be made again, as far as is known before it is tried."""


@by_identity
class _Place(NamedTuple):
    """In the arguments of a call, an input of the block that stands for it."""

    input: int


def operator_call(call: partial[Any], results: int) -> RecordedCall:
    """The call of an operator, with so many results."""
    operator: OpOverload = call.func
    why = ""
    if operator._schema.is_mutable:
        why = IN_PLACE
    elif torch.Tag.nondeterministic_seeded in operator.tags:
        why = RANDOM
    elif "as_strided" in operator._schema.name and call.args[0].storage_offset():
        why = ELSEWHERE
    return RecordedCall(operator, call.args, call.keywords, range(results), True, why)


class FunctionProbe:
    """Whether what a custom function does follows from its arguments, by its operators."""

    def __init__(self, given: Sequence[Tensor]) -> None:
        self.why_not = ""
        self._given = set(map(memory_of, given))
        self._made: set[int] = set()
        self._known = set(self._given)
        """The memory of arguments, of what operators have made of them, and of constants."""

    def meet(self, tensor: Tensor, value: object) -> None:
        """A tensor that gets no gradient is known from now on, and what it is."""
        self._known.add(memory_of(tensor))
        if isinstance(value, Staged) and value.source is not None:
            self.why_not = self.why_not or LEFT

    def note(
        self,
        operator: OpOverload,
        tensors: Sequence[Tensor],
        results: Sequence[Tensor],
        written: Sequence[Tensor],
        value_of: Callable[[Tensor], Staged | None],
    ) -> None:
        """An operator has run. Of what it took, ``value_of`` gives what blocks compute it."""
        places = set(map(memory_of, written)) - self._made
        hidden = [value_of(x) for x in tensors if memory_of(x) not in self._known]
        why = ""
        if torch.Tag.nondeterministic_seeded in operator.tags:
            why = RANDOM
        elif places:
            why = IN_PLACE if places <= self._given else OUTSIDE
        elif any(value is not None and value.source is not None for value in hidden):
            why = HIDDEN
        self.why_not = self.why_not or why
        made = set(map(memory_of, results)) - set(map(memory_of, tensors))
        self._made |= made
        self._known |= made


class CallQuestion:
    """What a call makes of other inputs. It has copies of those of the run."""

    def __init__(self, call: RecordedCall, place_of: PlaceOf, inputs: int) -> None:
        self.why_not = call.why_not
        self.depends: tuple[frozenset[int], ...] | None = None
        self.withheld: set[tuple[int, int]] = set()
        self._function, self._picks = call.function, call.picks
        self._is_operator, self._is_tried = call.is_operator, False
        self._kept: Given = [None] * inputs
        self._lock = Lock()
        self._asked: tuple[Given, list[Tensor]] = [], []
        """The inputs that were asked for last, and the outputs."""
        if any(map(torch.is_autocast_enabled, ("cpu", "cuda"))):
            self.why_not = self.why_not or AUTOCAST
        given = [*call.args, *call.kwargs.values()]
        tensors = tensors_in(given)
        if not self._is_operator and len(tensors) > sum(isinstance(x, torch.Tensor) for x in given):
            self.why_not = self.why_not or NESTED
        for tensor in () if self.why_not else tensors:
            self._keep(tensor, place_of(tensor))
        self._args = [self._placed(x, place_of) for x in call.args]
        self._kwargs = {name: self._placed(x, place_of) for name, x in call.kwargs.items()}

    def __reduce__(self) -> Any:
        """Copies, as for another process, have nobody to ask."""
        return _nobody, ()

    def expects(self, inputs: Iterable[int]) -> None:
        """Ask only if these inputs of the block are all arguments of the call."""
        if any(self._kept[place] is None for place in inputs):
            self.why_not = self.why_not or NOT_ALL

    def knows(self, inputs: Sequence[Array]) -> bool:
        """Whether inputs are those of the run but for rounding."""
        return all(
            kept is None or _is_near(shown(kept), x)
            for kept, x in zip(self._kept, inputs, strict=True)
        )

    def value(self, run: RecordedRun, output: int, inputs: Sequence[Array]) -> Array:
        """An output for these inputs. Raises ValueError."""
        shape, _ = run.outputs[output].kind
        with self._asking(run):
            _, outputs = self._answer(inputs)
            found = encoded(outputs[output])
        if found.shape != shape:
            now = f"{list(found.shape)} in place of {list(shape)}"
            raise ValueError(f"{run.named} has an output of another shape for these inputs: {now}")
        return found

    def product(
        self, run: RecordedRun, output: int, slot: int, gradient: Array, inputs: Sequence[Array]
    ) -> Array:
        """What a gradient that comes to one output sends on to an input. Raises ValueError."""
        with self._asking(run):
            given, outputs = self._answer(inputs)
            if run.outputs[output].value is None and not is_close(
                shown(outputs[output]), inputs[0], 0.0
            ):
                raise ValueError("its value is another than that of its blocks")
            shape, dtype = run.inputs[slot]
            sent = _sent(outputs[output], given[slot], gradient)
            if sent is not None:
                self.withheld.discard((output, slot))
                return encoded(sent)
            self.withheld.add((output, slot))
            return np.zeros(shape, dtype)

    def try_at_once(self, run: RecordedRun, why_not: str = "") -> None:
        """Find out whether an operator does again what it did, and what gradient can come to,
        unless there is another reason not to ask.
        """
        self.why_not = self.why_not or why_not
        if self._is_operator and not self.why_not:
            self._try(run)
            if not self.why_not:
                given, outputs = self._answer(())
                self.depends = tuple(
                    frozenset(i for i, x in enumerate(given) if _passes(output, x))
                    for output in outputs
                )
        self._asked = [], []
        if self.why_not:
            self._kept = [None] * len(self._kept)

    def _keep(self, tensor: Tensor, place: int | None) -> None:
        is_plain = type(tensor) in (torch.Tensor, torch.nn.Parameter) and not tensor.is_meta
        if place is None or not is_plain or tensor.layout != torch.strided or tensor.is_quantized:
            self.why_not = NOT_PLAIN
            return
        with torch.inference_mode(False):
            kept = tensor.detach().resolve_conj().resolve_neg().clone()
        is_asked = self._is_operator or tensor.requires_grad
        if is_asked and (kept.is_floating_point() or kept.is_complex()):
            kept.requires_grad_()
        self._kept[place] = kept

    def _placed(self, x: Any, place_of: PlaceOf) -> Any:
        if self.why_not:
            return None
        if isinstance(x, torch.Tensor):
            place = place_of(x)
            assert place is not None
            return _Place(place)
        is_nested = self._is_operator and isinstance(x, list | tuple)
        return [self._placed(y, place_of) for y in x] if is_nested else x

    @contextmanager
    def _asking(self, run: RecordedRun) -> Iterator[None]:
        """Ask meanwhile, alone. Raises ValueError where the call fails, or where it does not do
        what it did in the run.
        """
        with self._lock:
            if not (self._is_tried or self.why_not):
                self._try(run)
            if self.why_not:
                raise ValueError(f"{run.known}{run.why_not}")
            try:
                yield
            except Exception as error:  # the user's function may raise anything: it is named
                text = f"{run.named} fails for these inputs: {_in_short(error)}"
                raise ValueError(text) from error

    def _try(self, run: RecordedRun) -> None:
        self._is_tried = True
        drawn = torch.random.get_rng_state()
        reads = _Reads([x for x in self._kept if x is not None])
        try:
            with reads:
                given, outputs = self._answer(())
                difference = self._difference(run, given, outputs)
            if not torch.equal(torch.random.get_rng_state(), drawn):
                self.why_not = RANDOM
            elif reads.is_hidden:
                self.why_not = HIDDEN
            elif difference:
                self.why_not = OTHERWISE.format(difference)
        except Exception as error:  # the user's function may raise anything: it isn't live
            self.why_not = FAILS.format(_in_short(error))
        finally:
            torch.random.set_rng_state(drawn)

    def _difference(
        self, run: RecordedRun, given: Sequence[Tensor | None], outputs: Sequence[Tensor]
    ) -> str:
        """What an answer has differently from the run whose inputs it is for."""
        for output, of_run in zip(outputs, run.outputs, strict=True):
            found = shown(output)
            if (found.shape, found.dtype.name) != of_run.kind:
                return "another kind of values"
            if of_run.value is not None and not is_close(found, of_run.value, 0.0):
                return "other values"
        for number in range(len(run.outputs[0].losses)):
            of_each = [of_run.losses[number] for of_run in run.outputs]
            for slot in {slot for loss in of_each for slot in loss.products}:
                shape, dtype = run.inputs[slot]
                found, known = np.zeros(shape, dtype), np.zeros(shape, dtype)
                for output, loss in zip(outputs, of_each, strict=True):
                    if loss.arrived is not None:
                        sent = _sent(output, given[slot], loss.arrived)
                        found += 0 if sent is None else encoded(sent)
                        known += loss.products.get(slot, 0)
                if not is_close(found, known, of_each[0].rounding):
                    return "other gradients"
        return ""

    def _answer(self, inputs: Sequence[Array]) -> tuple[Given, list[Tensor]]:
        """The inputs as tensors, those of the run by default, and the outputs for them."""
        kept = self._kept
        last, outputs = self._asked
        given = [
            None if like is None else like if not inputs else _input(inputs[i], like)
            for i, like in enumerate(kept)
        ]
        if last and all(map(_are_same, last, given)):
            return last, outputs
        drawn = torch.random.get_rng_state()
        try:
            with torch.inference_mode(False), torch.enable_grad():
                args = [_filled(x, given) for x in self._args]
                result = self._function(
                    *args, **{name: _filled(x, given) for name, x in self._kwargs.items()}
                )
        finally:
            if inputs:
                torch.random.set_rng_state(drawn)
        tensors = tensors_in(result)
        self._asked = given, [tensors[pick] for pick in self._picks]
        return self._asked


class _Reads(TorchDispatchMode):  # type: ignore[misc]  # mypy doesn't read torch
    """Notes whether operators read a tensor that gradient may come to and nobody has given them."""

    def __init__(self, given: Sequence[Tensor]) -> None:
        super().__init__()
        self.is_hidden = False
        self._own = set(map(memory_of, given))

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        tensors = tensors_in([*args, *(kwargs or {}).values()])
        self.is_hidden |= any(x.requires_grad and memory_of(x) not in self._own for x in tensors)
        result = func(*args, **(kwargs or {}))
        self._own.update(map(memory_of, tensors_in(result)))
        return result


def _in_short(error: Exception) -> str:
    first, *_ = (str(error) or type(error).__name__).splitlines()
    return first[:200].rstrip(".")


def _tensor(array: Array, like: Tensor) -> Tensor:
    """An array as a tensor of the dtype of another, and where that is."""
    plain = torch.from_numpy(np.array(array))
    plain = torch.view_as_complex(plain) if like.is_complex() else plain
    return plain.to(like.device, like.dtype)


def _input(array: Array, like: Tensor) -> Tensor:
    """An array as a tensor that is like another but for its numbers."""
    made = torch.empty_like(like.detach()).copy_(_tensor(array, like))
    return made.requires_grad_(like.requires_grad)


def _sent(output: Tensor, x: Tensor | None, gradient: Array) -> Tensor | None:
    """What a gradient of an output sends to an input; None for nothing."""
    if x is None or not (x.requires_grad and output.requires_grad):
        return None
    (sent,) = torch.autograd.grad(
        output, x, _tensor(gradient, output), retain_graph=True, allow_unused=True
    )
    return sent


def _passes(output: Tensor, x: Tensor | None) -> bool:
    """Whether gradient of an output goes to an input, or PyTorch would fail to send it."""
    try:
        return _sent(output, x, np.zeros_like(shown(output))) is not None
    except RuntimeError:  # without a derivative, which is said once it is asked for
        return True


def _filled(x: Any, given: Sequence[Tensor | None]) -> Any:
    """An argument with the tensors in their places."""
    if isinstance(x, _Place):
        return given[x.input]
    return [_filled(y, given) for y in x] if type(x) is list else x


def _are_same(one: Tensor, other: Tensor) -> bool:
    return one is other or bool(np.array_equal(shown(one), shown(other)))


def _is_near(of_run: Array, array: Array) -> bool:
    """Whether an array is one of the run but for rounding."""
    if of_run.dtype.kind != "f":
        return np.array_equal(of_run, array)
    finite = of_run[np.isfinite(of_run)]
    within = _ROUNDING * np.finfo(of_run.dtype).eps * float(np.abs(finite).max(initial=0.0))
    return bool(np.allclose(array, of_run, rtol=0.0, atol=within, equal_nan=True))


def _nobody() -> None:
    """What copies of a question are."""
