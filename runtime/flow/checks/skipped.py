"""Variables that an optimiser of the recipe owns, and that it will skip: their gradient is None."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING

from gradwire.blocks.errors import GradwireError
from gradwire.runtime.engine.session.lookup import traced_ports
from gradwire.runtime.flow.analyse import analyse
from gradwire.runtime.flow.lazy import MANY
from gradwire.runtime.flow.tools.contracts import Contract, is_blocked
from gradwire.runtime.flow.tools.findings import SKIPPED, Finding
from gradwire.runtime.flow.tools.patterns import heads_named, owns
from gradwire.runtime.flow.words import sentences
from gradwire.runtime.flow.words.states import NO_GRADIENT

if TYPE_CHECKING:
    from gradwire.runtime.diagram.paths import PortPath
    from gradwire.runtime.diagram.training import OptimiserRule
    from gradwire.runtime.engine import Session
    from gradwire.runtime.engine.program import Program
    from gradwire.runtime.flow.observed import ObservedFlow
    from gradwire.runtime.flow.words.states import Verdict


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
