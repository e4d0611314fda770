"""Keeps wires and literals of a Formula block where another expression has other ports."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from gradwire.blocks.formulas.content import content_of
from gradwire.blocks.formulas.places import FormulaError
from gradwire.runtime.diagram.paths import PortName

if TYPE_CHECKING:
    from collections.abc import Sequence

    from gradwire.blocks.library.formula import Formula
    from gradwire.runtime.diagram.edits.page_draft import PageDraft


def refitted(block: Formula, values: Mapping[str, Any]) -> Mapping[str, Any]:
    """The parameters to set, with literals dropped or renamed as the new expression wants."""
    expression = values.get("expression", block.expression)
    try:
        after = content_of(expression).inputs if isinstance(expression, str) else None
    except FormulaError:
        after = None  # the block will be refused
    if after is None:
        return values
    renamed = _renamed(block.content.inputs, after)
    moved: dict[str, Any] = {}
    for name, literal in block.literals.items():
        if name not in after:
            moved[name] = None
            if name in renamed:
                moved[renamed[name]] = literal.to_json()
    return {**moved, **values}


def refit(page: PageDraft, name: str, before: Formula, after: Formula) -> None:
    """Rename the ports of wires where a name has been replaced, and remove wires without a port."""
    inputs, outputs = after.content.inputs, after.content.outputs
    ports = _renamed(before.content.inputs, inputs) | _renamed(before.content.outputs, outputs)
    page.rename_ports({PortName(name, old): PortName(name, new) for old, new in ports.items()})
    lost = [target for target in page.ends.inward.get(name, ()) if target.port not in inputs]
    lost += [
        target
        for target in page.ends.outward.get(name, ())
        if page.wires[target].port not in outputs
    ]
    page.remove_wires(lost)


def _renamed(before: Sequence[str], after: Sequence[str]) -> dict[str, str]:
    """The new name of a port, where exactly one is gone and one has come."""
    gone = [name for name in before if name not in after]
    come = [name for name in after if name not in before]
    return {gone[0]: come[0]} if len(gone) == len(come) == 1 else {}
