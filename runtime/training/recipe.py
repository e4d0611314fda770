"""Resolves the recipe of a diagram: the variables, losses and ports that its patterns name."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

from gradwire.blocks.classes.dataclass import dataclass
from gradwire.blocks.errors import GradwireError, Location, RunError
from gradwire.blocks.nearest import did_you_mean
from gradwire.runtime.diagram.training import Average, Clip, OptimiserRule, Training
from gradwire.runtime.engine.session.lookup import find_port, traced_ports
from gradwire.runtime.flow.tools.patterns import (
    heads_named,
    names_variable,
    no_match,
    owns,
    stand_ins,
)
from gradwire.runtime.training.optimisers.arithmetic import Arithmetic
from gradwire.runtime.views.views import plotted_ports

if TYPE_CHECKING:
    from gradwire.runtime.diagram.paths import PortPath
    from gradwire.runtime.engine.program import Program

FieldPath: TypeAlias = tuple[str | int, ...]
"""Where something is in a recipe: ``("optimisers", 0, "variables")``."""


class RecipeRemark(NamedTuple):
    """What is wrong with a field of a recipe, or, unless it ``is_error``, worth saying."""

    field: FieldPath
    error: RunError
    is_error: bool = True

    @property
    def text(self) -> str:
        """What is wrong, and what was expected."""
        return str(self.error)


@dataclass(frozen=True)
class ResolvedRule:
    """An optimiser with the paths of the variables that it owns, and the heads it follows."""

    rule: OptimiserRule
    variables: tuple[str, ...]
    heads: tuple[PortPath, ...]
    groups: tuple[tuple[str, ...], ...] = ()
    """The variables of each group; a variable is in the first that names it."""

    def numbers_of(self, variable: str) -> tuple[float, float]:
        """The learning rate and the weight decay of a variable."""
        method = self.rule.method
        for group, members in zip(self.rule.groups, self.groups, strict=True):
            if variable in members:
                return (
                    method.lr if group.lr is None else group.lr,
                    method.weight_decay if group.weight_decay is None else group.weight_decay,
                )
        return method.lr, method.weight_decay


@dataclass(frozen=True)
class Recipe:
    """A recipe with the paths that it names, in the order of the document."""

    training: Training
    rules: tuple[ResolvedRule, ...]
    averages: tuple[tuple[Average, tuple[tuple[str, str], ...]], ...]
    """Each average with its sources, and the target of each."""
    record: tuple[PortPath, ...]
    """Ports whose values are recorded besides the losses, those of Plot blocks among them."""

    def passes(self) -> list[tuple[ResolvedRule, tuple[PortPath, ...]]]:
        """Each rule with the ports to record in its first pass: all of them for a rule that is the
        first to take part in some iteration.
        """
        found = []
        seen: list[int] = []
        for rule in self.rules:
            is_first = not any(rule.rule.every % every == 0 for every in seen)
            found.append((rule, self.record if is_first else ()))
            seen.append(rule.rule.every)
        return found


def resolve(training: Training, program: Program) -> Recipe:
    """The recipe for a program. Raises RunError for the first thing that is wrong with it."""
    resolver = _Resolver(program)
    recipe = resolver.recipe(training)
    for remark in resolver.remarks:
        if remark.is_error:
            raise remark.error
    return recipe


def examine(training: Training, program: Program) -> list[RecipeRemark]:
    """All that is wrong with a recipe, and what is worth saying about it, by field."""
    resolver = _Resolver(program)
    resolver.recipe(training)
    return resolver.remarks


def variables_of(rule: OptimiserRule, program: Program) -> tuple[str, ...]:
    """The trained variables that the patterns of an optimiser name, in document order."""
    return tuple(name for name in program.trainable if owns(rule, name, program))


class _Resolver:
    """Resolves the parts of a recipe, and collects what is wrong with them."""

    def __init__(self, program: Program) -> None:
        self._program = program
        self.remarks: list[RecipeRemark] = []

    def recipe(self, training: Training) -> Recipe:
        self._names("optimisers", "optimiser", training.optimisers)
        self._names("averages", "average", training.averages)
        if not training.optimisers:
            self._say(("optimisers",), "The recipe has no optimiser, so nothing is trained.")
        rules = tuple(self._rule(i, rule) for i, rule in enumerate(training.optimisers))
        self._owned_twice(rules)
        averages = tuple((a, self._average(i, a)) for i, a in enumerate(training.averages))
        record = [
            port
            for i, place in enumerate(training.record)
            for port in self._ports(("record", i), place)
        ]
        losses = set(self._program.heads())
        record += [port for port in plotted_ports(self._program) if port not in losses]
        return Recipe(training, rules, averages, tuple(dict.fromkeys(record)))

    def _rule(self, index: int, rule: OptimiserRule) -> ResolvedRule:
        at: FieldPath = ("optimisers", index)
        try:
            Arithmetic(rule.method)
        except RunError as error:
            self.remarks.append(RecipeRemark((*at, "method"), error))
        variables = variables_of(rule, self._program)
        for i, pattern in enumerate(rule.variables):
            self._require_variable((*at, "variables", i), pattern, f"of {rule.name}")
        if not rule.variables:
            self._wrong((*at, "variables"), f"{rule.name} owns no variable.", expected="patterns")
        groups: list[tuple[str, ...]] = []
        left = list(variables)
        for i, group in enumerate(rule.groups):
            for j, pattern in enumerate(group.variables):
                place = (*at, "groups", i, "variables", j)
                if not any(names_variable(pattern, name, self._program) for name in variables):
                    text = no_match(pattern, f"variable of {rule.name}", variables)
                    self._wrong(place, text)
            groups.append(
                tuple(
                    name
                    for name in left
                    if any(names_variable(p, name, self._program) for p in group.variables)
                )
            )
            left = [name for name in left if name not in groups[-1]]
        if rule.clip == Clip(by=rule.clip.by, limit=0) if rule.clip else False:
            self._say((*at, "clip"), f"The limit of {rule.name} is 0, so it moves nothing.")
        return ResolvedRule(rule, variables, self._heads(at, rule), tuple(groups))

    def _heads(self, at: FieldPath, rule: OptimiserRule) -> tuple[PortPath, ...]:
        heads = self._program.heads()
        if not rule.losses:
            if not heads:
                self._wrong(
                    (*at, "losses"),
                    f"There is no loss that {rule.name} could follow.",
                    next_step="Add a Loss block.",
                )
            return tuple(heads)
        found: list[PortPath] = []
        for i, pattern in enumerate(rule.losses):
            meant = heads_named(pattern, self._program)
            found += meant or self._scalar((*at, "losses", i), pattern)
        return tuple(dict.fromkeys(found))

    def _scalar(self, at: FieldPath, name: str) -> list[PortPath]:
        """A port that is followed without a Loss block: a single number."""
        heads = self._program.heads()
        try:
            ports = traced_ports(self._program, [name])
        except GradwireError:
            text = no_match(name, "loss", [head.short for head in heads])
            self._wrong(at, text, next_step=did_you_mean(name, [head.short for head in heads]))
            return []
        for port in ports:
            shape = self._program.shape(port)
            if shape != ():
                self._wrong(
                    at,
                    f"{name} is not a loss: it is not a single number.",
                    location=port.location(),
                    expected="a Loss block, or a number",
                    got=f"shape {list(shape)}",
                )
                return []
        return list(ports)

    def _average(self, index: int, average: Average) -> tuple[tuple[str, str], ...]:
        """The sources of an average, each with its target."""
        program, at = self._program, ("averages", index)
        variables = program.sources("variable")
        targets = [name for name in variables if names_variable(average.into, name, program)]
        sources = [
            name
            for name in variables
            if names_variable(average.of, name, program) and name not in targets
        ]
        wants = [name for name in sources if variables[name].wants_gradient]
        sources = wants or sources
        for field, pattern, found in (("of", average.of, sources), ("into", average.into, targets)):
            if not found:
                self._wrong((*at, field), no_match(pattern, "variable", variables))
        trained = [name for name in targets if variables[name].wants_gradient]
        if trained:
            self._wrong(
                (*at, "into"),
                f"{trained[0]} is trained, so it can't hold the average {average.name}.",
                location=Location(block=trained[0]),
                next_step="Freeze it: set trainable to false.",
            )
        if trained or not sources or not targets:
            return ()
        if len(sources) == len(targets) == 1:
            pairs = [(sources[0], targets[0])]
        else:
            pairs = self._paired(at, average, sources, targets)
        return tuple(pair for pair in pairs if self._same_form((*at, "into"), *pair))

    def _paired(
        self, at: FieldPath, average: Average, sources: Sequence[str], targets: Sequence[str]
    ) -> list[tuple[str, str]]:
        """Sources and targets for which the wildcards stand for the same."""
        program = self._program
        by_parts = {stand_ins(average.into, name, program): name for name in targets}
        pairs = []
        for name in sources:
            target = by_parts.pop(stand_ins(average.of, name, program), None)
            if target is None:
                self._wrong(
                    (*at, "into"),
                    f"{average.into} has no target for {name}.",
                    location=Location(block=name),
                    expected="for each variable one with the same text in place of the wildcards",
                )
                return []
            pairs.append((name, target))
        for target in by_parts.values():
            self._wrong(
                (*at, "of"),
                f"{average.of} has no source for {target}.",
                location=Location(block=target),
            )
        return pairs

    def _same_form(self, at: FieldPath, source: str, target: str) -> bool:
        leaves = self._program.leaves
        if source not in leaves or target not in leaves:
            return False  # their blocks have a problem of their own
        one, other = leaves[source].value, leaves[target].value
        same = (one.shape, one.dtype) == (other.shape, other.dtype)
        if not same:
            self._wrong(
                at,
                f"{target} can't hold the average of {source}.",
                location=Location(block=target),
                expected=f"{one.dtype} of shape {list(one.shape)}",
                got=f"{other.dtype} of shape {list(other.shape)}",
            )
        return same

    def _ports(self, at: FieldPath, place: str) -> tuple[PortPath, ...]:
        try:
            find_port(self._program, place)
            return traced_ports(self._program, [place])
        except RunError as error:
            self.remarks.append(RecipeRemark(at, error))
        except GradwireError as error:
            self._wrong(at, error.what)
        return ()

    def _owned_twice(self, rules: Iterable[ResolvedRule]) -> None:
        owners: dict[str, str] = {}
        for i, rule in enumerate(rules):
            for name in rule.variables:
                if name in owners:
                    text = f"{owners[name]} and {rule.rule.name} both update {name}."
                    self._say(("optimisers", i, "variables"), text)
                owners.setdefault(name, rule.rule.name)

    def _require_variable(self, at: FieldPath, pattern: str, whose: str) -> None:
        """Say so if a pattern names no trained variable."""
        program = self._program
        if any(names_variable(pattern, name, program) for name in program.trainable):
            return
        frozen = [n for n in program.sources("variable") if names_variable(pattern, n, program)]
        if frozen:
            self._wrong(
                at,
                f"{pattern} {whose} names no trained variable: {frozen[0]} is frozen.",
                location=Location(block=frozen[0]),
                next_step="Train it, or take it out of the pattern.",
            )
        else:
            near = did_you_mean(pattern, program.trainable)
            text = no_match(pattern, "trained variable", program.trainable)
            self._wrong(at, text, next_step=near)

    def _names(self, field: str, kind: str, parts: Iterable[OptimiserRule | Average]) -> None:
        seen: set[str] = set()
        for i, part in enumerate(parts):
            if part.name in seen:
                self._wrong((field, i, "name"), f"There are two {kind}s called {part.name!r}.")
            seen.add(part.name)

    def _wrong(
        self,
        field: FieldPath,
        what: str,
        *,
        location: Location | None = None,
        expected: str | None = None,
        got: str | None = None,
        next_step: str | None = None,
    ) -> None:
        error = RunError(what, location=location, expected=expected, got=got, next_step=next_step)
        self.remarks.append(RecipeRemark(field, error))

    def _say(self, field: FieldPath, what: str) -> None:
        self.remarks.append(RecipeRemark(field, RunError(what), is_error=False))
