"""Where values stop being finite: the first block that makes NaN or an infinity, and of what."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from blocks.block import Source
from blocks.library.logic import Where
from runtime.diagram.paths import PortPath
from runtime.flow.numbers.remedies import Remedies
from runtime.flow.words import value_sentences
from runtime.flow.words.formatting import number
from runtime.flow.words.value_sentences import Element

if TYPE_CHECKING:
    from runtime.diagram.paths import InstancePath
    from runtime.engine.program import Program

Array = NDArray[Any]


@dataclass(frozen=True, slots=True)
class Origin:
    """A block whose value is NaN or infinite first, with ``reason``: what it made that of.

    ``spoilt`` are the losses whose value it spoils; ``then`` the block that made NaN of its
    infinity, if one did.
    """

    block: InstancePath
    what: str
    reason: str
    cure: str = ""
    then: InstancePath | None = None
    spoilt: tuple[PortPath, ...] = ()

    @property
    def cause(self) -> str:
        """``log1 is NaN: log of −1.00 (element 0 of x)``, with the cure."""
        then = f"{self.then} makes NaN of it." if self.then else ""
        sentences = (f"{self.block} is {self.what}: {self.reason}.", then, self.cure)
        return " ".join(filter(None, sentences))

    @property
    def sentence(self) -> str:
        """The cause, and which losses are spoilt by it."""
        if not self.spoilt:
            return f"{self.cause} No loss is affected."
        losses = " and ".join(loss.block for loss in self.spoilt)
        is_not = "is" if len(self.spoilt) == 1 else "are"
        return f"{self.cause} That is why {losses} {is_not} not finite."


class Values:
    """The values of one run, searched for the first that are not finite."""

    def __init__(self, program: Program, values: Mapping[str, Array]) -> None:
        self._program = program
        self._values = values

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
            *(self._origin(path, path, ()) for path in self._makers() if path not in known),
        ]

    def origin(self, path: InstancePath) -> Origin | None:
        """What made the value of a block, or one that it reads, not finite first; None where all
        are finite, or an infinity is merely given and the block makes finite values of it.
        """
        first, maker = self.trace(path)
        given = isinstance(self._program.block(first), Source) and not self.what(path)
        return self._origin(first, maker, ()) if self.what(first) and not given else None

    def trace(self, path: InstancePath) -> tuple[InstancePath, InstancePath]:
        """The first block on the way to a block whose value is not finite, and the one that makes
        NaN of its infinity (the same where there is none). A source that holds an infinity, or a
        block that is given one as a number, is to blame only where no block makes NaN of it.
        """
        maker = self._upstream(path, _has_nan)
        first = self._upstream(maker, lambda array: not is_finite(array))
        given = self._is_given(first) and self.what(maker) == "NaN"
        return (maker, maker) if given else (first, maker)

    def _is_given(self, path: InstancePath) -> bool:
        """Whether an infinity is a source's own, or one of the literals of a block."""
        block = self._program.block(path)
        literals = (np.asarray(literal.tensor.array) for literal in block.literals.values())
        return isinstance(block, Source) or not all(map(is_finite, literals))

    def what(self, path: InstancePath) -> str:
        """``NaN``, ``inf`` or ``−inf``: what a block's value has; empty where all is finite."""
        bad = [array[~np.isfinite(array)] for array in self._outputs(path) if not is_finite(array)]
        if not bad:
            return ""
        found = next((a for a in bad if np.isnan(a).any()), bad[0])
        return "NaN" if np.isnan(found).any() else number(float(found.flat[0]))

    def inputs(self, path: InstancePath) -> dict[str, Array]:
        """The arrays that a block reads, by port: those on wires, by leaf, and its literals."""
        instance, program = self._program.instances[path], self._program
        found = {
            name: np.asarray(literal.tensor.array)
            for name, literal in instance.block.literals.items()
        }
        for wire, _ in instance.wires.values():
            for leaf in program.leaf_wires(wire):
                value = self._values.get(program.wire_sources[leaf])
                if value is not None:
                    found[leaf.within_block] = value
        return found

    # ---- within -------------------------------------------------------------------------------

    def _outputs(self, path: InstancePath) -> Iterator[Array]:
        instance, program = self._program.instances[path], self._program
        for name in instance.block.output_names():
            for leaf in program.leaf_ports(instance.port(name)):
                if (value := self._values.get(leaf)) is not None:
                    yield value

    def _upstream(self, path: InstancePath, bad: Callable[[Array | None], bool]) -> InstancePath:
        """The furthest block back along inputs that are bad."""
        program = self._program
        while True:
            sources = (
                program.wire_sources[leaf]
                for wire, _ in program.instances[path].wires.values()
                for leaf in program.leaf_wires(wire)
            )
            further = next((s.block for s in sources if bad(self._values.get(s))), None)
            if further is None:
                return path
            path = further

    def _makers(self) -> Iterator[InstancePath]:
        """Blocks that make NaN of no NaN, or infinities of finite inputs."""
        wild = {
            PortPath(port).block for port, array in self._values.items() if not is_finite(array)
        }
        for path in (path for path in self._program.instances if path in wild):
            inputs = [*self.inputs(path).values()]
            source = isinstance(self._program.block(path), Source)
            makes_nan = self.what(path) == "NaN" and not any(map(_has_nan, inputs))
            if makes_nan or (not source and all(map(is_finite, inputs))):
                yield path

    def _origin(
        self, path: InstancePath, maker: InstancePath, losses: tuple[PortPath, ...]
    ) -> Origin:
        then = maker if maker != path and self.what(maker) == "NaN" else None
        what = self.what(path)
        array = next((a for a in self._outputs(path) if not is_finite(a)), None)
        if array is None or isinstance(self._program.block(path), Source):
            return Origin(path, what, "it is given so", then=then, spoilt=losses)
        at, name = _first(array), self._program.block(path).type_name()
        inputs = {port: value for port, value in self.inputs(path).items() if value.size}
        elements = [_element(port, value, array, at) for port, value in inputs.items()]
        reason = value_sentences.reason(name, what, elements, array.dtype.name)
        return Origin(path, what, reason, self._cure(path, elements), then, losses)

    def _cure(self, path: InstancePath, elements: Sequence[Element]) -> str:
        """What would keep the value finite; that a Where does not take it, where one does not."""
        if where := self._where_past(path):
            return value_sentences.not_taken(where)
        return self.remedies.of_value(path, elements)

    @cached_property
    def remedies(self) -> Remedies:
        """The cures for these values."""
        return Remedies(self._program, self._values)

    def _where_past(self, path: InstancePath) -> InstancePath | None:
        """The Where downstream that makes finite values of what is not, by taking other ones."""
        pending, seen = [path], {path}
        while pending:
            at = pending.pop()
            if at != path and not self.what(at):
                if isinstance(self._program.block(at), Where):
                    return at
                continue
            further = [block for block in self._readers.get(at, ()) if block not in seen]
            pending += further
            seen.update(further)
        return None

    @cached_property
    def _readers(self) -> dict[InstancePath, list[InstancePath]]:
        found: dict[InstancePath, list[InstancePath]] = {}
        for wire, source in self._program.wire_sources.items():
            found.setdefault(source.block, []).append(self._program.wire_targets[wire])
        return found


def is_finite(array: Array | None) -> bool:
    """Whether an array has neither NaN nor infinities; what has no floats has none."""
    return array is None or array.dtype.kind not in "fc" or bool(np.isfinite(array).all())


def _has_nan(array: Array | None) -> bool:
    return array is not None and array.dtype.kind in "fc" and bool(np.isnan(array).any())


def _first(array: Array) -> tuple[int, ...]:
    """The index of the first NaN, else of the first infinity."""
    bad = np.isnan(array) if _has_nan(array) else ~np.isfinite(array)
    return tuple(int(i) for i in np.unravel_index(int(np.argmax(bad)), array.shape))


def _element(port: str, value: Array, result: Array, at: tuple[int, ...]) -> Element:
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
    return Element(port, float(value[index]), index if value.size > 1 else (), reduced)
