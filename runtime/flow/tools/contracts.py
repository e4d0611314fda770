"""Contracts: what a diagram's gradients must and must not do, one line each.

    flows(L_rec -> encoder/*)      every one of these variables gets gradient from this loss
    blocked(L_D -> G/*)            none of them does
    nonzero(L_rec -> W1)           and it is not all zeros
    finite(* -> *)                 no gradient has NaN or inf in it
    updates(opt_G -> G/*)          the optimiser opt_G, and no other, moves these

The recipe of a diagram states what its optimisers update, without lines of its own. Where it does,
or a line does, or a session has made steps, a trained variable that none of them updates is
UNOWNED.
A line about an optimiser of the recipe is checked against it: it must own these variables, and none
of its others may.

``#`` begins a comment. Patterns are those of ``gradwire.runtime.flow.tools.patterns``. On the left
they name losses (or, by its name, an optimiser), on the right variables, or wires by their targets
(``mul1.a``). A pattern that matches nothing breaks its contract, so that a typo cannot pass.

A diagram states contracts in its field ``contracts``, or ``m.contracts`` beside
``m.gradwire.json`` does.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Literal, TypeAlias, get_args

import numpy as np

from gradwire.blocks.arguments import explained
from gradwire.blocks.classes.dataclass import dataclass
from gradwire.blocks.errors import FileError
from gradwire.runtime.diagram.files.regular import answered, read_regular
from gradwire.runtime.flow.structure.constants import held_constant, passing_on
from gradwire.runtime.flow.tools.patterns import matches, names_loss, names_variable, no_match, owns
from gradwire.runtime.flow.words.states import PASSING, Verdict

if TYPE_CHECKING:
    from pathlib import Path

    from gradwire.runtime.diagram import Diagram
    from gradwire.runtime.diagram.paths import PortPath
    from gradwire.runtime.diagram.training import Training
    from gradwire.runtime.engine.program import Program
    from gradwire.runtime.flow.analyse import Flow
    from gradwire.runtime.flow.observed import ObservedFlow

SUFFIX = ".contracts"
MOST_BYTES = 1 << 20
"""Size of a file of contracts, at most."""
_SHOWN = 120
"""Characters of a line that is no contract, at most."""
Requirement: TypeAlias = Literal["flows", "blocked", "nonzero", "finite", "updates"]
REQUIREMENTS: tuple[Requirement, ...] = get_args(Requirement)
EXAMPLE = "flows(loss -> encoder/*)"
_ARROWS = ("->", "→")


@dataclass(frozen=True, slots=True)
class Contract:
    """One line: a requirement on the gradients of losses with respect to variables or wires."""

    kind: Requirement
    loss: str
    pattern: str
    line: int = 0

    def __str__(self) -> str:
        return f"{self.kind}({self.loss} -> {self.pattern})"


@dataclass(frozen=True, slots=True)
class Breach:
    """What breaks a contract: a variable or wire, for one loss, and why; the witness from the loss.

    ``written`` is where an imported program has what is to blame. ``subject`` is empty where a
    pattern names nothing.
    """

    subject: str
    loss: str
    sentence: str
    witness: Sequence[str] = ()
    written: str = ""


@dataclass(frozen=True, slots=True)
class Outcome:
    """A contract, and all that breaks it."""

    contract: Contract
    breaches: tuple[Breach, ...]

    @property
    def kept(self) -> bool:
        """Nothing breaks it."""
        return not self.breaches


@explained
def parse_contracts(text: str, path: str | None = None) -> list[Contract]:
    """The contracts in a text; raises FileError with the line of what is none."""
    found = []
    for number, line in enumerate(text.splitlines(), 1):
        stated = line.partition("#")[0].strip()
        if not stated:
            continue
        contract = _contract(stated, number)
        if contract is None:
            raise FileError(
                "This line is not a contract.",
                path=path,
                line=number,
                expected=f"{', '.join(REQUIREMENTS[:-1])} or {REQUIREMENTS[-1]}, as in {EXAMPLE}",
                got=stated[:_SHOWN],
            )
        found.append(contract)
    return found


def _contract(stated: str, line: int) -> Contract | None:
    """``flows(loss -> w)`` as a contract; None for a line that is none."""
    name, _, rest = stated.partition("(")
    kind = next((kind for kind in REQUIREMENTS if kind == name.rstrip()), None)
    arrows = [(rest.find(arrow), arrow) for arrow in _ARROWS if arrow in rest]
    if kind is None or not arrows or not rest.endswith(")"):
        return None
    loss, _, pattern = rest[:-1].partition(min(arrows)[1])
    loss, pattern = loss.strip(), pattern.strip()
    return Contract(kind, loss, pattern, line) if loss and pattern else None


def beside(file: Path) -> Path:
    """The contracts file of a diagram: ``m.contracts`` beside ``m.gradwire.json``."""
    name = file.name.removesuffix(".json").removesuffix(".gradwire")
    return file.with_name(name + SUFFIX)


def read_contracts(path: Path, folder: Path | None = None) -> list[Contract]:
    """The contracts of a file, which lies in ``folder`` if one is given; raises FileError."""
    try:
        return parse_contracts(read_regular(path, MOST_BYTES, folder).decode("utf-8"), str(path))
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "they are not UTF-8 text"
        raise FileError(
            f"The contracts can't be read: {reason}.",
            path=str(path),
            next_step=f"Write one contract a line, such as {EXAMPLE}.",
        ) from None


@explained
def contracts_of(diagram: Diagram, file: Path | None = None) -> list[Contract]:
    """What a diagram states, and what is stated beside its file; raises FileError."""
    try:
        stated = parse_contracts("\n".join(diagram.contracts))
    except FileError as error:  # its line is none of the file
        raise FileError(
            f"Line {error.line} of the diagram's contracts is not a contract.",
            path=None if file is None else str(file),
            expected=error.expected,
            got=error.got,
        ) from None
    if file is not None and answered(file, beside(file).exists):
        stated += read_contracts(beside(file), file.parent)
    return stated


def is_blocked(program: Program, contracts: Iterable[Contract], name: str, loss: str) -> bool:
    """Whether one of them requires that a variable gets no gradient from a loss."""
    return any(
        contract.kind == "blocked"
        and names_variable(contract.pattern, name, program)
        and names_loss(contract.loss, loss)
        for contract in contracts
    )


def owned(
    program: Program,
    contracts: Iterable[Contract] = (),
    updated: Collection[str] = (),
    training: Training | None = None,
) -> list[str] | None:
    """Trained variables that an optimiser updates, by the recipe, by contracts, by steps made.

    None where neither a recipe nor a contract states what an optimiser updates, nor a step was
    made.
    """
    patterns = [contract.pattern for contract in contracts if contract.kind == "updates"]
    rules = () if training is None else training.optimisers
    if not (patterns or rules or updated):
        return None
    return [
        name
        for name in program.trainable
        if name in updated
        or any(names_variable(pattern, name, program) for pattern in patterns)
        or any(owns(rule, name, program) for rule in rules)
    ]


def unowned(
    program: Program,
    contracts: Iterable[Contract],
    updated: Collection[str] = (),
    training: Training | None = None,
) -> list[str]:
    """Trained variables that no optimiser updates; none where it is not known what one updates."""
    known = owned(program, contracts, updated, training)
    if known is None:
        return []
    some = set(known)
    return [name for name in program.trainable if name not in some]


def forgotten(
    flow: Flow,
    contracts: Iterable[Contract],
    updated: Collection[str] = (),
    training: Training | None = None,
) -> list[str]:
    """The unowned variables but for those that are meant so: what is kept constant, as a target
    is, and what passes gradient on to what is updated, as the other player does.
    """
    found = unowned(flow.program, contracts, updated, training)
    if not found:
        return []
    meant = {*held_constant(flow, set(flow.program.trainable) - set(found))}
    meant |= {*passing_on(flow, set(found) - meant)}
    return [name for name in found if name not in meant]


def decay_sentence(program: Program, training: Training | None, name: str) -> str:
    """That an optimiser moves a variable whose gradient is 0; empty where none does."""
    for rule in () if training is None else training.optimisers:
        if not owns(rule, name, program):
            continue
        decay = getattr(rule.method, "weight_decay", 0.0)
        for group in rule.groups:
            if any(names_variable(pattern, name, program) for pattern in group.variables):
                decay = decay if group.weight_decay is None else group.weight_decay
                break
        if decay:
            return f"Yet {rule.name} moves it, by its weight_decay of {decay:g}."
    return ""


def unowned_sentence(name: str) -> str:
    """What is wrong with an unowned variable."""
    return f"UNOWNED: {name} is trained, and no optimiser updates it."


@explained
def check_contracts(
    contracts: Iterable[Contract],
    observed: ObservedFlow | None,
    flow: Flow,
    training: Training | None = None,
) -> list[Outcome]:
    """The outcome of each contract.

    ``flow`` answers flows and blocked. nonzero and finite need the ``observed`` of a run; without
    one they are broken, because nothing shows that they are kept. updates is about the recipe
    ``training``, where that has an optimiser of this name.
    """
    every = list(contracts)
    return [
        Outcome(
            contract,
            tuple(
                _not_updated(contract, every, flow, training)
                if contract.kind == "updates"
                else _breaches(contract, observed, flow)
            ),
        )
        for contract in every
    ]


def needs_run(contracts: Iterable[Contract]) -> bool:
    """Whether any of them is about numbers."""
    return any(contract.kind in ("nonzero", "finite") for contract in contracts)


def _breaches(contract: Contract, observed: ObservedFlow | None, flow: Flow) -> Iterator[Breach]:
    losses, subjects = meant_by(contract, flow)
    if not losses:
        yield Breach(
            "", contract.loss, no_match(contract.loss, "loss", [loss.block for loss in flow.losses])
        )
    elif not subjects:
        text = no_match(contract.pattern, "variable or wire", flow.program.sources("variable"))
        yield Breach("", contract.loss, text)
    for loss in losses:
        for subject in subjects:
            breach = _breach(contract.kind, subject, loss, observed, flow)
            if breach is not None:
                yield breach


def meant_by(contract: Contract, flow: Flow) -> tuple[list[PortPath], Sequence[str]]:
    """The losses that a contract names, and the variables or wires."""
    losses = [loss for loss in flow.losses if names_loss(contract.loss, loss)]
    return losses, _subjects(contract.pattern, flow)


def _not_updated(
    contract: Contract, every: Sequence[Contract], flow: Flow, training: Training | None
) -> Iterator[Breach]:
    """What an optimiser can't move, does not own, or another moves as well."""
    variables = flow.program.sources("variable")
    named = [name for name in variables if names_variable(contract.pattern, name, flow.program)]
    if not named:
        yield Breach("", contract.loss, no_match(contract.pattern, "variable", variables))
    lines = [c for c in every if c.kind == "updates" and c.loss != contract.loss]
    rules = () if training is None else training.optimisers
    meant = next((rule for rule in rules if rule.name == contract.loss), None)
    others = [rule for rule in rules if rule is not meant]
    for name in named:
        if not variables[name].wants_gradient:
            text = f"{name} is not trained, so {contract.loss} can't update it."
            yield Breach(name, contract.loss, text)
            continue
        if meant is not None and not owns(meant, name, flow.program):
            text = f"{name} is none of the variables of {meant.name}: {', '.join(meant.variables)}."
            yield Breach(name, contract.loss, text)
        owners = [rule.name for rule in others if owns(rule, name, flow.program)]
        owners += [c.loss for c in lines if names_variable(c.pattern, name, flow.program)]
        if owners:
            yield Breach(name, contract.loss, f"{owners[0]} updates {name}, too.")


def _subjects(pattern: str, flow: Flow) -> Sequence[str]:
    if "." in pattern:
        return [wire for wire in flow.program.wire_sources if matches(pattern, wire)]
    variables = flow.program.sources("variable")
    return [name for name in variables if names_variable(pattern, name, flow.program)]


def _breach(
    kind: Requirement, subject: str, loss: str, observed: ObservedFlow | None, flow: Flow
) -> Breach | None:
    verdict = flow.explain(subject, loss)
    passes = verdict.state in PASSING
    if flow.doubts(subject):
        return _because(verdict, subject, loss)
    if kind == "blocked":
        return _because(verdict, subject, loss) if passes else None
    if kind in ("flows", "nonzero") and not passes:
        return _because(verdict, subject, loss)
    if kind == "flows" or not passes:
        return None
    if observed is None:
        return Breach(subject, loss, "The diagram could not be run.", verdict.witness)
    run = observed.run(loss)
    if run is None:
        return Breach(subject, loss, f"{loss} was not run on its own.", verdict.witness)
    array = run.contributions.get(subject, run.gradients.get(subject))
    good = array is not None and (
        bool(np.any(array)) if kind == "nonzero" else bool(np.isfinite(array).all())
    )
    return None if good else _because(observed.explain(subject, loss), subject, loss)


def _because(verdict: Verdict, subject: str, loss: str) -> Breach:
    written = next((cutter.written for cutter in verdict.cutters if cutter.written), "")
    return Breach(subject, loss, verdict.sentence, verdict.witness, written)
