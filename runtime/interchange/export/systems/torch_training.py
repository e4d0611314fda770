"""The recipe of a diagram with the optimisers of PyTorch, and its rounds."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from gradwire.blocks.classes.dataclass import dataclass
from gradwire.runtime.interchange.export.code import (
    INDENT,
    Names,
    deeper,
    indented,
    listed,
    remark,
    string,
)
from gradwire.runtime.interchange.export.training import Turn, every_nth, rate_of, turn_lines

if TYPE_CHECKING:
    from gradwire.runtime.diagram.optimisers import Method
    from gradwire.runtime.diagram.training import Average, OptimiserRule
    from gradwire.runtime.interchange.export.content import ExportContent
    from gradwire.runtime.training.recipe import Recipe, ResolvedRule

_ELSEWHERE = ("kind", "lr", "weight_decay", "decoupled_weight_decay", "maximize")
"""Fields that are no setting like others."""
_TAKEN = ("model", "batch", "step", "round", "backward", "train_round")


@dataclass(frozen=True)
class _Optimiser:
    """An optimiser, the attribute that it is, and why it is written out, or nothing."""

    resolved: ResolvedRule
    name: str
    own: str

    @property
    def rule(self) -> OptimiserRule:
        return self.resolved.rule

    @property
    def method(self) -> Method:
        return self.resolved.rule.method

    @property
    def apart(self) -> bool:
        """Whether weight decay is apart from the gradient, and not by torch.optim itself."""
        method = self.method
        return method.is_decoupled and not (method.decouples_in_torch and not self.own)

    @property
    def scheduled(self) -> bool:
        """Whether the learning rate changes."""
        return rate_of(self.rule, "lr") != "lr"


@dataclass(eq=False)
class TorchRecipe:
    """Writes the class that trains a model.

    ``names`` says how the model reaches each variable, ``fresh`` gives names to classes.
    """

    content: ExportContent
    recipe: Recipe
    names: Mapping[str, str]
    fresh: Callable[[str], str]

    def __post_init__(self) -> None:
        self.counted = self.content.program.trace.step is not None
        attributes, leaves = Names(set(_TAKEN)), self.content.program.leaves
        self.rules = []
        for rule in self.recipe.rules:
            name, method = attributes.fresh(rule.rule.name), rule.rule.method
            why = method.why_not_torch({leaves[path].value.dtype for path in rule.variables})
            self.rules.append(_Optimiser(rule, name, why))
        self.averages = [
            (average, pairs, attributes.fresh(average.name))
            for average, pairs in self.recipe.averages
        ]

    def source(self) -> list[str]:
        """The optimisers that torch.optim lacks, and the class."""
        written = []
        lines = ["self.model, self.batch = model, batch", "self.step = self.round = 0"]
        for rule in self.rules:
            called = f"torch.optim.{rule.method.title()}"
            if rule.own:
                called = self.fresh(rule.method.title())
                written.append(_optimiser(called, rule))
            lines.append(f"self.{rule.name} = {self._made(rule, called)}")
            if rule.scheduled:
                lines.append(f"self.{rule.name}_updates = 0")
        for average, _, name in self.averages:
            if average.start != "initial":
                lines.append(f"self.{name}_updates, self.{name}_totals = 0, {{}}")
        parts = [
            '"""Trains a model by the recipe; ``batch`` gives the inputs of each step."""',
            "",
            "def __init__(self, model, batch=lambda step: INPUTS):",
            *deeper(lines),
            "",
            *self._backward(),
            *(line for rule in self.rules for line in self._update(rule)),
            "",
            *self._round(),
        ]
        return [*written, f"class Training:\n{indented(parts)}"]

    def _made(self, rule: _Optimiser, called: str) -> str:
        """The call that makes an optimiser: one group for each rate and weight decay."""
        method = rule.method
        groups: dict[tuple[float, float], list[str]] = {}
        for path in rule.resolved.variables:
            groups.setdefault(rule.resolved.numbers_of(path), []).append(self.names[path])
        if len(groups) == 1:
            (((lr, decay), members),) = groups.items()
            parameters = self._parameters(members)
        else:
            lr, decay = method.lr, method.weight_decay
            made = []
            for (own_lr, own_decay), members in groups.items():
                given = [f'"params": {self._parameters(members)}', f'"lr": {own_lr!r}']
                given += [] if rule.apart else [f'"weight_decay": {own_decay!r}']
                made.append(listed("{", given, "}", 60))
            parameters = listed("[", made, "]", 0)
        settings = [parameters, f"lr={lr!r}"]
        if not rule.own:
            settings += _settings(method)
        if not rule.apart and (decay or type(method).model_fields["weight_decay"].default):
            settings.append(f"weight_decay={decay!r}")
        return listed(f"{called}(", settings, ")", 80)

    def _parameters(self, members: Sequence[str]) -> str:
        """The parameters with some names: those of a module, if they are all of its parameters."""
        first = members[0].split(".")
        for depth in range(len(first)):
            inside = ".".join([*first[:depth], ""]) if depth else ""
            if {name for name in self.names.values() if name.startswith(inside)} == set(members):
                return f"{'.'.join(['model', *first[:depth]])}.parameters()"
        return listed("[", [f"model.{name}" for name in members], "]", 60)

    def _backward(self) -> list[str]:
        step = ", self.step" if self.counted else ""
        parameters = 'parameters = [p for group in optimizer.param_groups for p in group["params"]]'
        if all(rule.rule.accumulate == 1 for rule in self.rules):
            signature = "def backward(self, optimizer, heads):"
            lines = [
                '"""The losses of a pass with new data; an optimiser gets their gradients."""',
                "optimizer.zero_grad()",
                f"losses = self.model(self.batch(self.step){step})",
                "self.step += 1",
                "losses = {head: losses[head] for head in heads}",
                "total = sum(loss.sum() for loss in losses.values())",
                "if total.requires_grad:",
                INDENT + parameters,
                f"{INDENT}total.backward(inputs=parameters)",
                "return {head: loss.detach() for head, loss in losses.items()}",
            ]
            return [signature, *deeper(lines)]
        lines = [
            '"""The losses of some passes, each with new data; an optimiser gets the gradients."""',
            "optimizer.zero_grad()",
            parameters,
            "losses = dict.fromkeys(heads, 0.0)",
            "for _ in range(passes):",
            f"{INDENT}found = self.model(self.batch(self.step){step})",
            f"{INDENT}self.step += 1",
            f"{INDENT}found = {{head: found[head] / (passes if mean else 1) for head in heads}}",
            f"{INDENT}total = sum(loss.sum() for loss in found.values())",
            f"{INDENT}if total.requires_grad:",
            f"{INDENT * 2}total.backward(inputs=parameters)",
            f"{INDENT}losses = {{head: losses[head] + found[head].detach() for head in heads}}",
            "return losses",
        ]
        return ["def backward(self, optimizer, heads, passes=1, mean=True):", *deeper(lines)]

    def _update(self, rule: _Optimiser) -> Iterator[str]:
        """The method that makes an update, where there is more to it than the optimiser's step."""
        lines = self._before(rule)
        if not lines:
            return
        yield ""
        yield f"def update_{rule.name}(self):"
        about = f'"""One update of {remark(rule.rule.name)} by the gradients that it has."""'
        yield from deeper([about, *lines, f"self.{rule.name}.step()"])

    def _before(self, rule: _Optimiser) -> list[str]:
        """What is done before an optimiser steps."""
        lines, name, clip = [], rule.name, rule.rule.clip
        if clip is not None:
            kind = "norm" if clip.by == "norm" else "value"
            lines += [
                f'parameters = [p for group in self.{name}.param_groups for p in group["params"]]',
                f"torch.nn.utils.clip_grad_{kind}_(parameters, {clip.limit!r})",
            ]
        numbers = map(rule.resolved.numbers_of, rule.resolved.variables)
        groups = list(dict.fromkeys(numbers))
        if rule.scheduled:
            rates = ", ".join(repr(lr) for lr, _ in groups)
            lines += [
                f"self.{name}_updates += 1",
                f"t = self.{name}_updates",
                f"for group, lr in zip(self.{name}.param_groups, [{rates}]):",
                f'{INDENT}group["lr"] = {rate_of(rule.rule, "lr")}',
            ]
        if rule.apart and any(decay for _, decay in groups):
            decays = ", ".join(repr(decay) for _, decay in groups)
            lines += [
                "with torch.no_grad():  # weight decay apart from the gradient",
                f"{INDENT}for group, decay in zip(self.{name}.param_groups, [{decays}]):",
                f'{INDENT * 2}for p in group["params"]:',
                f"{INDENT * 3}if p.grad is not None:",
                f'{INDENT * 4}p.mul_(1 - group["lr"] * decay)',
            ]
        return lines

    def _round(self) -> list[str]:
        simultaneous = self.recipe.training.order == "simultaneous"
        lines = ['"""One round; the losses before their updates."""', "self.round += 1"]
        lines.append("losses = {}")
        turns = []
        for rule in self.rules:
            update = f"self.{rule.name}.step()"
            update = f"self.update_{rule.name}()" if self._before(rule) else update
            again = self._pass(rule)
            turns.append(Turn(rule.rule, [again], update, [again, update]))
        lines += turn_lines(turns, simultaneous, "self.round")
        for average, pairs, name in self.averages:
            own = list(self._average(average, pairs, name))
            lines += every_nth(average.every, own, "self.round")
        lines.append("return losses")
        return ["def train_round(self):", *deeper(lines)]

    def _pass(self, rule: _Optimiser) -> str:
        heads = f"[{', '.join(string(head) for head in rule.resolved.heads)}]"
        more = ""
        if rule.rule.accumulate > 1:
            more = f", passes={rule.rule.accumulate}, mean={rule.rule.reduce == 'mean'}"
        return f"losses = {{**self.backward(self.{rule.name}, {heads}{more}), **losses}}"

    def _average(
        self, average: Average, pairs: Sequence[tuple[str, str]], name: str
    ) -> Iterator[str]:
        decay = repr(average.decay)
        if average.start != "initial":
            yield f"self.{name}_updates += 1"
        if average.start == "first_update":
            decay = f"(0.0 if self.{name}_updates == 1 else {average.decay!r})"
        yield f"with torch.no_grad():  # the average {remark(average.name)} of trained variables"
        members = [f"(self.model.{self.names[a]}, self.model.{self.names[b]})" for a, b in pairs]
        loop = listed("for source, target in [", members, "]:", 80)
        yield from (INDENT + line for line in loop.split("\n"))
        if average.start == "zero_debiased":
            yield f"{INDENT * 2}total = {decay} * self.{name}_totals.get(target, 0.0)"
            yield f"{INDENT * 2}total = total + (1 - {decay}) * source"
            yield f"{INDENT * 2}self.{name}_totals[target] = total"
            yield f"{INDENT * 2}target.copy_(total / (1 - {decay} ** self.{name}_updates))"
        else:
            yield f"{INDENT * 2}target.copy_({decay} * target + (1 - {decay}) * source)"


def _settings(method: Method) -> Iterator[str]:
    """The settings that differ from their defaults."""
    fields = type(method).model_fields
    last = _ELSEWHERE[3 if method.decouples_in_torch else 4 :]
    for name in (*(n for n in fields if n not in _ELSEWHERE), *last):
        value = getattr(method, name, None)
        if name in fields and value != fields[name].default:
            yield f"{name}={value!r}"


def _optimiser(name: str, rule: _Optimiser) -> str:
    """The class of an optimiser whose update is written out."""
    method = rule.method
    inner = ['lr, v, g, memory = group["lr"], p, p.grad, self.state[p]']
    inner += method.before("" if rule.apart else 'group["weight_decay"]')
    inner += ['t = memory["t"] = memory.get("t", 0) + 1', *method.move("torch"), "p.copy_(v)"]
    parts = [
        f'"""{method.title()}: {rule.own}."""',
        "",
        "def __init__(self, params, lr, weight_decay=0.0):",
        f'{INDENT}super().__init__(params, {{"lr": lr, "weight_decay": weight_decay}})',
        "",
        "@torch.no_grad()",
        "def step(self):",
        *deeper([
            '"""Move each parameter that has a gradient."""',
            "for group in self.param_groups:",
            f'{INDENT}for p in group["params"]:',
            f"{INDENT * 2}if p.grad is None:",
            f"{INDENT * 3}continue",
            *(INDENT * 2 + line for line in inner),
        ]),
    ]  # fmt: skip
    return f"class {name}(torch.optim.Optimizer):\n{indented(parts)}"
