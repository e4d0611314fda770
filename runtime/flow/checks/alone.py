"""Blocks that compare numbers where there is just one, or whose total alone is read: what is before
them learns nothing.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import TYPE_CHECKING

from gradwire.runtime.flow.structure.invariances import constant_totals
from gradwire.runtime.flow.structure.neighbours import neighbours_of
from gradwire.runtime.flow.structure.singles import UNAFFECTED, single
from gradwire.runtime.flow.tools.findings import CONSTANT, SINGLE, Finding
from gradwire.runtime.flow.words import value_sentences
from gradwire.runtime.flow.words.states import PASSING

if TYPE_CHECKING:
    from gradwire.runtime.flow.observed import ObservedFlow


def alone(observed: ObservedFlow, known: Collection[str] = ()) -> Iterator[Finding]:
    """A finding for each such block that gradient passes by its structure, but for those ``known``
    to be at fault.
    """
    program, near = observed.program, neighbours_of(observed.program)
    totals = constant_totals(program, observed.losses)
    for path, instance in program.instances.items():
        if path in known:
            continue
        sources = near.sources(path)
        shapes = {n: program.ports[s].shape for n, s in sources.items() if s in program.ports}
        found = single(instance.block, shapes)
        wires = (path.wire(name) for name in shapes if name not in UNAFFECTED)
        if not (found or path in totals):
            continue
        if not any(observed.flow.state(wire) in PASSING for wire in wires):
            continue
        if found:
            yield Finding(SINGLE, path, f"{path} {found.reason}. {found.cure}", culprit=path)
        else:
            text = value_sentences.CONSTANT_TOTAL.format(totals[path])
            yield Finding(CONSTANT, path, f"{text[0].upper()}{text[1:]}", culprit=path)
