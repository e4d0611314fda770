"""Reports on one diagram: the results of a run, and the verdict on every wire.

A report has two forms: ``parts()`` for a reader and ``to_json()`` for a program. The JSON is
stable: every key is always present, arrays are ``{"dtype", "shape", "value"}``, non-finite
numbers are the strings "nan", "inf" and "-inf", and a gradient that no path connects is null.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from numpy.typing import NDArray

from blocks import Tensor
from blocks.trees import Passive
from runtime.diagram.paths import PortPath
from runtime.flow.lazy import MANY, known_length
from runtime.flow.numbers.origins import Values
from runtime.publish.printable import one_line
from runtime.publish.text import Part, Table, array_text, number_text

if TYPE_CHECKING:
    from runtime.engine import Run, Session
    from runtime.flow import Badge, Flow, ObservedFlow, Origin, Verdict
    from runtime.publish.problems import Problem

Array = NDArray[Any]
FEW = 3
"""JSON about all wires has this many cutters, slots of a repair and blocks of a witness each."""
NO_LOSS = "No loss, so nothing is differentiated. Add a Loss block, or name a port with --loss."


@dataclass(frozen=True, slots=True)
class Variable:
    """A variable's value, its gradient (None where none arrives), and its verdict over all losses.

    ``verdict`` is None where nothing was differentiated.
    """

    value: Array
    gradient: Array | None
    verdict: Verdict | None


@dataclass(frozen=True, slots=True)
class Contribution:
    """What a wire brings back over all losses; ``rms`` and ``gradient`` are None where nothing."""

    source: str
    verdict: Verdict
    rms: float | None
    gradient: Array | None


@dataclass(frozen=True, slots=True)
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
    variables: Mapping[str, Variable] = field(default_factory=dict)
    wires: Mapping[str, Contribution] = field(default_factory=dict)
    thrown_away: Mapping[str, Array | None] = field(default_factory=dict)
    problems: tuple[Problem, ...] = ()
    passive: Mapping[str, Any] = field(default_factory=dict)
    origins: tuple[Origin, ...] = ()

    def parts(self) -> list[Part]:
        """Losses, then tables of variables, values and wires."""
        parts: list[Part] = [_heading(self.title, self.file)]
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
        parts.append(Table("Values", ("port", "shape", "dtype", "value"), rows))
        if self.wires:
            parts.append(self._wire_table())
        if self.thrown_away:
            arrived = tuple((port, _gradient_text(g)) for port, g in self.thrown_away.items())
            parts.append(Table("Discarded at a stop", ("port", "gradient"), arrived))
        return parts

    def to_json(self) -> dict[str, Any]:
        """``{"report": "run", "version": 1, …}``."""
        return {
            "report": "run",
            "version": 1,
            "file": self.file,
            "title": self.title,
            "losses": list(self.losses),
            "values": {port: _array_json(value) for port, value in self.values.items()},
            "passive": dict(self.passive),
            "gradients": {n: _array_json(v.gradient) for n, v in self.variables.items()},
            "wires": {
                target: {
                    "source": wire.source,
                    "state": wire.verdict.state.value,
                    "rms": None if wire.rms is None else Tensor(wire.rms).to_json(),
                    "gradient": _array_json(wire.gradient),
                    "why": wire.verdict.sentence,
                }
                for target, wire in self.wires.items()
            },
            "thrown_away": {port: _array_json(g) for port, g in self.thrown_away.items()},
            "not_finite": [
                {"block": o.block, "what": o.what, "losses": list(o.spoilt), "why": o.sentence}
                for o in self.origins
            ],
            "problems": [problem.to_json() for problem in self.problems],
        }

    def _variable_table(self) -> Table:
        head = ("variable", "shape", "dtype", "value", "gradient", "why")
        rows = []
        for name, v in self.variables.items():
            row = (name, str(v.value.shape), v.value.dtype.name, array_text(v.value))
            reason = (_gradient_text(v.gradient), v.verdict.sentence) if v.verdict else ()
            rows.append((*row, *reason))
        return Table("Variables", head if self.losses else head[:4], tuple(rows))

    def _wire_table(self) -> Table:
        rows = tuple(
            (
                wire.source,
                target,
                wire.verdict.state.value,
                "-" if wire.rms is None else number_text(wire.rms),
                _gradient_text(wire.gradient),
            )
            for target, wire in self.wires.items()
        )
        return Table("Wires", ("from", "to", "state", "rms", "brings back"), rows)


@dataclass(frozen=True, slots=True)
class FlowReport:
    """Verdicts by loss, of wires (by target) and variables (by name).

    Of each list in a verdict (cutters, repair, witness) JSON has the first ``limit``, counted
    from the loss, all without; ``lengths`` tells how many there are, null where that many are
    not counted.
    """

    file: str
    title: str = ""
    losses: tuple[str, ...] = ()
    sources: Mapping[str, str] = field(default_factory=dict)
    wires: Mapping[str, Mapping[str, Verdict]] = field(default_factory=dict)
    variables: Mapping[str, Mapping[str, Verdict]] = field(default_factory=dict)
    problems: tuple[Problem, ...] = ()
    limit: int | None = None
    badges: tuple[Badge, ...] = ()

    def parts(self) -> list[Part]:
        """For each loss a table of wires and one of variables, with their sentences."""
        parts: list[Part] = [_heading(self.title, self.file)]
        if not self.losses:
            return [*parts, NO_LOSS]
        for loss in self.losses:
            wires = tuple(
                (self.sources[target], target, verdicts[loss].state.value, verdicts[loss].sentence)
                for target, verdicts in self.wires.items()
            )
            parts.append(Table(f"Wires, for {loss}", ("from", "to", "state", "why"), wires))
            variables = tuple(
                (name, verdicts[loss].state.value, verdicts[loss].sentence)
                for name, verdicts in self.variables.items()
            )
            if variables:
                head = ("variable", "state", "why")
                parts.append(Table(f"Variables, for {loss}", head, variables))
        if self.badges:
            rows = tuple((b.mark.value, b.key or "-", b.sentence) for b in self.badges)
            parts.append(Table("Badges", ("badge", "where", "why"), rows))
        return parts

    def to_json(self) -> dict[str, Any]:
        """``{"report": "flow", "version": 1, …}``."""
        return {
            "report": "flow",
            "version": 1,
            "file": self.file,
            "title": self.title,
            "losses": list(self.losses),
            "wires": {
                target: {
                    "source": self.sources[target],
                    "verdicts": _verdicts_json(verdicts, self.limit),
                }
                for target, verdicts in self.wires.items()
            },
            "variables": {
                name: {"verdicts": _verdicts_json(verdicts, self.limit)}
                for name, verdicts in self.variables.items()
            },
            "badges": [
                {"badge": b.mark.value, "where": b.key or None, "why": b.sentence}
                for b in self.badges
            ],
            "problems": [problem.to_json() for problem in self.problems],
        }


def run_report(
    session: Session,
    run: Run,
    flow: Flow | ObservedFlow | None,
    file: str,
    problems: Iterable[Problem] = (),
) -> RunReport:
    """What a run of the session gave; without a flow, nothing was differentiated."""
    values = session.values
    return RunReport(
        file,
        session.diagram.title,
        run.losses,
        run.values,
        {
            name: Variable(value, run.gradients.get(name), flow.variable(name) if flow else None)
            for name, value in values.items()
        },
        {
            target: Contribution(
                source, flow.verdict(target), run.norms.get(target), run.contributions.get(target)
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
    )


def flow_report(
    session: Session,
    flow: Flow | ObservedFlow,
    losses: Sequence[str],
    wires: Sequence[str] | None,
    file: str,
    problems: Iterable[Problem] = (),
    badges: Iterable[Badge] = (),
    complete: Callable[[Verdict], Verdict] | None = None,
) -> FlowReport:
    """The verdicts by loss: for those wires, or for all wires and all variables.

    For all of them the lists in JSON are kept short: witnesses alone would grow with the square
    of the diagram. ``complete`` adds to the verdicts of variables and of requested
    wires.
    """
    program = session.program
    limit = FEW if wires is None else None
    complete = complete or _unchanged
    complete_wire = _unchanged if wires is None else complete
    if wires is None:
        wires, variables = list(program.wire_sources), list(program.sources("variable"))
    else:
        variables = []
    return FlowReport(
        file,
        session.diagram.title,
        tuple(losses),
        dict[str, str](program.wire_sources.items()),
        {
            wire: {loss: complete_wire(flow.verdict(wire, loss)) for loss in losses}
            for wire in wires
        },
        {n: {loss: complete(flow.variable(n, loss)) for loss in losses} for n in variables},
        tuple(problems),
        limit,
        tuple(badges),
    )


def _unchanged(verdict: Verdict) -> Verdict:
    return verdict


def check_json(files: Iterable[str], problems: Iterable[Problem]) -> dict[str, Any]:
    """``{"report": "check", "version": 1, …}``: the files looked at and all their problems."""
    return {
        "report": "check",
        "version": 1,
        "files": list(files),
        "problems": [problem.to_json() for problem in problems],
    }


def _heading(title: str, file: str) -> str:
    return f"{one_line(title)}\n{one_line(file)}" if title else one_line(file)


def _gradient_text(gradient: Array | None) -> str:
    return "None" if gradient is None else array_text(gradient)


def _array_json(array: Array | None) -> dict[str, Any] | None:
    if array is None:
        return None
    tensor = Tensor(array)
    return {"dtype": tensor.dtype, "shape": list(tensor.shape), "value": tensor.to_json()}


def _verdicts_json(verdicts: Mapping[str, Verdict], limit: int | None) -> dict[str, Any]:
    """Of cutters, repair and witness the first ``limit``, counted from the loss."""
    return {
        loss: {
            "state": verdict.state.value,
            "why": verdict.sentence,
            "cutters": [
                {"block": c.block, "port": c.port, "kind": c.kind, "why": c.why}
                for c in verdict.cutters[:limit]
            ],
            "repair": [
                {"block": c.block, "port": c.port, "kind": c.kind, "leaf": c.leaf or None}
                for c in verdict.repair[:limit]
            ],
            "witness": list(verdict.witness[:limit]),
            "lengths": {
                "cutters": len(verdict.cutters) if len(verdict.cutters[:MANY]) < MANY else None,
                "repair": known_length(verdict.repair),
                "witness": known_length(verdict.witness),
            },
            "leaves": None
            if verdict.leaves is None
            else {"carry": verdict.leaves[0], "of": verdict.leaves[1]},
        }
        for loss, verdict in verdicts.items()
    }
