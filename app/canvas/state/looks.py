"""What the face of each block shows, kept from result to result where it is the same."""

from __future__ import annotations

from dataclasses import field, fields, replace
from functools import lru_cache
from operator import attrgetter
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

import numpy as np

from gradwire.app.canvas.state.badge_labels import BadgeLabel, badge_labels
from gradwire.app.canvas.state.formatting import (
    FaceReadout,
    FaceSection,
    brief,
    charted,
    counted,
    gradient_lines,
    gradient_readout,
    lines,
    one_number,
    outline,
)
from gradwire.app.document.numbers import slider_of
from gradwire.app.services.translation import editor
from gradwire.blocks.block import Block, InputPort, Opaque, Source
from gradwire.blocks.classes.dataclass import dataclass
from gradwire.blocks.classes.identity import by_identity
from gradwire.blocks.library.formula import Formula
from gradwire.blocks.library.pages import Composite, PageInput, Scan
from gradwire.blocks.library.pages import Page as PageBlock
from gradwire.blocks.library.views import ViewBlock
from gradwire.runtime.diagram import (
    HEADER,
    PLAIN,
    WIDTH,
    PortPath,
    block_height,
    collapsed_offset,
    passing_input,
    port_offset,
    view_size,
)
from gradwire.runtime.flow import number

if TYPE_CHECKING:
    from collections.abc import Hashable, Mapping

    from gradwire.app.canvas.scene.arrays import Flags, Indices, Ints
    from gradwire.app.canvas.scene.geometry import Scene
    from gradwire.app.canvas.scene.members import PortSlots
    from gradwire.app.canvas.state.annotations import PageResult
    from gradwire.blocks.values import Array
    from gradwire.runtime.diagram import InstancePath, Size
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


Frame: TypeAlias = "tuple[object, ...]"
Numbers: TypeAlias = "tuple[object, ...]"
_FEW = 64
"""Elements of an array that are compared; one of more is taken to have changed."""


@dataclass
class _Known:
    """The last look of a block, what it depends on, and its look from afar if that is known."""

    frame: Frame
    """All but the numbers: the block itself, its badges, its own gradients."""
    numbers: Numbers
    look: Look
    plain: Look | None = None


class LookCache:
    """The looks of the blocks of one page, by number.

    A look that shows the same as before is the same object; one in which only numbers differ takes
    the rest from the one before.
    """

    def __init__(self) -> None:
        self._page: PageResult | None = None
        self._key: Hashable = None
        self._members: _Members | None = None
        self._known: dict[int, _Known] = {}
        self._counted: Hashable = None
        """What the number of lines on faces depends on but for shapes, when it was last counted."""
        self._shapes: _Shapes | None = None
        """The shapes at that time."""
        self._last_shapes: tuple[object, object, _Shapes | None] = None, None, None
        """Values and gradients, and their shapes."""

    def row_counts(self, page: PageResult) -> Ints:
        """Number of text lines (n,) that each face needs, counted anew where a block has changed,
        or all if the result is of other shapes.
        """
        scene, result = page.scene, page.result
        trees = [] if result is None or not result.trees else [result.trees, result.ports]
        counted = _Same(scene), tuple(map(_Same, trees)), page.use
        before, shapes = self._shapes, self._shapes_of(page)
        is_known, self._counted, self._shapes = counted == self._counted, counted, shapes
        if not is_known or before is None or shapes is None:
            return row_counts(page)
        paths = () if before is shapes else _other_shapes(before, shapes)
        names = {PortPath(path).block_below(page.use) or "" for path in paths}
        anew = ~scene.are_counted
        anew[[scene.index[name] for name in names & scene.index.keys()]] = True
        fresh = np.flatnonzero(anew)
        return row_counts(page, fresh) if len(fresh) else scene.rows

    def _shapes_of(self, page: PageResult) -> _Shapes | None:
        result = page.result
        values, gradients = (None, None) if result is None else (result.values, result.gradients)
        if self._last_shapes[0] is not values or self._last_shapes[1] is not gradients:
            self._last_shapes = values, gradients, _shapes(page)
        return self._last_shapes[2]

    def look(self, page: PageResult, i: int, *, dimmed: bool) -> Look:
        """The look of block number ``i``; its numbers are faint if ``dimmed``."""
        return self._of(page, i, dimmed=dimmed).look

    def plain_look(self, page: PageResult, i: int, *, dimmed: bool) -> Look:
        """Its look from afar."""
        known = self._of(page, i, dimmed=dimmed)
        if known.plain is None:
            known.plain = known.look.plain(summary_of(page, i))
        return known.plain

    def _of(self, page: PageResult, i: int, *, dimmed: bool) -> _Known:
        self._follow(page)
        frame, numbers = _frame(page, i, dimmed=dimmed), _numbers(page, i)
        known = self._known.get(i)
        if known is None or known.frame != frame:
            known = _Known(frame, numbers, look_of(page, i, dimmed=dimmed))
        elif known.numbers != numbers:
            known = _Known(frame, numbers, _with_numbers(known.look, page, i))
        else:
            return known
        self._known[i] = known
        return known

    def _follow(self, page: PageResult) -> None:
        """Forget all looks if more differs from the last page than numbers and blocks, or those of
        the blocks that a small edit has touched.
        """
        if page is self._page:
            return
        self._page, before, key = page, self._key, _page_key(page)
        members, self._key, self._members = self._members, key, _Members.of(page.scene)
        if key != before or members is None:
            self._known = {}
        elif not members.is_like(self._members):
            self._renumber(page.scene, members)

    def _renumber(self, scene: Scene, before: _Members) -> None:
        """Follow blocks to their numbers now, where they are known."""
        last, known = scene.renumbered, self._known
        self._known = {}
        if last is None or last.slots is not before.slots:
            return
        blocks, kept = last.edit.blocks, last.edit.blocks.before >= 0
        kept &= blocks.rows(before.rows) == scene.rows
        kept &= blocks.rows(before.is_collapsed) == scene.is_collapsed
        kept[last.edit.touched] = False
        for old, look in known.items():
            now = int(blocks.now[old])
            if now >= 0 and kept[now]:
                self._known[now] = look


@by_identity
class _Members(NamedTuple):
    """What a scene's blocks are numbered by, and their heights."""

    slots: list[PortSlots]
    wires: object
    rows: Ints
    is_collapsed: Flags

    @classmethod
    def of(cls, scene: Scene) -> _Members:
        return cls(scene.slots, scene.page.wires, scene.rows, scene.is_collapsed)

    def is_like(self, other: _Members) -> bool:
        return (
            self.slots is other.slots
            and self.wires is other.wires
            and np.array_equal(self.rows, other.rows)
            and np.array_equal(self.is_collapsed, other.is_collapsed)
        )


def _page_key(page: PageResult) -> Hashable:
    """Equal for results of one page that differ in numbers, badges and blocks alone."""
    scene, result = page.scene, page.result
    parts: list[object] = [scene, scene.page.styles]
    if result is not None:
        parts += [result.ports, result.trees]
    return (
        tuple(map(_Same, parts)), page.use, frozenset(page.problems),
        result is None or (result.is_partial, result.losses),
    )  # fmt: skip


class _Shapes(NamedTuple):
    """The shapes of all values and gradients, by path; None for a gradient that there is not."""

    values: dict[str, object]
    gradients: dict[str, object]


def _shapes(page: PageResult) -> _Shapes | None:
    result = page.result
    if result is None:
        return None
    values, gradients = result.values.items(), result.gradients.items()
    return _Shapes(
        {path: array.shape for path, array in values},
        {path: None if array is None else array.shape for path, array in gradients},
    )


def _other_shapes(before: _Shapes, after: _Shapes) -> set[str]:
    """The paths of values and gradients that have other shapes, have come or gone."""
    found: set[str] = set()
    for was, now in zip(before, after, strict=True):
        if was != now:
            found.update(path for path, shape in now.items() if was.get(path, was) != shape)
            found.update(was.keys() - now.keys())
    return found


@dataclass(frozen=True, eq=False)
class _Same:
    """Equal for the same object only."""

    part: object

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Same) and self.part is other.part

    def __hash__(self) -> int:
        return id(self.part)


def _frame(page: PageResult, i: int, *, dimmed: bool) -> Frame:
    scene = page.scene
    name, block = scene.names[i], scene.blocks[i]
    labels = badge_labels(page.badges, page.use / name, scene.slots[i].outputs)
    owned = tuple(_gradient(page, name, port) for port in block.owned)
    inside = page.sign_inside(name)
    return _Same(block), dimmed, tuple(label for label, _ in labels), inside, owned


def _numbers(page: PageResult, i: int) -> Numbers:
    scene = page.scene
    name, block = scene.names[i], scene.blocks[i]
    values = tuple(_contents(page.value(name, port)) for port in scene.slots[i].outputs)
    if isinstance(block, ViewBlock):
        return (_Same(page.picture(name)),)
    return (*values, _gradient(page, name)) if isinstance(block, Source) else values


def _gradient(page: PageResult, name: str, port: str = "") -> object:
    return page.knows_gradient(name, port) and (_contents(page.gradient(name, port)),)


def _contents(array: Array | None) -> object:
    """Equal for arrays of the same contents, unless they are large."""
    if array is None:
        return None
    if array.size > _FEW or array.dtype.hasobject:
        return object()
    return array.dtype, array.shape, array.tobytes()


def _with_numbers(look: Look, page: PageResult, i: int) -> Look:
    """The look with other numbers, if it shows any."""
    if look.collapsed or look.through is not None:
        return look
    if look.size is not None:
        return replace(look, view=picture_of(page, i))
    sections, slider = sections_of(page, i), slider_look(page, i)
    return replace(look, sections=sections, slider=slider, ground=look.bare())
