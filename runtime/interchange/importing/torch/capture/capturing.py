"""One capture, from the program's parameters to the diagram that is checked against PyTorch."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

import torch

from gradwire.blocks.values import Tensor as Numbers
from gradwire.runtime.calculus.measuring import measured
from gradwire.runtime.interchange.importing.imported import Imported, Remark, UnsupportedError
from gradwire.runtime.interchange.importing.leaving_out import (
    EVERYTHING,
    Keeps,
    without_lines,
    without_source,
)
from gradwire.runtime.interchange.importing.options import DEFAULTS, ImportOptions, conclude
from gradwire.runtime.interchange.importing.stage import Stage
from gradwire.runtime.interchange.importing.torch.capture.arrays import (
    encoded,
    in_short,
    numbers_of,
    shown,
)
from gradwire.runtime.interchange.importing.torch.capture.checking import (
    CapturedProgram,
    Theirs,
    checked,
    gradients_of,
    measured_by,
    unchecked,
)
from gradwire.runtime.interchange.importing.torch.capture.draws import with_draws
from gradwire.runtime.interchange.importing.torch.capture.frames import user_name
from gradwire.runtime.interchange.importing.torch.capture.hooks import hooks_before
from gradwire.runtime.interchange.importing.torch.capture.keeping import Keeping
from gradwire.runtime.interchange.importing.torch.capture.modes import watched
from gradwire.runtime.interchange.importing.torch.capture.naming import (
    held,
    leaves,
    loose,
    named_arguments,
    read_elsewhere,
    roots,
    told_frozen,
)
from gradwire.runtime.interchange.importing.torch.capture.numbers import TracedNumber
from gradwire.runtime.interchange.importing.torch.capture.passing import back, may_go
from gradwire.runtime.interchange.importing.torch.capture.recipe import recipe
from gradwire.runtime.interchange.importing.torch.capture.recording import CaptureRecording
from gradwire.runtime.interchange.importing.torch.capture.unregistered import kept_aside
from gradwire.runtime.interchange.importing.torch.capture.without_effect import without_effect
from gradwire.runtime.interchange.importing.torch.inspection import is_leaf
from gradwire.runtime.interchange.importing.torch.memory import Cut, TrackedTensor
from gradwire.runtime.interchange.importing.torch.operators.norms import STATISTICS
from gradwire.runtime.interchange.importing.torch.places import NOWHERE
from gradwire.runtime.interchange.importing.torch.steps.owners import missteps, of_others
from gradwire.runtime.interchange.importing.torch.steps.telling import (
    GRADIENT_OFF,
    left_off,
    with_missteps,
    with_remarks,
)
from gradwire.runtime.interchange.importing.torch.steps.unused import unused_averages
from gradwire.runtime.progress_bars import bar

if TYPE_CHECKING:
    from gradwire.blocks.values import Array
    from gradwire.runtime.calculus.measuring import Measured
    from gradwire.runtime.diagram.comparison import Misstep
    from gradwire.runtime.interchange.importing.staged import Staged
    from gradwire.runtime.interchange.importing.torch.capture.known import Port
    from gradwire.runtime.interchange.importing.torch.types import (
        Args,
        Kwargs,
        Module,
        Optimizer,
        Program,
        Tensor,
    )

LARGE = 1 << 22
"""Parameters from which on a program is measured in its own run, before it is compared."""


def capture_torch(
    program: Program,
    args: Args,
    kwargs: Kwargs,
    options: ImportOptions = DEFAULTS,
    *,
    check: bool | None = None,
    optimizer: Optimizer | None = None,
    keeps: Keeps = EVERYTHING,
) -> Imported:
    """The diagram of what a program computes from these arguments; see ``capture``.

    Modules become pages, parameters variables, tensors among the arguments inputs. Wherever
    autograd loses track of a value, a StopGradient says what did it and where.
    """
    title = getattr(program, "__name__", type(program).__name__)
    check = False if keeps.structure else check
    with bar(f"Capturing {title}") as shown:
        capture = Capture(Stage(title, shown), options, check, keeps)
        made = capture.of(program, args, kwargs, optimizer)
    return keeps.left_of(made)


class Capture:
    """What is known of a program while it runs, and the diagram that comes of it."""

    def __init__(
        self, stage: Stage, options: ImportOptions, check: bool | None, keeps: Keeps
    ) -> None:
        self._stage = stage
        self._options = options
        self._check = check
        self._keeps = keeps
        self.recording = CaptureRecording(stage)
        """What is known of the run."""
        self.recording.feeds_data = keeps.structure or not keeps.data
        self._modules: dict[int, str] = {}
        self.parameters: dict[str, Tensor] = {}
        """Those that are known so far, by the names that the diagram has for them."""
        self._owners: dict[int, tuple[Module, str]] = {}
        """The module of each parameter, by its identity, and its name there."""
        self._runs = False
        """Whether the program has begun."""

    def of(
        self, program: Program, args: Args, kwargs: Kwargs, optimizer: Optimizer | None
    ) -> Imported:
        """The diagram of a program, run with these arguments."""
        kept = self.recording.kept
        with kept.all():
            kept.around(*held(program, args, kwargs).values())
            kept.container([args, kwargs], tensors=True)
            for name, module in roots(program, args, kwargs).items():
                self._enter(name, module)
            for name, tensor in loose(program).items():
                self._parameter(name, tensor)
            for name, value in named_arguments(program, args, kwargs):
                for path, x in leaves(name, value):
                    if isinstance(x, torch.Tensor):
                        self._input(path, x)
            if self._check is None:
                self.recording.measures = self.elements > LARGE
            return self.finish(self._run(program, args, kwargs), optimizer)

    @contextmanager
    def live(
        self, model: Module, optimizers: Sequence[Optimizer], name: str = "", off: Cut | None = None
    ) -> Iterator[None]:
        """Record what a program that trains a model does meanwhile, and change nothing of it; the
        model has its own page if it has a name. ``off`` is what has turned gradient off, if known.

        It is measured. ``finish`` follows, unless ``recording.given_up`` says why it can't.
        """
        recording = self.recording
        recording.live = True
        recording.kept = kept = Keeping(recording.paused, gives_back=False)
        for optimizer in optimizers:
            kept.trainer(optimizer)
        with kept.all():
            self._enter(name, model)
            self._runs = True
            recording.measures = self.elements > LARGE
            is_on = torch.is_grad_enabled()
            recording.region = None if is_on else off or Cut(GRADIENT_OFF)
            try:
                with watched(recording, self._modules, self._found):
                    yield
            finally:
                # Once frozen, what follows may turn it on again.
                if not recording.is_frozen and not torch.is_grad_enabled():
                    recording.missteps += left_off(recording.region)

    @property
    def elements(self) -> int:
        """How many numbers the parameters have that are known so far."""
        return sum(p.numel() for p in self.parameters.values())

    def finish(
        self, result: object, optimizer: Optimizer | None, *, is_whole: bool = False
    ) -> Imported:
        """The diagram of a program that has been run, by what it returned.

        What ``is_whole`` has all that its loop does: what is missing in it is nowhere. Raises
        UnsupportedError.
        """
        recording = self.recording
        dropped = recording.results(differentiated=False)
        averages = ((b, t) for (b, _), t in dropped if not t.requires_grad)
        recording.missteps += unused_averages(averages, self._stage.so_far, recording.holders)
        self.parameters |= recording.loose
        self.recording.tell_loops()
        if told := told_frozen(self.parameters):
            self._stage.remark("note", told)
        self.recording.forget_updated()
        outputs = self._outputs(result)
        trained = {name: p for name, p in self.parameters.items() if p.requires_grad}
        returned: list[Theirs] | RuntimeError = self.recording.failed or []
        is_differentiated = self._check is not False or self.recording.regions.all
        if not returned and is_differentiated and not self._keeps.structure:
            try:
                returned = self._returned(outputs, dict(leaves("", result)), trained)
            except RuntimeError as error:
                returned = error
                if not self.recording.differentiates:
                    why = self._why(outputs, result, error)
                    self.recording.missteps.append(why)
        self.recording.regions.finish(len(self.recording.losses) or 1)
        self._stage.shown.move(note="operations, made into blocks")
        outputs = {n: self.recording.regions.settled(x) for n, x in outputs.items()}
        self._freeze_unread(trained)
        imported = self._with_its_numbers(self._concluded(outputs))
        imported = imported if self._keeps.source else without_source(imported)
        if optimizer is not None:
            imported = self._with_recipe(imported, optimizer)
            if text := of_others(optimizer, self.parameters):
                remark = Remark("note", text)
                imported = replace(imported, remarks=(*imported.remarks, remark))
        found, hints = list(self._missteps(imported)), list(recording.ledger.hints())
        if is_whole:
            found, hints = [*found, *hints], []
        hints += recording.unused(x for _, x in leaves("", result))
        if not self._keeps.source:
            lines = recording.lines
            found, hints = [list(without_lines(x, lines)) for x in (found, hints)]
        imported = with_remarks(imported, found, hints)
        if self._check is False:
            return imported
        with_found = partial(with_missteps, missteps=found)
        if isinstance(returned, RuntimeError):
            return with_found(unchecked(imported, returned))
        losses = self._stepped(trained) or returned
        theirs = CapturedProgram(losses, self._draws(), recording.coarsest, self._values)
        # What is lost shows in numbers alone.
        is_lost = any(kind == "lost" for kind, *_ in self._stage.remarks)
        is_single = [x.loss in imported.outputs for x in theirs.losses] == [True]
        if recording.measures and is_single and not is_lost:
            return measured_by(imported, theirs.settled(), recording.sums, with_found)
        self._stage.shown.move(note="operations, compared with PyTorch")
        return with_found(checked(imported, theirs))

    def _run(self, program: Program, args: Args, kwargs: Kwargs) -> Any:
        """What the program returns; nothing where a call of its ``backward`` fails."""
        self._runs = True
        recording = self.recording
        recording.region = None if torch.is_grad_enabled() else Cut(GRADIENT_OFF)
        try:
            with watched(recording, self._modules, self._found):
                return program(*args, **kwargs)
        except RuntimeError as error:
            if error is not recording.failed:
                raise
            return None
        finally:
            recording.missteps += left_off(recording.region)

    def _missteps(self, imported: Imported) -> Iterator[Misstep]:
        """What the program does wrongly around its gradients."""
        recording, ledger = self.recording, self.recording.ledger
        names = {
            id(p): path
            for name, p in self.parameters.items()
            if (path := imported.parameters.get(name))
            # A leaf that a live program makes to differentiate by it is not to be trained.
            if not recording.live or isinstance(p, torch.nn.Parameter)
        }
        owned = recording.kept.updated
        yield from recording.missteps
        yield from ledger.missteps(names, owned)
        losses = [call.loss for call in recording.losses]
        stepped = list(ledger.stepped.values())
        yield from missteps(stepped, ledger.reached(), recording.variables, names, owned, losses)

    def _why(self, outputs: Mapping[str, Staged], result: object, error: RuntimeError) -> Misstep:
        """Why what a program returns can't be differentiated."""
        results = dict(leaves("", result))
        loss = results.get(self._chosen(outputs), results.get(""))
        return self.recording.history.why(loss, error)

    def _freeze_unread(self, trained: Mapping[str, Tensor]) -> None:
        """Freeze parameters that only another run reads, such as the token of a mask: what is
        frozen and not read is left out.
        """
        for name, parameter in trained.items():
            value = self.recording.variables[id(parameter)]
            if value.source is None or self._stage.is_read(value):
                continue
            module, own = self._owners.get(id(parameter), (None, ""))
            place = read_elsewhere(module, own) if module is not None else NOWHERE
            if place is not NOWHERE:
                source = value.source
                source.block = source.block.model_copy(update={"trainable": False})
                text = f"{name} is left out: this run does not read it, as {place.line} would."
                self._stage.remark("specialised", text)

    def _stepped(self, trained: Mapping[str, Tensor]) -> list[Theirs]:
        """What PyTorch computed in the calls of ``backward``."""
        return [
            Theirs(
                name,
                call.value,
                {n: call.gradients.get(id(p)) for n, p in trained.items()},
                partial(self._by_port, call.inner),
            )
            for name, call in zip(_numbered("loss"), self.recording.losses, strict=False)
        ]

    def _returned(
        self,
        outputs: Mapping[str, Staged],
        results: Mapping[str, object],
        trained: Mapping[str, Tensor],
    ) -> list[Theirs]:
        """What PyTorch computes of the loss among the results; nothing without one, or in a step
        that calls ``backward`` itself. Raises RuntimeError where it can't any more.
        """
        name = self._chosen(outputs)
        loss = results.get(name, results.get("")) if name else None
        if self.recording.losses or not isinstance(loss, torch.Tensor):
            return []
        if self.recording.measures and may_go(loss, trained.values()):
            return [self._measured(name, loss, trained)]
        with self.recording.regions.listening():
            found = gradients_of(loss, list(trained.values()))
        made = self.recording.regions.accumulated(0)
        gradients = [
            made.get(id(p), None if g is None else encoded(g))
            for p, g in zip(trained.values(), found, strict=True)
        ]

        def arriving() -> Mapping[str, Measured | None]:
            with self.recording.arriving(loss) as (_, inner):
                gradients_of(loss, list(trained.values()))
            return self._by_port(inner)

        return [
            Theirs(name, numbers_of(loss), dict(zip(trained, gradients, strict=True)), arriving)
        ]

    def _measured(self, name: str, loss: Tensor, trained: Mapping[str, Tensor]) -> Theirs:
        """What PyTorch computes of a loss, in short; its graph is gone afterwards."""
        recording = self.recording
        with recording.regions.listening(), recording.arriving(loss) as (leaves, inner):
            back(loss, list(trained.values()))
        gradients = {n: leaves.get(id(p)) for n, p in trained.items()}
        return Theirs(name, numbers_of(loss), gradients, partial(self._by_port, inner))

    def _with_recipe(self, imported: Imported, optimizer: Optimizer) -> Imported:
        """With the recipe of an optimiser; with a remark on why none can express it where it is
        the program's, and was not asked for.
        """
        try:
            training = recipe(optimizer, self.parameters, imported.parameters)
        except UnsupportedError as error:
            if not self.recording.live:
                raise
            text = f"The diagram has no recipe: {error.operation} can't be imported: {error.why}."
            remark = Remark("note", text)
            return replace(imported, remarks=(*imported.remarks, remark))
        return replace(imported, diagram=replace(imported.diagram, training=training))

    def _with_its_numbers(self, imported: Imported) -> Imported:
        """The import with the random numbers of this run, if Recorded blocks hold for no other."""
        if not self.recording.regions.all:
            return imported
        known = {path: n for path, n in self._draws().items() if n is not None}
        diagram = with_draws(imported.diagram, known) if known else None
        return imported if diagram is None else replace(imported, diagram=diagram)

    def _draws(self) -> dict[str, Array | None]:
        """What random blocks drew, by path; None where that is not known."""
        found = {self._stage.path(block): numbers for block, numbers in self.recording.drawn}
        found.pop("", None)
        return found

    def _by_port(self, inner: Mapping[Port, Measured]) -> dict[str, Measured | None]:
        """What arrived at intermediate results, by their ports; None where nothing did."""
        ports = (port for port, _ in self.recording.results())
        return {self._stage.port(*port): inner.get(port) for port in ports}

    def _values(self) -> dict[str, Measured | None]:
        """Intermediate results that have not been written to, by their ports."""
        measures = self.recording.measures
        known: dict[str, Measured | None] = {
            self._stage.port(*port): x for port, x in self.recording.values.items()
        }
        results = self.recording.results(differentiated=False)
        return known | {
            self._stage.port(*port): in_short(tensor) if measures else measured(shown(tensor))
            for port, tensor in results
            if tensor.layout == torch.strided and not tensor.is_complex()
            if not measures or (is_leaf(tensor) and not tensor.requires_grad)
        }

    def _concluded(self, outputs: Mapping[str, Staged]) -> Imported:
        losses = self.recording.losses
        if losses:
            heads = dict(zip(_numbered("loss"), losses, strict=False))
            for name, call in heads.items():
                self._stage.loss(self.recording.regions.settled(call.loss), name)
            # What a step returns, such as its loss, is a note about it: it depends on nothing else.
            return self._stage.finish(
                {name: x for name, x in map(_bare, outputs.items()) if name not in heads}
            )
        return conclude(self._stage, outputs, replace(self._options, loss=self._chosen(outputs)))

    def _chosen(self, outputs: Mapping[str, Staged]) -> str:
        """The name of the output that is the loss; empty for none."""
        singles = [n for n, x in outputs.items() if x.is_float and x.size == 1]
        chosen = "loss" if "loss" in singles else singles[0] if len(singles) == 1 else ""
        return self._options.loss or chosen

    def _outputs(self, result: object) -> dict[str, Staged]:
        """The values of all tensors in the result, by name."""
        found: dict[str, TrackedTensor] = {}
        for name, x in leaves("", result):
            if isinstance(x, torch.Tensor):
                found[name] = self.recording.entry(x)
            elif isinstance(x, TracedNumber):
                found[name] = x.tensor
        outputs = {}
        for name, entry in found.items():
            entry.read()
            self.recording.performer.commit_cut(entry)
            value = entry.read()
            single = value.is_float and value.size == 1
            outputs[name or ("loss" if single else "output")] = value
        if not outputs and not self.recording.losses:
            raise UnsupportedError(
                "a program without results", "it returns no tensor and calls no backward()"
            )
        return outputs

    def _found(self, module: Module) -> None:
        """Enter a module that the run has come upon."""
        trains = any(p.requires_grad for p in module.parameters())
        name = self.recording.tell_aside(module) if trains else ""
        name = name or user_name(module) or type(module).__name__.lower()
        taken = set(self._modules.values())
        self._enter(next(n for n in _numbered(name) if n not in taken), module, running=True)

    def _enter(self, name: str, module: Module, *, running: bool = False) -> None:
        prefix = f"{name}." if name else ""
        for inner, child in module.named_modules():
            path = prefix + inner if inner else name
            self._modules.setdefault(id(child), path)
            self.recording.kept.module(child)
            for own, parameter in child.named_parameters(recurse=False):
                self._owners.setdefault(id(parameter), (child, own))
            for aside in kept_aside(path, child):
                self.recording.aside.setdefault(id(aside.kept), aside)
            for text in without_effect(path, child):
                self._stage.remark("note", text)
        for inner, parameter in module.named_parameters():
            is_aside = running and id(parameter) in self.recording.aside
            with self.recording.here() if is_aside else nullcontext():
                self._parameter(prefix + inner, parameter)
        for inner, buffer in module.named_buffers():
            if not _is_counter(buffer):
                self._variable(prefix + inner, buffer, trained=False)

    def _parameter(self, name: str, tensor: Tensor) -> None:
        if self.recording.knows(tensor):
            return
        entry = self._variable(name, tensor, trained=bool(tensor.requires_grad))
        self.parameters[name] = tensor
        hooks_before(self.recording, entry, tensor)

    def _variable(self, name: str, tensor: Tensor, trained: bool) -> TrackedTensor:
        self.recording.kept.tensor(tensor)
        *module, own = name.split(".")
        own = STATISTICS.get(own, own)
        if tensor.is_meta and self._keeps.structure:
            value = self.recording.without_numbers(name, tensor, module, own)
            return self._bound(tensor, value, trained)
        # One copy is both what is given back and what the diagram has.
        before = None if self._runs else self.recording.kept.before(tensor)
        numbers = Numbers.adopt(encoded(tensor) if before is None else shown(before))
        value = self._stage.variable(name, numbers, trained, module, own)
        return self._bound(tensor, value, trained)

    def _bound(self, tensor: Tensor, value: Staged, trained: bool) -> TrackedTensor:
        self.recording.variables[id(tensor)] = value
        entry = TrackedTensor(value, live=trained)
        self.recording.bind(tensor, entry)
        return entry

    def _input(self, name: str, tensor: Tensor) -> None:
        if self.recording.knows(tensor):
            return
        if tensor.requires_grad and is_leaf(tensor):
            self._parameter(name, tensor)
            return
        self.recording.kept.tensor(tensor)
        self.recording.bind(tensor, TrackedTensor(self.recording.data(name, tensor)))


def _is_counter(buffer: Tensor) -> bool:
    """Whether a buffer is a single whole number, such as the batches that were tracked."""
    is_real = buffer.is_floating_point() or buffer.is_complex()
    return not (buffer.ndim or is_real or buffer.dtype == torch.bool)


def _bare(output: tuple[str, Staged]) -> tuple[str, Staged]:
    """An output without the stop at its end, which cuts nothing."""
    name, x = output
    while x.source is not None and x.source.block.type_name() == "StopGradient":
        x = x.source.inputs["x"]
    return name, x


def _numbered(name: str) -> Iterator[str]:
    """A name, and the same with the numbers from 2 on."""
    yield name
    number = 2
    while True:
        yield f"{name}{number}"
        number += 1
