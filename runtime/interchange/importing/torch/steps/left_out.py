"""Numbers that a program computes with gradient and then leaves out of everything."""

from __future__ import annotations

import gc
from collections.abc import Container, Iterable, Iterator
from typing import TYPE_CHECKING, Any

from gradwire.runtime.diagram.comparison import MAX_TEXT, Misstep
from gradwire.runtime.interchange.importing.torch.inspection import node_of

if TYPE_CHECKING:
    from gradwire.runtime.interchange.importing.torch.steps.failures import NodeHistory

_MOST = 8
"""Numbers for which it is asked who else keeps them, at most: that takes long."""


def unused(
    tensors: Iterable[Any], read: Container[int], results: Iterable[Any], history: NodeHistory
) -> Iterator[Misstep]:
    """Single numbers with a gradient that no operation reads and that the program neither returns
    nor keeps, as a penalty that was not added to the loss. ``read`` are identities.
    """
    given = {id(x) for x in results}
    single = (x for x in tensors if x.dim() == 0 and node_of(x) is not None)
    found = tuple(x for x in single if id(x) not in read and id(x) not in given)
    for tensor in found[:_MOST]:
        made = history.made(tensor)
        if made is not None and made.place.line and not _is_kept(tensor):
            text = (
                f"What is computed here ({made.place.written}) has a gradient, and nothing uses "
                "it: it is in no loss. Add it to one, or leave it out."
            )
            yield Misstep(text=text[:MAX_TEXT], written=made.place.written)


def _is_kept(tensor: Any) -> bool:
    """Whether a list, a dict or an object has a tensor; what records a run has it in tuples."""
    return any(isinstance(x, dict | list | set) for x in gc.get_referrers(tensor))
