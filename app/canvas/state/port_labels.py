"""Labels of ports: the type of a value, and both ends of a wire that is traced."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from gradwire.app.canvas.scene.tracing import origin, readers
from gradwire.app.canvas.state.formatting import dimensions, readout
from gradwire.app.services.translation import editor
from gradwire.runtime.diagram import PortName

if TYPE_CHECKING:
    from gradwire.app.canvas.state.page_result import PageResult

MAX_NAMED = 3
"""Largest number of targets that are named; the others are counted."""
_SHORT = {"f": "f", "i": "i", "u": "u"}


def value_type(page: PageResult, block: int, port: str) -> str:
    """``2 × 3 f32`` for an output; empty while its value is unknown.

    Also empty for an array too large to be shown in full, since its face shows the shape.
    """
    value = page.value(page.scene.names[block], port)
    if not isinstance(value, np.ndarray) or readout(value).prose:
        return ""
    dtype = _SHORT.get(value.dtype.kind, "") + str(8 * value.dtype.itemsize)
    dtype = "bool" if value.dtype == bool else dtype
    return f"{dimensions(value.shape)} {dtype}" if value.ndim else dtype


def wire_ends(page: PageResult, key: str) -> tuple[str, str]:
    """The source and the target of a wire, with what lies behind them.

    ``enc.y ← enc/mul1.out · 2 × 3 float32`` and ``dec.x → dec/mul1.a, dec/mul2.b``.
    """
    scene, target = page.scene, PortName.parse(key)
    source, use = scene.page.wires[target], page.use
    behind = origin(scene.diagram, use, source)
    head = str(source)
    if behind is not None and behind != use.port_inside(source):
        head = f"{head} ← {behind}"
    value = page.value(source.block, source.port)
    if isinstance(value, np.ndarray):
        head = f"{head} · {dimensions(value.shape)} {value.dtype}"
    beyond = readers(scene.diagram, use, target)
    if beyond == [use.wire_inside(target)]:
        return head, key
    named = ", ".join(beyond[:MAX_NAMED])
    if len(beyond) > MAX_NAMED:
        more = editor.tr("{0} and {1} more")
        named = more.format(named, len(beyond) - MAX_NAMED)
    return head, f"{key} → {named}" if named else key
