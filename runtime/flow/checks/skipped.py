"""Variables that an optimiser of the recipe owns, and that it will skip: their gradient is None."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from typing import TYPE_CHECKING

from gradwire.blocks.errors import GradwireError
from gradwire.runtime.calculus.dtypes import is_float
from gradwire.runtime.diagram.paths import InstancePath
from gradwire.runtime.engine.session.lookup import traced_ports
from gradwire.runtime.flow.analyse import analyse
from gradwire.runtime.flow.lazy import MANY
from gradwire.runtime.flow.tools.contracts import Contract, is_blocked
from gradwire.runtime.flow.tools.findings import BY_BEGINNING, NOTHING_TRAINED, SKIPPED, Finding
from gradwire.runtime.flow.tools.patterns import heads_named, owns
from gradwire.runtime.flow.words import sentences
from gradwire.runtime.flow.words.states import NO_GRADIENT, State

if TYPE_CHECKING:
    from gradwire.runtime.diagram.paths import PortPath
    from gradwire.runtime.diagram.training import OptimiserRule, Training
    from gradwire.runtime.engine import Session
    from gradwire.runtime.engine.program import Program
    from gradwire.runtime.flow.observed import ObservedFlow
    from gradwire.runtime.flow.words.states import Verdict


# What is frozen where something ought to be trained: all variables, or layers by their numbers.


def frozen(observed: ObservedFlow, training: Training | None) -> Iterator[Finding]:
    """Nothing trained at all, or by an optimiser; and modules of a list that are frozen, or alone
    trained, because their numbers begin alike.
    """
    program = observed.program
    known = map(InstancePath, program.sources("variable"))
    variables = [name for name in known if _is_float(program, name)]
    trained = set(program.trainable)
    still = [name for name in variables if observed.flow.variable(name).state is State.FROZEN]
    if not trained and still:
        text = sentences.nothing_trained(still)
        yield Finding(NOTHING_TRAINED, still[0], text, affected=tuple(still))
    for rule in () if training is None or not trained else training.optimisers:
        owned = [name for name in variables if owns(rule, name, program)]
        if owned and trained.isdisjoint(owned):
            text = sentences.owns_frozen(rule.name, owned)
            yield Finding(NOTHING_TRAINED, owned[0], text, affected=tuple(owned))
    for folder, numbers in _modules(variables, trained).items():
        for is_trained in (False, True):
            chosen = [number for number, state in numbers.items() if state == is_trained]
            if first := _beginning(chosen, list(numbers)):
                modules = [InstancePath.of(*folder, number) for number in chosen]
                within = [name for name in variables if name.is_inside(modules[-1])]
                beginning = InstancePath.of(*folder, first)
                text = sentences.by_beginning(modules, beginning, is_trained)
                yield Finding(BY_BEGINNING, within[0], text, affected=tuple(within))


def _is_float(program: Program, name: InstancePath) -> bool:
    port = name.port("out")
    return port in program.ports and is_float(program.ports[port].dtype)


def _modules(
    variables: list[InstancePath], trained: set[str]
) -> dict[tuple[str, ...], dict[str, bool]]:
    """Whether any variable of a numbered page is trained, by the names in front of the number."""
    found: dict[tuple[str, ...], dict[str, bool]] = {}
    for name in variables:
        for place, part in enumerate(name.names[:-1]):
            if part.isdecimal():
                known = found.setdefault(tuple(name.names[:place]), {})
                known[part] = known.get(part, False) or name in trained
    return {folder: dict(sorted(known.items(), key=_number)) for folder, known in found.items()}


def _number(item: tuple[str, bool]) -> int:
    return int(item[0])


def _beginning(chosen: list[str], numbers: list[str]) -> str:
    """The number that begins all chosen ones, and no others, where these do not follow each other;
    empty for none.
    """
    first = min(chosen, key=len, default="")
    alike = [number for number in numbers if number.startswith(first)]
    places = sorted(map(int, chosen))
    is_gapped = len(places) > 1 and places[-1] - places[0] >= len(places)
    return first if is_gapped and alike == chosen else ""


FROZEN = (
    "SKIPPED: all that {0} owns is frozen, so that it updates nothing: {1}. Make trainable what it "
    "is to update, in PyTorch by requires_grad_()."
)


def skipped(
    session: Session,
    observed: ObservedFlow,
    contracts: Collection[Contract],
    known: Collection[str] = (),
) -> list[Finding]:
    """A finding for each optimiser and variable; none for those ``known`` to have no gradient.

    Those that contracts block are left out, and optimisers that follow a loss that was not
    observed.
    """
    training, program = session.diagram.training, observed.program
    found = []
    for rule in () if training is None else training.optimisers:
        owned = [name for name in program.sources("variable") if owns(rule, name, program)]
        if owned and not any(name in program.trainable for name in owned):
            text = FROZEN.format(rule.name, sentences.names(owned))
            found.append(Finding(SKIPPED, owned[0], text, affected=tuple(owned)))
        heads = _followed(rule, program)
        if not heads or any(h in program.heads() and h not in observed.losses for h in heads):
            continue
        flow = analyse(program, heads)
        for name in program.trainable:
            if name in known or not owns(rule, name, program):
                continue
            if all(is_blocked(program, contracts, name, head) for head in heads):
                continue
            verdict = flow.variable(name)
            if verdict.state.row.complaint is NO_GRADIENT:
                found.append(_finding(rule, heads, name, verdict))
    return found


def _followed(rule: OptimiserRule, program: Program) -> tuple[PortPath, ...]:
    """The heads whose sum an optimiser follows; none if the recipe names one that is not there."""
    if not rule.losses:
        return tuple(program.heads())
    try:
        return tuple(
            dict.fromkeys(
                head
                for pattern in rule.losses
                for head in heads_named(pattern, program) or traced_ports(program, [pattern])
            )
        )
    except GradwireError:
        return ()  # what is wrong with the recipe is said by the check of the diagram


def _finding(
    rule: OptimiserRule, heads: Sequence[PortPath], name: str, verdict: Verdict
) -> Finding:
    losses = sentences.names([head.short for head in heads])
    text = f"SKIPPED: {rule.name} owns {name}, which gets no gradient of {losses}."
    said = " ".join(filter(None, (text, verdict.sentence, verdict.cure)))
    blocks = {cutter.block for cutter in verdict.cutters[:MANY]}
    culprit = blocks.pop() if len(blocks) == 1 else ""
    clause = f"{culprit} keeps {losses} from variables of {rule.name}" if culprit else ""
    return Finding(
        SKIPPED,
        name,
        said,
        verdict.loss,
        verdict.witness,
        culprit=culprit,
        clause=clause,
        cure=verdict.cure,
        affected=(name,),
    )
