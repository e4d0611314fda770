"""Writes down what a training step of PyTorch does, while it runs.

Tensors are known by identity, with weak references; none is kept alive. A value is followed if
autograd keeps track of it, or if it was made of one that it keeps track of.
"""

from __future__ import annotations

import re
import threading
import weakref
from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple, ParamSpec, TypeVar

import torch

from gradwire.runtime.interchange.importing.torch.calls import ModuleCalls
from gradwire.runtime.interchange.importing.torch.capture.frames import region, user_line
from gradwire.runtime.interchange.importing.torch.capture.modes import (
    FunctionMode,
    functions_patched,
)
from gradwire.runtime.interchange.importing.torch.inspection import is_leaf, node_of
from gradwire.runtime.watch.step import (
    Change,
    GradientFate,
    Kind,
    NoGradRegion,
    RecordedStep,
    Returned,
    SourceLine,
    StepCall,
    StrayLeaf,
    shown,
)
from gradwire.runtime.watch.torch.hooks import Args, Hook, Kwargs, uncompiled
from gradwire.runtime.watch.torch.measures import parameters_of
from gradwire.runtime.watch.torch.switches import turned_off

if TYPE_CHECKING:
    from gradwire.blocks.values import Array
    from gradwire.runtime.interchange.importing.scopes import Part

_LEAVING = frozenset({"item", "numpy", "tolist", "__array__", "__float__"})
"""Functions whose results are no tensors, but have their numbers."""
_MAKING = frozenset({"tensor", "as_tensor", "asarray", "from_numpy", "new_tensor"})
"""Functions that make tensors of numbers."""
_REENTRANT = frozenset({"CheckpointFunction"})
_TRANSPARENT = frozenset({"BackwardHookFunction"})
"""Custom functions of torch itself that pass all gradient on."""
_ATTRIBUTES = frozenset(
    {"data.__get__", "data.__set__", "T.__get__", "mT.__get__", "H.__get__", "real.__get__",
     "imag.__get__"}
)  # fmt: skip
"""Attributes of tensors that are tensors made of them."""
_IGNORED = frozenset(
    {"register_hook", "__bool__", "__int__", "__index__", "dim", "size", "numel", "stride",
     "is_floating_point", "is_contiguous", "data_ptr", "__len__", "retain_grad",
     "register_post_accumulate_grad_hook"}
)  # fmt: skip
P = ParamSpec("P")
R = TypeVar("R")
_sequence: Callable[[], int] = torch.autograd._get_sequence_nr


class StepRecorder:
    """Records what the thread does that enters it. Not thread-safe.

    What fails in it never reaches the program: recording ends, and ``failure`` says why.
    """

    def __init__(self, model: torch.nn.Module) -> None:
        self.step = RecordedStep(began=_sequence())
        self.failure: Exception | None = None
        self.active = False
        self._modules = dict(model.named_modules())
        self._calls = ModuleCalls()
        self._stack: list[tuple[str, int]] = []
        self._tags = 0
        self._path: tuple[Part, ...] | None = ()
        """Of the innermost module; None where it has yet to be found."""
        self._region: NoGradRegion | None = None
        self._inside: list[set[int]] = []
        """For each custom function that runs what it has read."""
        self._at: dict[int, tuple[weakref.ref[torch.Tensor], int, int]] = {}
        """By identity: the tensor, its value, and its version then."""
        self._floats: dict[float, int] = {}
        """Python numbers that were tensors."""
        self._leaves: dict[int, tuple[weakref.ref[torch.Tensor], SourceLine]] = {}
        self._ends: list[int] = []
        """The sequence numbers of all calls."""
        self._hooks = ExitStack()
        owners = {
            id(p): (module, own)
            for module in self._modules.values()
            for own, p in module.named_parameters(recurse=False)
        }
        self._sharded: dict[int, tuple[torch.nn.Module, str]] = {}
        """Where the parameters in shards are that another stands for while a step needs all of
        them, by their values.
        """
        for name, parameter in parameters_of(model).items():
            number = self._new(parameter)
            self.step.names[number] = name
            if hasattr(parameter, "to_local"):
                self._sharded[number] = owners[id(parameter)]
        self._own = len(self.step.kinds)

    # ---- values -------------------------------------------------------------------------------

    def _new(self, tensor: torch.Tensor) -> int:
        step, number = self.step, len(self.step.kinds)
        step.kinds.append(_kind(tensor))
        step.tracked.append(bool(tensor.requires_grad))
        self._at[id(tensor)] = (weakref.ref(tensor), number, tensor._version)
        return number

    def _known(self, tensor: torch.Tensor) -> tuple[weakref.ref[torch.Tensor], int, int] | None:
        at = self._at.get(id(tensor))
        return at if at is not None and at[0]() is tensor else None

    def _number(self, tensor: torch.Tensor) -> int | None:
        """The value of a tensor; None where it has nothing to do with what is trained."""
        at = self._known(tensor)
        if at is not None:
            if tensor._version != at[2] and tensor._is_view():  # written through another view
                base = self._known(tensor._base)
                if base is not None and base[1] != at[1]:
                    return self._joined("view", tensor, [at[1], base[1]])
            return at[1]
        if not tensor.requires_grad:
            return None
        if is_leaf(tensor):
            for known, (module, own) in self._sharded.items():
                current: Any = getattr(module, own, None)
                if current is tensor:
                    self._at[id(tensor)] = (weakref.ref(tensor), known, tensor._version)
                    return known
            number = self._new(tensor)
            self._leaves[number] = (weakref.ref(tensor), _line())
            return number
        return self._of_graph(tensor)

    def _of_graph(self, tensor: torch.Tensor) -> int:
        """The value of a tensor that an unseen call made: autograd's graph says what it is from."""
        made = node_of(tensor)
        if made is None:  # a view that nobody can differentiate since its base was written to
            base = self._number(tensor._base)
            return self._joined("view", tensor, [] if base is None else [base])
        name = made.name()
        found: list[int | None] = []
        pending, seen = [made], set()
        while pending:
            node = pending.pop()
            if node in seen:
                continue
            seen.add(node)
            variable = getattr(node, "variable", None)
            if variable is not None:
                found.append(self._number(variable))
                continue
            place = bisect_right(self._ends, node._sequence_nr())
            call = self.step.calls[place] if place < len(self._ends) else None
            if call is not None and call.fate is GradientFate.TRACKED and node is not made:
                found.extend(call.outputs)
                continue
            pending.extend(following for following, _ in node.next_functions if following)
        self.step.unseen.setdefault(name, _line())
        return self._joined(name, tensor, [x for x in found if x is not None])

    def _joined(self, name: str, tensor: torch.Tensor, inputs: Sequence[int]) -> int:
        number = self._new(tensor)
        fate = GradientFate.TRACKED if tensor.requires_grad else GradientFate.CUT
        self._add(StepCall(name, _line(), self._here(), tuple(inputs), (number,), fate, None,
                       _sequence()))  # fmt: skip
        return number

    def _add(self, call: StepCall) -> None:
        self.step.calls.append(call)
        self._ends.append(call.sequence)

    def _inputs(self, given: Iterable[object], found: list[int]) -> list[int]:
        for x in given:
            if isinstance(x, torch.Tensor):
                number = self._number(x)
                if number is not None:
                    found.append(number)
            elif type(x) is list or type(x) is tuple:
                self._inputs(x, found)
            elif type(x) is float and self._floats:
                number = self._floats.get(x)
                if number is not None:
                    found.append(number)
            elif type(x) is dict:
                self._inputs(x.values(), found)
        return found

    # ---- calls --------------------------------------------------------------------------------

    def begin(self, name: str, args: Args, kwargs: Kwargs) -> list[int] | None:
        """A function is about to be called: the values that it reads; None where that is nothing
        to record.
        """
        if not self.active or name in _IGNORED:
            return None
        if name == "backward":
            self._ours(self._backward, args[0])
            return None
        found: list[int] | None = self._ours(self._inputs, (*args, *kwargs.values()), [])
        return found

    def end(
        self, name: str, inputs: list[int] | None, args: Args, kwargs: Kwargs, result: object
    ) -> None:
        """It has returned."""
        if name == "backward":
            self.active = self.failure is None
        if inputs is None or not self.active:
            return
        if name == "_set_grad_enabled":
            self._region = None if args[0] else self._region or self._ours(self._opened)
        else:
            self._ours(self._called, name, inputs, args, kwargs, result)

    def raised(self, name: str) -> None:
        """It has raised."""
        if name == "backward":
            self.active = self.failure is None

    def _ours(self, method: Callable[P, R], *args: P.args, **kwargs: P.kwargs) -> R | None:
        """What a method of this class returns; None where it fails, which ends the recording."""
        try:
            return method(*args, **kwargs)
        except Exception as error:  # a fault of the recorder must never reach the program
            self.active, self.failure = False, error
            return None

    def _backward(self, result: object) -> None:
        number = self._number(result) if isinstance(result, torch.Tensor) else None
        if number is not None:
            self.step.losses.append(number)
        self.active = False

    def _called(
        self, name: str, inputs: list[int], args: Args, kwargs: Kwargs, result: object
    ) -> None:
        if self._inside:
            self._inside[-1].update(inputs)  # autograd keeps track of nothing in it
        outputs = _tensors(result)
        if not inputs and name not in _MAKING:
            for x in outputs:
                if x.requires_grad and self._known(x) is None:
                    self._number(x)
            return
        if not outputs and name in _LEAVING and inputs:
            self._leaves_torch(name, inputs, result)
            return
        if not outputs and name in ("__setitem__", "data.__set__"):
            outputs = [args[0]]
        if not outputs:
            return
        if name in _MAKING and not inputs:
            data = args[0] if args else None
            if not isinstance(data, int | bool | str):
                self._came_back(name, outputs)
            return
        fate = _fate(outputs)
        if name.startswith("data.") and fate is GradientFate.TRACKED:
            fate = GradientFate.CUT
        region = None
        if not torch.is_grad_enabled() and not self._inside:
            region = self._region or self._opened()
        line = _line()
        if kwargs.get("out") is not None or _is_in_place(name):
            self.step.changes.append(Change(name, line, tuple(outputs[0].shape)))
            bases = (x._base for x in outputs if x._is_view() and x._base is not None)
            outputs = [*outputs, *bases]
        made = tuple(self._new(x) for x in outputs)
        self._add(
            StepCall(name, line, self._here(), tuple(inputs), made, fate, region, _sequence())
        )

    def _leaves_torch(self, name: str, inputs: Sequence[int], result: object) -> None:
        step, number = self.step, len(self.step.kinds)
        step.kinds.append(step.kinds[inputs[0]])
        step.tracked.append(False)
        made, fate = (number,), GradientFate.LEFT
        self._add(
            StepCall(name, _line(), self._here(), tuple(inputs), made, fate, None, _sequence())
        )
        if isinstance(result, float):
            self._floats[result] = number

    def _came_back(self, name: str, outputs: Sequence[torch.Tensor]) -> None:
        made = tuple(self._new(x) for x in outputs)
        self.step.returned.append(Returned(name, _line(), self._here(), made))

    def came_from_numpy(self, tensor: torch.Tensor) -> None:
        """A tensor shows the numbers of an array."""
        if self.active:
            self._came_back("from_numpy", [tensor])

    def _opened(self) -> NoGradRegion:
        """What turned gradient off, and where."""
        if (off := turned_off()) is not None:
            return off
        name = "inference_mode" if torch.is_inference_mode_enabled() else region()
        return NoGradRegion(name or "set_grad_enabled", _line())

    def written_before(self, error: str) -> str:
        """The writes that an error of ``backward`` may be about: into tensors of the shape that it
        says; empty where none is known.
        """
        shape = re.search(r"\[\S*Tensor \[([\d, ]*)\]\]", error)
        if "inplace operation" not in error or shape is None:
            return ""
        wanted = tuple(int(n) for n in shape[1].split(",") if n.strip())
        return " ".join(
            f"{change.name} ({shown(change.line)}) changed a tensor of shape {list(wanted)} in "
            "place, and backward needs what it was: write it out of place."
            for change in self.step.changes
            if change.shape == wanted
        )

    # ---- custom functions ---------------------------------------------------------------------

    def begin_function(self, args: Args) -> _Entered | None:
        """A custom function is about to be applied, which is one call."""
        if not self.active:
            return None
        inputs = self._ours(self._inputs, args, [])
        if inputs is None:
            return None
        self._inside.append(set())
        return _Entered(inputs, self._region, torch.is_grad_enabled())

    def end_function(self, name: str, entered: _Entered | None, args: Args, result: object) -> None:
        """It has returned, or raised: then without a result."""
        if entered is None:
            return
        inside = self._inside.pop()
        self._region = entered.region
        self._ours(self._applied, name, entered.inputs, inside, entered.is_on, args, result)

    def _applied(
        self,
        name: str,
        inputs: Sequence[int],
        inside: set[int],
        is_on: bool,
        args: Args,
        result: object,
    ) -> None:
        outputs = _tensors(result)
        enclosed = {n for n in inside if self.step.tracked[n]} - set(inputs)
        if not (inputs or enclosed) or not outputs:
            return
        if self._inside:
            self._inside[-1].update(inputs, enclosed)
        region = None if is_on else self._region or self._opened()
        made = tuple(self._new(x) for x in outputs)
        call = StepCall(name, _line(), self._here(), tuple(inputs), made, _fate(outputs), region,
                    _sequence(), tuple(enclosed))  # fmt: skip
        self._add(call)
        if call.fate is not GradientFate.TRACKED or name in _TRANSPARENT | _REENTRANT:
            return
        slots = [self._number(x) if isinstance(x, torch.Tensor) else None for x in args]
        node = next(x.grad_fn for x in outputs if x.requires_grad)
        if node is None or "Backward" not in node.name() or not self.step.tracked:
            return

        def look(given: Sequence[object], _: object) -> None:
            if len(slots) == len(given):
                pairs = zip(slots, given, strict=True)
                dead = (n for n, g in pairs if n is not None and g is None)
                call.closed = tuple(n for n in dead if self.step.tracked[n])

        node.register_hook(look)

    # ---- modules ------------------------------------------------------------------------------

    def _here(self) -> tuple[Part, ...]:
        if self._path is None:
            self._path = self._calls.path(self._stack)
        return self._path

    def _enter_module(self, name: str, module: torch.nn.Module, args: Args) -> None:
        self._tags += 1
        self._stack.append((name, self._tags))
        self._path = None

    def _leave_module(self, module: torch.nn.Module, args: Args, result: object) -> None:
        if self._stack:
            self._stack.pop()
        self._path = None

    # ---- on and off ---------------------------------------------------------------------------

    def start(self) -> None:
        """Record from now on."""
        for name, module in self._modules.items():
            enter = module.register_forward_pre_hook(Hook(partial(self._enter_module, name)))
            leave = module.register_forward_hook(Hook(self._leave_module), always_call=True)
            self._hooks.callback(enter.remove)
            self._hooks.callback(leave.remove)
        self._hooks.callback(_listen(self))
        self.active = True

    def stop(self) -> None:
        """Record no more. What refers to tensors is dropped."""
        self.active = False
        self._hooks.close()
        self.step.leaves = {
            number: StrayLeaf(line, leaf() is None, id(leaf()))
            for number, (leaf, line) in self._leaves.items()
        }
        self._at.clear()
        self._leaves.clear()
        self._floats.clear()
        self._modules.clear()


class _Entered(NamedTuple):
    """What was so when a custom function began."""

    inputs: list[int]
    region: NoGradRegion | None
    is_on: bool


class _Listener(FunctionMode):
    """Tells recorders of every call of a function; one for all that record in a thread."""

    def __init__(self) -> None:
        super().__init__()
        self.recorders: list[StepRecorder] = []
        self._patches = ExitStack()
        self._depth = 0
        """Calls that it is told of; PyTorch has put the mode aside meanwhile, and puts it back."""

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        self._depth += 1
        try:
            return self._told(func, args, kwargs or {})
        finally:
            self._depth -= 1

    def _told(self, func: Any, args: Args, kwargs: Kwargs) -> object:
        name = getattr(func, "__name__", "")
        if name in ("__get__", "__set__"):
            name = f"{func.__self__.__name__}.{name}"
            if name not in _ATTRIBUTES:
                return func(*args, **kwargs)
        recorders = self.recorders
        inputs = [recorder.begin(name, args, kwargs) for recorder in recorders]
        try:
            result = func(*args, **kwargs)
        except Exception:  # the program's own call may raise anything: it is noted and raised again
            for recorder in recorders:
                recorder.raised(name)
            raise
        for recorder, given in zip(recorders, inputs, strict=True):
            recorder.end(name, given, args, kwargs, result)
        return result

    def applied(self, function: type, call: Callable[[], object], args: Args) -> object:
        """The result of a custom function."""
        recorders = self.recorders
        entered = [recorder.begin_function(args) for recorder in recorders]
        result = None
        try:
            result = call()
        finally:
            with torch._C.DisableTorchFunction():
                for recorder, each in zip(recorders, entered, strict=True):
                    recorder.end_function(function.__name__, each, args, result)
        return result

    def begin(self) -> None:
        with ExitStack() as stack:
            stack.enter_context(functions_patched(self.applied))
            stack.enter_context(_from_numpy_patched(self))
            stack.enter_context(uncompiled())
            self._patches = stack.pop_all()
        self.__enter__()

    def settle(self) -> None:
        """End where nobody records, unless that would come to nothing."""
        if not self.recorders and not self._depth:
            _local.listener = None
            self.__exit__(None, None, None)
            self._patches.close()


_local = threading.local()


def _listen(recorder: StepRecorder) -> Callable[[], None]:
    """Tell a recorder of all calls in this thread; what ends it."""
    listener = getattr(_local, "listener", None)
    if listener is None:
        listener = _local.listener = _Listener()
        listener.begin()
    listener.recorders = [*listener.recorders, recorder]

    def end() -> None:
        listener.recorders = [each for each in listener.recorders if each is not recorder]
        listener.settle()

    return end


def settle() -> None:
    """End what recorders left that stopped inside of a call. Call it outside of any."""
    listener = getattr(_local, "listener", None)
    if listener is not None:
        listener.settle()


@contextmanager
def _from_numpy_patched(listener: _Listener) -> Iterator[None]:
    """Note what comes from NumPy, which no function mode is told of."""
    real = torch.from_numpy

    def from_numpy(array: Array) -> torch.Tensor:
        made = real(array)
        for recorder in listener.recorders:
            recorder.came_from_numpy(made)
        return made

    torch.from_numpy = from_numpy
    try:
        yield
    finally:
        torch.from_numpy = real


def _line() -> SourceLine:
    return SourceLine(*user_line())


_names: dict[torch.dtype, str] = {}
"""Of dtypes."""


def _kind(tensor: torch.Tensor) -> Kind:
    name = _names.get(tensor.dtype)
    if name is None:
        name = _names[tensor.dtype] = str(tensor.dtype).removeprefix("torch.")
    return name, tuple(tensor.shape)


def _tensors(result: object) -> list[torch.Tensor]:
    if isinstance(result, torch.Tensor):
        return [result]
    if isinstance(result, tuple | list):
        return [x for x in result if isinstance(x, torch.Tensor)]
    return []


def _fate(outputs: Sequence[torch.Tensor]) -> GradientFate:
    if any(x.requires_grad for x in outputs):
        return GradientFate.TRACKED
    floats = any(x.is_floating_point() or x.is_complex() for x in outputs)
    return GradientFate.CUT if floats else GradientFate.INTEGER


def _is_in_place(name: str) -> bool:
    """Whether a function of this name writes into its first argument."""
    if not name.startswith("__"):
        return name.endswith("_")
    others = ("__invert__", "__index__", "__int__")
    return name == "__setitem__" or (name.startswith("__i") and name not in others)
