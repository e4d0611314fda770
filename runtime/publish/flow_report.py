"""The report on gradient flow: the verdict on every wire, by loss. See ``report`` for its forms."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import field
from typing import TYPE_CHECKING, Any

from gradwire.blocks.classes.dataclass import dataclass
from gradwire.runtime.flow.lazy import MANY, known_length
from gradwire.runtime.publish.report import NO_LOSS, heading
from gradwire.runtime.publish.text import Part, TextTable

if TYPE_CHECKING:
    from gradwire.runtime.engine import Session
    from gradwire.runtime.flow import Badge, Flow, ObservedFlow, Verdict
    from gradwire.runtime.publish.problems import Problem

FEW = 3
"""JSON about all wires has this many cutters, slots of a repair and blocks of a witness each."""
MOST = 100_000
"""With more verdicts, those on what does not depend on a loss are left out, then whole losses."""
LEFT_OUT = (
    "Too much to list: what no route connects to a loss is left out{0}. --loss and --wire choose "
    "what is listed."
)


@dataclass(frozen=True, slots=True)
class FlowReport:
    """Verdicts by loss, of wires (by target) and variables (by name).

    Of each list in a verdict (cutters, repair, witness) JSON has the first ``limit``, counted
    from the loss, all without; ``lengths`` tells how many there are, null where that many are
    not counted. ``left_out`` is None for a whole report; else it has the losses that are not
    listed, and the others list only what a route connects to them.
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
    left_out: tuple[str, ...] | None = None

    def parts(self) -> list[Part]:
        """For each loss a table of wires and one of variables, with their sentences."""
        parts: list[Part] = [heading(self.title, self.file)]
        if not self.losses:
            return [*parts, NO_LOSS]
        if self.left_out is not None:
            count = len(self.left_out)
            losses = f", and {count} loss{'es' * (count > 1)}" if count else ""
            parts.append(LEFT_OUT.format(losses))
        wires, variables = _by_loss(self.wires), _by_loss(self.variables)
        for loss in self.losses:
            if loss in (self.left_out or ()):
                continue
            rows = tuple((self.sources[target], target, *row) for target, *row in wires[loss])
            parts.append(TextTable(f"Wires, for {loss}", ("from", "to", "state", "why"), rows))
            if variables[loss]:
                head = ("variable", "state", "why")
                parts.append(TextTable(f"Variables, for {loss}", head, tuple(variables[loss])))
        if self.badges:
            rows = tuple((b.mark.value, b.key or "-", b.sentence) for b in self.badges)
            parts.append(TextTable("Badges", ("badge", "where", "why"), rows))
        return parts

    def to_json(self) -> dict[str, Any]:
        """``{"report": "flow", "version": 2, …}``."""
        return {
            "report": "flow",
            "version": 2,
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
            "left_out": None if self.left_out is None else {"losses": list(self.left_out)},
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
    of the diagram. If there are more than ``MOST`` verdicts, some are left out. ``complete`` adds
    to the verdicts of variables and of requested wires.
    """
    program = session.program
    limit = FEW if wires is None else None
    complete = complete or _unchanged
    complete_wire = _unchanged if wires is None else complete
    if wires is None:
        wires, variables = list(program.wire_sources), list(program.sources("variable"))
    else:
        variables = []
    every = [*wires, *variables]
    is_whole = len(losses) == 1 or len(every) * len(losses) <= MOST
    named = {*variables}
    asked = dict.fromkeys(losses, every) if is_whole else _connected(flow, losses, every)
    chosen: dict[str, dict[str, Verdict]] = {key: {} for key in every}
    for loss, keys in asked.items():
        for key in keys:
            verdict = flow.explain(key, loss)
            chosen[key][loss] = (complete if key in named else complete_wire)(verdict)
    return FlowReport(
        file,
        session.diagram.title,
        tuple(losses),
        dict[str, str](program.wire_sources.items()),
        {wire: chosen[wire] for wire in wires},
        {name: chosen[name] for name in variables},
        tuple(problems),
        limit,
        tuple(badges),
        None if is_whole else tuple(loss for loss in losses if loss not in asked),
    )


def _connected(
    flow: Flow | ObservedFlow, losses: Sequence[str], every: Sequence[str]
) -> dict[str, list[str]]:
    """What a route connects to each of the losses, for the first of them."""
    places = {key: place for place, key in enumerate(every)}
    found: dict[str, list[str]] = {}
    count = 0
    for loss in losses:
        keys = [key for key in flow.connected(loss) if key in places]
        count += len(keys)
        if found and count > MOST:
            break
        found[loss] = sorted(keys, key=places.__getitem__)
    return found


def _by_loss(
    verdicts: Mapping[str, Mapping[str, Verdict]],
) -> dict[str, list[tuple[str, str, str]]]:
    """The name, the state and the sentence of every verdict, by loss."""
    found: dict[str, list[tuple[str, str, str]]] = defaultdict(list)
    for key, by_loss in verdicts.items():
        for loss, verdict in by_loss.items():
            found[loss].append((key, verdict.state.value, verdict.sentence))
    return found


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
