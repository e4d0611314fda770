"""Writes functions: their statements, the functions that they call, and what those need."""

from __future__ import annotations

import builtins
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import field
from typing import TYPE_CHECKING

import numpy as np

from gradwire.blocks.classes.dataclass import dataclass
from gradwire.blocks.errors import Location
from gradwire.runtime.calculus import result_of
from gradwire.runtime.calculus.primitives.base import CONSTANT, broadcast_shapes
from gradwire.runtime.diagram.paths import InstancePath
from gradwire.runtime.interchange.export.code import (
    INDENT,
    INLINE,
    WIDTH,
    Code,
    LoopText,
    Names,
    identifier,
    indented,
    is_literal,
    listed,
    number_text,
    remark,
    string,
)
from gradwire.runtime.interchange.export.regions import (
    ExportLoop,
    ExportRegion,
    divided,
    values_of,
)
from gradwire.runtime.interchange.export.rows import ExportError

if TYPE_CHECKING:
    from gradwire.blocks.values import Array
    from gradwire.runtime.calculus import Value
    from gradwire.runtime.interchange.export.graph import ExportGraph
    from gradwire.runtime.interchange.export.naming import Naming
    from gradwire.runtime.interchange.export.regions import Item
    from gradwire.runtime.interchange.export.rows import ExportTarget, SpelledRow

SHORT = 56
"""Characters up to which an expression may become a part of another."""
FEW = 4
"""Elements up to which an array of one number is written out."""
BACK = "back through "
"""How a comment begins that is about a step of the backward pass."""


@dataclass(eq=False)
class SourceWriter:
    """Writes functions for one target; what they share is collected here.

    ``leaves`` has the expression of each leaf in the outermost function.
    """

    target: ExportTarget
    graph: ExportGraph
    functions: dict[str, str] = field(default_factory=dict)
    """The source of the functions of pages, by name, in the order in which they are needed."""
    arrays: dict[str, Array] = field(default_factory=dict)
    """Large arrays by the key under which they are stored."""
    _names: Names = field(default_factory=Names)
    _written: dict[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        taken = {*dir(builtins), *self.target.reserved, *self.target.helpers}
        for page, uses in self.graph.program.flat.uses.items():
            if any(uses):
                taken |= {identifier(page), f"{identifier(page)}_backward"}
        self._locals = frozenset(taken)
        self._names.taken = {*dir(builtins), *self.target.reserved, *self.target.helpers}
        self._pages = {
            use: page for page, uses in self.graph.program.flat.uses.items() for use in uses
        }

    def reserve(self, names: Iterable[str]) -> None:
        """Keep names of the module from becoming those of functions or locals."""
        self._names.taken |= set(names)
        self._locals |= set(names)

    def body(
        self,
        outputs: Iterable[Value],
        leaves: Mapping[Value, str],
        naming: Naming,
    ) -> tuple[list[str], dict[Value, Code]]:
        """The statements that compute ``outputs``, and the expression of each of them.

        ``leaves`` have the expression that each leaf is read by.
        """
        graph = self.graph
        outputs = [graph.real(value) for value in outputs]
        values = graph.needed(outputs)
        root = divided(graph, values)
        attributes = self.prepare(root, frozenset(outputs))
        names = Names(set(self._locals), local=True)
        used = {x for value in values for x in graph.inputs(value)} | set(outputs)
        code = {leaf: Code(text) for leaf, text in attributes.items()}
        lines = []
        for leaf, text in leaves.items():
            if leaf in used:
                name = names.fresh(naming.name(leaf, InstancePath("")))
                lines.append(f"{name} = {text}")
                code[leaf] = Code(name)
        if lines:
            lines.append("")
        function = _Function(self, naming, root, names, code, frozenset(outputs))
        lines += function.lines()
        found = {v: code[v] if v in code else self.constant(v) for v in outputs}
        return lines, found

    def prepare(self, root: ExportRegion, outputs: frozenset[Value]) -> Mapping[Value, str]:
        """Leaves that are read without a name of their own, and how; all regions are known."""
        return {}

    def constant(self, value: Value) -> Code:
        """A value that is one known number everywhere."""
        number = self.graph.number(value)
        assert number is not None  # or it would be computed
        if not value.shape:
            return Code(self.target.number(number))
        return Code(self.target.full(value.shape, number))

    def stored(self, array: Array, key: str) -> str:
        """An array: in the source if it is small, else in the file beside it."""
        if array.ndim == 1 and array.size > 2 and np.array_equal(array, np.arange(array.size)):
            return self.target.arange(array)
        if array.size > FEW and array.tobytes() == np.full_like(array, array.flat[0]).tobytes():
            return self.target.full(array.shape, np.asarray(array.flat[0]))
        if array.size <= INLINE:
            return self.target.array(array)
        given = self.target.storable(array)
        while key in self.arrays and self.arrays[key].tobytes() != given.tobytes():
            key += "'"
        self.arrays[key] = given
        return f"ARRAYS[{string(key)}]"

    def function(
        self, region: ExportRegion, naming: Naming, wanted: frozenset[Value]
    ) -> FunctionCall:
        """The function of a region, written unless there is one with the same text."""
        arguments, outputs = region.ends(self.graph, wanted)
        given, lines = self.definition(region, naming, arguments, outputs, {})
        stem, what = self._called(region)
        title = f"{'Back through the' if region.backward else 'The'} {what}."
        signature = listed("(", given, "):", WIDTH - 30)
        text = f'{signature}\n{INDENT}"""{title}"""\n' + indented(lines)
        stem += "_backward" if region.backward else ""
        return FunctionCall(self.written(text, "def", stem), arguments, outputs)

    def written(self, text: str, keyword: str, stem: str) -> str:
        """The name of what has a text, written unless it is there already."""
        if text not in self._written:
            name = self.fresh(stem)
            self._written[text] = name
            self.functions[name] = f"{keyword} {name}{text}"
        return self._written[text]

    def fresh(self, stem: str) -> str:
        """A name of the module that nothing else has."""
        return self._names.fresh(stem, "_v")

    def definition(
        self,
        region: ExportRegion,
        naming: Naming,
        arguments: Sequence[Value],
        outputs: Sequence[Value],
        attributes: Mapping[Value, str],
    ) -> tuple[list[str], list[str]]:
        """The names of the arguments, and the statements up to the return."""
        names = Names(set(self._locals), local=True)
        code = {x: Code(names.fresh(naming.name(x, region.use))) for x in arguments}
        given = [argument.text for argument in code.values()]
        code.update({x: Code(text) for x, text in attributes.items()})
        lines = _Function(self, naming, region, names, code, frozenset(outputs)).lines()
        returned = [code[x].text for x in outputs]
        short = len(", ".join(returned)) < WIDTH - 12
        lines.append(
            f"return {', '.join(returned)}" if short else listed("return (", returned, ")")
        )
        return given, lines

    def _called(self, region: ExportRegion) -> tuple[str, str]:
        """What the function of a region is called, and what it is of."""
        page = self._pages.get(region.use)
        if page is not None:
            return identifier(page), f"page {remark(page)}"
        block = self.graph.program.flat.instances[region.use]
        kind = remark(type(block.block).__name__)
        return f"compute_{identifier(region.use.name)}", f"block {remark(region.use)} ({kind})"

    def page_of(self, use: InstancePath) -> str | None:
        """The page that is used at a path."""
        return self._pages.get(use)


@dataclass(frozen=True)
class FunctionCall:
    """What computes a region, the values that it is given and those that it gives."""

    name: str
    arguments: Sequence[Value]
    outputs: Sequence[Value]


@dataclass(eq=False)
class _Function:
    """Writes the statements of one function."""

    writer: SourceWriter
    naming: Naming
    region: ExportRegion
    names: Names
    code: dict[Value, Code]
    outputs: frozenset[Value]

    def lines(self) -> list[str]:
        """The statements, with a comment before those of each block."""
        graph = self.writer.graph
        self._reads: Counter[Value] = Counter()
        self._reader: dict[Value, Item] = {}
        for item in self.region.items:
            read = [x for value in values_of(item) for x in graph.inputs(value)]
            for x in dict.fromkeys(read) if isinstance(item, ExportRegion | ExportLoop) else read:
                self._reads[x] += 1
                self._reader[x] = item
        blocks: list[tuple[str, list[str]]] = []
        about: object = None
        for item in self.region.items:
            if isinstance(item, ExportRegion):
                blocks.append((self._about(item.use, item.backward), [self._call(item)]))
                about = None
                continue
            if isinstance(item, ExportLoop):
                blocks.append((self._about_loop(item), self._loop(item)))
                about = None
                continue
            statement = self._statement(item)
            if statement is None:
                continue
            backward = graph.is_backward(item)
            if about != (item.owner, backward):
                about = item.owner, backward
                blocks.append((self._about(item.owner, backward), []))
            blocks[-1][1].append(statement)
        return list(self._laid_out(blocks))

    def _laid_out(self, blocks: Sequence[tuple[str, list[str]]]) -> Iterator[str]:
        """The statements of blocks: single ones with what they are of behind, others below it."""
        apart = False
        for number, (about, statements) in enumerate(blocks):
            (first, *others) = statements
            single = not others and "\n" not in first and len(first) + len(about) < WIDTH - 8
            if number and (apart or not single):
                yield ""
            apart = not single
            if single and about:
                name, _, kind = about.rpartition(" (")
                same = identifier(name) == first.partition(" = ")[0]
                about = kind.removesuffix(")") if same else about
                yield first if "  # " in first else f"{first}  # {about}"
                continue
            if about:
                yield f"# {about}"
            yield from statements

    def _about(self, owner: object, backward: bool) -> str:
        """What a statement belongs to."""
        if not isinstance(owner, str):
            return ""
        path = InstancePath(owner)
        block = self.writer.graph.program.flat.instances.get(path)
        inside = path != self.region.use and path.is_inside(self.region.use)
        shown = remark(path.relative_to(self.region.use) if inside else path)
        page = self.writer.page_of(path)
        kind = type(block.block).__name__ if block else f"page {page}"
        return f"{BACK if backward else ''}{shown} ({remark(kind)})"

    def _about_loop(self, loop: ExportLoop) -> str:
        owner = InstancePath(loop.results[0].owner)
        loops = self.writer.graph.program.flat.loops
        path = next(path for path in loops if owner.is_inside(path))
        inside = path.is_inside(self.region.use)
        shown = remark(path.relative_to(self.region.use) if inside else path)
        return f"{BACK if loop.step.backward else ''}{shown} (Scan)"

    def _loop(self, loop: ExportLoop) -> list[str]:
        """The statements that compute all results of a scan."""
        writer, body, use = self.writer, loop.body, self.region.use
        first, graph = loop.results[0], writer.graph
        graph.enter(first)
        given = [self._known(x) for x in first.inputs]
        leaves = [*(each.before for each in body.carried), *body.rows]
        names = {
            leaf: self.names.fresh(self._leaf_name(leaf, text))
            for leaf, text in zip(leaves, given, strict=False)
        }
        carried = [names[each.before] for each in body.carried]
        step = _Function(
            writer,
            self.naming,
            loop.step,
            self.names,
            self.code | {x: Code(name) for x, name in names.items()},
            frozenset(map(graph.real, loop.ends)),
        )
        lines = step.lines()
        last = {each.after: name for each, name in zip(body.carried, carried, strict=True)}
        of_kind: dict[str, dict[Value, tuple[str, str]]] = {"stack": {}, "sum": {}}
        for value in loop.results:
            made, kind = result_of(value), value.attributes["kind"]
            if kind == "last":
                self.code[value] = Code(last[made])
                continue
            key = graph.real(made)
            if key not in of_kind[kind]:
                name = self.names.fresh(self.naming.name(value, use))
                of_kind[kind][key] = name, step._known(made)
            self.code[value] = Code(of_kind[kind][key][0])
        text = LoopText(
            body.steps,
            body.reverse,
            given[: len(carried)],
            carried,
            [step._known(each.after) for each in body.carried],
            given[len(carried) : len(leaves)],
            [names[x] for x in body.rows],
            [*of_kind["stack"].values()],
            [*of_kind["sum"].values()],
            lines,
            self.names.fresh("step"),
        )
        return writer.target.loop(text)

    def _leaf_name(self, leaf: Value, given: str) -> str:
        """What a step calls what it is given: as its port, or as what it is taken from."""
        if self.naming.has_name(leaf) or not given.isidentifier():
            return self.naming.name(leaf, self.region.use)
        return given.removeprefix("all_")

    def _known(self, value: Value) -> str:
        """The expression of a value that is computed, or one number everywhere."""
        found = self.writer.graph.real(value)
        return (self.code.get(found) or self.writer.constant(value)).text

    def _call(self, region: ExportRegion) -> str:
        wanted = self.region.wanted(region, self.outputs, self.writer.graph)
        called = self.writer.function(region, self.naming, wanted)
        arguments = [self.code[x].text for x in called.arguments]
        for value in called.outputs:
            if value not in wanted:
                continue
            name = self.names.fresh(self.naming.name(value, self.region.use))
            self.code[value] = Code(name)
        names = [self.code[x].text if x in self.code else "_" for x in called.outputs]
        left = ", ".join(names)
        left = left if len(left) < WIDTH // 2 else listed("(", names, ")", wide=0)
        return listed(f"{left} = {called.name}(", arguments, ")")

    def _statement(self, value: Value) -> str | None:
        """The line for a value; None for one that becomes a part of another's line."""
        writer = self.writer
        if value in self.code:
            return None
        if value.primitive is CONSTANT:
            code, said = self._array(value), ""
        else:
            row = writer.target.row(value)
            try:
                code = row.code(value, self._operands(value, row))
            except ExportError as error:
                error.location = Location(block=value.owner)
                raise
            said = f"  # {row.remark}" if row.remark else ""
        if not said and self._is_part(value, code):
            self.code[value] = code
            return None
        name = self.names.fresh(self.naming.name(value, self.region.use))
        self.code[value] = Code(name)
        return f"{name} = {code.text}{said}"

    def _is_part(self, value: Value, code: Code) -> bool:
        """Whether it is read once, by its own block, and is short."""
        reader = self._reader.get(value)
        return (
            self._reads[value] == 1
            and value not in self.outputs
            and not isinstance(reader, ExportRegion | ExportLoop | None)
            and not self.naming.has_name(value)
            and reader.owner == value.owner
            and len(code.text) <= SHORT
        )

    def _array(self, value: Value) -> Code:
        array: Array = value.attributes["array"]
        key = f"constant/{self.naming.name(value, InstancePath(''))}"
        return Code(self.writer.stored(array, key))

    def _operands(self, value: Value, row: SpelledRow) -> list[Code]:
        graph = self.writer.graph
        unread = frozenset[int]() if graph.reads_all else value.primitive.unread
        plain = [x for x in value.inputs if graph.number(x) is None]
        shapes = [x.shape for x in plain]
        spans = row.numbers and bool(shapes) and broadcast_shapes(*shapes) == value.shape
        found = []
        for slot, x in enumerate(value.inputs):
            if slot in unread:
                found.append(Code("None"))
                continue
            number = graph.number(x)
            if number is None:
                found.append(self.code[graph.real(x)])
            elif spans and is_literal(number) and any(y.dtype == x.dtype for y in plain):
                text = number_text(np.asarray(number))
                found.append(Code(text, atomic=not text.startswith("-")))
            else:
                found.append(self.writer.constant(x))
        return found
