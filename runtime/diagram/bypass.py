"""Bypassed blocks: which input goes through."""

from __future__ import annotations

from typing import TYPE_CHECKING

from runtime.diagram.model import own_ports
from runtime.diagram.paths import PortName

if TYPE_CHECKING:
    from runtime.diagram.model import PageView


def passing_input(page: PageView, name: str) -> str | None:
    """The input that goes through a bypassed block; None if no input is wired.

    It is the one that the class names, if that is wired, or else the first that is.
    """
    wired = [port for port in own_ports(page, name).inputs if PortName(name, port) in page.wires]
    through = type(page.blocks[name]).through
    return through if through in wired else next(iter(wired), None)
