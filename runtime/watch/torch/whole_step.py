"""One step of a training that is watched, captured whole: what the doctor says of it.

The step goes on as it would: nothing of it is changed, and whatever fails here ends the capture
alone. It is over once all optimisers that are known have taken a step and something is computed
again in the same lines, from the loop down: then all that the loop does has been seen.
"""

from __future__ import annotations

import gc
import linecache
from collections.abc import Collection, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from functools import cached_property
from typing import TYPE_CHECKING, Any

import torch

from gradwire.runtime.engine import Session
from gradwire.runtime.flow import diagnose, observe, reassurance, with_fix
from gradwire.runtime.flow.measured import compared
from gradwire.runtime.flow.tools.causes import causes
from gradwire.runtime.flow.tools.findings import DIFFERS, IDLE_STOP, MASKED_VALUE, UNOWNED, VALUE
from gradwire.runtime.flow.words.sentences import names as listed
from gradwire.runtime.flow.words.states import NO_GRADIENT, State
from gradwire.runtime.interchange.importing.leaving_out import EVERYTHING
from gradwire.runtime.interchange.importing.options import ImportOptions
from gradwire.runtime.interchange.importing.stage import Stage
from gradwire.runtime.interchange.importing.torch.capture.capturing import Capture
from gradwire.runtime.interchange.importing.torch.capture.frames import user_lines
from gradwire.runtime.interchange.importing.torch.inspection import memory_of
from gradwire.runtime.interchange.importing.torch.memory import Cut
from gradwire.runtime.interchange.importing.torch.places import NOWHERE, place_of
from gradwire.runtime.watch.reasons import Found, Trouble
from gradwire.runtime.watch.torch.hooks import uncompiled
from gradwire.runtime.watch.torch.switches import turned_off

if TYPE_CHECKING:
    from gradwire.runtime.flow import Cause, ObservedFlow
    from gradwire.runtime.interchange.importing.imported import Imported
    from gradwire.runtime.watch.step import NoGradRegion

MOST = 1 << 26
"""Parameters of a model whose step is captured without being asked for, at most: the diagram has a
copy of them.
"""


_NOT_FINITE = (VALUE, MASKED_VALUE, State.NONFINITE.row.complaint)
_NONE = "No gradient: "
"""How sentences about a variable without gradient begin: see ``Trouble.NO_GRADIENT``."""
_MOST_STEPS = 8
"""Steps of one optimiser until all others have taken one, at most."""
_MOST_PASSES, _MOST_CALLS = 32, 50_000
"""Calls of ``backward``, and of operators, that a step has, at most: it may never be over."""
_active: list[WholeStep] = []
"""What is captured now: one step at a time."""


def can_capture(model: torch.nn.Module, *, is_asked: bool) -> bool:
    """Whether a step of a model can be captured now; if nobody has asked for it, whether that takes
    little and leaves all numbers as they are, bit for bit.
    """
    if _active or is_asked:
        return not _active
    if sum(p.numel() for p in model.parameters()) > MOST:
        return False
    # Recurrent layers round otherwise where operators are looked at, and any may be in the step.
    if not _has_recurrent():
        return True
    gc.collect()  # what is only left over from earlier is not
    return not _has_recurrent()


def _has_recurrent() -> bool:
    return any(issubclass(cls, torch.nn.RNNBase) for cls in {type(x) for x in gc.get_objects()})


class WholeStep:
    """A step that is captured while it runs. Begin it in the thread that trains."""

    def __init__(self, model: torch.nn.Module, optimizers: Sequence[Any], name: str = "") -> None:
        self._optimizers = optimizers
        self.name = name
        """What the program calls the model that is watched; empty if that is not known."""
        self._lines: set[object] = set()
        """The lines, of all functions that ran, in which something was computed before a step."""
        self._behind: set[object] | None = None
        """Those of them that came after the last ``backward``; None before the first."""
        self._passed: set[object] = set()
        """Those in which ``backward`` was called."""
        self._stepped: list[torch.optim.Optimizer | None] = []
        """The optimisers that have taken a step."""
        self._seen: set[str] = set()
        """The parameters that had come up by the last step: what follows is of the next."""
        self._calls = self._backwards = 0
        self.is_whole = self._is_abandoned = False
        self._capture = Capture(Stage(type(model).__name__), ImportOptions(), None, EVERYTHING)
        self._capture.recording.before_call = self._passes
        self._capture.recording.after_write = self._writes
        with ExitStack() as modes:
            modes.enter_context(uncompiled())
            off = _cut(turned_off())
            modes.enter_context(self._capture.live(model, optimizers, name, off))
            self._modes = modes.pop_all()
        _active.append(self)

    def _passes(self, is_backward: bool) -> None:
        """The program computes something, or calls ``backward``."""
        self._calls += 1
        self._backwards += is_backward
        if self._backwards > _MOST_PASSES or self._calls > _MOST_CALLS:
            self._freeze()
            return
        lines = user_lines()
        if not self._stepped:
            self._lines.add(lines)
            if is_backward:
                self._behind = set()
            elif self._behind is not None:
                self._behind.add(lines)
        elif all(any(x is each for each in self._stepped) for x in self._optimizers):
            # What is in one line with the step can't begin the next one, but backward ends it.
            self.is_whole = lines in self._lines
            if self.is_whole or (is_backward and lines in self._passed):
                self._freeze()
                return
        if is_backward:
            self._passed.add(lines)

    def _writes(self, tensors: Sequence[torch.Tensor]) -> None:
        """The program writes to tensors: after ``backward``, to a parameter, it is a step."""
        if self._behind is None or self._stepped:
            return
        own = set(map(memory_of, self._capture.parameters.values()))
        if not own.isdisjoint(map(memory_of, tensors)):
            self._lines -= self._behind  # what an update computes for each parameter is no new step
            self._stepped.append(None)
            self._seen = set(self._capture.parameters)

    def steps(self, optimizer: torch.optim.Optimizer) -> None:
        """An optimiser is about to take a step."""
        if sum(optimizer is each for each in self._stepped) >= _MOST_STEPS:
            self._freeze()
        self._lines.discard(user_lines())  # what prepares the step may compute
        self._stepped.append(optimizer)
        self._seen = set(self._capture.parameters)

    def _freeze(self) -> None:
        """Record no more; hooks stay until ``end``, as torch may be going through them."""
        self._capture.recording.freeze()

    @property
    def is_over(self) -> bool:
        """Whether no more is recorded, for whatever reason."""
        return self._capture.recording.is_frozen

    @property
    def given_up(self) -> Exception | None:
        """Why the step can't be captured; None if nothing is in the way."""
        return self._capture.recording.given_up

    def abandon(self) -> None:
        """Capture nothing: hooks stay until ``end``."""
        self._freeze()
        self._is_abandoned = True

    @contextmanager
    def asleep(self) -> Iterator[None]:
        """Nothing is recorded meanwhile."""
        with self._capture.recording.asleep():
            yield

    def end(self) -> Diagnosis | None:
        """What the doctor says of the step; None where it could not be captured."""
        recording = self._capture.recording
        _active.remove(self)
        self._modes.close()
        if self._is_abandoned or recording.given_up is not None or not recording.losses:
            return None
        stepped = [each for each in self._stepped if each is not None]  # and not the program itself
        seen = list({id(each): each for each in (*self._optimizers, *stepped)}.values())
        imported = self._capture.finish(
            None, seen[0] if len(seen) == 1 else None, is_whole=self.is_whole
        )
        owned = recording.kept.updated
        parameters = self._capture.parameters
        names = {n for n, p in parameters.items() if id(p) in owned}
        late = parameters.keys() - self._seen if self._stepped else set()
        return Diagnosis(imported, names, late, self.name, is_whole=self.is_whole)


def _cut(off: NoGradRegion | None) -> Cut | None:
    """What has turned gradient off, as captures have it."""
    if off is None:
        return None
    place = place_of(*off.line, linecache.getline(*off.line)) if off.line.number else NOWHERE
    return Cut(off.name, (), place.written)


class Diagnosis:
    """A captured step, and what is wrong with it."""

    def __init__(
        self,
        imported: Imported,
        owned: Collection[str],
        late: Collection[str],
        model: str,
        *,
        is_whole: bool,
    ) -> None:
        self.imported = imported
        self._is_whole = is_whole
        self._model = model
        """What the program calls the model, if that is known: its page."""
        self._owned = set(map(self._name, owned))
        """The parameters that optimisers update, as far as is known."""
        self._late = set(map(self._name, late))
        """Those that came up after the last step, whose losses are still to come."""
        self._session = Session(imported.diagram)
        self._paths = {self._name(name): path for name, path in imported.parameters.items()}
        self._own = {path: name for name, path in self._paths.items()}
        self._findings = diagnose(self._session)

    def _name(self, parameter: str) -> str:
        """The name of a parameter in the model."""
        return parameter.removeprefix(f"{self._model}.") if self._model else parameter

    def found(self, step: int, model: Collection[str] | None = None) -> Iterator[Found]:
        """What is wrong, by cause, in the names of parameters.

        Whether parameters are trained elsewhere that neither belong to the ``model``, if one is
        given, nor to an optimiser is not known.
        """
        meant = self._owned or model
        alike: dict[tuple[Trouble, str], list[Cause]] = {}
        for cause in causes(self._findings):
            # Nothing is wrong with the program; or others look after it.
            if cause.complaint in (DIFFERS, UNOWNED, IDLE_STOP):
                continue
            name = self._own.get(cause.findings[0].key)
            if cause.complaint is MASKED_VALUE and not self._places(cause):
                continue  # a number that something else has for itself, such as a custom backward
            is_meant = name not in self._late and (not meant or name in meant)
            if cause.complaint is NO_GRADIENT and not is_meant:
                continue
            alike.setdefault((self._trouble(cause), self._sentence(cause)), []).append(cause)
        for (trouble, text), several in alike.items():
            about = [name for cause in several for name in self._about(cause)]
            names = tuple(dict.fromkeys(self._own[name] for name in about if name in self._own))
            places = dict.fromkeys(place for cause in several for place in self._places(cause))
            if names and not any(name in text for name in names):
                text = f"{listed(names)}: {text.removeprefix(_NONE)}"
            yield Found(trouble, names, text, step, tuple(places))

    def is_by_design(self, parameter: str) -> bool:
        """Whether the gradient of a parameter was exactly 0, and nothing is wrong with that."""
        path = self._paths.get(parameter)
        if path is None or any(path in (f.key, *f.affected) for f in self._findings):
            return False
        return self._observed.variable(path).state is State.ZERO

    @cached_property
    def _observed(self) -> ObservedFlow:
        """The step with its numbers; asked for at each update while a gradient is 0."""
        return observe(compared(self._session))

    @property
    def reassurance(self) -> str:
        """What can be said of a step in which nothing is wrong; empty for others, and where not all
        of it was seen.
        """
        if self._findings or not self._is_whole:
            return ""
        said = reassurance(self._session.program, self._session.losses)
        return said.replace("Nothing wrong", "Nothing was found", 1)

    @property
    def is_about_infinity(self) -> bool:
        """Whether something is said of numbers that are not finite."""
        return any(finding.complaint in _NOT_FINITE for finding in self._findings)

    @property
    def remarks(self) -> tuple[str, ...]:
        """What else is to be said of the step."""
        return tuple(str(remark) for remark in self.imported.remarks if remark.kind != "checked")

    def why(self, parameter: str) -> str:
        """Why a parameter got gradient or not, and what would let it through, which is tried."""
        path = self._paths[parameter]
        return with_fix(compared(self._session), self._observed.explain(path)).sentence

    def knows(self, parameter: str) -> bool:
        """Whether the step has the parameter."""
        return parameter in self._paths

    def _about(self, cause: Cause) -> Iterator[str]:
        yield from dict.fromkeys([f.key for f in cause.findings if f.key in self._own])
        yield from (name for name in cause.affected)

    def _trouble(self, cause: Cause) -> Trouble:
        return Trouble.NO_GRADIENT if cause.complaint is NO_GRADIENT else Trouble.DIAGNOSED

    def _sentence(self, cause: Cause) -> str:
        first = cause.findings[0]
        is_said = not first.cure or first.cure in first.sentence
        return first.sentence if is_said else f"{first.sentence} {first.cure}"

    def _places(self, cause: Cause) -> tuple[str, ...]:
        places = (f.written.partition(": ")[0] for f in cause.findings)
        return tuple(dict.fromkeys(place for place in places if place))
