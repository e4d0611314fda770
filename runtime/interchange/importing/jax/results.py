"""The results of a function, by name."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from gradwire.runtime.interchange.importing.jax.arguments import key_text


def named_results(results: Any) -> Mapping[str, Any]:
    """The arrays in a tree of results, or what stands for them, by their paths.

    A single float that comes first is called ``loss``.
    """
    import jax

    found = jax.tree_util.tree_flatten_with_path(results)[0]
    named = {_name([key_text(key) for key in path]): value for path, value in found}
    first = next(iter(named), "")
    if first in ("out", "out_0") and _is_single_float(named[first]):
        return {"loss": named[first]} | {n: x for n, x in named.items() if n != first}
    return named


def _name(path: list[str]) -> str:
    name = "/".join(path)
    return f"out_{name}" if name[:1].isdecimal() else name or "out"


def _is_single_float(x: Any) -> bool:
    return x.size == 1 and str(x.dtype).startswith(("float", "bfloat"))
