"""Wrong ways to do backpropagation, each computed: what a learner who believes so would get."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from gradwire.blocks.classes.dataclass import dataclass
from gradwire.blocks.importing.kinds import is_kind
from gradwire.blocks.values import Array
from gradwire.runtime.lessons.steps import Phase

if TYPE_CHECKING:
    from gradwire.runtime.diagram.paths import InstancePath, PortPath
    from gradwire.runtime.lessons.derivative.local import LocalBlock
    from gradwire.runtime.lessons.timeline import Timeline

Returned = dict[str, Array | None]
MOST_BLOCKS = 500
"""Blocks of the largest diagram in which every misconception is followed."""
Rule = Callable[["LocalBlock", Array, Returned], Returned]
"""What goes back to each input instead of what does, for what arrives at the only output."""


@dataclass(frozen=True)
class Misconception:
    """One wrong belief about one place. ``rule`` replaces what the block there sends back;
    without one, only the first of several gradients counts at the port ``place``.
    """

    name: str
    place: str
    feedback: str
    rule: Rule | None = None


class Backpropagation:
    """Backpropagation through the blocks of a recorded step, right or wrong.

    Gradient that Gradient blocks and blocks with trees send back is left out.
    """

    def __init__(self, timeline: Timeline) -> None:
        self._steps = timeline.steps
        self._program = timeline.program
        self._locals: dict[InstancePath, LocalBlock | None] = {}
        forward = [e.path for e in timeline.events if e.phase is Phase.FORWARD]
        self._order = forward[::-1]  # also what only a wrong way reaches

    def __len__(self) -> int:
        """Number of blocks."""
        return len(self._order)

    def gradients(self, wrong: Misconception | None = None) -> dict[InstancePath, Array]:
        """The gradient of each trained variable that gets one, with one misconception or none."""
        arriving: dict[PortPath, list[Array]] = {}
        for loss in self._steps.run.losses:
            value = self._program.ports[loss]
            arriving.setdefault(loss, []).append(np.ones(value.shape, value.dtype))
        found: dict[InstancePath, Array] = {}
        for path in self._order:
            totals = self._totals(path, arriving, wrong)
            if path in self._steps.trained and totals:
                found[path] = totals["out"]
            for port, array in self._returned(path, totals, wrong).items():
                if array is not None:
                    source = self._program.instances[path].wires[port][1]
                    arriving.setdefault(self._program.flat.source(source), []).append(array)
        return found

    def _local(self, path: InstancePath) -> LocalBlock | None:
        if path not in self._locals:
            self._locals[path] = self._steps.local(path)
        return self._locals[path]

    def _totals(
        self,
        path: InstancePath,
        arriving: Mapping[PortPath, Sequence[Array]],
        wrong: Misconception | None,
    ) -> dict[str, Array]:
        totals = {}
        for name in self._program.block(path).output_names():
            port = self._program.instances[path].port(name)
            terms = arriving.get(port, [])
            if wrong is not None and wrong.rule is None and wrong.place == port:
                terms = terms[-1:]  # the first in the order of the diagram
            if terms:
                totals[name] = np.asarray(sum(terms[1:], start=terms[0]))
        return totals

    def _returned(
        self, path: InstancePath, totals: Mapping[str, Array], wrong: Misconception | None
    ) -> Returned:
        local = self._local(path)
        if local is None or not totals:
            return {}
        right = local.returned(totals)
        if wrong is None or wrong.rule is None or wrong.place != path or len(totals) != 1:
            return right
        (arrived,) = totals.values()
        return wrong.rule(local, arrived, right)

    def wrong_gradients(self) -> list[tuple[Misconception, dict[InstancePath, Array]]]:
        """What each misconception gives."""
        return [(each, self.gradients(each)) for each in self.misconceptions()]

    def misconceptions(self) -> Iterator[Misconception]:
        """Those that concern a block or a fan-out of this diagram."""
        for path in self._order:
            local, block = self._local(path), self._program.block(path)
            for kind, name, feedback, rule in _RULES:
                if local is not None and is_kind(block, kind):
                    yield Misconception(name, path, feedback.format(path), rule)
        for port, readers in self._steps.readers.items():
            if readers > 1:
                text = _ONE_BRANCH.format(port.short, readers)
                yield Misconception("one branch only", port, text)


@dataclass(frozen=True, eq=False)
class Distractor:
    """A wrong answer with the misconception that gives it; a value of None is the answer None.

    ``place`` is the path of the block or port that the feedback is about.
    """

    value: Array | None
    name: str
    feedback: str
    place: str


Wrong: TypeAlias = "Sequence[tuple[Misconception, Mapping[InstancePath, Array]]]"
"""Misconceptions, each with the gradients that it gives."""


def computed_distractors(
    path: InstancePath, gradient: Array | None, right: Array | None, wrong: Wrong
) -> Iterator[Distractor]:
    """What each misconception gives for a variable, where that is not its ``gradient``.

    ``right`` is what ``Backpropagation`` gives; where that is not the gradient, as through a
    Gradient block, nothing is known of the wrong ways either.
    """
    if gradient is not None and (right is None or not _agree(right, gradient)):
        return
    for each, gradients in wrong:
        value = gradients.get(path)
        if value is not None and not (gradient is not None and _agree(value, gradient)):
            yield Distractor(value, each.name, each.feedback, each.place)


def simple_distractors(path: str, gradient: Array | None) -> Iterator[Distractor]:
    """Wrong answers that need no other computation: another sign, None for 0 and 0 for None."""
    if gradient is None:
        text = f"No route reaches {path}: there is no gradient, which is not a gradient of 0."
        yield Distractor(np.zeros(()), "None for 0", text, path)
        return
    if np.any(gradient):
        yield Distractor(-gradient, "sign", "The sign is the other way round.", path)
        text = f"Gradient reaches {path}, and it is not 0."
        yield Distractor(np.zeros_like(gradient), "nothing arrives", text, path)
        text = f"A route leads from the loss to {path}."
        yield Distractor(None, "None for a number", text, path)
    else:
        text = f"A route leads to {path}: what arrives is 0, which is not None."
        yield Distractor(None, "None for 0", text, path)


def _agree(one: Array, other: Array) -> bool:
    return one.shape == other.shape and bool(np.allclose(one, other, rtol=1e-4, equal_nan=True))


def _own_value(local: LocalBlock, arrived: Array, right: Returned) -> Returned:
    return {
        port: arrived * local.inputs[port] if local.inputs[port].shape == arrived.shape else back
        for port, back in right.items()
    }


def _unchanged(local: LocalBlock, arrived: Array, right: Returned) -> Returned:
    return {
        port: arrived if back is not None and back.shape == arrived.shape else back
        for port, back in right.items()
    }


def _let_through(local: LocalBlock, arrived: Array, right: Returned) -> Returned:
    return dict.fromkeys(right, arrived)


def _no_sign(local: LocalBlock, arrived: Array, right: Returned) -> Returned:
    turned = [*right][-1:]
    return {
        port: -back if port in turned and back is not None else back for port, back in right.items()
    }


def _no_factor(local: LocalBlock, arrived: Array, right: Returned) -> Returned:
    return {port: None if back is None else back / 2 for port, back in right.items()}


def _sum_for_mean(local: LocalBlock, arrived: Array, right: Returned) -> Returned:
    (given,), (made,) = local.inputs.values(), local.outputs.values()
    count = max(1, given.size // max(1, made.size))
    return {port: None if back is None else back * count for port, back in right.items()}


_ONE_BRANCH = "{0} is read {1} times, and every reader sends its own gradient back: they add up."
_RULES: tuple[tuple[str, str, str, Rule], ...] = (
    ("Mul", "its own value", "At {0} each factor gets the gradient times the other factor, not "
     "times its own value.", _own_value),
    ("Mul", "upstream unchanged", "{0} multiplies the gradient that passes it by the other factor.",
     _unchanged),
    ("Sub", "sign", "{0} subtracts its second input, so the gradient that goes back there changes "
     "sign.", _no_sign),
    ("Neg", "sign", "{0} changes the sign of what passes it, forward and backward.", _no_sign),
    ("Square", "forgotten factor", "The derivative of x² at {0} is 2x; the 2 is missing.",
     _no_factor),
    ("Square", "upstream unchanged", "{0} multiplies the gradient that passes it by 2x.",
     _unchanged),
    ("Mean", "sum for mean", "{0} divides by the number of elements, and so does its gradient.",
     _sum_for_mean),
    ("StopGradient", "stop ignored", "{0} lets the value through, but no gradient.", _let_through),
)  # fmt: skip
"""Kind of block, name of the misconception, what to say about it, and the wrong rule."""
NAMES = (
    *dict.fromkeys(name for _, name, _, _ in _RULES),
    "one branch only",
    "None for 0",
    "None for a number",
    "nothing arrives",
    "gradient for value",
    "value stopped",
    "stop blocks all",
)
"""All misconceptions that an answer can be matched to."""
