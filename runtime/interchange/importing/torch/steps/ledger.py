"""What a program does with the gradients of its leaves, in order, and what is wrong with that.

Only what a gradient is when it is used counts: who fills it, who empties it, who has used it.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from gradwire.blocks.classes.dataclass import dataclass
from gradwire.runtime.diagram.comparison import Misstep
from gradwire.runtime.interchange.importing.torch.capture.frames import called_in, user_place
from gradwire.runtime.interchange.importing.torch.places import ProgramLine

if TYPE_CHECKING:
    from gradwire.runtime.interchange.importing.torch.types import Optimizer, Tensor

Kind: TypeAlias = Literal["before", "backward", "clear", "clip", "unscale", "read", "step"]
_CLIPPING = ("clip_grad_norm_", "clip_grads_with_norm_", "clip_grad_value_")
_CLEARING = ("zero_grad",)
_ONCE = ("clear", "clip", "unscale", "read")
_STEP_FIRST = (
    "step() ({at.line}) runs before backward() ({back.line}): it updates by {by}, not by those of "
    "this loss. Call step() after backward()."
)
_CLEARED_BETWEEN = (
    "{at.by} ({at.line}) runs between backward() ({back.line}) and step() ({step.line}), so step() "
    "has no gradient of this loss. Call zero_grad() before backward(), or after step()."
)
_CLEARED_IN_LOOP = (
    "{at.by} ({at.line}) runs before each backward() ({back.line}) of a loop, so step() "
    "({step.line}) behind it has the gradients of the last one alone. Call zero_grad() once, "
    "before the loop, if they are to add up."
)
_ADDED_UP = (
    "backward() ({back.line}) adds to gradients that a step has used already, and step() "
    "({at.line}) uses the sum: nothing sets them back, so they add up. Call zero_grad() before "
    "each backward()."
)
_ADDED_TO_EARLIER = (
    "step() ({at.line}) uses gradients from before this run too: nothing in it sets them back, so "
    "they add up. Call zero_grad() before backward()."
)
_MEANT_FOR_ANOTHER = (
    "step() ({step.line}) moves {{}} by the gradients of backward() ({at.line}) too, which step() "
    "({other.line}) of another optimiser was for. Give that loss what it reads with detach(), or "
    "call zero_grad() before backward() ({later.line})."
)
"""The braces stand for the parameters."""
_CLIPPED_SCALED = (
    "{at.by}() ({at.line}) clips gradients that have the factor {factor:g} of the GradScaler in "
    "them. Call unscale_() of the scaler, with the optimiser, before clipping."
)
_CLIPPED_LATE = (
    "{at.by}() ({at.line}) runs after step(){place}, which has used the gradients as they were. "
    "Clip between backward() and step()."
)
_CLIPPED_EARLY = (
    "{at.by}() ({at.line}) runs before backward() ({back.line}): there are no gradients of this "
    "loss to clip yet. Clip between backward() and step()."
)
_NEVER_USED = (
    "step() is not called after backward() ({at.line}): unless it is called elsewhere, nothing is "
    "updated, and the next {clear.by} ({clear.line}) removes the gradients. Call step() of the "
    "optimiser."
)
_NEVER_CLEARED = (
    "zero_grad() is not called before or after step() ({at.line}): unless it is called elsewhere, "
    "the gradients of all calls add up. Call zero_grad() before backward()."
)


@dataclass(frozen=True, eq=False)
class LedgerEvent:
    """Something that happens to the gradients of leaves."""

    kind: Kind
    place: ProgramLine
    by: str = ""
    """What did it: ``zero_grad()``, or the name of an optimiser's class."""
    scale: float = 1.0
    """The factor of a GradScaler in what a backward pass has left."""
    owner: int = 0
    """The identity of the optimiser that steps or clears."""
    number: int = 0
    """Its place in the order of all."""

    @property
    def line(self) -> str:
        """Where it is: ``train.py:42``."""
        return self.place.line


@dataclass(eq=False)
class Contents:
    """What the gradient of a leaf consists of at some point."""

    parts: list[LedgerEvent]
    """The backward passes that have been added up in it."""
    lost: tuple[LedgerEvent, LedgerEvent] | None = None
    """The last pass that was removed before a step used it, and what removed it."""


class Ledger:
    """The events of a run, by leaf. Not thread-safe."""

    def __init__(self) -> None:
        self._past: dict[int, list[LedgerEvent]] = defaultdict(list)
        self._leaves: dict[int, Tensor] = {}
        """Leaves with events, kept so that nothing else takes their identity."""
        self._grads: dict[int, Tensor] = {}
        """The leaves of gradients, by the gradients' identity."""
        self._steps: list[LedgerEvent] = []
        self.scale = 1.0
        """The factor of a GradScaler in the loss that was scaled last."""
        self._count = 0
        self._passing: LedgerEvent | None = None
        """The call of ``backward`` that runs now."""
        self.stepped: dict[int, tuple[Optimizer, ProgramLine]] = {}
        """The optimisers that have made steps, by identity, and where each did last."""
        self.is_tried = False
        """Whether a GradScaler was asked to step, which it may decline."""

    # ---- what happens -------------------------------------------------------------------------

    def before(self, leaves: Iterable[Tensor]) -> None:
        """Note which leaves of which nothing is known yet have a gradient."""
        for leaf in leaves:
            if id(leaf) not in self._past:
                self._leaves[id(leaf)] = leaf
                is_known = leaf.grad is not None and not leaf.grad.is_meta
                filled = is_known and bool(leaf.grad.any())
                self._past[id(leaf)] = [LedgerEvent("before", ProgramLine())] if filled else []

    def passing(self) -> None:
        """A call of ``backward`` begins."""
        self._passing = self._event("backward", scale=self.scale)
        self.scale = 1.0

    def passed(self, leaves: Iterable[Tensor]) -> None:
        """It has ended, and has given these leaves gradients."""
        self._filled(leaves)
        self._passing = None

    def _filled(self, leaves: Iterable[Tensor]) -> None:
        for leaf in leaves:
            if self._passing is not None and self._passing not in self._past[id(leaf)]:
                self._note(leaf, self._passing)
                self._grads[id(leaf.grad)] = leaf

    def cleared(self, leaf: Tensor, by: str = "", owner: int = 0) -> None:
        """The gradient of a leaf is taken away, perhaps by the optimiser that owns it."""
        self.before([leaf])
        self._note(leaf, self._event("clear", by or _clearing(), owner=owner))

    def written(self, tensors: Iterable[Tensor], operator: str) -> None:
        """An operator has written to tensors, among them perhaps gradients."""
        for tensor in tensors if self._grads else ():
            leaf = self._grads.get(id(tensor))
            if leaf is None or leaf.grad is not tensor:
                continue
            if "zero_" in operator:
                self._note(leaf, self._event("clear", _clearing()))
            elif clip := called_in(_CLIPPING):
                self._note(leaf, self._event("clip", clip))

    def looked_for(self, leaf: Tensor) -> None:
        """A function that clips has found no gradient."""
        if clip := called_in(_CLIPPING):
            self.before([leaf])
            self._note(leaf, self._event("clip", clip))

    def read(self, leaf: Tensor) -> None:
        """The program itself looks at a gradient."""
        if leaf.grad is not None:
            self.before([leaf])
            self._note(leaf, self._event("read"))

    def scaled(self, factor: float) -> None:
        """A loss is scaled, which the next backward pass begins with."""
        self.scale = factor

    def unscaled(self, optimizer: Optimizer) -> None:
        """The factor of a GradScaler is taken out of what an optimiser owns."""
        event = self._event("unscale")
        for leaf in owned(optimizer):
            self._note(leaf, event)

    def step(self, optimizer: Optimizer) -> None:
        """An optimiser has made a step."""
        event = self._event("step", type(optimizer).__name__, owner=id(optimizer))
        self._steps.append(event)
        self.stepped[id(optimizer)] = optimizer, event.place
        self.before(owned(optimizer))
        self._filled(leaf for leaf in owned(optimizer) if leaf.grad is not None)  # by a hook
        for leaf in owned(optimizer):
            self._note(leaf, event)

    def _event(self, kind: Kind, by: str = "", **more: Any) -> LedgerEvent:
        self._count += 1
        return LedgerEvent(kind, user_place(), by, number=self._count, **more)

    def _note(self, leaf: Tensor, event: LedgerEvent) -> None:
        """Add an event; what clears or clips in several goes does so once."""
        self._leaves[id(leaf)] = leaf
        past = self._past[id(leaf)]
        last = (past[-1].kind, past[-1].place) if past and past[-1].kind in _ONCE else None
        if last != (event.kind, event.place):
            past.append(event)

    # ---- what is wrong with it ----------------------------------------------------------------

    def reached(self) -> dict[int, ProgramLine]:
        """The leaves that ``backward`` has given gradients, by identity, and where it did last."""
        return {
            key: event.place
            for key, past in self._past.items()
            for event in past
            if event.kind == "backward"
        }

    def missteps(self, names: Mapping[int, str], known: Container[int]) -> Iterator[Misstep]:
        """All of them, each once; ``names`` are those of leaves, ``known`` what optimisers have."""
        found: dict[Misstep, list[str]] = {}
        for key, past in self._past.items():
            never = self._never(past) if key in known else ()
            for misstep in (*self._of_leaf(past), *never):
                found.setdefault(misstep, []).append(names.get(key, ""))
        for misstep, several in found.items():
            named = [name for name in several if name]
            text = misstep.text.replace("{}", listed(named or ["parameters"]))
            yield misstep.model_copy(update={"text": text})

    def _of_leaf(self, past: Sequence[LedgerEvent]) -> Iterator[Misstep]:
        now = Contents([])
        used: set[LedgerEvent] = set()
        plain: set[LedgerEvent] = set()
        seen: set[LedgerEvent] = set()
        last, idle, late, early = None, None, None, None
        for event in past:
            if event.kind in ("before", "backward"):
                if early is not None and event.kind == "backward":
                    yield _misstep(_CLIPPED_EARLY, early, back=event)
                    early = None
                if idle is not None and event.kind == "backward":
                    step, is_filled = idle
                    by = "the gradients of an earlier call" if is_filled else "no gradient"
                    yield _misstep(_STEP_FIRST, step, back=event, by=by)
                    idle = None
                now.parts.append(event)
            elif event.kind == "clear":
                unused = [part for part in now.parts if part not in used]
                now.lost = (unused[-1], event) if unused and unused[-1].kind == "backward" else None
                now.parts = []
                if late is not None:
                    yield _clipped_late(late, last)
                late = None
            elif event.kind == "read":
                seen.update(now.parts)
            elif event.kind == "unscale":
                plain.update(now.parts)
            elif event.kind == "clip":
                factors = [p.scale for p in now.parts if p not in plain and p.scale != 1]
                if factors:
                    yield _misstep(_CLIPPED_SCALED, event, factor=factors[0])
                elif not now.parts:
                    early = event
                elif all(part in used for part in now.parts):
                    late = event
            elif event.kind == "step":
                late = early = None
                is_first = not any(each.kind == "backward" for each in (*now.parts, *used))
                if is_first and now.lost is None and last is None:
                    idle = event, bool(now.parts)
                elif now.lost is not None and not now.parts:
                    back, clear = now.lost
                    yield _misstep(_CLEARED_BETWEEN, clear, back=back, step=event)
                elif now.lost is not None and now.lost[0] not in seen:
                    back, clear = now.lost
                    if any(part.place == back.place for part in now.parts):
                        yield _misstep(_CLEARED_IN_LOOP, clear, back=back, step=event)
                yield from self._sums(now, used, event, past)
                used.update(now.parts)
                now.lost, last = None, event
        if late is not None:
            yield _clipped_late(late, last)

    def _sums(
        self, now: Contents, used: set[LedgerEvent], step: LedgerEvent, past: Sequence[LedgerEvent]
    ) -> Iterator[Misstep]:
        """What a step uses besides the gradients that it is for."""
        passes = [part for part in now.parts if part.kind == "backward"]
        if not passes:
            return
        if any(part in used for part in passes) and passes[-1] not in used:
            yield _misstep(_ADDED_UP, step, back=passes[-1])
        is_cleared = any(event.kind == "clear" for event in past)
        if now.parts[0].kind == "before" and not is_cleared:
            yield _misstep(_ADDED_TO_EARLIER, step)
        for earlier in passes[:-1]:
            other = self._user_of(earlier, passes[-1], step)
            if other is not None and earlier not in used:
                others = {"later": passes[-1], "step": step, "other": other}
                yield _misstep(_MEANT_FOR_ANOTHER, earlier, **others)

    def _user_of(
        self, earlier: LedgerEvent, later: LedgerEvent, step: LedgerEvent
    ) -> LedgerEvent | None:
        """The step of another optimiser that used a backward pass before the next one."""
        for event in self._steps:
            is_between = earlier.number < event.number < later.number
            if is_between and event.owner != step.owner:
                if any(earlier in past and event in past for past in self._past.values()):
                    return event
        return None

    def _never(self, past: Sequence[LedgerEvent]) -> Iterator[Misstep]:
        """Gradients that were made room for, and that no step uses."""
        past = _without_reads(past)
        clears = [event for event in past if event.kind == "clear"]
        if past and past[-1].kind == "backward" and clears and clears[-1].owner:
            if not self._steps and not self.is_tried:
                yield _misstep(_NEVER_USED, past[-1], clear=clears[-1])

    def hints(self) -> set[Misstep]:
        """What is wrong only if the program does nothing about it outside of this run."""
        return {
            _misstep(_NEVER_CLEARED, past[-1])
            for past in map(_without_reads, self._past.values())
            if [event.kind for event in past] == ["backward", "step"]
        }


def _without_reads(past: Sequence[LedgerEvent]) -> list[LedgerEvent]:
    return [event for event in past if event.kind != "read"]


def owned(optimizer: Optimizer) -> list[Tensor]:
    """The parameters of all groups of an optimiser."""
    return [p for group in optimizer.param_groups for p in group["params"]]


def _clearing() -> str:
    return "zero_grad()" if called_in(_CLEARING) else "What sets .grad back"


def listed(names: Sequence[str]) -> str:
    """The first names, and how many more there are."""
    few = names[:3]
    more = f" and {len(names) - 3} more" if len(names) > 3 else ""
    return f"{', '.join(few)}{more}"


def _misstep(text: str, at: LedgerEvent, **others: LedgerEvent | str | float) -> Misstep:
    """What one of the texts above says ``at`` an event."""
    return Misstep(text=text.format(at=at, **others), written=at.place.written)


def _clipped_late(clip: LedgerEvent, step: LedgerEvent | None) -> Misstep:
    return _misstep(_CLIPPED_LATE, clip, place="" if step is None else f" ({step.line})")
