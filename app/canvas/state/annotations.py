"""A result laid over a scene: what each face says, and the state of each wire as one int8."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from PySide6.QtCore import QCoreApplication

from app.canvas.paint.blocks.badges import Pill, pills_of
from app.canvas.paint.blocks.faces import Look, PortLook
from app.canvas.state.formatting import (
    Readout,
    Section,
    brief,
    charted,
    described,
    gradient_readout,
    lines,
    number,
)
from app.canvas.state.lanes import Strand, side_by_side
from app.canvas.state.outlines import counted, listed, outline
from app.evaluation.badges import NONE
from blocks.block import Block, InputPort, Opaque, Source
from blocks.library.pages import Page as PageBlock
from blocks.library.pages import PageInput
from runtime.diagram.model import same_meaning
from runtime.diagram.paths import PortName

if TYPE_CHECKING:
    from app.canvas.scene.geometry import Ints, Scene, Slots
    from app.evaluation.result import Result
    from blocks.trees import Tree
    from runtime.diagram import Diagnostic
    from runtime.flow import State

_WORST_FIRST = ("error", "warning", "info")
_DASH = Readout((("–",),), prose=True)


class Facts:
    """One result (or none) for one scene, inside the page used at the path ``prefix``."""

    def __init__(
        self, scene: Scene, result: Result | None, prefix: str = "", *, dimmed: bool = False
    ) -> None:
        self.scene = scene
        self.result = result
        self.prefix = prefix
        self.stale = result is not None and not same_meaning(result.diagram, scene.diagram)
        """The result is of an older diagram."""
        self.dimmed = dimmed and self.stale
        self.problems: dict[tuple[str, str], list[Diagnostic]] = {}
        """By block and port; the port is empty for the block as a whole."""
        self._sort_problems()
        self.whole = Strand(scene, result, prefix, stale=self.stale)
        """The lanes of all that the result is about."""
        self.strands = self._apart() or (self.whole,)
        """The lanes to show beside each wire."""
        self._driven = set(scene.wire_ports[:, 1].tolist())
        self._looks: list[Look | None] = [None] * len(scene.names)
        self._inside: dict[str, State] | None = None
        self._plain_looks: dict[int, Look] = {}

    def rows(self) -> Ints:
        """Lines of numbers that each face needs (n,); as they were where nothing is known."""
        if self.result is None or not (self.result.values or self.result.trees):
            return self.scene.rows
        values, prefix = self.result.values, self.prefix
        counts = self.scene.rows.tolist()
        known: dict[tuple[int, ...], int] = {}
        for i, (name, slots) in enumerate(zip(self.scene.names, self.scene.slots, strict=True)):
            if len(slots.outputs) != 1:
                counts[i] = max(len(slots.outputs), 1)
                continue
            value = values.get(f"{prefix}{name}.{slots.outputs[0]}")
            if value is None and isinstance(self.scene.blocks[i], PageBlock):
                value = self.value(name, slots.outputs[0])
            if value is None and (tree := self._tree(name, slots.outputs[0])) is not None:
                counts[i] = len(outline(tree, self.result.ports).cells)
            elif value is not None:
                shape = value.shape
                counts[i] = known.get(shape) or known.setdefault(shape, lines(shape))
        for i in np.flatnonzero(self.scene.least_rows > 1).tolist():
            if self._values(i)[0] is not None:
                counts[i] += len(gradient_readout(self._gradient(i)).cells)
        return np.array(counts, np.int32)

    @property
    def codes(self) -> NDArray[np.int8]:
        """State of each wire (m,), see :data:`app.canvas.state.codes.CODES`."""
        return self.whole.codes

    def _apart(self) -> tuple[Strand, ...]:
        results = () if self.result is None else self.result.apart
        strands = [
            Strand(
                self.scene, about, self.prefix, stale=self.stale,
                name=(about.loss or "").removesuffix(".out"),
            )
            for about in results
        ]  # fmt: skip
        return side_by_side(strands) if strands else ()

    def look(self, i: int) -> Look:
        """What the face of block ``i`` shows."""
        known = self._looks[i]
        if known is None:
            known = self._looks[i] = self._make_look(i)
        return known

    def plain_look(self, i: int) -> Look:
        """What the face of block ``i`` shows from afar."""
        known = self._plain_looks.get(i)
        if known is None:
            known = self._plain_looks[i] = self.look(i).plain()
        return known

    def type_name(self, i: int) -> str:
        """The type of block ``i``, as its file names it."""
        return _type_name(self.scene.blocks[i])

    def tip(self, i: int) -> str:
        """The tooltip of a block: its problems, or its name, type and what it does."""
        name = self.scene.names[i]
        found = [str(d) for (block, _), ds in self.problems.items() if block == name for d in ds]
        if found:
            return "\n".join(found)
        block = self.scene.blocks[i]
        head = f"{name}: {_type_name(block)}\n{type(block).summary()}"
        return "\n".join([head, *self.badges(i)])

    def badges(self, i: int) -> list[str]:
        """The sentences of the badges of block ``i``."""
        return [sentence for _, sentence in self._pills(i)]

    def wire_tip(self, wire: int) -> str:
        """The tooltip of a wire: its ends, and what it says of its gradient, for each loss."""
        key = self.scene.wire_keys[wire]
        source = self.scene.page.wires[PortName.parse(key)]
        said = (strand.sentence(wire) for strand in self.strands)
        return "\n".join([f"{source} → {key}", *dict.fromkeys(filter(None, said))])

    def port_tip(self, port: int) -> str:
        """The tooltip of a port: its problems, shape, dtype and the head of its value."""
        name = self.scene.port_name(port)
        text = [str(name), *map(str, self.problems.get((name.block, name.port), ()))]
        if self.result is not None and not self.stale:
            about = self.result.badges.about.get(f"{self.prefix}{name}", ())
            text += [badge.sentence for badge in about]
        source = name
        if self.scene.port_is_input[port]:
            found = self.scene.page.wires.get(name)
            if found is None:
                return "\n".join([*text, *self._unwired(name.block, name.port)])
            source = found
        value = self.value(source.block, source.port)
        tree = self._tree(source.block, source.port)
        if value is not None:
            text.append(described(value))
        elif tree is not None and self.result is not None:
            text.append(listed(tree, self.result.ports))
        return "\n".join(text)

    def _pills(self, i: int) -> list[tuple[Pill, str]]:
        badges = NONE if self.result is None or self.stale else self.result.badges
        path, outputs = self.prefix + self.scene.names[i], self.scene.slots[i].outputs
        return pills_of(badges, path, outputs)

    def _unwired(self, block: str, port: str) -> list[str]:
        owner = self.scene.page.blocks[block]
        literal = owner.literals.get(port)
        if literal is not None:
            return [described(literal.array)]
        declared = owner.port(port)
        if declared is None or declared.required:
            return [_tr("Not wired.")]
        return [_tr("Not wired: takes {0}.").format(declared.default)]

    def _sort_problems(self) -> None:
        """Sort the diagnostics of this page by block and port; those deeper in go to their page."""
        if self.result is None:
            return
        page = self.scene.page_name
        for diagnostic in self.result.diagnostics:
            place = diagnostic.location
            path = place.block or ""
            inside = bool(self.prefix) and path.startswith(self.prefix)
            if inside:
                path = path.removeprefix(self.prefix)
            elif (place.page or "main") != page:
                continue
            block, _, deeper = path.partition("/")
            if block in self.scene.index:
                port = "" if deeper else place.port or ""
                self.problems.setdefault((block, port), []).append(diagnostic)

    def value(self, block: str, port: str) -> NDArray[Any] | None:
        """What an output gives, if that is known; of a page, what comes out of it."""
        if self.result is None:
            return None
        values = self.result.values
        found = values.get(f"{self.prefix}{block}.{port}")
        if found is None and isinstance(self.scene.page.blocks.get(block), PageBlock):
            found = values.get(f"{self.prefix}{block}/{port}.out")
        return found

    def _tree(self, block: str, port: str) -> Tree | None:
        trees = {} if self.result is None else self.result.trees
        found = trees.get(f"{self.prefix}{block}.{port}")
        if found is None and isinstance(self.scene.page.blocks.get(block), PageBlock):
            found = trees.get(f"{self.prefix}{block}/{port}.out")
        return found

    def _gradient(self, i: int) -> NDArray[Any] | None:
        gradients = {} if self.result is None else self.result.gradients
        return gradients.get(self.prefix + self.scene.names[i])

    def _values(self, i: int) -> list[NDArray[Any] | None]:
        name = self.scene.names[i]
        return [self.value(name, port) for port in self.scene.slots[i].outputs]

    def _sections(self, i: int) -> tuple[Section, ...]:
        if self.result is None:
            return ()
        name, outputs, values = self.scene.names[i], self.scene.slots[i].outputs, self._values(i)
        if len(values) != 1:
            return tuple(
                Section("", self._brief(name, port) if value is None else brief(value))
                for port, value in zip(outputs, values, strict=True)
            )
        if values[0] is None:
            tree = self._tree(name, outputs[0])
            return () if tree is None else (Section("", outline(tree, self.result.ports)),)
        shown = [charted(values[0])]
        if self.scene.least_rows[i] > 1:
            shown.append(Section("∇", gradient_readout(self._gradient(i))))
        return tuple(shown)

    def _brief(self, block: str, port: str) -> Readout:
        """What one line says of an output that has no array."""
        tree = self._tree(block, port)
        return _DASH if tree is None else Readout(((counted(tree),),), prose=True)

    def worst_inside(self, name: str) -> State | None:
        """The state of most concern of a wire inside the page used as block ``name``, if any is."""
        if self._inside is None:
            self._inside = {}
            calm = self.result is None or self.result.is_lossless
            states = {} if self.result is None or calm else self.result.states
            for key, state in states.items():
                block, deeper, _ = key.removeprefix(self.prefix).partition("/")
                if deeper and key.startswith(self.prefix) and state.row.concern:
                    known = self._inside.get(block)
                    if known is None or state.row.concern > known.row.concern:
                        self._inside[block] = state
        return self._inside.get(name)

    def _make_look(self, i: int) -> Look:
        scene = self.scene
        name, block, slots = scene.names[i], scene.blocks[i], scene.slots[i]
        severities = {d.severity for (b, _), ds in self.problems.items() if b == name for d in ds}
        type_name = _type_name(block)
        return Look(
            family=type(block).family,
            symbol=type(block).symbol or type_name[:1],
            name=name,
            label=_label(name, type_name, block),
            lines=max(int(scene.port_rows[i]), int(scene.rows[i])),
            inputs=self._input_looks(i, slots),
            outputs=self._output_looks(name, slots),
            sections=self._sections(i),
            stale=self.dimmed,
            badge=next((s for s in _WORST_FIRST if s in severities), ""),
            inside=self.worst_inside(name) if isinstance(block, PageBlock) else None,
            head=type(block).head,
            pills=tuple(pill for pill, _ in self._pills(i)),
        )

    def _input_looks(self, i: int, slots: Slots) -> tuple[PortLook, ...]:
        name, block = self.scene.names[i], self.scene.blocks[i]
        first = int(self.scene.first_port[i])
        looks = []
        for local, port in enumerate(slots.inputs):
            trouble = (name, port) in self.problems
            if port in slots.free:
                looks.append(PortLook("", "free", trouble))
            elif self.prefix and isinstance(block, PageInput):  # driven from outside
                looks.append(PortLook("", "open", trouble))
            elif first + local in self._driven:
                looks.append(PortLook(port if len(slots.inputs) > 1 else "", "wired", trouble))
            else:
                looks.append(PortLook(*_open_port(block, port), trouble))
        return tuple(looks)

    def _output_looks(self, name: str, slots: Slots) -> tuple[PortLook, ...]:
        words = len(slots.outputs) > 1
        return tuple(
            PortLook(port if words else "", "wired", (name, port) in self.problems)
            for port in slots.outputs
        )


def _type_name(block: Block) -> str:
    return block.original_type if isinstance(block, Opaque) else type(block).type_name()


def _label(name: str, type_name: str, block: Block) -> str:
    """What stands beside the name: the block's own label, or the type where the name hides it."""
    if isinstance(block, Source):
        frozen = block.kind == "variable" and not block.wants_gradient
        return "frozen" if frozen else ""
    if isinstance(block, PageBlock):
        return block.page if block.page != name else ""
    if block.label() not in ("", type(block).symbol):
        return block.label()
    told = (name.lower().replace("_", "").replace(" ", ""), type(block).symbol)
    return "" if any(type_name.lower() in words for words in told) else type_name


def _open_port(block: Block, port: str) -> tuple[str, str]:
    """Words and kind of an input port that no wire drives."""
    literal = block.literals.get(port)
    if literal is not None:
        scalar = not literal.tensor.shape
        return f"{port} = {number(literal.array[()]) if scalar else '[…]'}", "open"
    declared: InputPort | None = block.port(port)
    if declared is None or declared.required:
        return port, "missing"
    default = declared.default
    return (port if default is None else f"{port} = {number(default)}"), "open"


def _tr(text: str) -> str:
    return QCoreApplication.translate("facts", text)
