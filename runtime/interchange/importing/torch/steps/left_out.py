"""Numbers that a program computes with gradient and then leaves out of everything."""

from __future__ import annotations

import gc
import re
from collections.abc import Container, Iterable, Iterator
from typing import TYPE_CHECKING, Any

from gradwire.runtime.diagram.comparison import MAX_TEXT, Misstep
from gradwire.runtime.interchange.importing.staged import leaves_of

if TYPE_CHECKING:
    from gradwire.runtime.interchange.importing.staged import Staged
    from gradwire.runtime.interchange.importing.torch.steps.failures import History

_AGAIN = re.compile(r"(\w+)\s*=(?!=).*\b\1\b")
"""An assignment to a name that it reads."""
_MOST = 8
"""Numbers for which it is asked who else keeps them, at most: that takes long."""


def unused(
    tensors: Iterable[Any], read: Container[int], results: Iterable[Any], history: History
) -> Iterator[Misstep]:
    """Single numbers with a gradient that no operation reads and that the program neither returns
    nor keeps, as a penalty that was not added to the loss. ``read`` are identities.
    """
    given = {id(x) for x in results}
    single = (x for x in tensors if x.dim() == 0 and x.grad_fn is not None)
    found = tuple(x for x in single if id(x) not in read and id(x) not in given)
    for tensor in found[:_MOST]:
        made = history.made(tensor)
        if made is not None and made.place.line and not _is_kept(tensor):
            text = (
                f"What is computed here ({made.place.written}) has a gradient, and nothing uses "
                "it: it is in no loss. Add it to one, or leave it out."
            )
            yield Misstep(text=text[:MAX_TEXT], written=made.place.written)


def renamed(
    entries: Iterable[tuple[Any, Any]],
    read: Container[int],
    results: Iterable[Any],
    variables: Iterable[Staged],
) -> Iterator[Misstep]:
    """Updates that give a name of the program another tensor, which nothing uses, where they should
    write to a parameter: ``p = p - rate * p.grad``. ``entries`` are tensors with what they are.
    """
    given = {id(x) for x in results}
    known = {x.value: x.shape for x in variables}
    for tensor, value in entries:
        if id(tensor) in read or id(tensor) in given or value.source is None:
            continue
        written = value.source.block.written
        line, _, code = written.partition(": ")
        if _AGAIN.match(code) is None:
            continue
        is_like_one = any(known.get(x) == value.shape for x in leaves_of(value.value))
        if is_like_one and not _is_kept(tensor):
            text = (
                f"{code} ({line}) gives the name another tensor, which nothing uses: no parameter "
                "changes by it. Write to the parameter itself, under no_grad, with copy_() or "
                "another function whose name ends with _."
            )
            yield Misstep(text=text[:MAX_TEXT], written=written)


def _is_kept(tensor: Any) -> bool:
    """Whether a list, a dict or an object has a tensor; what records a run has it in tuples."""
    return any(isinstance(x, dict | list | set) for x in gc.get_referrers(tensor))
