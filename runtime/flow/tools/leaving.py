"""What a program of PyTorch should do instead, where it leaves autograd without saying so."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from gradwire.runtime.flow.lazy import MANY

if TYPE_CHECKING:
    from gradwire.runtime.flow.words.states import Verdict

_COPIED = "{} copies only the numbers: use the tensor itself, and torch.stack to join several."
_COMPUTED = "What {} gives has no gradient: compute with torch's own functions."
_APART = (
    "{} is apart from autograd: use the tensor itself, in a layer by torch.func.functional_call."
)
CURES = {
    "tensor": _COPIED.format("torch.tensor()"),
    "as_tensor": _COPIED.format("torch.as_tensor() of a list"),
    "asarray": _COPIED.format("torch.asarray() of a list"),
    "new_tensor": _COPIED.format("new_tensor()"),
    "new": _COPIED.format("new()"),
    "item": _COPIED.format("item(), or torch.FloatTensor(),"),
    "data": _APART.format(".data"),
    "Parameter": _APART.format("A new Parameter"),
    "Buffer": _APART.format("A new Buffer"),
    "numpy": _COMPUTED.format("numpy()"),
    "tolist": _COMPUTED.format("tolist()"),
}
"""By the names that captures give to stops. ``detach`` and ``no_grad`` say what they do."""
_NUMBER = re.compile(r"_?\d+$")


def cure_of(verdict: Verdict) -> str:
    """The cure of the first stop that has one, of those that programs have."""
    stops = (c for c in verdict.cutters[:MANY] if c.kind == "stop" and c.written)
    names = (_NUMBER.sub("", stop.block.name) for stop in stops)
    return next(filter(None, map(CURES.get, names)), "")
