"""A diagram as the data of a page that computes it; see the package for the format."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from functools import cache, cached_property
from itertools import pairwise
from math import prod
from typing import TYPE_CHECKING, Any

import numpy as np

from gradwire.blocks.classes.dataclass import dataclass
from gradwire.blocks.errors import GradwireError, RunError
from gradwire.blocks.library.gradient import StopGradient
from gradwire.blocks.library.sources import Variable
from gradwire.blocks.plugins import is_own
from gradwire.blocks.values import Json, PortLiteral
from gradwire.runtime.calculus.dtypes import INTEGERS, is_float
from gradwire.runtime.calculus.primitives.base import CONSTANT, LEAF, RESHAPE
from gradwire.runtime.data.rows import Stream
from gradwire.runtime.engine import Session
from gradwire.runtime.engine.lowering import lower
from gradwire.runtime.engine.session.execution import ValueStore
from gradwire.runtime.flow.analyse import analyse
from gradwire.runtime.flow.numbers.rules import THRESHOLDS
from gradwire.runtime.flow.structure.disagreements import disagreements
from gradwire.runtime.flow.structure.invariances import invariance
from gradwire.runtime.flow.tools.interventions import CloseStop, CutWire, OpenStop
from gradwire.runtime.flow.words.states import State
from gradwire.runtime.lessons.expressions.facts import Facts
from gradwire.runtime.lessons.expressions.grammar import WHAT_IFS
from gradwire.runtime.lessons.expressions.wording import trials_in
from gradwire.runtime.publish.living.computing.kernels import KERNELS
from gradwire.runtime.publish.living.computing.numbers import LARGEST_INTEGER, number, numbers
from gradwire.runtime.publish.living.computing.switches import (
    Switches,
    switches_of,
    upstream_of_gradients,
)
from gradwire.runtime.publish.living.computing.tape import Tape, tape_of
from gradwire.runtime.publish.living.drawn.picture import pictures, shown_views
from gradwire.runtime.publish.living.lesson import FOR_ANYONE, Exercise, lesson_data
from gradwire.runtime.publish.living.reasons import PageVerdicts, block_data
from gradwire.runtime.publish.living.writing.repeats import is_long, repeats

if TYPE_CHECKING:
    from gradwire.blocks.block import Source
    from gradwire.blocks.trees import Tree
    from gradwire.blocks.values import Array
    from gradwire.runtime.calculus import Primitive
    from gradwire.runtime.diagram import Diagram
    from gradwire.runtime.diagram.paths import InstancePath
    from gradwire.runtime.engine.program import Program
    from gradwire.runtime.flow.tools.interventions import Intervention
    from gradwire.runtime.lessons.texts import TextSlot


# What-ifs in the texts of a page: which of them it can try, and the numbers of the others.


class PageTrials:
    """What a page with these switches can try: it opens and closes whole stops, and cuts wires that
    no Gradient block differentiates through.
    """

    def __init__(self, switches: Switches, program: Program) -> None:
        self._switches = switches
        self._program = program

    @cached_property
    def untried(self) -> list[str]:
        """The stops and wires that a page has, and can't open, close or cut for a what-if; none
        for a diagram that asks no such thing.
        """
        diagram, program = self._switches.diagram, self._program
        texts = [note.text for page in diagram.pages.values() for note in page.notes.values()]
        asked = [*texts, diagram.lesson.model_dump_json() if diagram.lesson else ""]
        if not any(f"{name}(" in text for name in WHAT_IFS for text in asked):
            return []
        differentiated = upstream_of_gradients(program)
        uses = Counter((each.page, each.name) for each in program.instances.values())
        wires = []
        for wire, target in program.wire_targets.items():
            markers = {program.wires.get(leaf) for leaf in program.leaf_wires(wire)}
            block = program.instances[target]
            if not markers.isdisjoint(differentiated) or uses[block.page, block.name] > 1:
                wires.append(wire)
        return sorted([*filter(self._spares, self._switches.paths), *wires])

    def _spares(self, stop: InstancePath) -> bool:
        block = self._program.block(stop)
        return isinstance(block, StopGradient) and bool(block.spare)

    def published(self, slot: TextSlot) -> str | None:
        """What an expression is worth that a page can't compute; None for the others."""
        steps = (step for trial in trials_in(slot.condition.tree) for step in trial)
        if all(map(self._follows, steps)):
            return None
        try:
            return slot.text(Facts(Session(self._switches.diagram)))
        except GradwireError:
            return "?"

    def _follows(self, step: Intervention) -> bool:
        if isinstance(step, CutWire):
            return step.wire in self._program.wire_sources and step.wire not in self.untried
        if not isinstance(step, OpenStop | CloseStop) or (isinstance(step, OpenStop) and step.leaf):
            return False
        return step.block in self._switches.paths and step.block not in self.untried


# What a living page can't compute, each with its reason.

MOST_ELEMENTS = 1_000_000
"""Numbers of all arrays that a page keeps in memory: about 8 MB."""
MOST_COMPUTED = 20_000_000
"""Numbers of all arrays in all steps of loops, of which a page keeps only some."""
MOST_OPERATIONS = 20_000
DTYPES = frozenset({"float64", "float32", "bool"}) | frozenset(INTEGERS)
_WITHOUT_KERNEL = frozenset({LEAF.name, CONSTANT.name, RESHAPE.name, "collect"})


def require_program(program: Program) -> None:
    """Raise RunError if the diagram has errors, or nothing to differentiate."""
    for diagnostic in program.diagnostics:
        if diagnostic.severity == "error":
            raise RunError(str(diagnostic), next_step="Repair the diagram first.")
    if not program.heads():
        raise RunError("The diagram has no loss.", next_step="Add a Loss block.")
    for head in program.heads():
        value = program.ports[head]
        if not is_float(value.dtype) or (value.shape and not program.block(head.block).head):
            raise RunError(f"{head} is no number to differentiate.")


def require_data(tapes: Sequence[Tape]) -> None:
    """Raise RunError if the page's script can't compute what a tape says."""
    for tape in tapes:
        for reason in _obstacles(tape):
            raise RunError(reason)


def _obstacles(tape: Tape) -> Iterator[str]:
    count = len(tape.ops)
    computed = total = sum(op.value.size for op in tape.ops)
    uses = (str(path) for paths in tape.program.flat.uses.values() for path in paths)
    if (count > MOST_OPERATIONS or total > MOST_ELEMENTS) and is_long(uses):
        count, total = _as_loops(tape.data["ops"])
    if count > MOST_OPERATIONS:
        yield f"It has {count:,} operations, and a page computes {MOST_OPERATIONS:,}."
    if total > MOST_ELEMENTS:
        yield f"It computes {total:,} numbers, and a page {MOST_ELEMENTS:,}."
    if computed > MOST_COMPUTED:
        yield f"Its loops compute {computed:,} numbers, and those of a page {MOST_COMPUTED:,}."
    for op in tape.ops:
        value = op.value
        if value.dtype not in DTYPES:
            yield f"{value.owner} computes in {value.dtype}, which browsers don't."
        if not _is_computed(value.primitive):
            yield f"The page has no arithmetic for {value.primitive.name!r} of {value.owner}."
        if value.primitive is CONSTANT and not is_exact(value.attributes["array"]):
            yield inexact(str(value.owner))


def _as_loops(ops: Sequence[Sequence[Any]]) -> tuple[int, int]:
    """How many operations a page has, and how many numbers it keeps: those of one period of what
    repeats, and of all periods what is read outside of one. What is summed is added up at once.
    """
    rows, runs = repeats(ops)
    first: list[int] = []
    row_of: list[int] = []
    times = [1] * len(rows)
    for start, width, count, _ in runs:
        row_of += range(row_of[-1] + 1 if row_of else 0, start)
        first.append(len(row_of))
        row_of += [*range(start, start + width)] * count
    row_of += range(row_of[-1] + 1 if row_of else 0, len(rows))
    loops = {
        row: (at, width, count)
        for at, (start, width, count, _) in zip(first, runs, strict=True)
        for row in range(start, start + width)
    }
    for place, (name, inputs, *_) in enumerate(ops):
        at, width, _ = loops.get(row_of[place], (place, 1, 1))
        period = at + (place - at) // width * width
        is_apart = row_of[place] not in loops
        for x in inputs if not (is_apart and name == "collect") else ():
            if is_apart or not period <= x < period + width:
                while ops[x][0] == "reshape":
                    x = ops[x][1][0]
                times[row_of[x]] = loops.get(row_of[x], (0, 1, 1))[2]
    sizes = (prod(row[2]) for row in rows)
    return len(rows), sum(size * count for size, count in zip(sizes, times, strict=True))


def _is_computed(primitive: Primitive) -> bool:
    """A plug-in's is computed as it is spelled, by its name."""
    is_known = primitive.name in KERNELS | _WITHOUT_KERNEL
    return (
        is_known
        if is_own(primitive.kernel)
        else not is_known and bool(primitive.spelling.javascript)
    )


def is_exact(array: Array) -> bool:
    """Whether JavaScript's numbers have all integers of an array; floats are as they are."""
    if array.dtype.kind not in "iu" or not array.size:
        return True
    return max(abs(int(array.max())), abs(int(array.min()))) <= LARGEST_INTEGER


def inexact(place: str) -> str:
    """The reason why integers can't be published."""
    return f"{place} has integers beyond 2⁵³, which JavaScript's numbers don't have."


# The numbers of sources as a page has them: written out, or how they are drawn.
#
# Weights that an initialiser draws have no pattern that packing could find, but a page can draw
# them again: it gets the key of their generator, and their interval or standard deviation.

FEWEST, MOST = 16, 50_000
"""Fewer numbers are shorter written out; more take long to draw."""
_LAYERS = 256
_TAIL = 3.6541528853610088
"""Where the tail of the normal distribution begins."""
_MANTISSA = 2**52


def initial_data(source: Source | object, path: str, array: Array) -> object:
    """``array``, the numbers of a source, as plain data: all of them, or ``{key, low, span}`` or
    ``{key, deviation}`` of a Philox generator, where ``drawn`` gives the same bits by that.
    """
    if isinstance(source, Variable) and source.value is None and FEWEST <= array.size <= MOST:
        key = np.random.Philox(source.seeds(path)).state["state"]["key"].tolist()
        if (law := _law(source, array)) and drawn(key, law, array).tobytes() == array.tobytes():
            return {"key": [f"{word:x}" for word in key], **law}
    return numbers(array)


def _law(source: Variable, array: Array) -> dict[str, Json]:
    """How the numbers are distributed; nothing where they are not drawn."""
    if (interval := source.interval(array.shape)) is not None:
        low, high = interval
        return {"low": number(low), "span": number(high - low)}
    deviation = source.deviation(array.shape)
    return {} if deviation is None else {"deviation": number(deviation)}


def drawn(key: list[int], law: dict[str, Any], like: Array) -> Array:
    """Numbers in the shape and dtype of an array, as ``script/drawn.js`` draws them."""
    bits = np.random.Philox(key=np.array(key, np.uint64))
    with np.errstate(over="ignore"):
        if "span" in law:
            shares = (bits.random_raw(like.size) >> np.uint64(11)).astype(np.float64) * 2.0**-53
            return _as(law["low"] + law["span"] * shares, like)
        raw = iter(bits.random_raw(2 * like.size + _LAYERS).tolist())
        normal = np.array([_normal(raw) for _ in range(like.size)])
        return _as(normal * law["deviation"], like)


def _as(array: Array, like: Array) -> Array:
    found: Array = array.reshape(like.shape).astype(like.dtype)
    return found


def _normal(raw: Iterator[int]) -> float:
    """A standard normal number of a generator's bits, as numpy draws it.

    Source: Marsaglia, Tsang, "The Ziggurat Method for Generating Random Variables", JSS 2000.
    """
    edges, heights, inner = _ziggurat()
    while True:
        bits = next(raw)
        layer, size = bits & 255, bits >> 9 & (_MANTISSA - 1)
        x = size * (edges[layer] / _MANTISSA) * (-1 if bits & 256 else 1)
        if size < inner[layer] * _MANTISSA:
            return x
        if not layer:
            while True:
                further = -math.log1p(-_one(raw)) / _TAIL
                if -2 * math.log1p(-_one(raw)) > further * further:
                    return -(_TAIL + further) if size >> 8 & 1 else _TAIL + further
        below = heights[layer - 1] - heights[layer]
        if below * _one(raw) + heights[layer] < math.exp(-0.5 * x * x):
            return x


def _one(raw: Iterator[int]) -> float:
    return (next(raw) >> 11) * 2.0**-53


@cache
def _ziggurat() -> tuple[list[float], list[float], list[float]]:
    """The right edges of the layers, the base first and then outwards from the peak; the density at
    each; and the share of each layer that is below the density for sure.
    """
    density = math.exp(-0.5 * _TAIL * _TAIL)
    area = _TAIL * density + math.sqrt(math.pi / 2) * math.erfc(_TAIL / math.sqrt(2))
    edges = [area / density] * _LAYERS
    edges[_LAYERS - 1] = at = _TAIL
    for layer in range(_LAYERS - 2, 0, -1):
        at = math.sqrt(-2 * math.log(area / at + math.exp(-0.5 * at * at)))
        edges[layer] = at
    heights = [1.0, *(math.exp(-0.5 * edge * edge) for edge in edges[1:])]
    inner = [_TAIL / edges[0], 0.0, *(a / b for a, b in pairwise(edges[1:]))]
    return edges, heights, inner


FORMAT = 1
MOST_SENTENCES = 64
"""Combinations of switches for which sentences are written; beyond, those of the file alone."""


@dataclass(frozen=True)
class Living:
    """The data of a page, and the tapes and switches it was made from."""

    data: dict[str, Any]
    tapes: tuple[Tape, ...]
    switches: Switches
    most: int = 0
    """Combinations of switches that are shipped with sentences."""

    def settings(self) -> Iterator[tuple[bool, ...]]:
        """The combinations that are shipped with sentences."""
        return self.switches.settings(self.most)


def living_data(
    diagram: Diagram, most: int = MOST_SENTENCES, exercise: Exercise = FOR_ANYONE
) -> Living:
    """The data of a diagram's page, with sentences for up to ``most`` combinations of switches.

    Raises GradwireError, with the reason, if it can't have one.
    """
    exercise.require(diagram)
    switches = switches_of(diagram)
    program = lower(switches.switched(next(switches.inner_settings())))
    require_program(program)
    tapes = tuple(
        tape_of(lower(switches.switched(setting)), switches.paths)
        for setting in switches.inner_settings()
    )
    require_data(tapes)
    trials = PageTrials(switches, program)
    data = {
        "format": FORMAT,
        "title": diagram.title,
        "text": diagram.description,
        "heads": program.heads(),
        "seeds": _seed_wires(program),
        "switches": [asdict(switch) for switch in switches.all],
        "paths": switches.paths,
        "inner": switches.inner,
        "tapes": [tape.data for tape in tapes],
        "leaves": _leaves(program),
        "wires": {wire: source for wire, source in program.wire_sources.items()},
        "trees": _trees(program.wire_trees),
        "portTrees": _trees(program.trees),
        "aliases": {alias: program.flat.source(alias) for alias in program.flat.aliases},
        "shared": program.flat.shared,
        "thresholds": asdict(THRESHOLDS),
        "untried": trials.untried,
        **pictures(diagram, program, shown_views(diagram), trials.published),
        "blocks": block_data(program),
        "verdicts": _verdicts(switches, most, program),
        **_invariant(program),
        **_doubts(diagram),
        **lesson_data(diagram, program, exercise),
    }
    return Living(data, tapes, switches, most)


def _seed_wires(program: Program) -> list[list[str]]:
    """For each loss the wires into its Loss block: what comes back on them is its scale."""
    return [
        [
            leaf
            for wire, _ in program.instances[head.block].wires.values()
            for leaf in program.leaf_wires(wire)
        ]
        if program.block(head.block).head
        else []
        for head in program.heads()
    ]


def _leaves(program: Program) -> dict[str, Any]:
    """Sources and literals: what they are, and their numbers."""
    store = ValueStore(program.sources())
    found = {}
    for path, leaf in program.leaves.items():
        array = store.value(path, leaf)
        if array is None:
            raise RunError(
                f"The input {path} has no value.", next_step="Give it one, for readers to change."
            )
        if not is_exact(array):
            raise RunError(inexact(path))
        literal = isinstance(leaf.source, PortLiteral)
        found[path] = {
            "kind": "literal" if isinstance(leaf.source, PortLiteral) else leaf.source.kind,
            "dtype": leaf.value.dtype,
            "shape": leaf.value.shape,
            **(
                {"rows": leaf.source.rows.training_count} if isinstance(leaf.source, Stream) else {}
            ),
            "trained": not literal and path in program.trainable,
            "data": initial_data(leaf.source, path, array.astype(leaf.value.dtype)),
        }
    return found


def _trees(trees: Mapping[str, Tree]) -> dict[str, list[str]]:
    """The leaves of each tree, by path."""
    return {path: [str(leaf) for leaf in tree.arrays.values()] for path, tree in trees.items()}


def _invariant(program: Program) -> dict[str, object]:
    """Why no loss changes with what a wire brings, for those of which that is known."""
    reasons = {wire: invariance(program, (), (wire,)) for wire in program.wire_sources}
    found = {wire: reason for wire, reason in reasons.items() if reason}
    return {"invariant": found} if found else {}


def _doubts(diagram: Diagram) -> dict[str, Json]:
    """For each loss, what is said of the wires and variables whose gradients the program that the
    diagram comes from is known to have otherwise; nothing without any.
    """
    if diagram.comparison is None:
        return {}
    flow = analyse(diagram)
    program = flow.program
    if not disagreements(program):
        return {}
    names = [name for name in (*program.wire_sources, *program.trainable) if flow.doubts(name)]
    found = [[(name, flow.explain(name, loss)) for name in names] for loss in program.heads()]
    return {
        "doubts": [
            {name: v.sentence for name, v in of_loss if v.state is State.UNKNOWN}
            for of_loss in found
        ]
    }


def _verdicts(switches: Switches, most: int, program: Program) -> dict[str, object]:
    found = PageVerdicts(program)
    for setting in switches.settings(most):
        found.add(switches, setting)
    return found.data
