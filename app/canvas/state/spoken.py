"""What a screen reader says of blocks, ports and wires, in one sentence each."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import QCoreApplication

from app.canvas.scene.focus import Kind
from app.canvas.state.codes import STATE_OF
from app.canvas.state.formatting import number
from runtime.diagram.paths import PortName

if TYPE_CHECKING:
    from app.canvas.scene.focus import Focus
    from app.canvas.state.annotations import Facts
    from app.canvas.state.lanes import Strand


def told(facts: Facts, focus: Focus) -> str:
    """What is said of ``focus``."""
    match focus.kind:
        case Kind.WIRE:
            return wire_told(facts, focus.name)
        case Kind.BEND:
            return bend_told(facts, focus)
        case Kind.BLOCK:
            return block_told(facts, focus.name)
        case Kind.NOTE:
            note = facts.scene.page.notes[focus.name]
            return f"{_say('frame') if note.frame else _say('note')} {note.text}"
        case _:
            return port_told(facts, PortName.parse(focus.name), focus.kind is Kind.INPUT)


def block_told(facts: Facts, name: str) -> str:
    """``mul1, Mul``, its value where it is a number, and what is wrong with it."""
    i = facts.scene.index[name]
    look = facts.look(i)
    parts = [name, facts.type_name(i)]
    for section in look.sections:
        sign = {"": _say("value"), "∇": _say("gradient")}.get(section.mark, section.mark)
        rows = "; ".join(" ".join(row) for row in section.readout.cells)
        parts.append(f"{sign} {rows}")
    parts += facts.badges(i)
    parts += [d.what for (block, _), ds in facts.problems.items() if block == name for d in ds]
    return ", ".join(parts)


def port_told(facts: Facts, name: PortName, is_input: bool) -> str:
    """``input a of mul1, from w``; ``output out of w, to 2 inputs``; what an open input takes."""
    page = facts.scene.page
    if not is_input:
        readers = sum(source == name for source in page.wires.values())
        end = _say("not read") if not readers else _say("to {0} inputs").format(readers)
        return f"{_say('output')} {name.port} {_say('of')} {name.block}, {end}"
    head = f"{_say('input')} {name.port} {_say('of')} {name.block}"
    source = page.wires.get(name)
    if source is not None:
        return f"{head}, {_say('from')} {source.block}"
    literal = page.blocks[name.block].literals.get(name.port)
    if literal is not None and not literal.tensor.shape:
        return f"{head}, {number(literal.array[()])}"
    return f"{head}, {_say('not wired')}"


def wire_told(facts: Facts, key: str) -> str:
    """``wire w to mul1.a, stopped by sg1``."""
    target = PortName.parse(key)
    source, wire = facts.scene.page.wires[target], facts.scene.wire_index[key]
    several = len(facts.scene.slots[facts.scene.index[source.block]].outputs) > 1
    head = f"{_say('wire')} {source if several else source.block} {_say('to')} {key}"
    told = [_lane_told(strand, wire) for strand in facts.strands]
    if facts.stale and facts.result is not None:
        told.append(_say("stale, of an older diagram"))
    return ", ".join([head, *filter(None, told)])


def _lane_told(strand: Strand, wire: int) -> str:
    """``stopped by sg1``; with the name of the loss, and how many leaves of a tree carry."""
    state = STATE_OF.get(int(strand.codes[wire]))
    if state is None:
        return ""
    cutters = strand.cutters(wire) if state.row.cut else ()
    by = f" {_say('by')} {', '.join(cutters)}" if cutters else ""
    leaves = strand.leaves(wire)
    count = "" if leaves is None else ", " + _say("{0} of {1} leaves carry").format(*leaves)
    if strand.is_origin(wire):
        count += ", " + _say("made here")
    about = f"{strand.name}: " if strand.name else ""
    return f"{about}{_say(state.row.spoken)}{by}{count}"


def bend_told(facts: Facts, focus: Focus) -> str:
    """``bend 1 of 2, wire w to mul1.a``."""
    bends = int(facts.scene.bend_counts[facts.scene.wire_index[focus.name]])
    place = _say("bend {0} of {1}").format(focus.number + 1, bends)
    return f"{place}, {wire_told(facts, focus.name)}"


def _say(text: str) -> str:
    return QCoreApplication.translate("telling", text)
