"""Attention with several heads."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from gradwire.runtime.interchange.importing.staged import Staged, put

if TYPE_CHECKING:
    from gradwire.runtime.interchange.importing.keras.call import LayerCall, Operator


def _heads(call: LayerCall) -> Staged:
    """Query, key and value projected for each head, attended to, and joined again."""
    query, value = call.x(0), call.x(1)
    key = call.x(2) if len(call.arguments) > 2 and call.arguments[2] is not None else value
    given = call.keywords.get("key")
    key = given if isinstance(given, Staged) else key
    _require_plain(call, query, value)
    q, k, v = (
        _projected(call, x, name, f"{name}_dense", "btd,dhk->bhtk")
        for x, name in ((query, "query"), (key, "key"), (value, "value"))
    )  # fmt: skip
    causal = call.keywords.get("use_causal_mask") is True
    attended = put("Attention", q, k, v, _mask(call), causal=causal)
    return _projected(call, attended, "attention_output", "output_dense", "bhtk,hkd->btd")


def _require_plain(call: LayerCall, query: Staged, value: Staged) -> None:
    if query.ndim != 3 or value.ndim != 3 or call.keywords.get("return_attention_scores") is True:
        raise call.unsupported("only sequences are attended to, and no weights are given out")
    if call.config.flag("use_gate", False) or call.config.json("sliding_window") is not None:
        raise call.unsupported("it has a gate or a window")
    if call.training and call.config.number("dropout", 0.0):
        call.stage.remark("lost", f"The attention {call.layer.name!r} drops nothing.")


def _projected(call: LayerCall, x: Staged, name: str, inside: str, subscripts: str) -> Staged:
    """By a part of the layer; the bias goes with the axes of the result that its kernel has."""
    kernel = call.variable(0, "kernel", None, inside, name)
    y = put("Einsum", x, kernel, subscripts=subscripts, name=name)
    if not call.config.flag("use_bias", True):
        return y
    bias = call.variable(1, "bias", None, inside, name)
    if bias.ndim == 1:
        return y + bias
    return y + call.stage.reshape(bias, (bias.shape[0], 1, bias.shape[1]))


def _mask(call: LayerCall) -> Staged | None:
    """A mask (batch, queries, keys), the same for all heads."""
    mask: Any = call.keywords.get("attention_mask")
    masks = [call.keywords.get(f"{name}_mask") for name in ("query", "key", "value")]
    if any(other is not None for other in masks):
        raise call.unsupported("it has masks of queries, keys or values")
    if mask is None:
        return None
    if not isinstance(mask, Staged) or mask.ndim != 3:
        raise call.unsupported("its mask is no value of rank 3")
    spread = call.stage.reshape(mask, (mask.shape[0], 1, *mask.shape[1:]))
    return call.stage.cast(spread, "bool")


LAYERS: dict[str, Operator] = {"MultiHeadAttention": _heads}
