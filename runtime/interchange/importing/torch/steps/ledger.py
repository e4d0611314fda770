"""What a program does with the gradients of its leaves, in order, and what is wrong with that.

Only what a gradient is when it is used counts: who fills it, who empties it, who has used it.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from typing import Any, Literal, TypeAlias

from gradwire.blocks.classes.dataclass import dataclass
from gradwire.runtime.diagram.comparison import Misstep
from gradwire.runtime.interchange.importing.torch.capture.frames import called_in, user_place
from gradwire.runtime.interchange.importing.torch.places import ProgramLine

Kind: TypeAlias = Literal["before", "backward", "clear", "clip", "unscale", "read", "step"]
_CLIPPING = ("clip_grad_norm_", "clip_grads_with_norm_", "clip_grad_value_")
_CLEARING = ("zero_grad",)
_ONCE = ("clear", "clip", "unscale", "read")


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
        self._leaves: dict[int, Any] = {}
        """Leaves with events, kept so that nothing else takes their identity."""
        self._grads: dict[int, Any] = {}
        """The leaves of gradients, by the gradients' identity."""
        self._steps: list[LedgerEvent] = []
        self.scale = 1.0
        """The factor of a GradScaler in the loss that was scaled last."""
        self._count = 0
        self._passing: LedgerEvent | None = None
        """The call of ``backward`` that runs now."""
        self.stepped: dict[int, tuple[Any, ProgramLine]] = {}
        """The optimisers that have made steps, by identity, and where each did last."""
        self.is_tried = False
        """Whether a GradScaler was asked to step, which it may decline."""

    # ---- what happens -------------------------------------------------------------------------

    def before(self, leaves: Iterable[Any]) -> None:
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

    def passed(self, leaves: Iterable[Any]) -> None:
        """It has ended, and has given these leaves gradients."""
        self._filled(leaves)
        self._passing = None

    def _filled(self, leaves: Iterable[Any]) -> None:
        for leaf in leaves:
            if self._passing is not None and self._passing not in self._past[id(leaf)]:
                self._note(leaf, self._passing)
                self._grads[id(leaf.grad)] = leaf

    def cleared(self, leaf: Any, by: str = "", owner: int = 0) -> None:
        """The gradient of a leaf is taken away, perhaps by the optimiser that owns it."""
        self.before([leaf])
        self._note(leaf, self._event("clear", by or _clearing(), owner=owner))

    def written(self, tensors: Iterable[Any], operator: str) -> None:
        """An operator has written to tensors, among them perhaps gradients."""
        for tensor in tensors if self._grads else ():
            leaf = self._grads.get(id(tensor))
            if leaf is None or leaf.grad is not tensor:
                continue
            if "zero_" in operator:
                self._note(leaf, self._event("clear", _clearing()))
            elif clip := called_in(_CLIPPING):
                self._note(leaf, self._event("clip", clip))

    def looked_for(self, leaf: Any) -> None:
        """A function that clips has found no gradient."""
        if clip := called_in(_CLIPPING):
            self.before([leaf])
            self._note(leaf, self._event("clip", clip))

    def read(self, leaf: Any) -> None:
        """The program itself looks at a gradient."""
        if leaf.grad is not None:
            self.before([leaf])
            self._note(leaf, self._event("read"))

    def scaled(self, factor: float) -> None:
        """A loss is scaled, which the next backward pass begins with."""
        self.scale = factor

    def unscaled(self, optimizer: Any) -> None:
        """The factor of a GradScaler is taken out of what an optimiser owns."""
        event = self._event("unscale")
        for leaf in owned(optimizer):
            self._note(leaf, event)

    def step(self, optimizer: Any) -> None:
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

    def _note(self, leaf: Any, event: LedgerEvent) -> None:
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
            text = misstep.text.replace("{}", _listed(named or ["parameters"]))
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
                    yield _clipped_early(early, event)
                    early = None
                if idle is not None and event.kind == "backward":
                    yield _step_first(*idle, event)
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
                    yield _clipped_scaled(event, factors[0])
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
                    yield _cleared_between(*now.lost, event)
                elif now.lost is not None and now.lost[0] not in seen:
                    if any(part.place == now.lost[0].place for part in now.parts):
                        yield _cleared_in_loop(*now.lost, event)
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
            yield _added_up(passes[-1], step)
        is_cleared = any(event.kind == "clear" for event in past)
        if now.parts[0].kind == "before" and not is_cleared:
            yield _added_to_earlier(step)
        for earlier in passes[:-1]:
            other = self._user_of(earlier, passes[-1], step)
            if other is not None and earlier not in used:
                yield _meant_for_another(earlier, passes[-1], step, other)

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
                yield _never_used(past[-1], clears[-1])

    def hints(self) -> set[Misstep]:
        """What is wrong only if the program does nothing about it outside of this run."""
        return {
            _never_cleared(past[-1])
            for past in map(_without_reads, self._past.values())
            if [event.kind for event in past] == ["backward", "step"]
        }


def _without_reads(past: Sequence[LedgerEvent]) -> list[LedgerEvent]:
    return [event for event in past if event.kind != "read"]


def owned(optimizer: Any) -> list[Any]:
    """The parameters of all groups of an optimiser."""
    return [p for group in optimizer.param_groups for p in group["params"]]


def _clearing() -> str:
    return "zero_grad()" if called_in(_CLEARING) else "What sets .grad back"


def _listed(names: list[str]) -> str:
    few = names[:3]
    more = f" and {len(names) - 3} more" if len(names) > 3 else ""
    return f"{', '.join(few)}{more}"


def _misstep(text: str, place: ProgramLine) -> Misstep:
    return Misstep(text=text, written=place.written)


def _step_first(step: LedgerEvent, is_filled: bool, back: LedgerEvent) -> Misstep:
    by = "the gradients of an earlier call" if is_filled else "no gradient"
    text = (
        f"step() ({step.place.line}) runs before backward() ({back.place.line}): it updates by "
        f"{by}, not by those of this loss. Call step() after backward()."
    )
    return _misstep(text, step.place)


def _cleared_between(back: LedgerEvent, clear: LedgerEvent, step: LedgerEvent) -> Misstep:
    text = (
        f"{clear.by} ({clear.place.line}) runs between backward() ({back.place.line}) and step() "
        f"({step.place.line}), so step() has no gradient of this loss. Call zero_grad() before "
        "backward(), or after step()."
    )
    return _misstep(text, clear.place)


def _added_up(back: LedgerEvent, step: LedgerEvent) -> Misstep:
    text = (
        f"backward() ({back.place.line}) adds to gradients that a step has used already, and "
        f"step() ({step.place.line}) uses the sum: nothing sets them back, so they add up. Call "
        "zero_grad() before each backward()."
    )
    return _misstep(text, step.place)


def _added_to_earlier(step: LedgerEvent) -> Misstep:
    text = (
        f"step() ({step.place.line}) uses gradients from before this run too: nothing in it sets "
        "them back, so they add up. Call zero_grad() before backward()."
    )
    return _misstep(text, step.place)


def _meant_for_another(
    earlier: LedgerEvent, later: LedgerEvent, step: LedgerEvent, other: LedgerEvent
) -> Misstep:
    text = (
        f"step() ({step.place.line}) moves {{}} by the gradients of backward() "
        f"({earlier.place.line}) too, which step() ({other.place.line}) of another optimiser was "
        f"for. Give that loss what it reads with detach(), or call zero_grad() before backward() "
        f"({later.place.line})."
    )
    return _misstep(text, earlier.place)


def _clipped_scaled(clip: LedgerEvent, factor: float) -> Misstep:
    text = (
        f"{clip.by}() ({clip.place.line}) clips gradients that have the factor {factor:g} of the "
        "GradScaler in them. Call unscale_() of the scaler, with the optimiser, before clipping."
    )
    return _misstep(text, clip.place)


def _clipped_late(clip: LedgerEvent, step: LedgerEvent | None) -> Misstep:
    place = f" ({step.place.line})" if step is not None else ""
    text = (
        f"{clip.by}() ({clip.place.line}) runs after step(){place}, which has used the gradients "
        "as they were. Clip between backward() and step()."
    )
    return _misstep(text, clip.place)


def _clipped_early(clip: LedgerEvent, back: LedgerEvent) -> Misstep:
    text = (
        f"{clip.by}() ({clip.place.line}) runs before backward() ({back.place.line}): there are no "
        "gradients of this loss to clip yet. Clip between backward() and step()."
    )
    return _misstep(text, clip.place)


def _cleared_in_loop(back: LedgerEvent, clear: LedgerEvent, step: LedgerEvent) -> Misstep:
    text = (
        f"{clear.by} ({clear.place.line}) runs before each backward() ({back.place.line}) of a "
        f"loop, so step() ({step.place.line}) behind it has the gradients of the last one alone. "
        "Call zero_grad() once, before the loop, if they are to add up."
    )
    return _misstep(text, clear.place)


def _never_used(back: LedgerEvent, clear: LedgerEvent) -> Misstep:
    text = (
        f"step() is not called after backward() ({back.place.line}): unless it is called "
        f"elsewhere, nothing is updated, and the next {clear.by} ({clear.place.line}) removes the "
        "gradients. Call step() of the optimiser."
    )
    return _misstep(text, back.place)


def _never_cleared(step: LedgerEvent) -> Misstep:
    text = (
        f"zero_grad() is not called before or after step() ({step.place.line}): unless it is "
        "called elsewhere, the gradients of all calls add up. Call zero_grad() before backward()."
    )
    return _misstep(text, step.place)
