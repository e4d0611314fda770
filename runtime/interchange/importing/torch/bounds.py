"""How large the integers that a program is given may be: below the lengths that they index."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from gradwire.runtime.interchange.importing.torch.arguments import Record

_SHAPING = frozenset({"view", "reshape", "unsqueeze", "squeeze", "flatten", "slice", "to", "clone"})
_INDEXED = {"embedding": (1, 0, 0), "cross_entropy_loss": (1, 0, 1), "nll_loss_nd": (1, 0, 1)}
"""By operator, the argument with indices, the one that is indexed, and along which axis."""


def bounds_of(graph: Record) -> dict[str, int]:
    """The bound of each name that indexes something, as far as simple operators show it."""
    metas = graph["tensor_values"]
    found: dict[str, int] = {}
    for node in reversed(graph["nodes"]):
        name = str(node["target"]).removeprefix("torch.ops.aten.").partition(".")[0]
        args = [_name(given) for given in node["inputs"]]
        if name in _SHAPING and args and args[0]:
            results = [_name({"arg": output}) for output in node["outputs"]]
            _lower(found, args[0], *(found[n] for n in results if n in found))
        elif name in _INDEXED:
            indices, table, axis = _INDEXED[name]
            if max(indices, table) < len(args):
                _lower(found, args[indices], _length(metas, args[table], axis))
        elif name in ("gather", "index_select") and len(args) > 2:
            dim = node["inputs"][1]["arg"].get("as_int", 0)
            _lower(found, args[2], _length(metas, args[0], dim))
    return found


def _name(given: Record) -> str:
    tensor: Any = given["arg"].get("as_tensor")
    return str(tensor["name"]) if isinstance(tensor, dict) else ""


def _length(metas: Record, name: str, axis: int) -> int:
    sizes = metas.get(name, {}).get("sizes", [])
    if not -len(sizes) <= axis < len(sizes):
        return 1
    length = sizes[axis].get("as_int", 1)
    return length if isinstance(length, int) else 1


def _lower(found: dict[str, int], name: str, *bounds: int) -> None:
    if name and bounds:
        found[name] = min(*bounds, found.get(name, bounds[0]))
