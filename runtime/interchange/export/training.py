"""The recipe of a diagram as source: an update for each optimiser, and a round of all of them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, NamedTuple

from gradwire.runtime.diagram.training import (
    Clip,
    CosineSchedule,
    ExponentialSchedule,
    StepSchedule,
    WarmupCosineSchedule,
)
from gradwire.runtime.interchange.export.code import (
    INDENT,
    Names,
    deeper,
    identifier,
    indented,
    listed,
    remark,
    string,
)
from gradwire.runtime.interchange.export.module import numbered

if TYPE_CHECKING:
    from gradwire.runtime.diagram.paths import PortPath
    from gradwire.runtime.diagram.training import Average, OptimiserRule
    from gradwire.runtime.interchange.export.content import ExportContent
    from gradwire.runtime.training.recipe import ResolvedRule

_FUNCTIONS = ("initial_state", "train_round", "state", "batch", "losses", "found", "_collect")


class TrainedNames:
    """The names of the functions of a recipe, and which passes its optimisers need."""

    def __init__(self, content: ExportContent, main: str) -> None:
        self.content = content
        self.main = main
        names = Names({*_FUNCTIONS, main})
        self.rules: list[tuple[ResolvedRule, str, str]] = []
        """Each rule, the function of its passes and that of its update."""
        self.passes: list[tuple[str, Sequence[PortPath], Sequence[str]]] = []
        """Functions that follow other losses than all, with these and their variables."""
        for rule in content.recipe.rules if content.recipe else ():
            update = names.fresh(f"update_{rule.rule.name}")
            if set(rule.heads) == set(content.heads):
                self.rules.append((rule, main, update))
                continue
            own = names.fresh(f"{main}_of_{rule.rule.name}")
            self.passes.append((own, rule.heads, rule.variables))
            self.rules.append((rule, own, update))
        self.names = frozenset(names.taken)


def training_source(trained: TrainedNames, xp: str = "np") -> list[str]:
    """The functions of the recipe; nothing without one. ``xp`` is the module of the arithmetic."""
    recipe = trained.content.recipe
    if recipe is None:
        return []
    several = any(rule.rule.accumulate > 1 for rule, _, _ in trained.rules)
    counted = trained.content.program.trace.step is not None
    return [
        _state(trained),
        _collect(several, counted),
        *(_update(rule, name, xp) for rule, _, name in trained.rules),
        _round(trained),
    ]


def _state(trained: TrainedNames) -> str:
    names = "".join(
        f', "{update}": {{"count": 0, "memory": {{}}}}' for _, _, update in trained.rules
    )
    averages = trained.content.recipe.averages if trained.content.recipe else ()
    names += "".join(f', "average_{n}": {{"count": 0}}' for n in range(1, len(averages) + 1))
    return (
        "def initial_state():\n"
        '    """What the optimisers remember, before the first round."""\n'
        f'    return {{"step": 0, "round": 0{names}}}\n'
    )


def _collect(several: bool, counted: bool) -> str:
    step = ', state["step"]' if counted else ""
    if not several:
        lines = [
            '"""The losses and gradients of one pass, with the data of its step."""',
            f'result = run(parameters, batch(state["step"]){step})',
            'state["step"] += 1',
            "return result",
        ]
        return "def _collect(run, parameters, state, batch):\n" + indented(lines)
    lines = [
        '"""The losses and gradients of some passes, each with new data: their mean or sum."""',
        "losses, gradients = {}, {}",
        "for _ in range(passes):",
        f'    found, new = run(parameters, batch(state["step"]){step})',
        '    state["step"] += 1',
        "    losses = {k: losses[k] + v if k in losses else v for k, v in found.items()}",
        "    gradients = {",
        "        k: gradients[k] + v if v is not None and k in gradients else v",
        "        for k, v in new.items()",
        "    }",
        "if mean and passes > 1:",
        "    losses = {k: v / passes for k, v in losses.items()}",
        "    gradients = {k: v if v is None else v / passes for k, v in gradients.items()}",
        "return losses, gradients",
    ]
    return "def _collect(run, parameters, state, batch, passes=1, mean=True):\n" + indented(lines)


def _update(resolved: ResolvedRule, name: str, xp: str) -> str:
    rule = resolved.rule
    method = rule.method
    rates = {path: resolved.numbers_of(path) for path in resolved.variables}
    alike = len(set(rates.values())) <= 1
    lr, decay = next(iter(rates.values()), (method.lr, method.weight_decay))
    lines = [
        f'"""One update of {remark(rule.name)}: {method.kind}."""',
        'state["count"] += 1',
        't = state["count"]',
        *_owned(resolved),
        *_clipped(rule.clip, xp),
    ]
    if not alike:
        lines.append("# The learning rate and the weight decay of each variable.")
        items = [f"{string(path)}: {numbers!r}" for path, numbers in rates.items()]
        lines.append(listed("rates = {", items, "}"))
    lines += ["new = dict(parameters)", "for name, g in own.items():"]
    rate = repr(lr)
    if not alike:
        lines.append(f"{INDENT}base, decay = rates[name]")
        rate = "base"
    inner = [f"lr = {rate_of(rule, rate)}", "v = parameters[name]"]
    moves = method.update(xp, "decay" if not alike else repr(decay) if decay else "")
    if any("memory" in line for line in moves):
        inner.append('memory = state["memory"].setdefault(name, {})')
    inner += [*moves, "new[name] = v"]
    lines += [f"{INDENT}{line}" for line in inner]
    lines.append("return new")
    return f"def {name}(parameters, gradients, state):\n{indented(lines)}"


def _owned(resolved: ResolvedRule) -> Iterator[str]:
    yield listed("names = [", [string(path) for path in resolved.variables], "]")
    yield "own = {name: gradients[name] for name in names if gradients[name] is not None}"


def _clipped(clip: Clip | None, xp: str) -> Iterator[str]:
    if clip is None:
        return
    limit = repr(clip.limit)
    if clip.by == "value":
        yield f"own = {{name: {xp}.clip(g, -{limit}, {limit}) for name, g in own.items()}}"
        return
    yield "norm = math.sqrt(sum(float((g * g).sum()) for g in own.values()))"
    yield f"factor = min(1.0, {limit} / (norm + 1e-6))"
    yield "own = {name: factor * g if factor < 1 else g for name, g in own.items()}"


def rate_of(rule: OptimiserRule, lr: str) -> str:
    """The learning rate of update ``t``, counted from 1, as an expression."""
    match rule.schedule:
        case StepSchedule(step_size=size, gamma=gamma):
            return f"{lr} * {gamma!r} ** ((t - 1) // {size})"
        case ExponentialSchedule(gamma=gamma):
            return f"{lr} * {gamma!r} ** (t - 1)"
        case CosineSchedule(t_max=length, eta_min=least):
            return _cosine(lr, "(t - 1)", length, least)
        case WarmupCosineSchedule(warmup_steps=steps, start_factor=start) as warm:
            rising = f"{lr} * ({start!r} + (1 - {start!r}) * (t - 1) / {steps})"
            falling = _cosine(lr, f"(t - 1 - {steps})", warm.t_max, warm.eta_min)
            return f"{rising} if t <= {steps} else {falling}"
        case _:
            return lr


def _cosine(lr: str, updates: str, length: int, least: float) -> str:
    wave = f"(1 + math.cos(math.pi * {updates} / {length})) / 2"
    return f"{least!r} + ({lr} - {least!r}) * {wave}" if least else f"{lr} * {wave}"


def _round(trained: TrainedNames) -> str:
    recipe = trained.content.recipe
    assert recipe is not None  # or there is no training
    lines = [
        '"""One round of the recipe: new parameters, and the losses before their updates.',
        "",
        "``batch`` gives the inputs of a step; ``state`` is changed.",
        '"""',
        'state["round"] += 1',
        "losses = {}",
    ]
    kept = "losses = {**found, **losses}"
    turns = []
    for rule, run, update in trained.rules:
        call, own = _call(rule, run), f"gradients_of_{identifier(update)}"
        move, first = (
            f'parameters = {update}(parameters, {given}, state["{update}"])'
            for given in ("gradients", own)
        )
        again = [f"found, gradients = {call}", kept, move]
        turns.append(Turn(rule.rule, [f"found, {own} = {call}", kept], first, again))
    lines += turn_lines(turns, recipe.training.order == "simultaneous", 'state["round"]')
    for number, (average, pairs) in enumerate(recipe.averages, 1):
        lines += every_nth(average.every, list(_averaged(average, pairs, number)), 'state["round"]')
    lines.append("return parameters, losses")
    return f"def train_round(parameters, state, batch=lambda step: INPUTS):\n{indented(lines)}"


def _call(rule: ResolvedRule, run: str) -> str:
    if rule.rule.accumulate == 1:
        return f"_collect({run}, parameters, state, batch)"
    mean = rule.rule.reduce == "mean"
    return f"_collect({run}, parameters, state, batch, {rule.rule.accumulate}, mean={mean})"


class Turn(NamedTuple):
    """The statements of an optimiser in a round."""

    rule: OptimiserRule
    ahead: list[str]
    """A pass before all updates, where these are simultaneous."""
    update: str
    """The update by the gradients of that pass."""
    again: list[str]
    """A pass, and an update by it."""


def turn_lines(turns: Sequence[Turn], simultaneous: bool, number: str) -> list[str]:
    """The passes and updates of a round; ``number`` is that of the round."""
    lines = []
    for turn in turns if simultaneous else ():
        lines += every_nth(turn.rule.every, turn.ahead, number)
    for turn in turns:
        own = [turn.update] if simultaneous else []
        times = turn.rule.steps - len(own)
        if times == 1:
            own += turn.again
        elif times:
            own += [f"for _ in range({times}):", *deeper(turn.again)]
        lines += every_nth(turn.rule.every, own, number)
    return lines


def every_nth(every: int, lines: list[str], number: str) -> list[str]:
    """Statements for some rounds only, whose ``number`` counts from 1."""
    if every == 1 or not lines:
        return lines
    return [f"if {number} % {every} == 0:", *deeper(lines)]


def _averaged(average: Average, pairs: Sequence[tuple[str, str]], number: int) -> Iterator[str]:
    yield f"# The average {remark(average.name)}: frozen variables follow trained ones."
    yield f'memory = state["average_{number}"]'
    yield 'memory["count"] += 1'
    decay = repr(average.decay)
    if average.start == "first_update":
        decay = f'(0.0 if memory["count"] == 1 else {average.decay!r})'
    yield listed("for source, target in [", [numbered(pair) for pair in pairs], "]:")
    if average.start == "zero_debiased":
        yield f"{INDENT}total = {decay} * memory.get(target, 0.0)"
        yield f"{INDENT}total = total + (1 - {decay}) * parameters[source]"
        yield f"{INDENT}memory[target] = total"
        yield f'{INDENT}mean = total / (1 - {average.decay!r} ** memory["count"])'
    else:
        yield f"{INDENT}kept, new = parameters[target], parameters[source]"
        yield f"{INDENT}mean = {decay} * kept + (1 - {decay}) * new"
    yield f"{INDENT}parameters = {{**parameters, target: mean}}"
