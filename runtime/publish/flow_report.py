"""The report on gradient flow: the verdict on every wire, by loss. See ``report`` for its forms."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import field
from typing import TYPE_CHECKING

from gradwire.blocks import Tensor
from gradwire.blocks.classes.dataclass import dataclass
from gradwire.runtime.calculus.choices.choice import SYSTEMS
from gradwire.runtime.flow import dialects, ledger, loss_matrix
from gradwire.runtime.flow.lazy import MANY, known_length
from gradwire.runtime.flow.words.formatting import number, size
from gradwire.runtime.publish.report import NO_LOSS, heading
from gradwire.runtime.publish.text import Part, TextTable

if TYPE_CHECKING:
    from gradwire.blocks.values import Json
    from gradwire.runtime.engine import Session
    from gradwire.runtime.flow import Badge, Dialects, Flow, ObservedFlow, Verdict
    from gradwire.runtime.publish.problems import Problem


# The ledger's report: what adds up to each gradient, and losses against variables.


def ledger_parts(observed: ObservedFlow) -> list[Part]:
    """A table of shares by port and, with several losses, one of losses against variables.

    A share is of the size of the sum; the shares of a port add up to 1.
    """
    run = observed.run()
    if run is None:
        return []
    rows = []
    for port, account in ledger(observed.program, run).items():
        shares = account.shares
        for entry in account.entries:
            share = shares[entry.by]
            shown = "-" if share is None else number(share)
            rows.append((port, entry.by, size(entry.amount), shown))
        if len(account.entries) > 1:
            rows.append((port, "sum", size(account.total), ""))
    parts: list[Part] = [
        TextTable("Ledger", ("port", "from", "contribution", "share"), tuple(rows))
    ]
    if len(observed.losses) > 1:
        parts.append(_matrix(observed))
    return parts


def ledger_json(observed: ObservedFlow) -> dict[str, object]:
    """``{"ledger": {port: …}, "matrix": {loss: {variable: …}}}``."""
    run = observed.run()
    accounts = {} if run is None else ledger(observed.program, run)
    matrix = loss_matrix(observed)
    return {
        "ledger": {
            port: {
                "rows": [
                    {"by": entry.by, "kind": entry.kind, "value": Tensor(entry.amount).to_json()}
                    for entry in account.entries
                ],
                "sum": None if account.total is None else Tensor(account.total).to_json(),
            }
            for port, account in accounts.items()
        },
        "matrix": {
            loss: {
                name: {"rms": _json(rms), "cosine": _json(matrix.cosines[loss][name])}
                for name, rms in row.items()
            }
            for loss, row in matrix.norms.items()
        },
    }


def _matrix(observed: ObservedFlow) -> TextTable:
    """In each cell the root mean square, and the cosine with the gradient of all losses."""
    matrix = loss_matrix(observed)
    rows = tuple(
        (name, *(_cell(matrix.norms[a][name], matrix.cosines[a][name]) for a in matrix.losses))
        for name in matrix.variables
    )
    return TextTable("Losses against variables: rms, cosine", ("variable", *matrix.losses), rows)


def _cell(rms: float | None, cosine: float | None) -> str:
    if rms is None:
        return "None"
    return number(rms) if cosine is None else f"{number(rms)}, {number(cosine)}"


def _json(x: float | None) -> object:
    return None if x is None else Tensor(x).to_json()


# Variables in the words of other systems, and what an optimiser would do with them.


def dialect_table(observed: ObservedFlow) -> TextTable:
    """A row a variable: what each system reports, and where SGD with weight decay ends.

    A last column has the blocks at which systems differ, where there are any.
    """
    rows = []
    reasons = []
    for found in _by_variable(observed).values():
        ends: dict[str, list[str]] = {}
        for system in SYSTEMS:
            ends.setdefault(found.fates[system][0].decayed, []).append(system)
        fates = "; ".join(
            f"{', '.join(systems)}: {end}" if len(ends) > 1 else end
            for end, systems in ends.items()
        )
        rows.append((found.variable, *(report.says for report in found.reports), fates))
        reasons.append(" ".join(filter(None, (report.because for report in found.reports))))
    head: tuple[str, ...] = ("variable", *SYSTEMS, "with weight decay (SGD)")
    if any(reasons):
        head = (*head, "why they differ")
        rows = [(*row, reason) for row, reason in zip(rows, reasons, strict=True)]
    return TextTable("In other systems", head, tuple(rows))


def dialects_json(observed: ObservedFlow) -> dict[str, Json]:
    """``{variable: {system: {"says", "by", "optimisers": {name: {"plain", "decayed"}}}}}``.

    ``because`` says why a system differs from what is shown here, where one does.
    """
    return {
        name: {
            report.system: {
                "says": report.says,
                "by": report.by,
                **({"because": report.because} if report.because else {}),
                "optimisers": {
                    fate.optimiser: {"plain": fate.plain, "decayed": fate.decayed}
                    for fate in found.fates[report.system]
                },
            }
            for report in found.reports
        }
        for name, found in _by_variable(observed).items()
    }


def _by_variable(observed: ObservedFlow) -> dict[str, Dialects]:
    return {name: dialects(observed, name) for name in observed.program.sources("variable")}


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

    def to_json(self) -> dict[str, Json]:
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


def _verdicts_json(verdicts: Mapping[str, Verdict], limit: int | None) -> dict[str, Json]:
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
