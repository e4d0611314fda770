"""What the face of each block shows."""

from __future__ import annotations

from dataclasses import field, fields, replace
from functools import lru_cache
from operator import attrgetter
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from gradwire.app.canvas.state.badge_labels import BadgeLabel, badge_labels
from gradwire.app.canvas.state.formatting import (
    FaceReadout,
    FaceSection,
    brief,
    charted,
    gradient_lines,
    gradient_readout,
    lines,
    one_number,
)
from gradwire.app.canvas.state.outlines import counted, outline
from gradwire.app.document.numbers import slider_of
from gradwire.app.services.translation import editor
from gradwire.blocks.block import Block, InputPort, Opaque, Source
from gradwire.blocks.classes.dataclass import dataclass
from gradwire.blocks.library.formula import Formula
from gradwire.blocks.library.pages import Composite, PageInput, Scan
from gradwire.blocks.library.pages import Page as PageBlock
from gradwire.blocks.library.views import ViewBlock
from gradwire.runtime.diagram import (
    HEADER,
    PLAIN,
    WIDTH,
    block_height,
    collapsed_offset,
    passing_input,
    port_offset,
    view_size,
)
from gradwire.runtime.flow import number

if TYPE_CHECKING:
    from collections.abc import Mapping

    from gradwire.app.canvas.scene.arrays import Indices, Ints
    from gradwire.app.canvas.state.page_result import PageResult
    from gradwire.runtime.diagram import InstancePath, PortPath, Size
    from gradwire.runtime.flow import State
    from gradwire.runtime.views import Picture

_DASH = FaceReadout((("–",),), prose=True)
_UNKNOWN_YET = "?"
"""In the place of a gradient that a timeline has not come to."""
_HIDDEN = FaceReadout(((_UNKNOWN_YET,),), prose=True)


@dataclass(frozen=True, slots=True)
class PortLook:
    """A port's dot and text: ``wired``, ``open`` (takes a default), ``missing``, ``free`` or
    ``owned`` (driven by a variable of the block's own).
    """

    text: str
    kind: str
    trouble: bool = False


class SliderLook(NamedTuple):
    """Where the knob of a slider stands, 0 … 1, and whether its number lies within the limits."""

    share: float
    is_inside: bool


@dataclass(frozen=True, slots=True)
class Look:
    """Everything that a face shows; equal looks share a picture."""

    family: str
    symbol: str
    name: str
    label: str = ""
    """Text beside the name."""
    expression: str = ""
    """What a Formula block computes, in its last line; shortened to fit."""
    lines: int = 1
    """Lines of ports or numbers, which give the height."""
    inputs: tuple[PortLook, ...] = ()
    outputs: tuple[PortLook, ...] = ()
    sections: tuple[FaceSection, ...] = ()
    stale: bool = False
    inside: State | None = None
    """The state of most concern of a wire inside a page."""
    sign: str = ""
    """What marks the page for it, where that depends on numbers."""
    head: bool = False
    """Whether the block is a loss."""
    badges: tuple[BadgeLabel, ...] = ()
    slider: SliderLook | None = None
    """The slider beside the one number of a source."""
    through: int | None = None
    """The row of the input that goes through a bypassed block; None if the block works."""
    summary: tuple[str, ...] = ()
    """One number for a face from afar: texts, each shorter than the one before."""
    colour: str = ""
    """The colour that the user gave the block, one of ``COLOURS``, or empty."""
    collapsed: bool = False
    size: Size | None = None
    """The size of a view that is not collapsed."""
    view: Picture | None = None
    """What a view shows."""
    ground: Look | None = field(default=None, compare=False, repr=False)
    """The look without numbers, where it is known."""
    _hash: int = field(default=0, init=False, compare=False, repr=False)
    """Once it is known: looks are keys, and have many parts."""
    _bare: Look | None = field(default=None, init=False, compare=False, repr=False)
    """The look without numbers, once it was asked for."""

    def __hash__(self) -> int:
        if not self._hash:
            object.__setattr__(self, "_hash", hash(_parts(self)))
        return self._hash

    @property
    def width(self) -> float:
        """Width of the face, scene units."""
        return WIDTH if self.size is None else self.size.width

    @property
    def height(self) -> float:
        """Height of the face, scene units."""
        if self.size is not None:
            return self.size.height
        return HEADER if self.collapsed else block_height(self.lines)

    def level(self, row: int, ports: tuple[PortLook, ...]) -> float:
        """How far below the top one of the ``ports`` of a side is, scene units."""
        return collapsed_offset(row, len(ports)) if self.collapsed else port_offset(row)

    def bare(self) -> Look:
        """The look without numbers; the same object where there are none."""
        if not self.sections and self.slider is None and self.view is None:
            return self
        known = self.ground or self._bare
        if known is None:
            known = replace(self, sections=(), slider=None, view=None)
            object.__setattr__(self, "_bare", known)
        return known

    def plain(self, summary: tuple[str, ...]) -> Look:
        """The look from afar: one number, no others, and no names of ports."""
        return replace(
            self,
            label="",
            expression="",
            sections=(),
            slider=None,
            badges=(),
            summary=summary if self.through is None else (),
            inputs=tuple(replace(port, text="") for port in self.inputs),
            outputs=tuple(replace(port, text="") for port in self.outputs),
            ground=None,
        )


_parts = attrgetter(*(part.name for part in fields(Look) if part.compare))


def look_of(page: PageResult, i: int, *, dimmed: bool) -> Look:
    """The look of block number ``i``; its numbers are faint if ``dimmed``."""
    scene = page.scene
    name, block = scene.names[i], scene.blocks[i]
    title = type_name(block)
    labels = badge_labels(page.badges, page.use / name, scene.slots[i].outputs)
    style, view = scene.page.styles.get(name, PLAIN), picture_of(page, i)
    look = Look(
        family=type(block).family,
        symbol=type(block).symbol or title[:1],
        name=name,
        label=_label(name, title, block),
        expression=block.label() if isinstance(block, Formula) else "",
        lines=max(int(scene.port_rows[i]), int(scene.rows[i])),
        inputs=tuple(_input_look(page, i, port) for port in scene.slots[i].inputs),
        outputs=_output_looks(page, i),
        size=view_size(block, style, int(scene.port_rows[i])),
        view=view,
        sections=sections_of(page, i),
        slider=slider_look(page, i),
        stale=dimmed,
        inside=page.worst_inside.get(name) if isinstance(block, Composite) else None,
        sign=page.sign_inside(name) if isinstance(block, Composite) else "",
        head=type(block).head,
        badges=tuple(label for label, _ in labels),
        colour=style.colour,
    )
    if view is not None:  # it takes the room
        look = replace(look, inputs=tuple(replace(port, text="") for port in look.inputs))
    look = _bypassed(look, page, i) if block.bypassed else look
    return _collapsed(look) if scene.is_collapsed[i] else look


def _collapsed(look: Look) -> Look:
    """The look of a title bar: no numbers, and no names of ports."""
    plain = look.plain(())
    label = look.label or look.expression
    return replace(plain, label=label, badges=look.badges, collapsed=True, view=None)


def _bypassed(look: Look, page: PageResult, i: int) -> Look:
    """The look of a block whose input goes through: no numbers, and no names of ports."""
    passing = passing_input(page.scene.page, page.scene.names[i])
    row = page.scene.slots[i].input_at[passing] if passing is not None else 0
    plain = look.plain(())
    return replace(plain, label=editor.tr("bypassed"), badges=look.badges, through=row)


def picture_of(page: PageResult, i: int) -> Picture | None:
    """What block ``i`` shows if it is a view, as far as it is known."""
    is_view = isinstance(page.scene.blocks[i], ViewBlock)
    return page.picture(page.scene.names[i]) if is_view else None


def summary_of(page: PageResult, i: int) -> tuple[str, ...]:
    """The number of block ``i`` from afar: the gradient of a variable, if it is known, or else the
    value of an output; of a Scan, its steps.
    """
    scene, name = page.scene, page.scene.names[i]
    block, outputs = scene.blocks[i], scene.slots[i].outputs
    if isinstance(block, Scan):
        return editor.tr("{0} steps").format(f"{block.steps:,}"), f"{block.steps:,}"
    if page.result is None or len(outputs) != 1:
        return ()
    value = page.value(name, outputs[0])
    is_variable = isinstance(block, Source) and block.kind == "variable"
    if value is not None and is_variable and page.knows_gradient(name):
        return tuple(f"∇ {text}" for text in one_number(page.gradient(name)))
    return () if value is None else one_number(value)


def type_name(block: Block) -> str:
    """The type of a block as its file names it."""
    return block.original_type if isinstance(block, Opaque) else type(block).type_name()


def row_counts(page: PageResult, among: Indices | None = None) -> Ints:
    """Number of text lines (n,) that each face needs, or each ``among`` these; else unchanged."""
    scene, result = page.scene, page.result
    if result is None or not (result.values or result.trees):
        return scene.rows
    values, counts = result.values, scene.rows.tolist()
    numbers = list(range(len(counts))) if among is None else among.tolist()
    by_shape: dict[tuple[int, ...], int] = {}
    outputs = tuple(scene.slots[i].outputs for i in numbers)
    paths = _only_outputs(page.use, tuple(scene.names[i] for i in numbers), outputs)
    for i, path, ports in zip(numbers, paths, outputs, strict=True):
        if path is None:
            counts[i] = max(len(ports), 1)
            continue
        name, value = scene.names[i], values.get(path)
        if value is None and isinstance(scene.blocks[i], Composite):
            value = page.value(name, ports[0])
        if value is not None:
            counts[i] = by_shape.get(value.shape) or lines(value.shape)
            by_shape[value.shape] = counts[i]
        elif result.trees and (tree := page.tree(name, ports[0])) is not None:
            counts[i] = len(outline(tree, result.ports).cells)
    paired = zip(numbers, paths, strict=True)
    tall = {i: path in values for i, path in paired if scene.least_rows[i] > 1}
    _count_more(page, tall, counts)
    return np.array(counts, np.int32)


def _count_more(page: PageResult, tall: Mapping[int, bool], counts: list[int]) -> None:
    """Count the lines below the values of variables and Formula blocks as well; ``tall`` says of
    which the value is known.
    """
    scene = page.scene
    by_gradient: dict[tuple[int, ...], int] = {}
    for i, is_known in tall.items():
        name, outputs = scene.names[i], scene.slots[i].outputs
        if isinstance(scene.blocks[i], Formula):
            known = page.value(name, outputs[0])
            shown = 1 if known is None else lines(known.shape)
            counts[i] = max(shown, len(outputs), int(scene.port_rows[i])) + 1
        elif is_known:
            gradient = page.gradient(name)
            shape = () if gradient is None else gradient.shape
            if shape not in by_gradient:
                by_gradient[shape] = gradient_lines(gradient)
            counts[i] += by_gradient[shape]


@lru_cache(maxsize=8)
def _only_outputs(
    use: InstancePath, names: tuple[str, ...], outputs: tuple[tuple[str, ...], ...]
) -> tuple[PortPath | None, ...]:
    """The paths of the outputs of blocks with one; None for the others."""
    paired = zip(names, outputs, strict=True)
    return tuple((use / name).port(out[0]) if len(out) == 1 else None for name, out in paired)


def sections_of(page: PageResult, i: int) -> tuple[FaceSection, ...]:
    """The values of a block: in full for one output, one line each for several."""
    if page.result is None:
        return ()
    scene, name = page.scene, page.scene.names[i]
    outputs = scene.slots[i].outputs
    if len(outputs) != 1:
        return tuple(FaceSection("", _brief(page, name, port)) for port in outputs)
    value = page.value(name, outputs[0])
    if value is None:
        tree = page.tree(name, outputs[0])
        return () if tree is None else (FaceSection("", outline(tree, page.leaf_ports)),)
    if scene.least_rows[i] > 1 and isinstance(scene.blocks[i], Source):
        known = page.knows_gradient(name)
        gradient = gradient_readout(page.gradient(name)) if known else _HIDDEN
        return charted(value), FaceSection("∇", gradient)
    return (charted(value),)


def slider_look(page: PageResult, i: int) -> SliderLook | None:
    """The slider of a source with one number."""
    slider = slider_of(page.scene.blocks[i])
    value = None if slider is None else page.value(page.scene.names[i], "out")
    if slider is None or value is None or value.shape:
        return None
    return SliderLook(slider.share(value), slider.has(value))


def _brief(page: PageResult, block: str, port: str) -> FaceReadout:
    """One line for one of several outputs."""
    if (value := page.value(block, port)) is not None:
        return brief(value)
    tree = page.tree(block, port)
    return _DASH if tree is None else FaceReadout(((counted(tree),),), prose=True)


def _input_look(page: PageResult, i: int, port: str) -> PortLook:
    scene = page.scene
    name, block, slots = scene.names[i], scene.blocks[i], scene.slots[i]
    trouble = (name, port) in page.problems
    if port in slots.free:
        return PortLook("", "free", trouble)
    if page.use and isinstance(block, PageInput):  # driven from outside
        return PortLook("", "open", trouble)
    if scene.is_driven[scene.first_port[i] + slots.input_at[port]]:
        return PortLook(port if len(slots.inputs) > 1 else "", "wired", trouble)
    if port in block.owned:
        return PortLook(_owned_port(page, name, port), "owned", trouble)
    return PortLook(*_open_port(block, port), trouble)


def _output_looks(page: PageResult, i: int) -> tuple[PortLook, ...]:
    name, outputs = page.scene.names[i], page.scene.slots[i].outputs
    named = len(outputs) > 1
    return tuple(
        PortLook(port if named else "", "wired", (name, port) in page.problems) for port in outputs
    )


def _label(name: str, title: str, block: Block) -> str:
    """Text beside the name: the block's own label, or its type if the name does not show it."""
    if isinstance(block, Source):
        frozen = block.kind == "variable" and not block.wants_gradient
        return "frozen" if frozen else ""
    if isinstance(block, PageBlock):
        own = editor.tr("own variables") if block.independent else ""
        steps = block.label() if isinstance(block, Scan) else ""
        return " · ".join(filter(None, [steps, block.page if block.page != name else "", own]))
    if isinstance(block, Formula):
        return ""
    if block.label() not in ("", type(block).symbol):
        return block.label()
    known = (name.lower().replace("_", "").replace(" ", ""), type(block).symbol)
    return "" if any(title.lower() in text for text in known) else title


def _owned_port(page: PageResult, name: str, port: str) -> str:
    """``weight ∇ 0.52``, or that it is frozen: an input and its own variable."""
    if not page.scene.page.blocks[name].owned[port].wants_gradient:
        frozen = editor.tr("frozen")
        return f"{port} · {frozen}"
    if page.result is None or not page.result.losses:
        return port
    known = page.knows_gradient(name, port)
    gradient = one_number(page.gradient(name, port))[-2:][0] if known else _UNKNOWN_YET
    return f"{port} ∇ {gradient}"


def _open_port(block: Block, port: str) -> tuple[str, str]:
    """Text and kind of an input port without a wire."""
    literal = block.literals.get(port)
    if literal is not None:
        scalar = not literal.tensor.shape
        return f"{port} = {number(literal.array[()]) if scalar else '[…]'}", "open"
    declared: InputPort | None = block.port(port)
    if declared is None or declared.required:
        return port, "missing"
    default = declared.default
    return (port if default is None else f"{port} = {number(default)}"), "open"
