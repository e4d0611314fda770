"""Formulas of primitives, as LaTeX and as plain text."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from functools import cached_property
from typing import TYPE_CHECKING

from gradwire.blocks.classes.dataclass import dataclass
from gradwire.runtime.calculus import Trace, sweep
from gradwire.runtime.calculus.primitives.base import BROADCAST, CAST, CONSTANT, LEAF, RESHAPE, WIRE
from gradwire.runtime.calculus.primitives.elementwise import DIVIDE, MULTIPLY, NEGATIVE
from gradwire.runtime.calculus.primitives.gradient import LOSS_HEAD
from gradwire.runtime.calculus.primitives.logic import LOGICAL_AND, WHERE
from gradwire.runtime.engine.plan.plan import Plan
from gradwire.runtime.flow.words.formatting import number

if TYPE_CHECKING:
    from gradwire.blocks.values import Array
    from gradwire.runtime.calculus import Primitive, Value
    from gradwire.runtime.diagram.paths import InstancePath, WirePath
    from gradwire.runtime.engine.program import Program


LONGEST = 240
"""Characters of a formula; a longer one explains nothing."""
SUM, PRODUCT, POWER, ATOM = range(4)
"""How tightly the outermost operation of a formula binds."""
_BINDS = {"sum": SUM, "product": PRODUCT, "power": POWER, "atom": ATOM}
_OPERAND = re.compile(r"(?<![\w\\])([abc])(?::(product|power|atom)|(?!\w))")
"""An input in the spelling of a primitive."""
_SAME = frozenset({WIRE, CAST, BROADCAST, RESHAPE, LOSS_HEAD})
"""Primitives that change the form of a value but not what a formula says of it."""


@dataclass(frozen=True, slots=True)
class FormulaText:
    """A formula. ``constant`` is the number if it is one; ``is_truth`` marks Iverson brackets."""

    text: str
    binds: int = ATOM
    constant: float | None = None
    is_truth: bool = False


@dataclass(frozen=True)
class Notation:
    """How formulas look: as rows spell primitives under its name, and what lies between them.

    ``unknown`` stands for an array that no formula describes.
    """

    name: str
    minus: str
    group: str
    bracket: str
    upright: str
    underscore: str
    negation: str
    separator: str
    unknown: str

    def written(self, value: Value, names: Mapping[Value, FormulaText]) -> str:
        """The formula of a value in terms of named ones; empty if it is too long."""
        known = dict(names)
        pending = [value]
        while pending:
            current = pending[-1]
            missing = [source for source in current.inputs if source not in known]
            if current in known or not missing:
                pending.pop()
                if current not in known:
                    known[current] = self._formula(current, [known[x] for x in current.inputs])
                if len(known[current].text) > LONGEST:
                    return ""
                continue
            pending += missing
        return known[value].text

    def number(self, value: float) -> FormulaText:
        """A number as a constant."""
        text = number(value)
        binds = SUM if text.startswith("−") else ATOM
        return FormulaText(text.replace("−", self.minus), binds, float(value))

    def _formula(self, value: Value, inputs: list[FormulaText]) -> FormulaText:
        primitive = value.primitive
        if primitive is CONSTANT:
            array = value.attributes["array"]
            is_one = array.size and (array == array.flat[0]).all()
            return self.number(array.flat[0]) if is_one else FormulaText(self.unknown)
        if primitive in _SAME:
            return inputs[0]
        if primitive is WHERE:
            return self._where(*inputs)
        return self._simpler(primitive, inputs) or self._applied(primitive, inputs)

    def _simpler(self, primitive: Primitive, inputs: list[FormulaText]) -> FormulaText | None:
        """Without a factor of 1 or −1."""
        if primitive is DIVIDE and inputs[1].constant == 1:
            return inputs[0]
        for one, other in (inputs, inputs[::-1]) if primitive is MULTIPLY else ():
            if one.constant == 1:
                return other
            if one.constant == -1:
                return self._applied(NEGATIVE, [other])
        return None

    def _applied(self, primitive: Primitive, inputs: Sequence[FormulaText]) -> FormulaText:
        spelled = getattr(primitive.spelling, self.name)
        if spelled is None:
            spelled = self.upright.format(primitive.name.replace("_", self.underscore))
        text, binds = (spelled, "atom") if isinstance(spelled, str) else spelled
        if not _OPERAND.search(text):
            arguments = self.separator.join(formula.text for formula in inputs)
            return FormulaText(f"{text}{self.group.format(arguments)}")

        def operand(match: re.Match[str]) -> str:
            formula, wanted = inputs["abc".index(match[1])], _BINDS[match[2] or "sum"]
            return formula.text if formula.binds >= wanted else self.group.format(formula.text)

        both = primitive is LOGICAL_AND and all(formula.is_truth for formula in inputs)
        is_truth = both or text.startswith(self.bracket.split("{}")[0])
        return FormulaText(_OPERAND.sub(operand, text), _BINDS[binds], is_truth=is_truth)

    def _where(self, condition: FormulaText, a: FormulaText, b: FormulaText) -> FormulaText:
        """A bracket times what is chosen, where the other is 0; else a function."""
        if b.constant == 0:
            chosen = condition if condition.is_truth else self._truth(condition.text)
            return self._product(a, chosen)
        if a.constant == 0:
            return self._product(b, self._truth(f"{self.negation}{condition.text}"))
        return self._applied(WHERE, (condition, a, b))

    def _product(self, a: FormulaText, b: FormulaText) -> FormulaText:
        return self._simpler(MULTIPLY, [a, b]) or self._applied(MULTIPLY, [a, b])

    def _truth(self, text: str) -> FormulaText:
        return FormulaText(self.bracket.format(text), is_truth=True)


LATEX = Notation(
    name="latex",
    minus="-",
    group=r"\left({}\right)",
    bracket=r"\left[{}\right]",
    upright=r"\mathrm{{{}}}",
    underscore=r"\_",
    negation=r"\neg\, ",
    separator=r",\, ",
    unknown=r"\ldots",
)
PLAIN = Notation(
    name="plain",
    minus="−",
    group="({})",
    bracket="[{}]",
    upright="{}",
    underscore="_",
    negation="not ",
    separator=", ",
    unknown="…",
)


# The primitives inside a block: their order, their names, and each by itself in numbers.

_MOST = 400
"""Values of the largest block that is looked into."""
_LONGEST_NAME = 12
"""Characters of the formula of a value that depends on no input."""
_SUBSCRIPTS = str.maketrans("0123456789", "₀₁₂₃₄₅₆₇₈₉")
_OTHER_FORM = {"broadcast_to": "repeated to", "reshape": "reshaped to"}


@dataclass(frozen=True, eq=False)
class NamedFormula:
    """A formula over values that have names, and numbers where they are known."""

    value: Value
    names: Mapping[Value, str]
    arrays: Mapping[Value, Array]

    @property
    def text(self) -> str:
        """The formula with names; empty if it is too long."""
        return self._written({value: _formula(name) for value, name in self.names.items()})

    def with_numbers(self, written: Callable[[Array], str]) -> str:
        """The formula with numbers in place of the names; empty if it is too long."""
        numbers = {value: _formula(written(array)) for value, array in self.arrays.items()}
        return self._written(numbers)

    def _written(self, names: Mapping[Value, FormulaText]) -> str:
        text = PLAIN.written(self.value, names)
        form = _OTHER_FORM.get(self.value.primitive.name)
        shape = " × ".join(map(str, self.value.shape)) or "a single number"
        return f"{text} {form} {shape}" if form and text else text


def _formula(text: str) -> FormulaText:
    return FormulaText(text, SUM) if text.startswith("−") else FormulaText(text)


class LocalPrimitive:
    """One primitive in a trace of its own, where its inputs are leaves."""

    def __init__(self, value: Value) -> None:
        trace = Trace()
        self.inputs = [_copied(x, trace) for x in value.inputs]
        self.output = trace.apply(
            value.primitive, *self.inputs, weak=value.weak, **value.attributes
        )
        self.seed = trace.apply(LEAF, shape=value.shape, dtype=value.dtype)

    @cached_property
    def back(self) -> list[Value | None]:
        """What goes back to each input, where ``seed`` arrives; None where nothing does."""
        found = sweep([(self.output, self.seed)], self.inputs)
        return [found.get(leaf) for leaf in self.inputs]

    def forward(self, arrays: Sequence[Array]) -> Array:
        """The result, for the arrays of the inputs."""
        (made,) = _computed([self.output], dict(zip(self.inputs, arrays, strict=True)))
        return made

    def backward(self, arrays: Sequence[Array], arriving: Array) -> list[Array | None]:
        """What goes back to each input; None where nothing does."""
        bound = dict(zip(self.inputs, arrays, strict=True)) | {self.seed: arriving}
        found = iter(_computed([value for value in self.back if value is not None], bound))
        return [None if value is None else next(found) for value in self.back]


def _copied(value: Value, trace: Trace) -> Value:
    """A leaf like ``value``; of a constant the same constant, which rules may look at."""
    if value.primitive is CONSTANT:
        return trace.apply(CONSTANT, weak=value.weak, **value.attributes)
    return trace.apply(LEAF, shape=value.shape, dtype=value.dtype, weak=value.weak)


def _computed(values: Sequence[Value], arrays: Mapping[Value, Array]) -> list[Array]:
    plan = Plan(values, passes=())
    for leaf, place in plan.leaves.items():
        place[...] = arrays[leaf]
    plan.run()
    return [plan.read(value) for value in values]


class BlockPrimitives:
    """The values that one block computes, in order.

    ``inputs`` are its wires and literals. ``steps`` depend on them; casts and axes of length 1 are
    no steps. Each has a name: that of an output, or t₁, t₂ and so on.
    """

    def __init__(self, program: Program, path: InstancePath, values: Sequence[Value]) -> None:
        self.values = values
        names = {program.wires[wire]: wire.within_block for wire in _wires(program, path)}
        leaves = {port: program.leaves.get(path.port(port)) for port in _literals(program, path)}
        names |= {leaf.value: port for port, leaf in leaves.items() if leaf is not None}
        self.inputs = frozenset(names)
        depending = set(self.inputs)
        for value in values:
            if any(x in depending for x in value.inputs):
                depending.add(value)
        if program.trace.step is not None:
            names[program.trace.step] = "step"
        inside = depending - self.inputs
        self.steps = dict.fromkeys(v for v in values if v in inside and not _is_alias(v))
        self.names = self._named(program, path, names)
        self.gets_more = not _read_by_gradient_blocks(program).isdisjoint(values)
        """Whether gradient arrives inside the block, from a Gradient block that goes through it."""

    def _named(
        self, program: Program, path: InstancePath, names: dict[Value, str]
    ) -> dict[Value, str]:
        for name in program.block(path).output_names():
            for port in program.leaf_ports(path.port(name)):
                value = program.ports.get(port)
                while value is not None and value not in self.inputs and _is_alias(value):
                    value = value.inputs[0]
                if value in self.steps:
                    names.setdefault(value, port.within_block)
        count = 0
        for value in self.values:
            if value in names:
                continue
            if value in self.steps:
                count += 1
                names[value] = f"t{count}".translate(_SUBSCRIPTS)
            elif value.inputs and value.inputs[0] in names and _is_alias(value):
                names[value] = names[value.inputs[0]]
            else:
                text = PLAIN.written(value, {x: FormulaText(names[x]) for x in value.inputs})
                names[value] = text if 0 < len(text) <= _LONGEST_NAME else PLAIN.unknown
        return names


def primitives_of(program: Program, path: InstancePath) -> BlockPrimitives | None:
    """The primitives of the block at a path; None for a block with a single one, for one with too
    many, and for a Gradient block, which goes through other blocks.
    """
    return program.derived((primitives_of, path), lambda: _primitives(program, path))


def _primitives(program: Program, path: InstancePath) -> BlockPrimitives | None:
    values = program.derived("values of blocks", lambda: _by_block(program)).get(path, [])
    if not 1 < len(values) <= _MOST:
        return None
    own = {*values, program.trace.step}
    inside = (x in own for value in values if value.primitive is not WIRE for x in value.inputs)
    if not all(inside):
        return None
    found = BlockPrimitives(program, path, values)
    return found if len(found.steps) > 1 else None


def _by_block(program: Program) -> Mapping[InstancePath, list[Value]]:
    found: dict[InstancePath, list[Value]] = defaultdict(list)
    for value in program.trace.values[: program.forward_end]:
        found[value.owner].append(value)
    return found


def _read_by_gradient_blocks(program: Program) -> AbstractSet[Value]:
    """The values inside blocks that another block reads, and not through a wire."""
    return program.derived(_read_by_gradient_blocks, lambda: {
        source
        for value in program.trace.values[: program.forward_end]
        if value.primitive is not WIRE
        for source in value.inputs
        if source.owner != value.owner
    } - {*program.ports.values()})  # fmt: skip


def _wires(program: Program, path: InstancePath) -> list[WirePath]:
    wires = (wire for wire, _ in program.instances[path].wires.values())
    return [leaf for wire in wires for leaf in program.leaf_wires(wire) if leaf in program.wires]


def _literals(program: Program, path: InstancePath) -> list[str]:
    instance = program.instances[path]
    return [port for port in instance.inputs if port not in instance.wires]


def _is_alias(value: Value) -> bool:
    """Whether a value is its first input in another dtype, with other axes of length 1, or
    divided by 1.
    """
    if value.primitive is RESHAPE:
        shapes = value.shape, value.inputs[0].shape
        long, other = ([n for n in shape if n != 1] for shape in shapes)
        return long == other
    if value.primitive.name == "divide":
        divisor = value.inputs[1]
        return divisor.primitive is CONSTANT and bool((divisor.attributes["array"] == 1).all())
    return value.primitive is CAST
