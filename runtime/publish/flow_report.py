"""The report on gradient flow: the verdict on every wire, by loss. See ``report`` for its forms."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from runtime.flow.lazy import MANY, known_length
from runtime.publish.report import NO_LOSS, heading
from runtime.publish.text import Part, Table

if TYPE_CHECKING:
    from runtime.engine import Session
    from runtime.flow import Badge, Flow, ObservedFlow, Verdict
    from runtime.publish.problems import Problem

FEW = 3
"""JSON about all wires has this many cutters, slots of a repair and blocks of a witness each."""


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
        parts: list[Part] = [heading(self.title, self.file)]
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
