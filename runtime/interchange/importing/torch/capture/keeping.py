"""Gives everything back that a run changes: a capture is no step of training."""

from __future__ import annotations

import random
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from functools import partial
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
import torch
from torch.amp.grad_scaler import GradScaler
from torch.nn.modules import module as module_hooks
from torch.optim import Optimizer
from torch.optim.lr_scheduler import LRScheduler
from torch.optim.optimizer import register_optimizer_step_pre_hook

from gradwire.runtime.interchange.importing.torch.capture.patching import announced
from gradwire.runtime.interchange.importing.torch.capture.unregistered import reached
from gradwire.runtime.interchange.importing.torch.inspection import is_leaf

if TYPE_CHECKING:
    from gradwire.blocks.values import Array
    from gradwire.runtime.interchange.importing.torch.types import Call, Hook, Module, Tensor

_CHANGING: dict[type, tuple[str, ...]] = {
    Optimizer: ("zero_grad", "add_param_group", "load_state_dict"),
    LRScheduler: ("step", "load_state_dict"),
    GradScaler: ("scale", "step", "update", "load_state_dict"),
}
"""Methods that change the state of what trains, besides the step of an optimiser."""
_MODES: tuple[tuple[Call, Callable[[Any], object]], ...] = (
    (torch.is_grad_enabled, torch.set_grad_enabled),
    (torch.get_default_dtype, torch.set_default_dtype),
    (torch.is_anomaly_enabled, torch.autograd.set_detect_anomaly),
    (torch.are_deterministic_algorithms_enabled, torch.use_deterministic_algorithms),
    (partial(torch.is_autocast_enabled, "cpu"), partial(torch.set_autocast_enabled, "cpu")),
)
_BITS = {2: torch.int16, 4: torch.int32, 8: torch.int64}
"""Dtypes whose numbers are equal where the bits are, by size."""
Trainer: TypeAlias = Optimizer | LRScheduler | GradScaler
Elements: TypeAlias = "list[object] | set[object] | deque[object]"
_HOOKS = ("_backward_hooks", "_post_accumulate_grad_hooks")


class Keeping:
    """What there was before a run changed it; the last that was kept is given back first."""

    def __init__(
        self, paused: Callable[[], AbstractContextManager[None]], *, gives_back: bool = True
    ) -> None:
        self._paused = paused
        """In which nothing is recorded."""
        self._gives_back = gives_back
        """Whether anything is kept: what a live program changes stays."""
        self._undo = ExitStack()
        self._known: dict[int, object] = {}
        """By identity, and held on to."""
        self._numbers: dict[int, Tensor] = {}
        """Copies of tensors that were kept, by identity."""
        self.updated: set[int] = set()
        """The identities of what optimisers own."""

    @contextmanager
    def all(self) -> Iterator[None]:
        """Give back at the end what was kept, with what optimisers and schedulers change, random
        states, hooks of all modules, and modes.
        """
        with self._undo, ExitStack() as patches:
            patches.callback(register_optimizer_step_pre_hook(self._before).remove)
            if self._gives_back:
                self._surroundings()
                for cls, name in _changing_methods():
                    patches.enter_context(announced(cls, name, self._before))
            yield

    def tensor(self, tensor: Tensor) -> None:
        """Keep numbers, version, gradient, hooks, and whether it needs a gradient."""
        if tensor.layout != torch.strided or tensor.is_inference() or not self._is_new(tensor):
            return
        with self._paused(), torch.inference_mode(False):
            place = tensor.detach()
            self._undo.callback(_give_back_version, tensor, tensor._version)
            if is_leaf(tensor):
                gradient = tensor.grad
                self._undo.callback(_give_back_leaf, tensor, tensor.requires_grad, gradient)
                if gradient is not None:
                    self.tensor(gradient)
                for name in _HOOKS:
                    hooks = dict(getattr(tensor, name, None) or {})
                    self._undo.callback(_give_back_hooks, tensor, name, hooks)
            if not tensor.is_meta:
                numbers = self._numbers[id(tensor)] = place.clone()
                self._undo.callback(_give_back_numbers, tensor, place, numbers)

    def before(self, tensor: Tensor) -> Tensor | None:
        """A copy of a tensor as it was kept, which nothing writes to; None if it wasn't."""
        return self._numbers.get(id(tensor))

    def container(self, value: object, *, tensors: bool) -> None:
        """Keep what is in nested lists, dicts and sets, arrays, and ``tensors`` if they count."""
        if isinstance(value, torch.Tensor):
            if tensors:
                self.tensor(value)
            return
        if isinstance(value, np.ndarray):
            if tensors and self._is_new(value):
                self._undo.callback(_give_back_array, value, value.copy())
            return
        if isinstance(value, tuple):
            inside = list(value)
        elif not isinstance(value, dict | list | set | deque) or not self._is_new(value):
            return
        elif isinstance(value, dict):
            inside = list(value.values())
            self._undo.callback(_give_back_items, value, list(value.items()))
        else:
            inside = list(value)
            self._undo.callback(_give_back_elements, value, inside)
        for x in inside:
            self.container(x, tensors=tensors)

    def module(self, module: Module) -> None:
        """Keep attributes, parameters, buffers, hooks and modes of a module, not of those in it."""
        self.container(vars(module), tensors=False)
        for tensor in (*module._parameters.values(), *module._buffers.values()):
            if tensor is not None:
                self.tensor(tensor)
        self.around(*vars(module).values())

    def around(self, *values: object) -> None:
        """Keep what trains, and generators, in nested lists, dicts and plain objects."""
        found = (each for value in values for each in reached("", value))
        for _, x in found if self._gives_back else ():
            if isinstance(x, torch.Generator):
                self.generator(x)
            elif isinstance(x, np.random.Generator):
                self._state(x, x.bit_generator.state, partial(setattr, x.bit_generator, "state"))
            elif isinstance(x, np.random.RandomState):
                self._state(x, x.get_state(), x.set_state)
            elif isinstance(x, random.Random):
                self._state(x, x.getstate(), x.setstate)
            elif isinstance(x, tuple(_CHANGING)):
                self.trainer(x)

    def trainer(self, trainer: Trainer) -> None:
        """Keep the state of an optimiser, a scheduler or a scaler."""
        for group in getattr(trainer, "param_groups", ()):
            self.updated.update(map(id, group["params"]))
        if self._is_new(trainer):
            self.container(vars(trainer), tensors=True)
            self.around(*vars(trainer).values())

    def generator(self, generator: torch.Generator) -> None:
        """Keep what a generator of random numbers is about to draw."""
        self._state(generator, generator.get_state(), generator.set_state)

    def _surroundings(self) -> None:
        is_on_gpu = torch.cuda.is_initialized()
        devices = list(range(torch.cuda.device_count())) if is_on_gpu else []
        self._undo.enter_context(torch.random.fork_rng(devices=devices))
        self._undo.callback(random.setstate, random.getstate())
        self._undo.callback(np.random.set_state, np.random.get_state())
        for get, put in _MODES:
            self._undo.callback(_give_back_mode, get, put, get())
        for name, hooks in vars(module_hooks).items():
            if name.startswith("_global_") and isinstance(hooks, dict):
                self.container(hooks, tensors=False)

    def _before(self, trainer: Trainer, *_: object) -> None:
        self.trainer(trainer)

    def _state(self, owner: object, state: object, give_back: Callable[[Any], object]) -> None:
        if self._is_new(owner):
            self._undo.callback(give_back, state)

    def _is_new(self, x: object) -> bool:
        if not self._gives_back:
            return False
        is_new = id(x) not in self._known
        self._known[id(x)] = x
        return is_new


def _changing_methods() -> Iterator[tuple[type, str]]:
    for base, names in _CHANGING.items():
        for cls in _family(base):
            yield from ((cls, name) for name in names if name in vars(cls))


def _family(base: Any) -> Iterator[type]:
    yield base
    for cls in base.__subclasses__():
        yield from _family(cls)


def _give_back_mode(get: Call, put: Callable[[Any], object], before: object) -> None:
    if get() != before:
        put(before)


def _give_back_version(tensor: Tensor, version: int) -> None:
    if tensor._version != version:
        torch._C._autograd._unsafe_set_version_counter((tensor,), (version,))


def _give_back_leaf(tensor: Tensor, requires_grad: bool, gradient: Tensor) -> None:
    # The run may have written what needs a gradient into it.
    if is_leaf(tensor) is False and not tensor._is_view():
        tensor.detach_()
    if is_leaf(tensor):
        if tensor.grad is not gradient:
            tensor.grad = gradient
        if tensor.requires_grad != requires_grad:
            tensor.requires_grad_(requires_grad)


def _give_back_hooks(tensor: Tensor, name: str, before: dict[int, Hook]) -> None:
    hooks = getattr(tensor, name, None)
    if hooks:
        hooks.clear()
        hooks.update(before)


def _give_back_numbers(tensor: Tensor, place: Tensor, numbers: Tensor) -> None:
    """Bring memory back, and what was in it; what nothing was written to may be read-only."""
    now, before = ((x.data_ptr(), x.shape, x.stride(), x.dtype) for x in (tensor, place))
    if now != before:
        tensor.data = place
    if not _same_bits(place, numbers):
        place.copy_(numbers)


def _same_bits(one: Tensor, other: Tensor) -> bool:
    rows = (x.resolve_conj().resolve_neg().contiguous().flatten() for x in (one, other))
    return bool(torch.equal(*(row.view(_BITS.get(row.itemsize, torch.uint8)) for row in rows)))


def _give_back_array(array: Array, numbers: Array) -> None:
    if array.tobytes() != numbers.tobytes():
        array[...] = numbers


def _give_back_items(value: dict[object, object], before: list[tuple[object, object]]) -> None:
    now = value.items()
    is_same = len(now) == len(before) and all(
        k is m and x is y for (k, x), (m, y) in zip(now, before, strict=True)
    )
    if not is_same:
        value.clear()
        value.update(before)


def _give_back_elements(value: Elements, before: list[object]) -> None:
    if len(value) != len(before) or any(x is not y for x, y in zip(value, before, strict=True)):
        value.clear()
        (value.update if isinstance(value, set) else value.extend)(before)
