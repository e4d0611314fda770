"""What a call of ``backward`` that raises has come upon, as far as the program's graph shows it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor, nn

from gradwire.runtime.interchange.importing.torch.capture.frames import user_line
from gradwire.runtime.watch.step import SourceLine, shown
from gradwire.runtime.watch.torch.switches import turned_off

if TYPE_CHECKING:
    from gradwire.runtime.watch.step import RecordedStep

_AGAIN = (
    "goes into a graph a second time, which an earlier call has freed: something that an earlier "
    "step has computed is used again{earlier}. Take that with detach(), such as a hidden state "
    "that is carried on, or compute it anew."
)
_WRITTEN = (
    "needs a tensor as it was, and it has been written over since. Write out of place, or into a "
    "clone(); where step() of an optimiser came in between, call backward() before it, or compute "
    "anew after it."
)
_FROM_EARLIER = (
    "needs a tensor as it was, and step() of an optimiser, or another write, has changed it since: "
    "its graph goes on into an earlier step{earlier}. Take what is carried on from there with "
    "detach(), or compute it anew after step()."
)
_NONE = "is called of what has no gradient to compute"


class ModelCalls:
    """How the model was called since the last step: what a loss without gradient is due to."""

    def __init__(self) -> None:
        self._without = ""
        self.begin()

    def begin(self) -> None:
        """A step begins."""
        self.sequence: int = torch.autograd._get_sequence_nr()
        """The number of autograd's next node when it began."""
        self._without = ""
        """That the model was called, and what had turned gradient off, if it was off."""

    def called(self) -> None:
        """The model is called."""
        off, self._without = turned_off(), ""
        if not torch.is_grad_enabled():
            place = "" if off is None else f", by {off.name} ({shown(off.line)})"
            self._without = f"was called{place}"

    def failed(
        self, error: RuntimeError, tensors: Sequence[Any], model: Any, recorded: RecordedStep | None
    ) -> tuple[str, str]:
        """What to say of an error of ``backward``, and the line of its call; empty for others."""
        line = shown(SourceLine(*user_line()))
        text = self._said(str(error), tensors, model, recorded)
        return f"backward(){f' ({line})' if line else ''} {text}" if text else "", line

    def _said(
        self, error: str, tensors: Sequence[Tensor], model: nn.Module, recorded: RecordedStep | None
    ) -> str:
        node = next(self._older(tensors), None)
        call = None if recorded is None or node is None else recorded.made(node._sequence_nr())
        earlier = "" if call is None else f", the result of {call.name} ({shown(call.line)})"
        if "through the graph a second time" in error:
            return _AGAIN.format(earlier=earlier)
        if "modified by an inplace operation" in error:
            return _WRITTEN if node is None else _FROM_EARLIER.format(earlier=earlier)
        if "does not require grad and does not have a grad_fn" in error:
            return self._without_gradient(model)
        return ""

    def _without_gradient(self, model: nn.Module) -> str:
        name, parameters = type(model).__name__, list(model.parameters())
        if parameters and not any(p.requires_grad for p in parameters):
            cure = "Call requires_grad_() on those that are to be trained."
            return f"{_NONE}: all parameters of {name} are frozen, requires_grad is False. {cure}"
        if not self._without:
            return ""
        cure = "Call it outside of no_grad, or torch.set_grad_enabled(True) before it."
        return f"{_NONE}: gradient was off when {name} {self._without}. {cure}"

    def _older(self, tensors: Sequence[Tensor]) -> Iterator[torch.autograd.graph.Node]:
        """The nodes of autograd that were there when the step began, where newer ones go on into
        them, the newest first.
        """
        pending = [x.grad_fn for x in tensors if x.grad_fn is not None]
        found: list[torch.autograd.graph.Node] = []
        seen = set(pending)
        while pending:
            for following, _ in pending.pop().next_functions:
                if following is None or following in seen or hasattr(following, "variable"):
                    continue
                seen.add(following)
                is_older = following._sequence_nr() < self.sequence
                (found if is_older else pending).append(following)
        yield from sorted(found, key=lambda node: -int(node._sequence_nr()))
