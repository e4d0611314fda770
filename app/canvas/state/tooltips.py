"""Tooltips of blocks, ports and wires.

For screen readers, one sentence about each, and about each bend and note.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from gradwire.app.canvas.scene.focus import FocusKind
from gradwire.app.canvas.scene.obstacles import cover_of
from gradwire.app.canvas.state.badge_labels import NumberStatus, badge_labels, status_sentence
from gradwire.app.canvas.state.formatting import described, listed
from gradwire.app.canvas.state.lanes import STATE_OF
from gradwire.app.canvas.state.looks import picture_of, type_name
from gradwire.app.services.palette import NAMES
from gradwire.app.services.translation import editor
from gradwire.blocks.library.pages import Page as PageBlock
from gradwire.blocks.library.sources import Variable
from gradwire.runtime.diagram import PLAIN, PortName, owned_inputs
from gradwire.runtime.flow import number
from gradwire.runtime.flow.words import sentences

if TYPE_CHECKING:
    from collections.abc import Sequence

    from gradwire.app.canvas.scene.focus import Focus
    from gradwire.app.canvas.scene.geometry import Scene
    from gradwire.app.canvas.state.annotations import Annotations, PageResult
    from gradwire.app.canvas.state.lanes import Lanes
    from gradwire.blocks.block import Block
    from gradwire.runtime.diagram import InstancePath


def block_tip(page: PageResult, i: int, status: NumberStatus = NumberStatus.CURRENT) -> str:
    """The problems of a block, or else its name, type, summary, badges and status."""
    name, block = page.scene.names[i], page.scene.blocks[i]
    if problems := page.problems_of(name):
        return "\n".join(map(str, problems))
    head = f"{name}: {type_name(block)}\n{type(block).summary()}"
    remarks = [
        *view_sentences(page, i),
        *sharing_sentences(page, i),
        *badge_sentences(page, i),
        status_sentence(status),
    ]
    return "\n".join([head, *filter(None, remarks)])


def view_sentences(page: PageResult, i: int) -> list[str]:
    """What a view shows, and what it does not."""
    picture = picture_of(page, i)
    return [] if picture is None else [picture.summary, *picture.notes]


def sharing_sentences(page: PageResult, i: int) -> list[str]:
    """That a use has its own variables, or which uses share a variable."""
    block = page.scene.blocks[i]
    if isinstance(block, PageBlock) and block.independent:
        return [editor.tr("This use has variables of its own.")]
    flow = None if page.result is None else page.result.flow
    if flow is None or not isinstance(block, Variable):
        return []
    names = flow.program.flat.names(page.use / page.scene.names[i])
    return [editor.tr("Shared by {0}.").format(uses_text(names))] if len(names) > 1 else []


def uses_text(variables: Sequence[InstancePath]) -> str:
    """The uses of a page that share these variables: ``enc1 and enc2``."""
    return sentences.names([variable.use for variable in variables])


def badge_sentences(page: PageResult, i: int) -> list[str]:
    """The sentences of the badges of block number ``i``."""
    path, outputs = page.use / page.scene.names[i], page.scene.slots[i].outputs
    return [sentence for _, sentence in badge_labels(page.badges, path, outputs)]


def wire_tip(annotations: Annotations, wire: int) -> str:
    """The ends of a wire, and why it is in its state, for each loss shown."""
    scene = annotations.scene
    key = scene.wire_keys[wire]
    source = scene.page.wires[PortName.parse(key)]
    sentences = (lanes.sentence(wire) for lanes in annotations.lanes)
    return "\n".join([f"{source} → {key}", *dict.fromkeys(filter(None, sentences))])


def port_tip(page: PageResult, port: int) -> str:
    """A port's problems and badges, and the value that it gives or receives."""
    scene, name = page.scene, page.scene.port_name(port)
    text = [str(name), *map(str, page.problems.get((name.block, name.port), ()))]
    text += [badge.sentence for badge in page.badges.about.get(page.use.port_inside(name), ())]
    if cover := cover_of(scene, port):
        text.append(editor.tr("Hidden by {0}: move one of the two blocks.").format(cover))
    source = scene.page.wires.get(name) if scene.port_is_input[port] else name
    if source is None:
        own = name.port in scene.page.blocks[name.block].owned
        text += _own(page, name) if own else [_unwired(scene.page.blocks[name.block], name.port)]
    elif (value := page.value(source.block, source.port)) is not None:
        text.append(described(value))
    elif (tree := page.tree(source.block, source.port)) is not None:
        text.append(listed(tree, page.leaf_ports))
    return "\n".join(text)


def _own(page: PageResult, name: PortName) -> list[str]:
    """The value of an own variable, and why it gets a gradient or not."""
    variable = page.variable(name.block, name.port)
    found = [editor.tr("A variable of the block's own, {0}.").format(variable)]
    if (result := page.result) is None:
        return found
    if (value := result.values.get(variable.port("out"))) is not None:
        found.append(described(value))
    if variable in result.gradients and (verdict := result.variable(variable)) is not None:
        found.append(verdict.sentence)
    return found


def _unwired(block: Block, port: str) -> str:
    literal = block.literals.get(port)
    if literal is not None:
        return described(literal.array)
    declared = block.port(port)
    if declared is None or declared.required:
        return editor.tr("Not wired.")
    return editor.tr("Not wired: defaults to {0}.").format(declared.default)


def describe(annotations: Annotations, focus: Focus, *, computing: bool = False) -> str:
    """The sentence about ``focus``, where ``computing`` is shown or not."""
    scene = annotations.scene
    match focus.kind:
        case FocusKind.WIRE:
            return _wire(annotations, focus.name)
        case FocusKind.BEND:
            bends = int(scene.bend_counts[scene.wire_index[focus.name]])
            position = editor.tr("bend {0} of {1}").format(focus.number + 1, bends)
            return f"{position}, {_wire(annotations, focus.name)}"
        case FocusKind.BLOCK:
            return _block(
                annotations, focus.name, annotations.status(focus.name, computing=computing)
            )
        case FocusKind.NOTE:
            note = annotations.page.notes[focus.name]
            kind = editor.tr("frame") if note.frame else editor.tr("note")
            if annotations.hides_notes and not note.frame:
                return editor.tr("note, hidden until you have predicted")
            colour = [editor.tr(NAMES[note.colour])] if note.colour else []
            return " ".join([*colour, kind, note.text])
        case FocusKind.INPUT:
            return _with_cover(scene, focus.name, _input(annotations, PortName.parse(focus.name)))
        case FocusKind.OUTPUT:
            return _with_cover(scene, focus.name, _output(scene, PortName.parse(focus.name)))


def _block(annotations: Annotations, name: str, status: NumberStatus) -> str:
    """``mul1, Mul``, its value and gradient, its badges, problems and status."""
    scene, page = annotations.scene, annotations.page
    i = scene.index[name]
    parts = [name, type_name(scene.blocks[i])]
    parts += [editor.tr("bypassed")] if scene.blocks[i].bypassed else []
    style = scene.page.styles.get(name, PLAIN)
    parts += [editor.tr("collapsed")] if style.collapsed else []
    parts += [editor.tr(NAMES[style.colour])] if style.colour else []
    for section in annotations.look(i).sections:
        noun = {"": editor.tr("value"), "∇": editor.tr("gradient")}.get(section.mark, section.mark)
        rows = "; ".join(" ".join(row) for row in section.readout.cells)
        parts.append(f"{noun} {rows}")
    parts += view_sentences(page, i)
    owned = owned_inputs(scene.page, name)
    parts += [_input(annotations, target) for target in owned]
    parts += sharing_sentences(page, i)
    parts += badge_sentences(page, i)
    parts += [diagnostic.what for diagnostic in page.problems_of(name)]
    parts += [status_sentence(status)]
    return ", ".join(filter(None, parts))


def _output(scene: Scene, name: PortName) -> str:
    """``output out of w, to 2 inputs``."""
    readers = sum(source == name for source in scene.page.wires.values())
    end = editor.tr("not read") if not readers else editor.tr("to {0} inputs").format(readers)
    return editor.tr("output {0} of {1}").format(name.port, name.block) + f", {end}"


def _with_cover(scene: Scene, name: str, said: str) -> str:
    """What is said of a port, and which block hides it."""
    port = scene.port(*PortName.parse(name))
    cover = "" if port is None else cover_of(scene, port)
    return ", ".join([said, editor.tr("hidden by {0}").format(cover)] if cover else [said])


def _input(annotations: Annotations, name: PortName) -> str:
    """``input a of mul1, from w``; without a wire, its number or own variable if it has one."""
    scene = annotations.scene
    head = editor.tr("input {0} of {1}").format(name.port, name.block)
    source = scene.page.wires.get(name)
    if source is not None:
        return ", ".join([head, editor.tr("from {0}").format(source.block)])
    block = scene.page.blocks[name.block]
    if name.port in block.owned:
        look = annotations.look(scene.index[name.block])
        shown = look.inputs[scene.slots[scene.index[name.block]].input_at[name.port]]
        gradient = shown.text.partition("∇ ")[2]
        told = [editor.tr("gradient {0}").format(gradient)] if gradient else []
        return ", ".join([head, editor.tr("own variable"), *told])
    literal = block.literals.get(name.port)
    if literal is not None and not literal.tensor.shape:
        return f"{head}, {number(literal.array[()])}"
    return ", ".join([head, editor.tr("not wired")])


def _wire(annotations: Annotations, key: str) -> str:
    """``wire w to mul1.a, stopped by sg1``."""
    scene, page = annotations.scene, annotations.page
    source, wire = scene.page.wires[PortName.parse(key)], scene.wire_index[key]
    several = len(scene.slots[scene.index[source.block]].outputs) > 1
    head = editor.tr("wire {0} to {1}").format(source if several else source.block, key)
    parts = [head, *(_lane(lanes, wire) for lanes in annotations.lanes)]
    if page.stale:
        parts.append(editor.tr("stale, of an older diagram"))
    return ", ".join(filter(None, parts))


def _lane(lanes: Lanes, wire: int) -> str:
    """``stopped by sg1``; with the name of the loss, and how many leaves of a tree carry."""
    state = STATE_OF.get(int(lanes.codes[wire]))
    if state is None:
        return ""
    cutters = lanes.cutters(wire) if state.row.cut else ()
    by = " " + editor.tr("by {0}").format(", ".join(cutters)) if cutters else ""
    leaves = lanes.leaves(wire)
    count = "" if leaves is None else ", " + editor.tr("{0} of {1} leaves carry").format(*leaves)
    origin = ", " + editor.tr("first appears here") if lanes.is_origin(wire) else ""
    about = f"{lanes.name}: " if lanes.name else ""
    return f"{about}{editor.tr(state.row.spoken)}{by}{count}{origin}"
