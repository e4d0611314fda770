"""Tooltips of blocks, ports and wires."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gradwire.app.canvas.scene.covered import cover_of
from gradwire.app.canvas.state.badge_labels import NumberStatus, badge_labels, status_sentence
from gradwire.app.canvas.state.formatting import described
from gradwire.app.canvas.state.looks import picture_of, type_name
from gradwire.app.canvas.state.outlines import listed
from gradwire.app.services.translation import editor
from gradwire.blocks.library.pages import Page as PageBlock
from gradwire.blocks.library.sources import Variable
from gradwire.runtime.diagram import PortName
from gradwire.runtime.flow.words import sentences

if TYPE_CHECKING:
    from collections.abc import Sequence

    from gradwire.app.canvas.state.annotations import Annotations
    from gradwire.app.canvas.state.page_result import PageResult
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
