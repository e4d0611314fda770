"""``gw.why(model.encoder.weight)``: what is known of a tensor's gradient after a backward pass."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gradwire.runtime.flow.words.sentences import names as listed
from gradwire.runtime.interchange.importing.torch.inspection import is_leaf
from gradwire.runtime.watch.torch.listening import watching
from gradwire.runtime.watch.torch.measures import is_finite, norms
from gradwire.runtime.watch.torch.tensors import leaves_of
from gradwire.runtime.watch.torch.watching import Watch

if TYPE_CHECKING:
    from torch import Tensor

_VIEW = (
    "PyTorch lets nobody differentiate it any more: it is a view, and what it is a view of has "
    "been written to since. Take a clone() of it before the write, or write out of place."
)
_WRAP = "To see why, run the step in `with gradwire.watch(model, optimizer):`."


def why_tensor(tensor: Tensor) -> str:
    """What is known of a tensor; see ``gradwire.why``."""
    leaf = is_leaf(tensor)
    if leaf is None:
        return _VIEW
    return _of_leaf(tensor) if leaf else _of_result(tensor)


def _watches() -> list[Watch]:
    return [each for each in watching() if isinstance(each, Watch)]


def _of_leaf(leaf: Tensor) -> str:
    for watch in _watches():
        if watch.has(leaf):
            return watch.why(leaf)
    if not leaf.requires_grad:
        return "It gets no gradient: requires_grad is False, and autograd made it of nothing."
    if leaf.grad is None:
        return f"No gradient has come to it, or it was cleared. {_WRAP}"
    if not is_finite(leaf.grad):
        return f"Its gradient is not finite. {_WRAP}"
    size = norms([leaf.grad])[0] / max(1, leaf.grad.numel()) ** 0.5
    if not size:
        return f"Its gradient is exactly 0. {_WRAP}"
    return f"Gradient has come to it: rms {size:.3g}."


def _of_result(result: object) -> str:
    reached, is_whole = leaves_of([result])
    model = next((w for w in _watches() if any(map(w.has, reached))), None)
    if not reached:
        return f"Its gradient reaches nothing that is trained. {_WRAP}"
    if model is None:
        many = len(reached) != 1
        what = f"{len(reached)} trained tensor{'s' if many else ''}"
        return f"Its gradient reaches {what}." + ("" if is_whole else _FREED)
    return _of_watched(model, reached) + ("" if is_whole else _FREED)


_FREED = " Parts of autograd's graph that C++ code hides can reach more."


def _of_watched(watch: Watch, reached: list[Tensor]) -> str:
    ids = {id(leaf) for leaf in reached}
    trained = watch.trained
    missed = [name for name, p in trained.items() if id(p) not in ids]
    text = f"Its gradient reaches {len(trained) - len(missed)} of {len(trained)} trained parameters"
    if not missed:
        return f"{text}."
    return f"{text}; not {listed(missed)}. {watch.why(missed[0])}"
