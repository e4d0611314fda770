"""What each input of a Scan gets in each step, as a choice."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from gradwire.app.panels.inspector.fields import ChoiceField

if TYPE_CHECKING:
    from collections.abc import Sequence

    from PySide6.QtWidgets import QWidget

    from gradwire.blocks.library.pages import Scan

SAME, ELEMENT, CARRIED = "same", "element", "="
"""Roles of an input; what is carried from the output h_n is ``=h_n``."""


def role_of(scan: Scan, port: str) -> str:
    """The role of an input."""
    if port in scan.carry:
        return CARRIED + scan.carry[port]
    return ELEMENT if port in scan.over else SAME


def with_role(scan: Scan, port: str, role: str) -> dict[str, Any]:
    """The parameters of a Scan that give an input another role."""
    carry = {name: output for name, output in scan.carry.items() if name != port}
    over = [name for name in scan.over if name != port]
    if role == ELEMENT:
        over.append(port)
    elif role != SAME:
        carry[port] = role.removeprefix(CARRIED)
    return {"carry": carry, "over": over}


class RoleField(ChoiceField):
    """The role of one input: the same in all steps, one element per step, or carried."""

    def __init__(self, outputs: Sequence[str], parent: QWidget | None = None) -> None:
        super().__init__((SAME, ELEMENT, *(CARRIED + name for name in outputs)), parent)
        texts = [self.tr("the same in all steps"), self.tr("one element per step")]
        texts += [self.tr("carried from {0}").format(name) for name in outputs]
        for index, text in enumerate(texts):
            self.box.setItemText(index, text)
