"""What is frozen where something ought to be trained: all variables, or layers by their numbers."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from gradwire.runtime.calculus.dtypes import is_float
from gradwire.runtime.diagram.paths import InstancePath
from gradwire.runtime.flow.tools.findings import BY_BEGINNING, NOTHING_TRAINED, Finding
from gradwire.runtime.flow.tools.patterns import owns
from gradwire.runtime.flow.words import sentences
from gradwire.runtime.flow.words.states import State

if TYPE_CHECKING:
    from gradwire.runtime.diagram.training import Training
    from gradwire.runtime.engine.program import Program
    from gradwire.runtime.flow.observed import ObservedFlow


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
