"""What a change of a diagram does to its gradients: variables and wires, before and after."""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from typing import TYPE_CHECKING, TypeAlias

from gradwire.blocks.classes.dataclass import dataclass
from gradwire.runtime.diagram.paths import InstancePath, WirePath
from gradwire.runtime.flow.observed import ObservedFlow
from gradwire.runtime.flow.tools.whatif import Difference

if TYPE_CHECKING:
    from gradwire.runtime.diagram.diff import DiagramChanges
    from gradwire.runtime.flow.analyse import Flow
    from gradwire.runtime.flow.words.states import State, Verdict

    AnyFlow: TypeAlias = Flow | ObservedFlow


class Effect(StrEnum):
    """What a change does to the gradient of one variable."""

    LOST = "lost"
    GAINED = "gained"
    NEW_WITH = "new, with a gradient"
    NEW_WITHOUT = "new, without a gradient"
    REMOVED = "removed"
    OTHER_REASON = "none, for another reason"
    OTHER_VALUE = "another value"
    SAME = "same"


@dataclass(frozen=True, slots=True, eq=False)
class VariableEffect:
    """The verdicts on a variable before and after, trained in one; None where it does not exist.

    ``name`` is its path after the change if it still exists. ``numbers`` are its gradients if both
    diagrams were run.
    """

    name: InstancePath
    before: Verdict | None
    after: Verdict | None
    numbers: Difference | None = None

    @property
    def effect(self) -> Effect:
        """What happened to its gradient."""
        before, after = self.before, self.after
        if after is None:
            return Effect.REMOVED
        if before is None:
            return Effect.NEW_WITH if after.state.row.passes else Effect.NEW_WITHOUT
        if before.state.row.passes and after.state.row.passes:
            differs = self.numbers is not None and self.numbers.changed
            return Effect.OTHER_VALUE if differs else Effect.SAME
        if before.state.row.passes or after.state.row.passes:
            return Effect.GAINED if after.state.row.passes else Effect.LOST
        return Effect.SAME if before.state is after.state else Effect.OTHER_REASON

    @property
    def reason(self) -> str:
        """Why it gets no gradient now, or got none before; empty if it always had one."""
        match self.effect:
            case Effect.GAINED:
                return self.before.sentence if self.before else ""
            case Effect.LOST | Effect.NEW_WITHOUT | Effect.OTHER_REASON:
                return self.after.sentence if self.after else ""
        return ""


@dataclass(frozen=True, slots=True, eq=False)
class Effects:
    """What a change does to gradients. Wires are those of both diagrams whose state differs."""

    variables: tuple[VariableEffect, ...]
    wires: Mapping[WirePath, tuple[State, State]]
    losses_added: tuple[str, ...]
    losses_removed: tuple[str, ...]

    @property
    def changed(self) -> tuple[VariableEffect, ...]:
        """The variables whose gradient is another one."""
        return tuple(each for each in self.variables if each.effect is not Effect.SAME)

    @property
    def is_empty(self) -> bool:
        """Whether every gradient flows as before."""
        return not (self.changed or self.wires or self.losses_added or self.losses_removed)


def effects(changes: DiagramChanges, before: AnyFlow, after: AnyFlow) -> Effects:
    """Compare the flow of all losses before and after the changes.

    Flows after a run also tell other values from the same, and gradients that became 0 or NaN.
    """
    was = {changes.renamed(path): path for path in _variables(before)}
    now = _variables(after)
    trained = [
        name
        for name in dict.fromkeys([*was, *now])
        if _is_trained(before, was.get(name)) or _is_trained(after, name)
    ]
    known = after.states()
    wires = {
        renamed: (state, known[renamed])
        for wire, state in before.states().items()
        if (renamed := changes.renamed_wire(WirePath(wire))) in known
        and known[renamed] is not state
    }
    old = {changes.renamed(loss.block).port(loss.within_block) for loss in before.losses}
    return Effects(
        tuple(_variable(name, was.get(name), name in now, before, after) for name in trained),
        wires,
        tuple(loss for loss in after.losses if loss not in old),
        tuple(loss for loss in sorted(old) if loss not in after.losses),
    )


def _variable(
    name: InstancePath, was: InstancePath | None, remains: bool, before: AnyFlow, after: AnyFlow
) -> VariableEffect:
    old = None if was is None else before.variable(was)
    new = after.variable(name) if remains else None
    numbers = None
    if isinstance(before, ObservedFlow) and isinstance(after, ObservedFlow):
        if was is not None and remains:
            numbers = Difference(before.gradient(was), after.gradient(name))
    return VariableEffect(name, old, new, numbers)


def _variables(flow: AnyFlow) -> list[InstancePath]:
    """Paths of all variables."""
    return [InstancePath(path) for path in flow.program.sources("variable")]


def _is_trained(flow: AnyFlow, name: InstancePath | None) -> bool:
    block = flow.program.sources("variable").get(name or "")
    return block is not None and block.wants_gradient
