"""How torch is watched while it runs: operators before autograd, functions, modules and regions.

Operators are seen where torch.export sees them, before autograd and before composite ones are
taken apart; this is the only place where both the whole operator and its fate are known.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from functools import partial
from typing import TYPE_CHECKING, Any, TypeAlias

import torch
from torch._dispatch.python import enable_python_dispatcher
from torch.autograd.grad_mode import inference_mode
from torch.fx.experimental.proxy_tensor import ProxyTorchDispatchMode
from torch.nn.modules import module as module_hooks
from torch.overrides import TorchFunctionMode, _len_torch_function_stack, _pop_mode, _push_mode
from torch.utils._python_dispatch import TorchDispatchMode

from gradwire.runtime.interchange.importing.torch.capture.arrays import is_transformed
from gradwire.runtime.interchange.importing.torch.capture.functions import applied
from gradwire.runtime.interchange.importing.torch.capture.hooks import hooked_in_vain
from gradwire.runtime.interchange.importing.torch.capture.patching import announced, replaced
from gradwire.runtime.interchange.importing.torch.capture.watching import Watching
from gradwire.runtime.interchange.importing.torch.inspection import is_composite
from gradwire.runtime.interchange.importing.torch.steps.noting import noted

if TYPE_CHECKING:
    from gradwire.runtime.interchange.importing.torch.capture.recording import CaptureRecording
    from gradwire.runtime.interchange.importing.torch.types import (
        Args,
        Call,
        Function,
        Module,
        Program,
    )


class Operators(ProxyTorchDispatchMode):  # type: ignore[misc]  # torch takes no other here
    """Sees every operator above autograd."""

    def __init__(self, recording: CaptureRecording) -> None:
        TorchDispatchMode.__init__(self, torch._C.DispatchKey.PreDispatch)
        self._recording = recording

    def __enter__(self) -> Any:
        return TorchDispatchMode.__enter__(self)

    def __exit__(self, *error: object) -> None:
        TorchDispatchMode.__exit__(self, *error)

    @classmethod
    def _should_skip_dynamo(cls) -> bool:
        return False

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        if not self._recording.active or is_transformed():
            return func(*args, **(kwargs or {}))
        if is_composite(func):
            with self:  # taken apart by torch itself
                return func.decompose(*args, **(kwargs or {}))
        return self._recording.record(func, args, kwargs or {})


class OperatorsOfCompiled(Operators):
    """The same where torch.compile is in use, which must not compile this. Torch would load all of
    it, which takes a second and 70 MB.
    """

    @classmethod
    def _should_skip_dynamo(cls) -> bool:
        return True

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        return super().__torch_dispatch__(func, types, args, kwargs)


class FunctionMode(TorchFunctionMode):  # type: ignore[misc]  # torch has no annotation of it
    """A mode that is told of all functions, and may end before those that began after it."""

    def __exit__(self, *error: object) -> None:
        above = []
        while _len_torch_function_stack():
            mode = _pop_mode()
            if mode is self:
                break
            above.append(mode)
        for mode in reversed(above):
            _push_mode(mode)


class FunctionRecorder(FunctionMode):
    """Sees what is no operator: ``.data``, ``item()``, hooks, and changes of what is trained."""

    def __init__(self, recording: CaptureRecording) -> None:
        super().__init__()
        self._recording = recording
        self._watching = Watching(recording)

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        name = getattr(func, "__name__", "")
        if name == "backward" and self._recording.active:
            self._recording.before_call(True)
        if not self._recording.active or is_transformed():
            return func(*args, **(kwargs or {}))
        if name in ("__get__", "__set__"):
            name = f"{func.__self__.__name__}.{name}"
        once = Once(self._recording, partial(func, *args, **(kwargs or {})))
        return once.whatever(lambda: self._watching.called(name, once, args, kwargs or {}))


class Once:
    """A call of the program's, which a live one gets the result of whatever fails around it."""

    def __init__(self, recording: CaptureRecording, call: Call) -> None:
        self._recording, self._call = recording, call
        self._is_done = self._has_raised = False
        self._result: Any = None

    def __call__(self, *_: object, **__: object) -> Any:
        """Make the call, the first time."""
        if not self._is_done:
            self._has_raised = True
            self._result = self._call()
            self._is_done, self._has_raised = True, False
        return self._result

    def whatever(self, work: Call) -> Any:
        """What work around the call returns, or the call alone where that fails."""
        if not self._recording.live:
            return work()
        try:
            return work()
        except Exception as error:  # whatever fails here, a live program gets its result
            if self._has_raised:
                raise
            self._recording.give_up(error)
            return self()


@contextmanager
def watched(
    recording: CaptureRecording, names: Mapping[int, str], found: Callable[[Module], None]
) -> Iterator[None]:
    """Record what torch does meanwhile. ``names`` are those of modules by identity; ``found`` is
    told of modules that have none yet.
    """

    def enter(module: Module, args: Args) -> None:
        if not recording.is_frozen:  # torch may be going through hooks that have been removed
            recording.guarded(lambda: enter_known(module))

    def enter_known(module: Module) -> None:
        if id(module) not in names:
            with recording.paused():
                found(module)
        recording.enter(names[id(module)])

    def leave(module: Module, args: Args, result: object) -> None:
        recording.guarded(partial(left, module, result))

    def left(module: Module, result: object) -> None:
        if recording.active and not is_transformed():
            hooked_in_vain(recording, module, result)
        recording.leave()

    def report(function: type[Function], call: Call, args: Args) -> Any:
        once = Once(recording, call)
        return once.whatever(lambda: applied(recording, function, once, args))

    with ExitStack() as stack:
        stack.callback(module_hooks.register_module_forward_pre_hook(enter).remove)
        stack.callback(module_hooks.register_module_forward_hook(leave, always_call=True).remove)
        stack.enter_context(functions_patched(report))
        stack.enter_context(_parameters_patched(recording))
        stack.enter_context(_inference_patched(recording))
        stack.enter_context(noted(recording))
        stack.enter_context(FunctionRecorder(recording))
        stack.enter_context(enable_python_dispatcher())
        watches = OperatorsOfCompiled if "torch._dynamo" in sys.modules else Operators
        stack.enter_context(watches(recording))
        recording.active = True
        try:
            yield
        finally:
            recording.active = False


_Report: TypeAlias = "Callable[[type[Function], Call, Args], Any]"
_reports: list[_Report] = []
"""What makes the results of custom functions now, each by those before it."""


@contextmanager
def functions_patched(report: _Report) -> Iterator[None]:
    """Let ``report`` make the results of custom functions, also of those whose ``apply`` was taken
    before: of the function, what calls it, and its arguments. Several may be on, and end in any
    order.
    """
    _reports.append(report)
    if len(_reports) == 1:
        _patch_functions()
    try:
        yield
    finally:
        _reports.remove(report)
        if not _reports:
            _real.pop()()


_real: list[Callable[[], None]] = []
"""What takes the patch back."""


def _patch_functions() -> None:
    # From PyTorch 2.14 on, what ``Function`` has calls nothing that could report in its place, so
    # that one whose ``apply`` was taken before reports nothing.
    function = torch.autograd.Function
    is_python = isinstance(vars(function)["apply"], classmethod)
    single = torch.autograd.function._SingleLevelFunction if is_python else function
    before = vars(single).get("apply")

    def apply(cls: type, *args: Any, **kwargs: Any) -> Any:
        call = partial(super(single, cls).apply, *args, **kwargs)
        for report in _reports:
            call = partial(report, cls, call, args)
        return call()

    def restore() -> None:
        if before is None:
            del single.apply
        else:
            single.apply = before

    single.apply = classmethod(apply)
    _real.append(restore)


@contextmanager
def _parameters_patched(recording: CaptureRecording) -> Iterator[None]:
    """Note of what parameters and buffers are made, which no function mode sees."""

    def patched(real: Any) -> Any:
        def new(cls: Any, data: Any = None, *args: Any, **kwargs: Any) -> Any:
            if not recording.active:
                return real.__func__(cls, data, *args, **kwargs)
            with recording.paused():
                made = real.__func__(cls, data, *args, **kwargs)
                recording.made_of(made, data, cls.__name__)
            return made

        return staticmethod(new)

    with (
        replaced(torch.nn.Parameter, "__new__", patched),
        replaced(torch.nn.Buffer, "__new__", patched),
    ):
        yield


@contextmanager
def _inference_patched(recording: CaptureRecording) -> Iterator[None]:
    """Note where inference mode begins, which no function mode sees."""

    def begins(mode: inference_mode) -> None:
        if recording.active and mode.mode and recording.region is None:
            recording.region = recording.cut_here("inference_mode")

    def ending(leave: Program) -> Program:
        def exit_(self: inference_mode, *error: object) -> None:
            leave(self, *error)
            if recording.active and torch.is_grad_enabled():
                recording.region = None

        return exit_

    with (
        announced(inference_mode, "__enter__", begins),
        replaced(inference_mode, "__exit__", ending),
    ):
        yield
