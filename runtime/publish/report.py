"""The report on one diagram: the results of a run.

A report has two forms: ``parts()`` for a reader and ``to_json()`` for a program. The JSON is
stable: every key is always present, arrays are ``{"dtype", "shape", "value"}``, non-finite
numbers are the strings "nan", "inf" and "-inf", and a gradient that no path connects is null.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import field
from functools import partial
from typing import TYPE_CHECKING

from gradwire.blocks import Tensor
from gradwire.blocks.classes.dataclass import dataclass
from gradwire.blocks.importing.kinds import is_view
from gradwire.blocks.trees import Passive
from gradwire.runtime.diagram.paths import InstancePath, PortPath
from gradwire.runtime.flow.numbers.origins import Values
from gradwire.runtime.flow.words.formatting import number, size
from gradwire.runtime.publish.printable import one_line, title_line
from gradwire.runtime.publish.text import Part, TextTable, array_text

if TYPE_CHECKING:
    from gradwire.blocks.values import Array, Json
    from gradwire.runtime.engine import Run, Session
    from gradwire.runtime.flow import Flow, ObservedFlow, Origin, State, Verdict
    from gradwire.runtime.publish.problems import Problem
    from gradwire.runtime.views.pictures import Picture

NO_LOSS = "No loss, so nothing is differentiated. Add a Loss block, or name a port with --loss."


@dataclass(frozen=True, slots=True, eq=False)
class ReportedVariable:
    """A variable's value, its gradient (None where none arrives), and its verdict over all losses.

    ``verdict`` is None where nothing was differentiated.
    """

    value: Array
    gradient: Array | None
    verdict: Verdict | None


@dataclass(frozen=True, slots=True, eq=False)
class Contribution:
    """What a wire brings back over all losses; ``rms`` and ``gradient`` are None where nothing.

    ``why`` makes the sentence on it, which can take a run of a block on its own.
    """

    source: str
    state: State
    rms: float | None
    gradient: Array | None
    why: Callable[[], str]


@dataclass(frozen=True, slots=True, eq=False)
class RunReport:
    """Values by port, variables by name, wires by target; or the problems that prevented a run.

    ``thrown_away`` is the gradient that arrives at the output of each StopGradient and ends there.
    Trees are listed by leaf, as ``pack1.out:encoder/w``; ``passive`` has leaves that are no arrays.
    ``origins`` are the blocks whose values are the first that are not finite.
    """

    file: str
    title: str = ""
    losses: tuple[str, ...] = ()
    values: Mapping[str, Array] = field(default_factory=dict)
    variables: Mapping[str, ReportedVariable] = field(default_factory=dict)
    wires: Mapping[str, Contribution] = field(default_factory=dict)
    thrown_away: Mapping[str, Array | None] = field(default_factory=dict)
    problems: tuple[Problem, ...] = ()
    passive: Mapping[str, object] = field(default_factory=dict)
    origins: tuple[Origin, ...] = ()
    views: Mapping[InstancePath, Picture] = field(default_factory=dict)
    """What views show, by block."""
    engine: str = "numpy"
    """The engine that ran it, and the device, in words."""
    device: str = "cpu"

    def parts(self) -> list[Part]:
        """Losses, then tables of variables, values and wires."""
        parts: list[Part] = [heading(self.title, self.file)]
        if self.engine != "numpy":
            parts.append(f"Computed by {self.engine} on {self.device}.")
        if self.losses:
            parts.append("\n".join(f"{p} = {array_text(self.values[p])}" for p in self.losses))
        else:
            parts.append(NO_LOSS)
        parts += [origin.sentence for origin in self.origins]
        if self.variables:
            parts.append(self._variable_table())
        rows = tuple(
            (port, str(value.shape), value.dtype.name, array_text(value))
            for port, value in self.values.items()
        )
        rows += tuple((port, "", "", json.dumps(item)) for port, item in self.passive.items())
        parts.append(TextTable("Values", ("port", "shape", "dtype", "value"), rows))
        if self.wires:
            parts.append(self._wire_table())
        if self.thrown_away:
            arrived = tuple((port, _gradient_text(g)) for port, g in self.thrown_away.items())
            parts.append(TextTable("Discarded at a stop", ("port", "gradient"), arrived))
        return [*parts, *self._view_parts()]

    def to_json(self) -> dict[str, object]:
        """``{"report": "run", "version": 2, …}``."""
        return {
            "report": "run",
            "version": 2,
            "file": self.file,
            "title": self.title,
            "engine": self.engine,
            "device": self.device,
            "losses": list(self.losses),
            "values": {port: _array_json(value) for port, value in self.values.items()},
            "passive": dict(self.passive),
            "gradients": {n: _array_json(v.gradient) for n, v in self.variables.items()},
            "wires": {
                target: {
                    "source": wire.source,
                    "state": wire.state.value,
                    "rms": None if wire.rms is None else Tensor(wire.rms).to_json(),
                    "gradient": _array_json(wire.gradient),
                    "why": wire.why(),
                }
                for target, wire in self.wires.items()
            },
            "thrown_away": {port: _array_json(g) for port, g in self.thrown_away.items()},
            "not_finite": [
                {"block": o.block, "what": o.what, "losses": list(o.spoilt), "why": o.sentence}
                for o in self.origins
            ],
            "views": {
                block: {"shows": picture.summary, "not_shown": list(picture.notes)}
                for block, picture in self.views.items()
            },
            "problems": [problem.to_json() for problem in self.problems],
        }

    def _view_parts(self) -> list[Part]:
        """A table of what views show, and a sketch of each that has one."""
        if not self.views:
            return []
        from gradwire.runtime.views.sketches import sketch  # few diagrams have views

        rows = tuple(
            (block, one_line(picture.summary), one_line("; ".join(picture.notes)))
            for block, picture in self.views.items()
        )
        drawn = ((block, sketch(picture)) for block, picture in self.views.items())
        table = TextTable("Views", ("block", "shows", "not shown"), rows)
        return [table, *(f"{block}\n{text}" for block, text in drawn if text)]

    def _variable_table(self) -> TextTable:
        head = ("variable", "shape", "dtype", "value", "gradient", "why")
        rows = []
        for name, v in self.variables.items():
            row = (name, str(v.value.shape), v.value.dtype.name, array_text(v.value))
            reason = (_gradient_text(v.gradient), v.verdict.sentence) if v.verdict else ()
            rows.append((*row, *reason))
        return TextTable("Variables", head if self.losses else head[:4], tuple(rows))

    def _wire_table(self) -> TextTable:
        rows = tuple(
            (
                wire.source,
                target,
                wire.state.value,
                _size_text(wire),
                _gradient_text(wire.gradient),
            )
            for target, wire in self.wires.items()
        )
        return TextTable("Wires", ("from", "to", "state", "size", "brings back"), rows)


def _size_text(wire: Contribution) -> str:
    if wire.gradient is None:  # nothing arrives, or a tree, which has a size but no array
        return "-" if wire.rms is None else f"rms {number(wire.rms)}"
    return size(wire.gradient)


def run_report(
    session: Session,
    run: Run,
    flow: Flow | ObservedFlow | None,
    file: str,
    problems: Iterable[Problem] = (),
) -> RunReport:
    """What a run of the session gave; without a flow, nothing was differentiated."""
    values, states = session.values, flow.states() if flow else {}
    return RunReport(
        file,
        session.diagram.title,
        run.losses,
        run.values,
        {
            name: ReportedVariable(
                value, run.gradients.get(name), flow.variable(name) if flow else None
            )
            for name, value in values.items()
        },
        {
            target: Contribution(
                source,
                states[target],
                run.norms.get(target),
                run.contributions.get(target),
                partial(_sentence, flow, target),
            )
            for target, source in session.program.wire_sources.items()
        }
        if flow
        else {},
        run.adjoints,
        tuple(problems),
        {
            PortPath(port).leaf_at(path): leaf.value
            for port, tree in run.trees.items()
            for path, leaf in tree.leaves.items()
            if isinstance(leaf, Passive)
        },
        tuple(Values(session.program, run.values).origins(run.losses)),
        _pictures(session, run),
        session.engine.name,
        session.engine.device,
    )


def _pictures(session: Session, run: Run) -> Mapping[InstancePath, Picture]:
    """What the views of the diagram show, by their paths."""
    program = session.program
    if not any(is_view(program.block(path)) for path in program.instances):
        return {}
    from gradwire.runtime.views.views import Views  # few diagrams have views

    return Views().pictures(session.diagram, program, run.values, session.step_number)


def check_json(files: Iterable[str], problems: Iterable[Problem]) -> dict[str, object]:
    """``{"report": "check", "version": 1, …}``: the files looked at and all their problems."""
    return {
        "report": "check",
        "version": 1,
        "files": list(files),
        "problems": [problem.to_json() for problem in problems],
    }


def _sentence(flow: Flow | ObservedFlow, wire: str) -> str:
    return flow.verdict(wire).sentence


def heading(title: str, file: str) -> str:
    """The first lines of a report."""
    return f"{title_line(title)}\n{one_line(file)}" if title else one_line(file)


def _gradient_text(gradient: Array | None) -> str:
    return "None" if gradient is None else array_text(gradient)


def _array_json(array: Array | None) -> dict[str, Json] | None:
    if array is None:
        return None
    tensor = Tensor(array)
    return {"dtype": tensor.dtype, "shape": list(tensor.shape), "value": tensor.to_json()}
