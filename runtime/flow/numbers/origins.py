"""Where values stop being finite: the first block that makes NaN or an infinity, and of what."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from gradwire.blocks.block import Source
from gradwire.blocks.classes.dataclass import dataclass
from gradwire.blocks.errors import GradwireError, Location
from gradwire.blocks.importing.kinds import is_kind
from gradwire.blocks.library.gradient import Gradient
from gradwire.blocks.values import Array
from gradwire.runtime.diagram import MAIN, Diagnostic
from gradwire.runtime.diagram.paths import PortPath
from gradwire.runtime.engine.norms import NormBatch, batched, batches
from gradwire.runtime.flow.numbers.isolated import IsolatedBlock
from gradwire.runtime.flow.numbers.remedies import Remedies
from gradwire.runtime.flow.structure.neighbours import neighbours_of
from gradwire.runtime.flow.words import phrases, value_sentences
from gradwire.runtime.flow.words.formatting import number
from gradwire.runtime.flow.words.value_sentences import InputElement

if TYPE_CHECKING:
    from gradwire.runtime.diagram.checks.diagnostics import Severity
    from gradwire.runtime.diagram.paths import InstancePath
    from gradwire.runtime.engine.program import Program


# Why the value of a Gradient block is not finite: which slope within what it differentiates.

Inputs = Callable[["InstancePath"], Mapping[str, Array]]
"""The arrays that a block reads, by port."""
_TRIED = 64
"""Blocks whose slopes are looked at."""


def steep_block(program: Program, inputs: Inputs, gradient: InstancePath) -> InstancePath | None:
    """The block nearest to ``of`` of a Gradient block whose slope is not finite, though its value
    is; None if none is found.
    """
    near = neighbours_of(program)
    ends = near.sources(gradient)
    if "of" not in ends or "wrt" not in ends:
        return None
    found = {ends["of"].block: None}
    pending = [ends["of"].block]
    while pending and len(found) <= _TRIED:
        at = pending.pop(0)
        if at == ends["wrt"].block or isinstance(program.block(at), Source):
            continue
        passing = _slopes(program, at, inputs(at))
        if any(slope is not None and not np.isfinite(slope).all() for slope in passing.values()):
            return at
        sources = (port.block for name, port in near.sources(at).items() if _passes(passing, name))
        further = [block for block in sources if block not in found]
        found |= dict.fromkeys(further)
        pending += further
    return None


def _slopes(
    program: Program, at: InstancePath, inputs: Mapping[str, Array]
) -> Mapping[str, Array | None]:
    """What comes back to each input of a block where ones arrive; empty if that can't be run."""
    wired = {port: array for port, array in inputs.items() if port in program.instances[at].wires}
    ports = program.block(at).output_names()
    try:
        isolated = IsolatedBlock(program.block(at), wired)
        ones = {port: np.ones_like(a) for port, a in isolated.outputs({}, [*ports]).items()}
        return isolated.gradients(ones)
    except GradwireError:
        return {}


def _passes(slopes: Mapping[str, Array | None], port: str) -> bool:
    """Whether gradient may come back to an input: it does, or that is not known."""
    return slopes.get(port) is not None if port in slopes else True


# Finds NaN and infinities in the values of a run.


class _Floats(NamedTuple):
    """The ports of a run whose values are floats, and which of them can be searched together."""

    ports: list[str]
    batches: list[NormBatch]


def _floats_of(values: Mapping[str, Array]) -> _Floats:
    floats = {port: array for port, array in values.items() if array.dtype.kind in "fc"}
    return _Floats(list(floats), batched(floats.values()))


def ports_not_finite(
    program: Program, values: Mapping[str, Array]
) -> tuple[frozenset[PortPath], frozenset[PortPath]]:
    """The ports whose values are not finite, and those of them whose values have NaN."""
    # Dtypes follow from the program, but feeds may have other sizes.
    about = "float values", tuple(values), tuple([array.size for array in values.values()])
    ports, known = program.derived(about, lambda: _floats_of(values))
    arrays = [values[port] for port in ports]
    wild: list[int] = []
    nans: list[int] = []
    for places, rows in batches(arrays, known):
        if rows is None:
            wild += [place for place in places if not is_finite(arrays[place])]
            nans += [place for place in places if has_nan(arrays[place])]
        elif not (finite := np.isfinite(rows)).all():
            wild += np.array(places)[~finite.all(axis=1)].tolist()
            nans += np.array(places)[np.isnan(rows).any(axis=1)].tolist()
    return (
        frozenset(PortPath(ports[place]) for place in wild),
        frozenset(PortPath(ports[place]) for place in nans),
    )


def is_finite(array: Array | None) -> bool:
    """Whether an array has neither NaN nor infinities; what has no floats has none."""
    return array is None or array.dtype.kind not in "fc" or bool(np.isfinite(array).all())


def has_nan(array: Array | None) -> bool:
    """Whether an array has NaN; what has no floats has none."""
    return array is not None and array.dtype.kind in "fc" and bool(np.isnan(array).any())


NOT_FINITE = "value-not-finite"
"""Code of the diagnostic of such a block."""


@dataclass(frozen=True, slots=True)
class Origin:
    """A block whose value is NaN or infinite first, with ``reason``: what it made that of.

    ``spoilt`` are the losses whose value it spoils, ``beside`` those that another origin spoils
    and that it leads to; ``then`` the block that made NaN of its infinity, if one did.
    """

    block: InstancePath
    what: str
    reason: str
    cure: str = ""
    then: InstancePath | None = None
    spoilt: tuple[PortPath, ...] = ()
    beside: tuple[PortPath, ...] = ()

    @property
    def cause(self) -> str:
        """``log1 is NaN: log of −1.00 (element 0 of x)``, with the cure."""
        return " ".join(filter(None, (self._made, self.cure)))

    @property
    def sentence(self) -> str:
        """The cause, and which losses are spoilt by it."""
        return f"{self.cause} {self._spoils}"

    @property
    def diagnostic(self) -> Diagnostic:
        """The same as a problem of the block: a warning where it spoils a loss."""
        severity: Severity = "warning" if self.spoilt or self.beside else "info"
        what, place = f"{self._made} {self._spoils}", Location(MAIN, self.block)
        return Diagnostic(severity, place, what, next_step=self.cure or None, code=NOT_FINITE)

    @property
    def _made(self) -> str:
        then = f"{self.then} makes NaN of it." if self.then else ""
        return " ".join(filter(None, (f"{self.block} is {self.what}: {self.reason}.", then)))

    @property
    def _spoils(self) -> str:
        found = self.spoilt or self.beside
        if not found:
            return "No loss is affected."
        losses = " and ".join(loss.block for loss in found)
        said = f"{losses} {'is' if len(found) == 1 else 'are'} not finite"
        return f"That is why {said}." if self.spoilt else f"Behind it, {said} either."


class Values:
    """The values of one run, searched for the first that are not finite."""

    def __init__(
        self,
        program: Program,
        values: Mapping[str, Array],
        not_finite: tuple[frozenset[PortPath], frozenset[PortPath]] | None = None,
    ) -> None:
        self._program = program
        self._values = values
        self._given = not_finite
        """The ports whose values are not finite, and have NaN, where that is known already."""

    def are_quiet(self, losses: Iterable[PortPath]) -> bool:
        """Whether no block makes NaN or infinities of what is none, and all losses are finite."""
        return all(map(self.is_fine, losses)) and next(self._makers(), None) is None

    def origins(self, losses: Iterable[PortPath]) -> list[Origin]:
        """What spoils the losses first, then what is not finite and spoils none of them."""
        spoilt: dict[InstancePath, list[PortPath]] = {}
        makers: dict[InstancePath, InstancePath] = {}
        for loss in losses:
            if not is_finite(self._values.get(loss)):
                first, maker = self.trace(loss.block)
                spoilt.setdefault(first, []).append(loss)
                makers[first] = maker
        known = {*spoilt, *makers.values()}
        return [
            *(self._origin(path, makers[path], tuple(heads)) for path, heads in spoilt.items()),
            *(self._beside(path, spoilt) for path in self._makers() if path not in known),
        ]

    def _beside(
        self, path: InstancePath, spoilt: Mapping[InstancePath, Sequence[PortPath]]
    ) -> Origin:
        """What is not finite itself, and may lead to losses that something else spoils."""
        heads = dict.fromkeys(head for heads in spoilt.values() for head in heads)
        ahead = self._ahead(path) if heads else ()
        beside = (head for head in heads if head.block in ahead)
        return replace(self._origin(path, path, ()), beside=tuple(beside))

    def _ahead(self, path: InstancePath) -> set[InstancePath]:
        """The block and those downstream of it, as far as values are not finite."""
        pending, seen = [path], {path}
        while pending:
            readers = self._readers.get(pending.pop(), ())
            further = {b for b in readers if b in self._wild_blocks and b not in seen}
            pending += further
            seen |= further
        return seen

    def origin(self, path: InstancePath) -> Origin | None:
        """What made the value of a block, or one that it reads, not finite first; None where all
        are finite, or an infinity is merely given and the block makes finite values of it.
        """
        first, maker = self.trace(path)
        given = isinstance(self._program.block(first), Source) and not self.what(path)
        return self._origin(first, maker, ()) if self.what(first) and not given else None

    def is_fine(self, port: PortPath) -> bool:
        """Whether the value of a port has neither NaN nor infinities."""
        return port not in self._wild

    def trace(self, path: InstancePath) -> tuple[InstancePath, InstancePath]:
        """The first block on the way to a block whose value is not finite, and the one that makes
        NaN of its infinity (the same where there is none). A source that holds an infinity, or a
        block that is given one as a number, is to blame only where no block makes NaN of it.
        """
        maker = self._upstream(path, self._nans)
        first = self._upstream(maker, self._wild)
        given = self._is_given(first) and self.what(maker) == "NaN"
        return (maker, maker) if given else (first, maker)

    def _is_given(self, path: InstancePath) -> bool:
        """Whether an infinity is a source's own, or one of the literals of a block."""
        block = self._program.block(path)
        literals = (np.asarray(literal.tensor.array) for literal in block.literals.values())
        return isinstance(block, Source) or not all(map(is_finite, literals))

    def what(self, path: InstancePath) -> str:
        """``NaN``, ``∞`` or ``−∞``: what a block's value has; empty where all is finite."""
        bad = [self._values[port] for port in self._wild_outputs(path)]
        if not bad:
            return ""
        if any(map(has_nan, bad)):
            return "NaN"
        return number(float(bad[0][~np.isfinite(bad[0])].flat[0]))

    def inputs(self, path: InstancePath) -> dict[str, Array]:
        """The arrays that a block reads, by port in the block's order: those on wires, by leaf,
        and its literals.
        """
        instance, program = self._program.instances[path], self._program
        literals, found = instance.block.literals, {}
        for port in instance.inputs:
            if port in literals:
                found[port] = np.asarray(literals[port].tensor.array)
            elif port in instance.wires:
                for leaf in program.leaf_wires(instance.wires[port][0]):
                    value = self._values.get(program.wire_sources[leaf])
                    if value is not None:
                        found[leaf.within_block] = value
        return found

    # ---- within -------------------------------------------------------------------------------

    @cached_property
    def _not_finite(self) -> tuple[frozenset[PortPath], frozenset[PortPath]]:
        return self._given or ports_not_finite(self._program, self._values)

    @property
    def _wild(self) -> frozenset[PortPath]:
        """The ports whose values are not finite."""
        return self._not_finite[0]

    @property
    def _nans(self) -> frozenset[PortPath]:
        """The ports whose values have NaN."""
        return self._not_finite[1]

    @cached_property
    def _wild_blocks(self) -> dict[InstancePath, None]:
        """The blocks of which an output is not finite, in document order."""
        found = {port.block for port in self._wild}
        return {path: None for path in self._program.instances if path in found} if found else {}

    def _wild_outputs(self, path: InstancePath) -> list[PortPath]:
        instance, program = self._program.instances[path], self._program
        return [
            leaf
            for name in instance.block.output_names()
            for leaf in program.leaf_ports(instance.port(name))
            if leaf in self._wild
        ]

    def _upstream(self, path: InstancePath, bad: frozenset[PortPath]) -> InstancePath:
        """The furthest block back along inputs that are bad."""
        while True:
            for port, block in self._sources.get(path, {}).items():
                if port in bad:
                    path = block
                    break
            else:
                return path

    def _makers(self) -> Iterator[InstancePath]:
        """Blocks that make NaN of no NaN, or infinities of finite inputs."""
        wild, nans = self._not_finite
        nan_blocks = {port.block for port in nans}
        for path in self._wild_blocks:
            read = self._sources.get(path, {})
            if not nans.isdisjoint(read):
                continue
            block = self._program.block(path)
            literals = (literal.tensor.array for literal in block.literals.values())
            if path in nan_blocks and not any(map(has_nan, literals)):
                yield path
            elif wild.isdisjoint(read) and not self._is_given(path):
                yield path

    def _origin(
        self, path: InstancePath, maker: InstancePath, losses: tuple[PortPath, ...]
    ) -> Origin:
        then = maker if maker != path and self.what(maker) == "NaN" else None
        what = self.what(path)
        wild = self._wild_outputs(path)
        if not wild or isinstance(self._program.block(path), Source):
            cure = "" if what == "NaN" else value_sentences.GIVEN
            return Origin(path, what, phrases.GIVEN_SO, cure, then, losses)
        if steep := self._steep_within(path):
            reason, cure = value_sentences.STEEP.format(steep), self.remedies.of_slope(steep)
            return Origin(path, what, reason, cure, then, losses)
        array = self._values[wild[0]]
        at, name = _first(array), self._program.block(path).type_name()
        inputs = _beside(wild[0], self.inputs(path))
        elements = [_element(port, value, array, at) for port, value in inputs.items()]
        reason = value_sentences.reason(name, what, elements, array.dtype.name)
        zeros = (element.port for element in elements if element.value == 0)
        if small := next(filter(None, (self.remedies.underflow(path, z) for z in zeros)), None):
            reason = f"{reason}{value_sentences.underflows(small)}"
        return Origin(path, what, reason, self._cure(path, elements), then, losses)

    def of_derivative(self, path: InstancePath) -> Origin | None:
        """What made the value of a Gradient block that differentiates through a block not finite;
        None where none is.
        """
        if not self._wild:
            return None
        gradients = neighbours_of(self._program).differentiating(path)
        found = (at for at in gradients if self.what(at))
        return next(filter(None, map(self.origin, found)), None)

    def _steep_within(self, path: InstancePath) -> InstancePath | None:
        """The block whose slope makes NaN or ∞ of the finite numbers of a Gradient block."""
        is_gradient = isinstance(self._program.block(path), Gradient)
        fine = is_gradient and all(map(is_finite, self.inputs(path).values()))
        return steep_block(self._program, self.inputs, path) if fine else None

    def _cure(self, path: InstancePath, elements: Sequence[InputElement]) -> str:
        """What would keep the value finite; that a Where does not take it, where one does not and
        it spoils no loss by another way either.
        """
        where = None if self._spoils(path) else self._where_past(path)
        if where is not None:
            return value_sentences.not_taken(where)
        return self.remedies.of_value(path, elements)

    def _spoils(self, path: InstancePath) -> bool:
        """Whether a block leads to a loss by values that are not finite."""
        spoilt = {head.block for head in self._program.heads() if not self.is_fine(head)}
        return bool(spoilt) and not spoilt.isdisjoint(self._ahead(path))

    @cached_property
    def remedies(self) -> Remedies:
        """The cures for these values."""
        return Remedies(self._program, self._values)

    def _where_past(self, path: InstancePath) -> InstancePath | None:
        """The Where downstream that makes finite values of what is not, by taking other ones."""
        if not self._has_where:
            return None
        pending, seen = [path], {path}
        while pending:
            at = pending.pop()
            if at != path and at not in self._wild_blocks:
                if is_kind(self._program.block(at), "Where"):
                    return at
                continue
            further = [block for block in self._readers.get(at, ()) if block not in seen]
            pending += further
            seen.update(further)
        return None

    @property
    def _has_where(self) -> bool:
        instances = self._program.instances.values()
        return self._program.derived(
            "has Where", lambda: any(is_kind(instance.block, "Where") for instance in instances)
        )

    @cached_property
    def _readers(self) -> dict[InstancePath, list[InstancePath]]:
        """The blocks that read a block's outputs."""
        return self._program.derived("readers of blocks", lambda: _readers_of(self._program))

    @cached_property
    def _sources(self) -> dict[InstancePath, dict[PortPath, InstancePath]]:
        """The ports that a block reads, leaf by leaf, with the blocks that they belong to."""
        return self._program.derived("ports read by blocks", lambda: _sources_of(self._program))


def _readers_of(program: Program) -> dict[InstancePath, list[InstancePath]]:
    found: dict[InstancePath, list[InstancePath]] = {}
    for wire, source in program.wire_sources.items():
        found.setdefault(source.block, []).append(program.wire_targets[wire])
    return found


def _sources_of(program: Program) -> dict[InstancePath, dict[PortPath, InstancePath]]:
    return {
        path: {
            source: source.block
            for wire, _ in instance.wires.values()
            for leaf in program.leaf_wires(wire)
            if (source := program.wire_sources.get(leaf)) is not None
        }
        for path, instance in program.instances.items()
        if instance.wires
    }


def _beside(port: PortPath, inputs: Mapping[str, Array]) -> dict[str, Array]:
    """The inputs that an output may be made of: for a leaf of a tree, the same leaf where it is."""
    leaves = {name: PortPath(name).leaf for name in inputs}
    own = port.leaf if port.leaf in leaves.values() else ""
    return {
        name: value
        for name, value in inputs.items()
        if value.size and (not own or leaves[name] in ("", own))
    }


def _first(array: Array) -> tuple[int, ...]:
    """The index of the first NaN, else of the first infinity."""
    bad = np.isnan(array) if has_nan(array) else ~np.isfinite(array)
    return tuple(int(i) for i in np.unravel_index(int(np.argmax(bad)), array.shape))


def _element(port: str, value: Array, result: Array, at: tuple[int, ...]) -> InputElement:
    """What a result's element was made of: by broadcasting, else the first element that is not
    finite, else the largest.
    """
    offset = result.ndim - value.ndim
    sizes = [*zip(value.shape, result.shape[max(offset, 0) :], strict=False)]
    if offset >= 0 and all(size in (1, whole) for size, whole in sizes):
        index = tuple(0 if n == 1 else i for (n, _), i in zip(sizes, at[offset:], strict=True))
    elif not is_finite(value):
        index = _first(value)
    else:
        index = tuple(map(int, np.unravel_index(int(np.argmax(np.abs(value))), value.shape)))
    reduced = value.size if result.size < value.size else 1
    return InputElement(port, float(value[index]), index if value.size > 1 else (), reduced)
