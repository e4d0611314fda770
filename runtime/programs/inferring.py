"""The contracts that hold for a diagram or a model today, in few lines."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from gradwire.runtime.flow import Contract
from gradwire.runtime.flow.words.states import PASSING
from gradwire.runtime.programs.naming import check_named

if TYPE_CHECKING:
    from gradwire.runtime.diagram.training import Training
    from gradwire.runtime.flow import Flow


def inferred(
    flow: Flow, training: Training | None, parameters: Mapping[str, str]
) -> list[Contract]:
    """Which trained variables get gradient from which loss, and what each optimiser updates.

    Variables of a program's model go by its own names, as ``parameters`` has them. One line is
    about all variables below a page, or module, if the same holds for them.
    """
    own = {path: name.replace(".", "/") for name, path in parameters.items()}
    found = []
    for loss in flow.losses:
        passes = {
            own.get(name, name): flow.variable(name, loss).state in PASSING
            for name in flow.program.trainable
        }
        found += [
            Contract("flows" if does else "blocked", loss.block, pattern)
            for pattern, does in _covering(passes, "")
        ]
    for rule in () if training is None else training.optimisers:
        found += [Contract("updates", rule.name, pattern) for pattern in rule.variables]
    outcomes = check_named(found, None, flow, training, parameters)
    return [outcome.contract for outcome in outcomes if outcome.kept]


def _covering(passes: Mapping[str, bool], prefix: str) -> Iterator[tuple[str, bool]]:
    """Patterns that mean all names below a prefix, each for names of which the same is so."""
    kinds = set(passes.values())
    if len(kinds) == 1 and (len(passes) > 1 or prefix not in passes):
        yield f"{prefix}*", kinds.pop()
        return
    groups: dict[str, dict[str, bool]] = {}
    for name, does in passes.items():
        part, slash, _ = name[len(prefix) :].partition("/")
        groups.setdefault(prefix + part + slash, {})[name] = does
    for beginning, group in groups.items():
        if len(group) == 1:
            yield from group.items()
        else:
            yield from _covering(group, beginning)
