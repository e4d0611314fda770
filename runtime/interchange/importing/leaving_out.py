"""Leaves out of a captured diagram what its user would rather not save: data, source, numbers."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from gradwire.blocks.classes.dataclass import dataclass
from gradwire.blocks.library.recorded import LEFT_OUT, SEEN, Recorded
from gradwire.blocks.library.sources import Input, Variable
from gradwire.blocks.values import Tensor
from gradwire.runtime.diagram.paths import PortPath
from gradwire.runtime.engine.fingerprints import fingerprints
from gradwire.runtime.engine.flatten import flatten

if TYPE_CHECKING:
    from gradwire.blocks.block import Block
    from gradwire.runtime.diagram.comparison import Misstep
    from gradwire.runtime.diagram.model import Diagram
    from gradwire.runtime.interchange.importing.imported import Imported


@dataclass(frozen=True)
class Keeps:
    """What a capture is to keep."""

    data: bool = True
    """The numbers of the batch."""
    source: bool = True
    """What lines of source say."""
    structure: bool = False
    """Nothing but structure: no numbers at all."""

    def left_of(self, imported: Imported) -> Imported:
        """What is left of an import without the numbers that are not to be kept.

        A comparison goes on holding: it is about what the program was given.
        """
        if self.data and not self.structure:
            return imported
        diagram, comparison = imported.diagram, imported.diagram.comparison
        left = (without_numbers if self.structure else without_data)(diagram)
        if comparison is not None and comparison.values:
            losses = map(PortPath, comparison.losses)
            found = fingerprints(flatten(left), losses).values
            left = replace(left, comparison=comparison.model_copy(update={"values": found}))
        if left.measured is not None:
            left = replace(left, measured=replace(left.measured, of=left.pages))
        return replace(imported, diagram=left)


EVERYTHING = Keeps()


def without_data(diagram: Diagram) -> Diagram:
    """A diagram without the numbers of its inputs, and those of Recorded blocks, which were
    computed from them.
    """
    return _mapped(diagram, lambda block: _emptied(block, Input))


def without_numbers(diagram: Diagram) -> Diagram:
    """The same, and without those of variables."""
    return _mapped(diagram, lambda block: _emptied(block, Input, Variable))


def without_source(imported: Imported) -> Imported:
    """An import that keeps files and numbers of lines, not what they say."""
    return replace(
        imported,
        diagram=_mapped(imported.diagram, _without_line),
        remarks=tuple(replace(r, written=_place(r.written)) for r in imported.remarks),
    )


def without_lines(missteps: Iterable[Misstep], lines: Iterable[str]) -> Iterator[Misstep]:
    """The same of missteps, whose texts may quote some of these lines."""
    quoted = sorted({line for line in lines if line != _place(line)}, key=len, reverse=True)
    for misstep in missteps:
        text = misstep.text
        for line in quoted:
            text = text.replace(line, _place(line))
        yield misstep.model_copy(update={"text": text, "written": _place(misstep.written)})


def _mapped(diagram: Diagram, change: Callable[[Block], Block]) -> Diagram:
    pages = {
        name: replace(page, blocks={key: change(block) for key, block in page.blocks.items()})
        for name, page in diagram.pages.items()
    }
    return replace(diagram, pages=pages)


def _emptied(block: Block, *kinds: type[Input | Variable]) -> Block:
    if isinstance(block, kinds) and block.value is not None:
        left: dict[str, object] = {"value": None, "shape": block.value.shape}
        if isinstance(block, Variable) and not block.dtype.startswith("float"):
            left["initialiser"] = "zeros"
        return block.model_copy(update=left)
    return _forgetful(block) if isinstance(block, Recorded) else block


def _forgetful(block: Recorded) -> Recorded:
    """A Recorded block that passes gradient where it did in its run, and refuses to compute."""
    unknown = np.zeros((len(block.takes), SEEN))
    unknown[:, 0] = LEFT_OUT
    arrays = {"seen": Tensor(unknown)} if block.takes else {}
    if not block.keeps_value:
        for j, (dtype, shape) in enumerate(block.gives):
            arrays[f"value {j}"] = Tensor(np.zeros(shape, dtype))
    depends = (
        tuple(sorted(i for i in range(len(block.takes)) if output.passes(i)))
        for output in block.run.outputs
    )
    made = Recorded(
        operation=block.operation,
        takes=block.takes,
        gives=block.gives,
        depends=tuple(depends),
        unasked=block.unasked,
        keeps_value=block.keeps_value,
        arrays=arrays,
    )
    around = {name: getattr(block, name) for name in ("written", "literals", "owned", "bypassed")}
    return made.model_copy(update=around)


def _without_line(block: Block) -> Block:
    place = _place(block.written)
    return block if place == block.written else block.model_copy(update={"written": place})


def _place(written: str) -> str:
    return written.partition(": ")[0]
