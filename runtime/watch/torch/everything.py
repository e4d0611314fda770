"""Watches all that a program trains, without touching its code."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, nullcontext
from typing import TYPE_CHECKING, Any

import torch
from torch.nn.modules import module as module_hooks
from torch.optim import optimizer as optimizer_hooks

from gradwire.runtime.interchange.importing.torch.capture.frames import user_name
from gradwire.runtime.watch.torch import listening
from gradwire.runtime.watch.torch.hooks import Args, Hook, Kwargs
from gradwire.runtime.watch.torch.owners import owned_by
from gradwire.runtime.watch.torch.switches import noted
from gradwire.runtime.watch.torch.tensors import ByHand, Tensors, named
from gradwire.runtime.watch.torch.watching import Watch

if TYPE_CHECKING:
    from gradwire.runtime.watch.reasons import Found
    from gradwire.runtime.watch.torch.whole_step import WholeStep


class EnoughError(BaseException):
    """Raised in a program that was to train for so many steps only; ``except Exception`` lets it
    through.
    """


class Everything:
    """What a program trains: the models that it calls itself, and not from inside of others, and
    tensors that belong to none.
    """

    def __init__(
        self,
        *,
        guard: bool,
        source: bool,
        on_finding: Callable[[Found], None] | None,
        steps: int | None,
    ) -> None:
        self.watches: list[Watch] = []
        self._steps = steps
        self._guard, self._source, self._on_finding = guard, source, on_finding
        self._depth = 0
        self._first: Watch | None = None
        """What is called without gradient before anything is trained: perhaps it was to be."""
        self._known: set[int] = set()
        """Parameters that are watched, by identity."""
        self._by_hand = ByHand()

    def called(self, module: torch.nn.Module, args: Args) -> None:
        """A module is called."""
        self._depth += 1
        if self._depth > 1:
            return
        trained = {id(p) for p in module.parameters() if p.requires_grad}
        if not torch.is_grad_enabled() or not trained:
            if self._first is None and not self.watches:
                self._first = self._watch(module)
        elif trained - self._known or self._is_apart(trained):
            begun = None
            if self._first is not None:
                # What was called before another model may be a part of the same step.
                begun = None if self._first.model is module else self._first.hand_over()
                self._first.drop()
                self._first = None
            self._known |= trained
            for watch in [w for w in self.watches if isinstance(w.model, Tensors)]:
                if not trained.isdisjoint(map(id, watch.trained.values())):
                    watch.drop()
                    self.watches.remove(watch)
            with nullcontext() if begun is None else begun.asleep():
                self.watches.append(self._watch(module, begun))

    def _is_apart(self, trained: set[int]) -> bool:
        """Whether some parameters of a module are watched as tensors that belong to none."""
        return any(
            isinstance(watch.model, Tensors)
            and not trained.isdisjoint(map(id, watch.trained.values()))
            for watch in self.watches
        )

    def _watch_apart(self, tensors: Sequence[torch.Tensor]) -> None:
        """Watch tensors that belong to no module that was called, from the next step on."""
        self._known.update(map(id, tensors))
        self.watches.append(self._watch(Tensors(named(tensors)), waits=True))

    def _watch(self, module: Any, begun: WholeStep | None = None, *, waits: bool = False) -> Watch:
        on_cpu = all(p.device.type == "cpu" for p in module.parameters())
        return Watch(
            module,
            (),
            every=1000,
            check_every=1 if on_cpu else 10,
            guard=self._guard,
            quiet=False,
            on_finding=self._on_finding,
            on_look=None,
            source=self._source,
            hooks=False,
            name=user_name(module),
            begun=begun,
            waits=waits,
        )

    def returned(self, module: torch.nn.Module, args: Args, result: object) -> None:
        """It has returned, or raised."""
        self._depth = max(0, self._depth - 1)

    def before(self, optimizer: torch.optim.Optimizer, args: Args, kwargs: Kwargs) -> None:
        """An optimiser is about to take a step."""
        own = owned_by([optimizer]).values()
        apart = [p for p in own if p.requires_grad and id(p) not in self._known]
        if any(p.grad is not None for p in apart):
            self._watch_apart(apart)
        for watch in self._of(optimizer):
            if not any(each is optimizer for each in watch.optimizers):
                watch.optimizers = (*watch.optimizers, optimizer)
            watch.before_step(optimizer, args, kwargs)

    def after(self, optimizer: torch.optim.Optimizer, args: Args, kwargs: Kwargs) -> None:
        """It has taken it."""
        for watch in self._of(optimizer):
            watch.after_step()
        if self._steps and any(watch.steps >= self._steps for watch in self.watches):
            raise EnoughError

    def told(self, method: Callable[..., None], *args: object) -> None:
        """Call a method of this."""
        method(*args)

    def begins(self) -> None:
        """``backward`` is called."""

    def backward_of(self, tensors: Sequence[torch.Tensor]) -> None:
        """``backward`` is called of these."""
        results = [x for x in tensors if isinstance(x, torch.Tensor)]
        if moved := self._by_hand.found(results, self._known):
            self._watch_apart(moved)

    def backward_ended(self, tensors: Sequence[torch.Tensor]) -> None:
        """It has returned."""

    def backward_failed(self, tensors: Sequence[torch.Tensor], error: RuntimeError) -> None:
        """It has raised."""

    def close(self) -> None:
        """End all watching."""
        if self._first is not None:
            self._first.close(look=False)
            if self._first.found:
                self.watches.append(self._first)
        trains = any(watch.optimizers for watch in self.watches)
        for watch in self.watches:
            # What nothing updates where something else is updated is meant to stay as it is.
            watch.close(look=bool(watch.optimizers) or not trains)

    def _of(self, optimizer: torch.optim.Optimizer) -> Iterator[Watch]:
        owned = owned_by([optimizer])
        for watch in self.watches:
            if not owned.keys().isdisjoint(map(id, watch.trained.values())):
                yield watch


@contextmanager
def watched_everything(
    *,
    guard: bool = False,
    source: bool = False,
    on_finding: Callable[[Found], None] | None = None,
    steps: int | None = None,
) -> Iterator[Everything]:
    """Watch all models that are trained meanwhile; see ``gradwire.watch``.

    After so many ``steps`` of one of them EnoughError is raised where that was trained.
    """
    everything = Everything(guard=guard, source=source, on_finding=on_finding, steps=steps)
    with noted(), ExitStack() as stack:
        listening.begin(everything)
        stack.callback(listening.end, everything)
        for handle in (
            module_hooks.register_module_forward_pre_hook(Hook(everything.called)),
            module_hooks.register_module_forward_hook(Hook(everything.returned), always_call=True),
            optimizer_hooks.register_optimizer_step_pre_hook(everything.before),
            optimizer_hooks.register_optimizer_step_post_hook(everything.after),
        ):
            stack.callback(handle.remove)
        try:
            yield everything
        finally:
            everything.close()
