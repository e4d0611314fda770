"""``with gw.watch(model, optimizer) as watched``: reasons in a training that runs anyway."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack, nullcontext
from functools import partial
from typing import TYPE_CHECKING, Any

import torch

from gradwire.blocks.errors import RunError
from gradwire.runtime.flow.words.sentences import names as listed
from gradwire.runtime.interchange.importing.imported import UnsupportedError
from gradwire.runtime.watch.diagram import Structure, structure_of
from gradwire.runtime.watch.findings import Findings
from gradwire.runtime.watch.reasons import (
    Found,
    NotFiniteError,
    Reason,
    Trouble,
    grouped,
    reason,
)
from gradwire.runtime.watch.report import ParameterRow, Report
from gradwire.runtime.watch.torch import listening
from gradwire.runtime.watch.torch.failing import ModelCalls
from gradwire.runtime.watch.torch.hooks import Args, Hook, Kwargs
from gradwire.runtime.watch.torch.measures import is_not_finite, is_zero, norms, parameters_of
from gradwire.runtime.watch.torch.moves import LONG, PATIENCE, Moves
from gradwire.runtime.watch.torch.owners import (
    innermost,
    is_open,
    name_among,
    ownership,
    strangers,
    unwrapped,
)
from gradwire.runtime.watch.torch.processes import (
    has_flat_parameters,
    is_distributed,
    is_first_process,
    is_sharded,
    needs_all,
)
from gradwire.runtime.watch.torch.recorder import StepRecorder
from gradwire.runtime.watch.torch.replaying import (
    ModelCall,
    blamed,
    has_drawn,
    random_state,
    tensors_in,
)
from gradwire.runtime.watch.torch.scaling import are_finite, is_skipped
from gradwire.runtime.watch.torch.switches import is_in_compiled, noted
from gradwire.runtime.watch.torch.unstepped import Unstepped
from gradwire.runtime.watch.torch.whole_step import (
    Diagnosis,
    WholeStep,
    can_capture,
)

if TYPE_CHECKING:
    from gradwire.runtime.diagram.model import Diagram
    from gradwire.runtime.watch.step import RecordedStep

_EVALUATIONS = 3
"""Calls without gradient before anything was trained that are recorded, each in place of the one
before: the next may be the one that is to be trained.
"""
_FORWARDS = 8
"""Calls of the model in one step that a replay can have, at most."""


class Watch:
    """Looks at a training while it runs, and says what is wrong, since when, and why.

    Made by ``watch``, which has the options. Use it in a ``with`` statement, or ``close`` it; until
    then hooks of the model and the optimisers call it. Nothing of the training changes, and no
    tensor is kept beyond the step. An error in watching ends the watching, and not the training.
    """

    def __init__(
        self,
        model: torch.nn.Module,
        optimizers: Sequence[torch.optim.Optimizer],
        *,
        every: int,
        check_every: int,
        guard: bool,
        quiet: bool,
        on_finding: Callable[[Found], None] | None,
        on_look: Callable[[Watch], None] | None,
        source: bool,
        hooks: bool,
        capture: bool | None = None,
        name: str = "",
        begun: WholeStep | None = None,
        waits: bool = False,
    ) -> None:
        self.model = model
        self._name = name
        """What the program calls the model; empty where that is not known."""
        self.optimizers = tuple(map(innermost, optimizers))
        self.steps = 0
        """Updates since watching began."""
        quiet = quiet or not is_first_process()
        self._findings = Findings(quiet=quiet, on_finding=on_finding)
        self._inner = unwrapped(model)
        self._every, self._check_every, self._guard = every, check_every, guard
        self._on_look, self._source = on_look, source
        self._parameters = parameters_of(self._inner)
        self._trained = {n: p for n, p in self._parameters.items() if p.requires_grad}
        self._recorder: StepRecorder | None = None
        self._recorded: RecordedStep | None = None
        self._made: Structure | None = None
        """The structure of that step, once something has asked for it."""
        self._recorded_at = 0
        self._whole = begun
        self._whole_at = 0
        """The step in which its capture began."""
        self.not_captured: Exception | None = None
        """Why the last step that was to be captured whole could not be."""
        self._is_told_infinite = False
        self.diagnosis: Diagnosis | None = None
        """What the doctor says of the last step that was captured whole."""
        self._forwards: list[ModelCall] = []
        self._draws: bool | None = None
        """Whether a recorded call of the model has drawn numbers from NumPy; None before one."""
        self._loss: torch.Tensor | None = None
        self._calls = ModelCalls()
        self._moves = Moves(self._trained)
        self._norms: list[float | None] = []
        """The norm of each gradient at the last look, in the order of the parameters."""
        self._times: dict[tuple[str, Trouble], int] = {}
        self._looks = 0
        self._came: set[str] = set()
        """The parameters to which gradient has come at a look."""
        self._asks = False
        """Whether the next step is to be recorded; not this one, whose update would be in it."""
        self._is_checked = True
        self._closing: list[Callable[[], None]] = []
        self.failure: Exception | None = None
        """What ended the watching, if something did."""
        self._is_alone = hooks
        """Whether other models of the program are watched by others, if at all."""
        self._is_sharded = is_sharded(self._inner)
        is_alone = model is self._inner and not guard and not is_distributed()
        self._captures = not self._is_sharded and (capture or (capture is None and is_alone))
        self._is_asked = bool(capture)
        self._evaluations = 0
        """Calls of the model without gradient before anything was trained."""
        self._has_begun = False
        """Whether it has been called with gradient."""
        self._unstepped = Unstepped(self._trained)
        self._waits = waits
        """Whether a step has begun without this, so that the next one is recorded."""
        self._is_stepping = self._is_updating = False
        """Whether an optimiser takes a step; whether the program itself does, after backward."""
        self._is_by_hand = False
        """Whether the program itself updates the parameters."""
        self._had: set[str] = set()
        """The parameters to which gradient came in the step that has not been looked at."""
        self._attach(hooks)
        if begun is not None:
            begun.name = name
        if not waits:
            self._begin()

    # ---- on and off ---------------------------------------------------------------------------

    def _attach(self, hooks: bool) -> None:
        before = self.model.register_forward_pre_hook(Hook(self._called), with_kwargs=True)
        after = self.model.register_forward_hook(Hook(self._guarded(self._forwarded)))
        self._closing += [before.remove, after.remove]
        for optimizer in self.optimizers if hooks else ():
            ahead = optimizer.register_step_pre_hook(self.before_step)
            behind = optimizer.register_step_post_hook(self.after_step)
            self._closing += [ahead.remove, behind.remove]
        listening.begin(self)
        self._closing.append(partial(listening.end, self))
        switches = ExitStack()
        switches.enter_context(noted())
        self._closing.append(switches.close)

    def _guarded(self, method: Callable[..., None], *, asleep: bool = True) -> Callable[..., None]:
        """A hook that never raises what is ours. A step that is captured doesn't see it if it is
        ``asleep``; what ends its capture must not be.
        """

        def hook(*args: object, **kwargs: object) -> None:
            if self.failure is not None:
                return
            try:
                whole = self._whole if asleep else None
                with nullcontext() if whole is None else whole.asleep():
                    method(*args, **kwargs)
            except NotFiniteError:
                raise
            except Exception as error:  # no fault of watching may stop a training
                self._fail(error)

        return hook

    def told(self, method: Callable[..., None], *args: object) -> None:
        """Call a method of this, whose errors end the watching."""
        self._guarded(method)(*args)

    def _fail(self, error: Exception) -> None:
        self.failure = error
        if self._whole is not None:
            self._whole.abandon()
        self._stop_recording()
        self._forwards.clear()
        by = "an error of its own, or of on_finding or on_look"
        text = f"Watching ended by {by} ({type(error).__name__}: {error})."
        warnings.warn(text, RuntimeWarning, stacklevel=2)

    def close(self, *, look: bool = True) -> None:
        """End watching; what was found stays. With ``look``, a step that is not over is looked at
        first.
        """
        if not self._closing:
            return
        self._guard = False  # nothing is left to be prevented
        self._end_whole()
        if look:
            self.told(self._last_look)
        self._stop_recording()
        while self._closing:
            self._closing.pop()()
        self._forwards.clear()
        self._loss = None

    def _last_look(self) -> None:
        self._look_for_steps()
        is_cleared = any(self._trained[name].grad is None for name in self._had)
        # Perhaps no optimiser told of the end of the step.
        if not (self._is_checked or is_cleared or is_skipped(self._trained.values())):
            self._look()
        if self._recorded is not None and self._looks < PATIENCE:
            none = [
                n for n in self._owned() if self._times.get((n, Trouble.NEVER_READ)) == self._looks
            ]
            reasons = [(n, why) for n in none if (why := self._why(n)) is not None]
            for found in grouped(self._recorded_at, reasons):
                self._findings.tell(found)

    def __enter__(self) -> Watch:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def __repr__(self) -> str:
        return repr(self.report())

    def hand_over(self) -> WholeStep | None:
        """The capture of the step that runs, if one does, for the watch of another model in it."""
        whole, self._whole = self._whole, None
        return whole

    def drop(self) -> None:
        """End watching, and say nothing of what was seen last."""
        if self._whole is not None:
            self._whole.abandon()
        self.close(look=False)

    # ---- a step -------------------------------------------------------------------------------

    def _begin(self) -> None:
        """Record, and perhaps capture, what follows."""
        self._waits = False
        if self._captures:
            self._capture_next(is_asked=self._is_asked)
        self.record_next()

    def _begin_again(self) -> None:
        """The model is called without gradient, as for an evaluation before it is trained: forget
        what came before, and after some such calls wait for one with gradient.
        """
        if self._recorder is None or self._has_begun:
            return
        self._stop_recording()
        if self._whole is not None:
            self._whole.abandon()
            self._end_whole()
        self._evaluations += 1
        if self._evaluations <= _EVALUATIONS:
            self._begin()

    def _trains(self) -> None:
        """The model is called with gradient."""
        self._has_begun = True
        if self._evaluations > _EVALUATIONS:
            self._evaluations = 0
            self._begin()

    def capture_next(self) -> None:
        """Capture what follows whole, up to the next call of the model after an update, for what
        the doctor finds in it. For the thread that trains.
        """
        self._capture_next(is_asked=True)

    def _capture_next(self, *, is_asked: bool) -> None:
        is_busy = any(x is not None for x in (self._whole, self._recorder, self.failure))
        if self._is_sharded:
            why = "this process has only a part of its parameters"
            self.not_captured = UnsupportedError("a model in shards", why)
            return
        if not (is_busy or is_in_compiled()) and can_capture(self._inner, is_asked=is_asked):
            try:
                self._whole = WholeStep(self._inner, self.optimizers, self._name)
                self._whole_at = self.steps
            except Exception as error:  # no fault of a capture may stop a training
                self.not_captured = error

    def _end_whole(self) -> None:
        """End the capture of a whole step, and tell what the doctor finds."""
        whole, self._whole = self._whole, None
        if whole is not None:
            try:
                self._diagnose(whole)
            except Exception as error:  # no fault of watching may stop a training
                self._fail(error)

    def _diagnose(self, whole: WholeStep) -> None:
        with listening.paused():
            found = whole.end()
        self.not_captured = whole.given_up
        if found is not None:
            self.diagnosis = found
            self._is_told_infinite |= found.is_about_infinity
            for each in found.found(self._whole_at, self._parameters if self._is_alone else None):
                self._findings.tell(each)

    def _called(self, module: torch.nn.Module, args: Args, kwargs: Kwargs) -> None:
        """The model is called."""
        self.begins()
        is_training = torch.is_grad_enabled() and self._trained
        self._guarded(self._trains if is_training else self._begin_again, asleep=False)()
        self.told(self._forward, module, args, kwargs)

    def record_next(self) -> None:
        """Record what follows, up to the next update. For the thread that trains."""
        is_known = not has_flat_parameters(self._inner)
        if is_known and self._recorder is None and self.failure is None:
            self._recorder = StepRecorder(self._inner)
            self._recorder.start()

    def _stop_recording(self) -> None:
        if self._recorder is not None:
            recorder, self._recorder = self._recorder, None
            recorder.stop()
            if recorder.failure is not None:
                raise recorder.failure
            if recorder.step.losses:
                self._recorded, self._made, self._recorded_at = recorder.step, None, self.steps

    def _structure(self) -> Structure:
        """The structure of the last recorded step, which there must be."""
        assert self._recorded is not None
        if self._made is None:
            title = type(self._inner).__name__
            self._made = structure_of(self._recorded, title, source=self._source)
        return self._made

    def _forward(self, module: torch.nn.Module, args: Args, kwargs: Kwargs) -> None:
        self._calls.called()
        if torch.is_grad_enabled() and len(self._forwards) < _FORWARDS:
            state = random_state(numpy=self._draws is not False or self._recorder is not None)
            self._forwards.append(ModelCall(args, kwargs, state))
            self._is_checked = False

    def _forwarded(self, module: torch.nn.Module, args: Args, result: object) -> None:
        if self._whole is not None:  # a hook of ours would be part of it
            self._forwards.clear()
        if not self._forwards or not torch.is_grad_enabled():
            return
        last = self._forwards[-1]
        if self._recorder is not None and last.state[-1] is not None:
            self._draws = bool(self._draws) or has_drawn(last.state[-1])
        came = last.came
        for place, x in enumerate(tensors_in(result)):
            if x.requires_grad:
                x.register_hook(partial(came.__setitem__, place))

    def begins(self) -> None:
        """The program begins to compute, or calls ``backward``, perhaps in a new step."""
        if self._whole is not None and self._whole.is_over and not is_in_compiled():
            self._end_whole()
        if not self._is_by_hand and not self._is_stepping and not self.steps:
            self._is_by_hand = self._is_updating = self._unstepped.is_moved
        if self._is_updating:
            self._is_updating = False
            self.after_step()

    def backward_of(self, tensors: Sequence[torch.Tensor]) -> None:
        """``backward`` is called of these."""
        for x in tensors:
            if isinstance(x, torch.Tensor) and x.numel() == 1:
                self._loss = x.detach()
        self._is_checked = False
        if not self.steps and self._unstepped.backward():
            self._look_for_steps()

    def backward_ended(self, tensors: Sequence[torch.Tensor]) -> None:
        """``backward`` has returned."""
        if not self._closing:
            return
        if not self.steps:
            self._had = {name for name, p in self._trained.items() if p.grad is not None}
        if self._is_by_hand:
            self._is_updating = True
            self._before_step()
            if self._waits:
                self._begin()

    def backward_failed(self, tensors: Sequence[torch.Tensor], error: RuntimeError) -> None:
        """``backward`` of these has raised; a step that is captured whole tells more of it."""
        if self._whole is not None and not self._whole.is_over:
            return
        writes = "" if self._recorder is None else self._recorder.written_before(str(error))
        if writes:
            self._findings.tell(Found(Trouble.IN_PLACE, (), writes, self.steps))
            return
        text, line = self._calls.failed(error, tensors, self._inner, self._recorded)
        if text:
            self._findings.tell(
                Found(Trouble.FAILED, (), text, self.steps, (line,) if line else ())
            )

    def step(self) -> None:
        """Say that a step is over, where no optimiser of PyTorch does: before the update."""
        self.before_step()
        self.after_step()

    def before_step(self, optimizer: Any = None, args: Any = (), kwargs: Any = None) -> None:
        """An optimiser is about to take a step: what its hook of this kind is given."""
        self._is_stepping = True
        if self._whole is not None:
            self._whole.steps(optimizer)
        self._guarded(self._before_step)(optimizer, args, kwargs)

    def after_step(self, *_: object) -> None:
        """It has taken it."""
        self._guarded(self._after_step)()

    def _before_step(self, optimizer: Any = None, args: Any = (), kwargs: Any = None) -> None:
        has_closure = len(args) > 1 or (kwargs or {}).get("closure") is not None
        if not has_closure:
            self._look()
            self._moves.begin(self.steps)

    def _after_step(self, *_: object) -> None:
        self._is_stepping = False
        if not self._is_checked:  # a closure has computed the gradients
            self._look()
        for found in self._moves.found(self._owned, lambda: self.sizes, self._lasting, self.steps):
            self._findings.tell(found)
        if self._moves.is_due(self.steps) and not self._is_sharded:
            self._adopt()
        self.steps += 1
        self._forwards.clear()
        self._calls.begin()
        if self._waits and not self._is_by_hand:
            self._begin()
        elif self._asks or (self._every and self.steps % self._every == 0):
            self._asks = False
            self.record_next()

    def _adopt(self) -> None:
        """Watch what is trained only since watching began: unfrozen, replaced or added."""
        current, known = parameters_of(self._inner), self._trained
        if any(p.requires_grad and known.get(n) is not p for n, p in current.items()):
            now = {n: p for n, p in current.items() if p.requires_grad or known.get(n) is p}
            self._parameters, self._trained, self._norms = current, now, []
            self._moves, self._asks = Moves(now), True

    # ---- looking ------------------------------------------------------------------------------

    def _look(self) -> None:
        """Look at the gradients of this step: cheap unless something is wrong."""
        is_recorded = self._recorder is not None
        self._stop_recording()
        self._is_checked = True
        loss, self._loss = self._loss, None
        if self.steps % self._check_every and not is_recorded:
            return
        self._looks += 1
        gradients = [p.grad for p in self._trained.values()]
        seen = [g for g in gradients if g is not None]
        values = norms(seen if loss is None else [*seen, loss])  # the one synchronisation
        remaining = iter(values)
        self._norms = [None if g is None else next(remaining) for g in gradients]
        is_finite = are_finite(values, loss is not None)
        if is_finite and len(seen) == len(gradients) and 0 not in self._norms:
            self._came.update(self._trained)
            self._lasting((), Trouble.ZERO)
        else:
            self._judge(is_finite)
        if self._recorded is not None and self._recorded_at == self.steps:
            has = {n for n, size in self.sizes.items() if size is not None}
            for found in ownership(self._inner, self.optimizers, self.steps, has):
                self._findings.tell(found)
            for found in strangers(self._inner, self.optimizers, self._recorded, self.steps):
                self._findings.tell(found)
        if self._on_look is not None:
            self._on_look(self)

    def _judge(self, is_finite: bool) -> None:
        """Tell what is wrong with gradients of which some are None, 0 or not ``is_finite``, or the
        loss is not.
        """
        watched, sizes = self._owned(), self.sizes
        none = [n for n in watched if sizes.get(n) is None]
        self._came.update(n for n, size in sizes.items() if size is not None)
        if not is_finite:
            if self._whole is None:  # else it tells more
                self._tell_not_finite(
                    [n for n, size in sizes.items() if not math.isfinite(size or 0)]
                )
        else:
            # The rest of a parameter in shards is elsewhere.
            zero = [] if self._is_sharded else [n for n in watched if sizes.get(n) == 0]
            lasting = self._lasting(zero, Trouble.ZERO)
            if lasting:
                self._tell_zero(lasting)
        if none and self._recorded is None:
            self._asks = True
        elif none and self._whole is None:  # else it tells more
            self._tell_none([n for n in none if not self._told_all([n])])

    def _owned(self) -> list[str]:
        """The parameters that are to be trained: what a watched optimiser updates, or all."""
        if not self.optimizers:
            return list(self._trained)
        owned = {
            id(p) for o in self.optimizers for group in o.param_groups for p in group["params"]
        }
        return [n for n, p in self._trained.items() if id(p) in owned]

    def _lasting(self, names: Sequence[str], trouble: Trouble) -> list[str]:
        """Those that have been so in as many checks as it takes."""
        now = set(names)
        for name, what in list(self._times):
            if what is trouble and name not in now:
                del self._times[name, what]
        for name in names:
            self._times[name, trouble] = self._times.get((name, trouble), 0) + 1
        return [n for n in names if self._times[n, trouble] >= PATIENCE]

    def _tell_none(self, names: Sequence[str]) -> None:
        reasons = []
        unread = []
        current = parameters_of(self._inner)
        for name in names:
            replaced = current.get(name) is not self._parameters[name]
            why = reason(self._structure(), name, replaced)
            if why is None or why.trouble is Trouble.NEVER_READ:
                unread.append((name, why))
            else:
                reasons.append((name, why))
        lasting = self._lasting([name for name, _ in unread], Trouble.NEVER_READ)
        times = {n: self._times[n, Trouble.NEVER_READ] for n in lasting}
        lasting = [n for n in lasting if n not in self._came or times[n] >= LONG]
        if needs_all(self.model):
            lasting = [name for name, _ in unread]
        if lasting and self._recorded_at < self.steps - PATIENCE and not self._told_all(lasting):
            self._asks = True
        reasons += [(name, why) for name, why in unread if why is not None and name in lasting]
        for found in grouped(self._recorded_at, reasons):
            self._findings.tell(found)

    def _told_all(self, names: Sequence[str]) -> bool:
        return {n for found in self.found for n in found.parameters}.issuperset(names)

    def _tell_zero(self, names: Sequence[str]) -> None:
        if self.diagnosis is not None:
            names = [name for name in names if not self.diagnosis.is_by_design(name)]
        if self._told_all(names):
            return
        sentences, places = blamed(self._inner, self._forwards, is_zero, whole=True)
        text = f"{listed(names)}: the gradient has been exactly 0 for {PATIENCE} steps."
        text = " ".join([text, *(sentences or [is_open(self._trained[n] for n in names)])])
        self._findings.tell(Found(Trouble.ZERO, tuple(names), text, self.steps, places))

    def _tell_not_finite(self, names: Sequence[str]) -> None:
        if self._is_told_infinite and not self._guard:
            return
        self._is_told_infinite = True
        sentences, places = blamed(self._inner, self._forwards, is_not_finite, whole=False)
        what = (
            f"The gradient of {listed(names)} is not finite."
            if names
            else ("The loss is not finite, though all gradients are.")
        )
        found = Found(
            Trouble.NOT_FINITE, tuple(names), " ".join([what, *sentences]), self.steps, places
        )
        self._findings.tell(found)
        if self._guard:
            raise NotFiniteError(f"Step {self.steps} was not taken. {found.sentence}")

    def _look_for_steps(self) -> None:
        found = None if self.steps else self._unstepped.found(self.optimizers)
        if found is not None:
            self._findings.tell(found)

    # ---- telling ------------------------------------------------------------------------------

    @property
    def found(self) -> Sequence[Found]:
        """Everything that was wrong, in the order in which it came up."""
        return self._findings.all

    def report(self) -> Report:
        """What is known now of every parameter, and all that was wrong."""
        rows, sizes = [], self.sizes
        for name, parameter in self._parameters.items():
            size = sizes.get(name)
            state, text, places = self._state(name, parameter, size)
            rows.append(ParameterRow(name, state, size, self.ratios.get(name), text, places))
        is_well = not self.found and all(row.state in ("carries", "frozen") for row in rows)
        is_seen = self.diagnosis is not None and self.steps >= PATIENCE
        well = self.diagnosis.reassurance if self.diagnosis and is_well and is_seen else ""
        return Report(type(self._inner).__name__, self.steps, tuple(rows), tuple(self.found), well)

    def _state(
        self, name: str, parameter: torch.Tensor, size: float | None
    ) -> tuple[str, str, tuple[str, ...]]:
        if not parameter.requires_grad:
            return "frozen", "requires_grad is False.", ()
        if size is None:
            for found in reversed(self.found):
                if found.trouble is Trouble.NO_GRADIENT and name in found.parameters:
                    return found.trouble.value, found.sentence, found.written
            why = self._why(name)
            if why is None:
                return "no gradient", "No step has been recorded that shows why.", ()
            return why.trouble.value, why.sentence, why.written
        if not math.isfinite(size) or not size:
            trouble = Trouble.ZERO if size == 0 else Trouble.NOT_FINITE
            for found in reversed(self.found):
                if found.trouble is trouble and name in found.parameters:
                    return trouble.value, found.sentence, found.written
            return trouble.value, "", ()
        return "carries", "", ()

    def _why(self, name: str) -> Reason | None:
        if self._recorded is None:
            return None
        current = parameters_of(self._inner)
        return reason(self._structure(), name, current.get(name) is not self._parameters[name])

    def why(self, parameter: torch.Tensor) -> str:
        """Why a parameter, by its name or itself, gets gradient or not, as of the last look.

        Raises RunError for what is no parameter of the model.
        """
        name = name_among(self._parameters, parameter)
        row = next(row for row in self.report().rows if row.name == name)
        return str(row)

    @property
    def sizes(self) -> Mapping[str, float | None]:
        """The root mean square of each gradient at the last look; None for none."""
        pairs = zip(self._trained.items(), self._norms, strict=False)  # none before the first
        return {
            name: None if norm is None else norm / math.sqrt(max(1, parameter.numel()))
            for (name, parameter), norm in pairs
        }

    @property
    def ratios(self) -> Mapping[str, float]:
        """How far the last update that was looked at moved each parameter, relative to its size."""
        return self._moves.ratios

    @property
    def trained(self) -> Mapping[str, torch.Tensor]:
        """The trained parameters of the model, by name."""
        return self._trained

    def has(self, tensor: torch.Tensor) -> bool:
        """Whether a tensor is a parameter of the model."""
        return any(p is tensor for p in self._parameters.values())

    def diagram(self) -> Diagram:
        """The last recorded step as a diagram without numbers, for the editor.

        Raises RunError where none has been recorded.
        """
        if self._recorded is None:
            raise RunError(
                "No step has been recorded.",
                next_step="Run one with backward(), or call record_next() before one.",
            )
        return self._structure().imported.diagram
