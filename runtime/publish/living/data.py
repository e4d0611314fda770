"""A diagram as the data of a page that computes it; see the package for the format."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from gradwire.blocks.classes.dataclass import dataclass
from gradwire.blocks.errors import RunError
from gradwire.blocks.values import PortLiteral
from gradwire.runtime.data.rows import Stream
from gradwire.runtime.engine.lowering import lower
from gradwire.runtime.engine.session.execution import ValueStore
from gradwire.runtime.flow.analyse import analyse
from gradwire.runtime.flow.numbers.rules import THRESHOLDS
from gradwire.runtime.flow.structure.disagreements import disagreements
from gradwire.runtime.flow.structure.invariances import invariance
from gradwire.runtime.flow.words.states import State
from gradwire.runtime.publish.living.computing.initial import initial_data
from gradwire.runtime.publish.living.computing.limits import (
    inexact,
    is_exact,
    require_data,
    require_program,
)
from gradwire.runtime.publish.living.computing.switches import Switches, switches_of
from gradwire.runtime.publish.living.computing.tape import Tape, tape_of
from gradwire.runtime.publish.living.drawn.picture import pictures
from gradwire.runtime.publish.living.drawn.views import shown_views
from gradwire.runtime.publish.living.lesson import FOR_ANYONE, Exercise, lesson_data
from gradwire.runtime.publish.living.reasons import PageVerdicts, block_data
from gradwire.runtime.publish.living.trials import PageTrials

if TYPE_CHECKING:
    from gradwire.blocks.trees import Tree
    from gradwire.runtime.diagram import Diagram
    from gradwire.runtime.engine.program import Program

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


def _invariant(program: Program) -> dict[str, Any]:
    """Why no loss changes with what a wire brings, for those of which that is known."""
    reasons = {wire: invariance(program, (), (wire,)) for wire in program.wire_sources}
    found = {wire: reason for wire, reason in reasons.items() if reason}
    return {"invariant": found} if found else {}


def _doubts(diagram: Diagram) -> dict[str, Any]:
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


def _verdicts(switches: Switches, most: int, program: Program) -> dict[str, Any]:
    found = PageVerdicts(program)
    for setting in switches.settings(most):
        found.add(switches, setting)
    return found.data
