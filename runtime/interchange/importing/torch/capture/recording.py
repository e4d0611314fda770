"""What a run does, written down operator by operator with the tensors it really has.

Autograd itself says which results it keeps track of: ``requires_grad``. Where that differs from
what the blocks would let through, a StopGradient is added, whatever made the difference.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import torch
from torch._dispatch.python import no_python_dispatcher
from torch._ops import _len_torch_dispatch_stack_pre_dispatch, _pop_mode_from_pre_dispatch
from torch.utils._python_dispatch import _push_mode

from gradwire.blocks.classes.dataclass import dataclass
from gradwire.blocks.classes.identity import by_identity
from gradwire.blocks.errors import GradwireError
from gradwire.runtime.calculus.measuring import measured
from gradwire.runtime.flow.checks.leaving import REGISTERED
from gradwire.runtime.interchange.importing.imported import UnsupportedError
from gradwire.runtime.interchange.importing.staged import Staged
from gradwire.runtime.interchange.importing.torch.calls import ModuleCalls
from gradwire.runtime.interchange.importing.torch.capture.arrays import (
    divided,
    dtype_name,
    encoded,
    in_short,
    is_plain,
    numbers_of,
    require_numbers,
    shown,
)
from gradwire.runtime.interchange.importing.torch.capture.draws import drawn_by, order_of_run
from gradwire.runtime.interchange.importing.torch.capture.frames import is_dropped, user_place
from gradwire.runtime.interchange.importing.torch.capture.keeping import Keeping
from gradwire.runtime.interchange.importing.torch.capture.known import KnownTensors, Port
from gradwire.runtime.interchange.importing.torch.capture.numbers import (
    as_it_left,
    changed_since,
    is_derived,
)
from gradwire.runtime.interchange.importing.torch.capture.passing import passing, recomputes
from gradwire.runtime.interchange.importing.torch.capture.running import Running
from gradwire.runtime.interchange.importing.torch.capture.unregistered import Aside
from gradwire.runtime.interchange.importing.torch.capture.without_effect import (
    DROPPED,
    returns_another,
)
from gradwire.runtime.interchange.importing.torch.inspection import (
    base_of,
    has_rule,
    is_leaf,
    lies_like,
    memory_of,
    name_of,
    tensors_in,
    written_to,
)
from gradwire.runtime.interchange.importing.torch.memory import Cut, TrackedTensor
from gradwire.runtime.interchange.importing.torch.operators.creation import DRAWN
from gradwire.runtime.interchange.importing.torch.operators.shapes import VIEWS
from gradwire.runtime.interchange.importing.torch.performing import Performer, failed, unsupported
from gradwire.runtime.interchange.importing.torch.recorded.asking import operator_call
from gradwire.runtime.interchange.importing.torch.recorded.edges import (
    Old,
    edge_of,
    hooked,
    is_among,
    old_written,
)
from gradwire.runtime.interchange.importing.torch.recorded.regions import TorchRegions
from gradwire.runtime.interchange.importing.torch.steps.failures import NodeHistory, unseen_write
from gradwire.runtime.interchange.importing.torch.steps.ledger import Ledger
from gradwire.runtime.interchange.importing.torch.steps.unused import unused

if TYPE_CHECKING:
    from gradwire.blocks.values import Array
    from gradwire.runtime.calculus.measuring import Measured
    from gradwire.runtime.diagram.comparison import Misstep
    from gradwire.runtime.interchange.importing.scopes import Part
    from gradwire.runtime.interchange.importing.stage import Stage
    from gradwire.runtime.interchange.importing.staged import StagedBlock
    from gradwire.runtime.interchange.importing.torch.capture.passing import GradientSum
    from gradwire.runtime.interchange.importing.torch.types import (
        Args,
        EdgeKey,
        Kwargs,
        OpOverload,
        Tensor,
    )

_SCALARS = frozenset(
    {"add", "sub", "mul", "div", "pow", "rsub", "clamp", "where", "masked_fill", "fill", "lerp",
     "maximum", "minimum", "full"}
)  # fmt: skip
"""Operators that take a value where they take a number."""
_UNFILLED = frozenset({"empty", "empty_like", "empty_strided", "new_empty", "new_empty_strided"})
"""Operators that leave their numbers to be written, unseen perhaps: read when they are used."""
OFTEN = 4
"""A line that runs one operator so often is told to be a loop."""
_NOTHING = (torch.device, torch.layout, torch.memory_format, torch.Generator)


@dataclass(frozen=True, eq=False)
class BackwardCall:
    """A call of ``backward``."""

    loss: Staged
    """What it differentiates, as blocks."""
    value: Array
    """That in this run."""
    gradients: Mapping[int, Array | Measured]
    """What arrived at leaves, by their identity."""
    inner: Mapping[Port, Measured]
    """What arrived at intermediate results."""


@by_identity
class OperatorCall(NamedTuple):
    """A call of an operator, with what is known before it runs."""

    name: str
    call: partial[Any]
    since: int
    """When it began: what was noted after that lies inside."""
    tensors: Sequence[Tensor]
    """Those among its arguments."""
    given: list[Any]
    more: dict[str, Any]
    """Its arguments as the table of operators takes them."""
    written: Sequence[Tensor]
    """What it writes to."""
    old: Mapping[EdgeKey, Old]
    """That as it was."""

    @property
    def base(self) -> str:
        """Its name without the overload: ``add_``."""
        return self.name.partition(".")[0]


class CaptureRecording(Running, KnownTensors):
    """The tensors of a run and the values that stand for them. Not thread-safe."""

    def __init__(self, stage: Stage) -> None:
        super().__init__()
        self.stage = stage
        self.performer = Performer(stage)
        self.region: Cut | None = None
        """What turned gradient off last, if it is off."""
        self.numbers: dict[float, TrackedTensor] = {}
        """Numbers among the arguments of the current call that were tensors."""
        self.left: list[tuple[Array, TrackedTensor, Cut]] = []
        """Tensors that left autograd as numbers, with the numbers and how they left."""
        self.loose: dict[str, Tensor] = {}
        """Trained tensors that have come up and belong to no module."""
        self.losses: list[BackwardCall] = []
        """The calls of ``backward``, in order."""
        self.coarsest = 0.0
        """The largest machine epsilon of what was computed."""
        self.drawn: list[tuple[StagedBlock, Array | None]] = []
        """Random blocks with their numbers in this run; None if these are unknown."""
        self.regions = TorchRegions(self)
        self.feeds_data = False
        """Whether tensors from outside are inputs in place of constants."""
        self.values: dict[Port, Measured] = {}
        """Intermediate results, if they are measured."""
        self.sums: list[GradientSum] = []
        """Gradients that were added up, if they are measured."""
        self.variables: dict[int, Staged] = {}
        """Those of parameters, by their identity."""
        self.kept = Keeping(self.paused)
        self.ledger = Ledger()
        self.history = NodeHistory(self._reference)
        self.missteps: list[Misstep] = []
        """What has gone wrong so far, besides what the ledger shows."""
        self.differentiates = False
        """Whether the program has called ``torch.autograd.grad``."""
        self.failed: RuntimeError | None = None
        """What a call of ``backward`` has raised."""
        self.aside: dict[int, Aside] = {}
        """Modules and leaves that no module registers, by identity."""
        self._calls = ModuleCalls()
        self._stack: list[tuple[str, int]] = []
        self._tags = 0
        self._fed = 0
        """Tensors from outside that have got names."""
        self._lines: dict[tuple[tuple[Part, ...], str], Counter[str]] = defaultdict(Counter)
        """How often each line has run each operator, by module and line."""
        self._memory: dict[int, tuple[Tensor, TrackedTensor]] = {}
        """Drawn tensors by their memory: torch hands out another tensor than it drew."""

    @contextmanager
    def asleep(self) -> Iterator[None]:
        """The same at full speed: what watches torch is not even asked."""
        with self.paused(), ExitStack() as stack:
            for _ in range(_len_torch_dispatch_stack_pre_dispatch()):
                mode = _pop_mode_from_pre_dispatch()
                stack.callback(_push_mode, mode)
            stack.enter_context(no_python_dispatcher())
            stack.enter_context(torch._C.DisableTorchFunction())
            yield

    @contextmanager
    def arriving(
        self, loss: Tensor, scale: float = 1.0
    ) -> Iterator[tuple[Mapping[int, Array | Measured], Mapping[Port, Measured]]]:
        """What gradient of a loss arrives meanwhile, divided by the ``scale`` of the loss: at
        leaves by their identity, and, in short, at intermediate results.
        """
        if self.measures and not recomputes(loss.grad_fn):
            with passing(loss, self.trained_leaves, self.regions.nodes(), scale) as passed:
                yield passed.leaves, passed.inner
            self.sums += passed.sums
            return
        leaves: dict[int, Array] = {}
        inner: dict[Port, Measured] = {}

        def note(key: int, gradient: Tensor) -> None:
            if gradient is not None:  # as where a custom function gives none
                is_known = not gradient.is_meta
                numbers = divided(encoded(gradient), scale) if is_known else np.zeros(())
                leaves[key] = leaves[key] + numbers if key in leaves else numbers

        def note_inner(key: Port, gradient: Tensor) -> None:
            if gradient is not None and not gradient.is_meta:
                inner[key] = measured(divided(shown(gradient), scale))

        handles = [leaf.register_hook(partial(note, id(leaf))) for leaf in self.trained_leaves]
        for port, tensor in self.results():
            handles += hooked(tensor, partial(note_inner, port))
        try:
            yield leaves, inner
        finally:
            for handle in handles:
                handle.remove()

    @property
    def path(self) -> tuple[Part, ...]:
        """The path of the module that runs now."""
        return self._calls.path(self._stack)

    @contextmanager
    def here(self) -> Iterator[None]:
        """Add what follows at the user's current line, in the module that runs now."""
        with self.stage.at(self.path, user_place().written):
            yield

    @property
    def lines(self) -> set[str]:
        """The lines of the program that have run operators."""
        return {written for _, written in self._lines}

    def tell_loops(self) -> None:
        """Say which lines have run often, each time as blocks of their own."""
        for (path, written), counts in self._lines.items():
            times = max(counts.values())
            if times >= OFTEN and written:
                with self.stage.at(path, written):
                    text = f"This line runs {times} times: the diagram has it as often."
                    self.stage.remark("unrolled", text)

    def tell_decided(self, entry: TrackedTensor, value: object) -> None:
        """Say that a number of this run decides what the program does."""
        if isinstance(entry.value, Staged) and entry.value.array is None:
            with self.here():
                back = "" if isinstance(value, bool) else self.stage.way_back(entry.value)
                text = f"The program goes by a number, which is {value} in this run. {back}"
                self.stage.remark("specialised", text.rstrip())

    def enter(self, module: str) -> None:
        """A module is called."""
        self._tags += 1
        self._stack.append((module, self._tags))

    def leave(self) -> None:
        """The innermost module has returned."""
        if self._stack or not self.live:  # a live program may be in one when it begins
            self._stack.pop()

    def cut_here(self, name: str) -> Cut:
        """A cut at the current place."""
        return Cut(name, self.path, user_place().written)

    def forget_updated(self) -> None:
        """What an optimiser of the program owns need not be registered to be updated."""
        for key in self.variables.keys() & self.kept.updated:
            if (source := self.variables[key].source) is not None:
                source.block = source.block.model_copy(update={"written": ""})

    def tell_aside(self, kept: object) -> str:
        """What a module or leaf would be called that no module registers; empty for others.

        A remark says where it is kept.
        """
        aside = self.aside.get(id(kept))
        if aside is None or not aside.name:
            return ""
        text = f"{aside.where} keeps what parameters() of the model lacks. {REGISTERED}"
        with self.here():
            self._tell(text)
        return aside.name

    def unused(self, results: Iterable[Tensor]) -> Iterator[Misstep]:
        """Numbers with a gradient that the program has left out of everything but its results."""
        tensors = (tensor for tensor, _ in self._alive())
        return unused(tensors, self.read, results, self.history)

    def made_of(self, leaf: Tensor, data: object, name: str) -> None:
        """A new leaf has the numbers of a tensor, which gets no gradient by it."""
        if isinstance(data, torch.Tensor) and self.knows(data):
            with self.here():
                entry = self.entry(data)
                if is_derived(entry.read()):
                    self.bind(leaf, self.performer.detached(entry, name=name))
                    return
        if self._stack:
            self.aside[id(leaf)] = Aside(leaf)

    def forget_gradient(self, tensor: Tensor, name: str) -> None:
        """A tensor that autograd keeps no track of, for what a function of this name does."""
        entry = self._tensors[id(tensor)][1]
        if entry.live:
            entry.value = self.performer.stopped(entry, name)
            entry.live = False

    def entry(self, tensor: Tensor) -> TrackedTensor:
        """What stands for a tensor; numbers from outside of the run are constants."""
        if not self.knows(tensor):
            require_numbers(tensor)
            self.kept.tensor(tensor)
            self.bind(tensor, self._foreign(tensor))
        found = self._tensors[id(tensor)][1]
        if found.live and not tensor.requires_grad and not self.inside_function:
            found.freeze(self.performer.stopped(found, "requires_grad_"))
        elif found.frozen is not None and tensor.requires_grad:
            found.thaw()
        return found

    def _foreign(self, tensor: Tensor) -> TrackedTensor:
        if tensor.requires_grad and is_leaf(tensor):
            name = self.tell_aside(tensor) or f"parameter{len(self.loose) + 1}"
            self.loose[name] = tensor
            own = name.replace(".", "_")
            with self.stage.at((), user_place().written if id(tensor) in self.aside else ""):
                if tensor.is_meta and self.feeds_data:
                    value = self.without_numbers(name, tensor, own=own)
                else:
                    value = self.stage.variable(name, numbers_of(tensor), own=own)
            self.variables[id(tensor)] = value
            return TrackedTensor(value, live=True)
        known, entry = self._memory.get(memory_of(tensor), (None, None))
        if known is not None and entry is not None and known.shape == tensor.shape:
            return entry
        if tensor.is_meta and tensor.grad_fn is None:
            return TrackedTensor(self.data(self._fresh("data"), tensor))
        numbers = np.empty(0) if tensor.is_meta else encoded(tensor)
        if (found := as_it_left(self, numbers)) is not None:
            return found
        if tensor.requires_grad and is_leaf(tensor) is None:
            return self.performer.shown(self.entry(tensor._base), tensor)
        if tensor.grad_fn is not None:
            if tensor._is_view() and tensor._base.requires_grad:
                self.entry(tensor._base)  # autograd writes into that
            with self.here():
                return self.regions.add(tensor.grad_fn.name().removesuffix("0"), [tensor])[0]
        if numbers.dtype.kind == "f" and self.left:
            return TrackedTensor(changed_since(self, numbers, *self.left.pop()))
        if self.live and isinstance(tensor, torch.nn.Parameter):  # of a module called before
            return TrackedTensor(
                self.stage.variable(self._fresh("frozen"), numbers, trainable=False)
            )
        if (self.feeds_data or self.live) and numbers.ndim:
            return TrackedTensor(self.data(self._fresh("data"), tensor))
        return TrackedTensor(self.stage.constant(numbers))

    def _fresh(self, kind: str) -> str:
        self._fed += 1
        return f"{kind}{self._fed}"

    def data(self, name: str, tensor: Tensor) -> Staged:
        """An input with a tensor's numbers, as far as it has any."""
        if not (tensor.is_meta and self.feeds_data):
            return self.stage.input(name, encoded(tensor))
        return self.stage.input(name, shape=tuple(tensor.shape), dtype=dtype_name(tensor.dtype))

    def without_numbers(
        self, name: str, tensor: Tensor, module: Sequence[str] = (), own: str = ""
    ) -> Staged:
        """A variable like a tensor that has no numbers."""
        dtype = dtype_name(tensor.dtype)
        how = "glorot_uniform" if dtype.startswith("float") else "zeros"
        shape, trained = tuple(tensor.shape), bool(tensor.requires_grad)
        return self.stage.drawn(name, shape, how, module, own, dtype, trainable=trained)

    def record(self, operator: OpOverload, args: Args, kwargs: Kwargs) -> Any:
        """Run an operator, and add what it does."""
        self.stage.shown.move(self.stage.shown.done + 1, "operations")
        if self.live:
            self.before_call(False)
            if not self.active:
                return operator(*args, **kwargs)
        call = partial(operator, *args, **kwargs)
        of = self.guarded(partial(self._before, call))
        result = call()
        if of is not None:
            self.guarded(partial(self._after, of, result))
        return result

    def _before(self, call: partial[Any]) -> OperatorCall:
        operator: OpOverload = call.func
        args, kwargs = call.args, call.keywords
        with self.paused(), torch._C.DisableTorchFunction():
            name, since = name_of(operator), self.regions.time
            tensors = tensors_in([*args, *kwargs.values()])
            self.read.update(map(id, tensors))
            numbers = self.numbers if name.partition(".")[0].rstrip("_") in _SCALARS else {}
            given = [self._argument(x, numbers) for x in args]
            more = {
                k: y for k, x in kwargs.items() if (y := self._argument(x, numbers)) is not None
            }
            written = written_to(operator, args, kwargs) if operator._schema.is_mutable else []
            old = old_written(self, written, has_rule(name) and self._is_apart)
            return OperatorCall(name, call, since, tensors, given, more, written, old)

    def _after(self, of: OperatorCall, result: Any) -> None:
        """Add what an operator has done."""
        name, written, more = of.name, of.written, of.more
        operator, args, kwargs = of.call.func, of.call.args, of.call.keywords
        with self.paused(), torch._C.DisableTorchFunction():
            place = user_place()
            self._lines[(self.path, place.written)][name] += 1
            if name == "as_strided":
                more["memory"] = args[0].stride(), args[0].storage_offset()
            if (order := order_of_run(name, operator, args, kwargs, result)) is not None:
                more["order"] = order
            results = tensors_in(result)
            with self.stage.at(self.path, place.written):
                base = "" if self.history.stepping or "out" in kwargs else of.base
                if f".{base}(" in place.written and returns_another(base) and is_dropped():
                    self.stage.remark("note", DROPPED.format(base))
                error = self._perform(of, result, results)
            if error is not None and not self._rewritten(of.tensors, written):
                self._spoil(written, error)
            self.history.note(name, place, of.tensors, results, written)
            self.ledger.written(written, name)
            if written:
                self.after_write(written)
            if self.inside is not None:
                self.inside.note(operator, of.tensors, results, written, self.value_of)

    def _argument(self, x: Any, numbers: dict[float, TrackedTensor]) -> Any:
        if isinstance(x, torch.Tensor):
            return self.entry(x)
        if isinstance(x, torch.dtype):
            return dtype_name(x)
        if isinstance(x, _NOTHING):
            if isinstance(x, torch.Generator):
                self.kept.generator(x)
            return None
        if isinstance(x, list | tuple):
            return [self._argument(y, numbers) for y in x]
        if numbers and isinstance(x, float) and x in numbers:
            return numbers[x]
        return x

    def _perform(
        self, of: OperatorCall, result: object, results: Sequence[Tensor]
    ) -> UnsupportedError | None:
        """Bind the results; why they can't be expressed, if so."""
        name, base, given = of.name, of.base, of.given
        if base in _UNFILLED:
            return None
        if not results:
            if name in ("item", "_local_scalar_dense") and isinstance(given[0], TrackedTensor):
                self.tell_decided(given[0], result)
            why = "no blocks for it are known"
            return UnsupportedError(f"aten.{name}", why, written=user_place().written)
        failure = None
        off = not self.inside_function and not torch.is_grad_enabled()
        if torch.is_inference_mode_enabled() and (
            self.region is None or self.region.name != "inference_mode"
        ):
            self.region = self.cut_here("inference_mode")
        known = self.region or self.performer.no_grad
        self.performer.no_grad = (known or self.cut_here("no_grad")) if off else None
        in_place = (
            base.endswith("_") and base[:-1] not in VIEWS and isinstance(given[0], TrackedTensor)
        )
        before = given[0].root.value if in_place and given[0].root.live and off else None
        remarks = len(self.stage.remarks)
        try:
            if not all(map(is_plain, (*of.tensors, *results))):
                raise UnsupportedError(f"aten.{name}", "its numbers are not real, or not all there")
            made = self.performer.perform(name, given, of.more)
            self._note_draws(name, remarks, of.call.args, results[0], made[0])
            if len(made) != len(results):
                raise UnsupportedError(f"aten.{name}", "it has another number of results")
            self._agree(name, made, results)
            if in_place:
                self._follow(of.call.args[0], made[0], before)
                if self._is_apart(of.call.args[0]):
                    made[0] = self._anew(of, of.call.args[0], of.tensors)
        except GradwireError as raised:
            error = raised if isinstance(raised, UnsupportedError) else unsupported(name, raised)
            if not error.written:
                error = UnsupportedError(error.operation, error.why, written=user_place().written)
            made, failure = failed(error, len(results)), error
            if recorded := self._without_rules(of, results):
                made, failure = recorded, None
                if in_place and not self._is_apart(of.call.args[0]):
                    self._follow(of.call.args[0], made[0], before)
        for tensor, entry in zip(results, made, strict=True):
            self.bind(tensor, entry, is_result=True)
            value = entry.value
            if self.measures and isinstance(value, Staged) and value.source is not None:
                # A view is finite where what it shows is.
                if value.is_float and is_plain(tensor) and not tensor._is_view():
                    self.values.setdefault((value.source, value.port), in_short(tensor))
        return failure

    def _rewritten(self, tensors: Sequence[Tensor], written: Sequence[Tensor]) -> bool:
        """Whether an operator has written what depends on nothing, as on gradients that a backward
        pass has left: these are new numbers.
        """
        values = [None if x.is_meta else self.value_of(x) for x in tensors]
        if not all(x is not None and x.array is not None for x in values):
            return False
        for tensor in written:
            numbers = self.stage.constant(encoded(tensor))
            self._tensors[id(tensor)][1].write(self.stage, numbers, live=False)
        return True

    def _spoil(self, tensors: Sequence[Tensor], error: UnsupportedError) -> None:
        """What was written to as no block does, and what shares its memory, is unknown; unless it
        gets gradient, and autograd doesn't see it: its numbers are those of the run.
        """
        for tensor in tensors:
            known = self._tensors[id(tensor)][1]
            before = known.value if known.live and known.of is None else None
            for _, entry in self._sharing(tensor):
                entry.spoil(error)
            if isinstance(before, Staged) and not torch.is_grad_enabled():
                now = before if tensor.is_meta else self.stage.constant(encoded(tensor))
                known.arrive_as_before(self.stage.block("StraightThrough", now, before))
                self._tell(f"The numbers that {error.operation} writes are those of this run.")

    def _without_rules(self, of: OperatorCall, results: Sequence[Tensor]) -> list[TrackedTensor]:
        """A Recorded block; nothing where what it is given can't be expressed, or in a function."""
        in_place = any(tensor is results[0] for tensor in of.tensors)
        if self.inside_function:
            return []
        try:
            everything = [*of.given, *of.more.values()]
            self.performer.commit_cuts(everything)
            _, cut = self.performer.fate(everything)
            others = [tensor for tensor in of.tensors if tensor is not results[0]]
            if in_place and self._is_apart(results[0]):
                return [self._anew(of, results[0], others)]
            whole = self._whole(results[0]) if in_place else None
            outputs = results if whole is None else [whole, *results[1:]]
            kept = [whole, *of.tensors]
            old = {k: was for k, was in of.old.items() if is_among(was.tensor, kept)}
            asked = operator_call(of.call, len(results))
            made = self.regions.add(of.base, outputs, others, of.since, old=old, call=asked)
        except UnsupportedError:
            return []
        if self.performer.no_grad is not None:
            for entry in made:
                entry.live, entry.cut = False, cut if entry.read().is_float else None
        if in_place:
            entry = self._tensors[id(results[0])][1]
            at = entry if whole is None else entry.root
            at.write(self.stage, made[0].read(), made[0].live, made[0].cut)
            if whole is not None:
                self.bind(whole, at)
            return [entry, *made[1:]]
        return made

    def _whole(self, view: Tensor) -> Tensor | None:
        """The tensor into which autograd writes what is written to a view; None for others."""
        entry = self._tensors[id(view)][1]
        if not (view.requires_grad and view._is_view()) or entry.of is None:
            return None
        base = view._base
        if not self.knows(base) or self._tensors[id(base)][1] is not entry.root:
            raise UnsupportedError("an in-place change", "what it is a view of is not known")
        return base

    def _note_draws(
        self, name: str, since: int, args: Args, result: Tensor, entry: TrackedTensor
    ) -> None:
        """Keep what random blocks that were just added drew in this run."""
        for _, text, block, _ in self.stage.remarks[since:]:
            if text == DRAWN and block is not None:
                numbers = None if result.is_meta else drawn_by(name, args, result)
                self.drawn.append((block, numbers))
                self._memory[memory_of(result)] = (result, entry)

    def _agree(self, name: str, made: list[TrackedTensor], results: Sequence[Tensor]) -> None:
        """Make entries be what their tensors are, and check their shapes."""
        for entry, tensor in zip(made, results, strict=True):
            if isinstance(entry.value, UnsupportedError):
                continue
            value = entry.read()
            if value.shape != tuple(tensor.shape):
                raise UnsupportedError(
                    f"aten.{name}", f"its blocks give {list(value.shape)}, not {list(tensor.shape)}"
                )
            dtype = dtype_name(tensor.dtype)
            if tensor.is_floating_point():
                self.coarsest = max(self.coarsest, torch.finfo(tensor.dtype).eps)
            if tensor.dtype == torch.bfloat16:
                self._tell("bfloat16 is computed as float32, which rounds less.")
            if value.dtype != dtype:
                entry.value = self.stage.cast(value, dtype)
            if not self.inside_function:
                self._track(name, entry, tensor)

    def _follow(self, tensor: Tensor, entry: TrackedTensor, before: object) -> None:
        """What an in-place change means for what autograd knows of the tensor, of which ``before``
        was the value if it doesn't see the change, and for tensors that share the memory.
        """
        if isinstance(before, Staged):  # gradient arrives as if unchanged
            entry.arrive_as_before(self.stage.block("StraightThrough", entry.root.read(), before))
        shared = self._sharing(tensor)
        for x, other in shared:
            if other is entry.root:
                continue
            if base_of(x) is base_of(tensor):
                self._forget(other)  # autograd knows how it follows
                continue
            if other.live and not entry.live and is_leaf(x) is False:
                misstep = unseen_write(user_place())
                self.missteps += [] if misstep in self.missteps else [misstep]
            if entry.of is None and lies_like(x, tensor):
                self._follow_elsewhere(other, entry)
            elif other is shared[0][1]:
                self.stage.remark(
                    "lost",
                    "A change through .data or detach() is not followed: the tensor itself, which "
                    "shares these numbers, keeps its old ones on the diagram.",
                )

    def _is_apart(self, tensor: Tensor, *, later: bool = False) -> bool:
        """Whether a tensor is a view that no block shows: autograd writes into its base; ``later``
        whether it may be one once it is written to.
        """
        known = self._tensors.get(id(tensor))
        is_view = known is not None and known[1].of is None and tensor._is_view()
        return is_view and (later or bool(tensor.requires_grad))

    def _anew(self, of: OperatorCall, view: Tensor, others: Sequence[Tensor]) -> TrackedTensor:
        """What stands for a view that no block shows, which has been written to."""
        others = [tensor for tensor in others if tensor is not view]
        old = {key: was for key, was in of.old.items() if was.tensor is view._base}
        for _, other in self._sharing(view):
            self._forget(other)
        (made,) = self.regions.add(of.base, [view._base], others, of.since, old=old)
        self.bind(view._base, made)
        return self.entry(view)

    def _follow_elsewhere(self, tensor: TrackedTensor, written: TrackedTensor) -> None:
        """What was written to a detached tensor is in the tensor itself too, or the other way
        round; gradient arrives there as if nothing had changed.
        """
        value, live = written.read(), tensor.live
        if live:
            value = self.stage.block("StraightThrough", value, tensor.read())
        else:
            value = self.performer.cut_like(written, tensor)
        tensor.write(self.stage, value, live, None if live else written.cut)

    def _tell(self, text: str) -> None:
        if not any(said == text for _, said, *_ in self.stage.remarks):
            self.stage.remark("note", text)

    def _track(self, name: str, entry: TrackedTensor, tensor: Tensor) -> None:
        """Whether autograd keeps track of a result is for autograd to say."""
        kept = edge_of(tensor) is not None  # a view made without gradient says requires_grad
        if entry.live and not kept and torch.is_grad_enabled():
            entry.value = self.performer.stopped(entry, name.partition(".")[0])
        if entry.cut is not None and kept:  # a leaf that was changed without gradient
            entry.cut = None
        entry.live = kept and entry.read().is_float
