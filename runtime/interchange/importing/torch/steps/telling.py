"""Puts the missteps of a run into its diagram, and says them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from gradwire.runtime.diagram.comparison import MAX_MISSTEPS, Misstep
from gradwire.runtime.interchange.importing.imported import Imported, Remark

if TYPE_CHECKING:
    from gradwire.runtime.interchange.importing.torch.memory import Cut

GRADIENT_OFF = "gradient_off"
"""What a cut is called that was there before the program began."""


def left_off(region: Cut | None) -> list[Misstep]:
    """What is wrong with the mode of gradient in which a program ended: what has turned it off, if
    anything has.
    """
    if region is None:
        return []
    if region.name == GRADIENT_OFF:
        text = (
            "Gradient is off when the program begins, by no_grad or set_grad_enabled(False) "
            "around it: nothing gets one. Call torch.set_grad_enabled(True) before."
        )
        return [Misstep(text=text)]
    line, _, _ = region.written.partition(": ")
    text = (
        f"{region.name} ({line}) has turned gradient off, and it is still off at the end: what "
        "follows gets none. Call torch.set_grad_enabled(True), or use torch.no_grad() in a with."
    )
    return [Misstep(text=text, written=region.written)]


def with_remarks(
    imported: Imported, missteps: Iterable[Misstep], hints: Iterable[Misstep]
) -> Imported:
    """The import, with remarks of missteps, and of what may be one."""
    remarks = [Remark("note", each.text, written=each.written) for each in (*missteps, *hints)]
    return replace(imported, remarks=(*imported.remarks, *remarks))


def with_missteps(imported: Imported, missteps: Sequence[Misstep]) -> Imported:
    """The import of a program that was compared, with its missteps in the diagram."""
    comparison = imported.diagram.comparison
    if comparison is None or not missteps:
        return imported
    found = comparison.model_copy(update={"missteps": tuple(missteps[:MAX_MISSTEPS])})
    return replace(imported, diagram=replace(imported.diagram, comparison=found))
