"""How each method of optimisation moves a variable, as source.

The lines know the value ``v``, its gradient ``g``, ``lr``, the number ``t`` of the update and the
``memory`` that the optimiser has of the variable, a dictionary, and move ``v``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

from gradwire.runtime.diagram.training import (
    AdadeltaMethod,
    AdagradMethod,
    AdamaxMethod,
    AdamMethod,
    AdamWMethod,
    AnyMethod,
    LionMethod,
    NAdamMethod,
    RAdamMethod,
    RMSpropMethod,
    SGDMethod,
)


def move_of(method: AnyMethod, xp: str = "np") -> list[str]:
    """The lines by which a method moves a variable; ``xp`` is the module of the arithmetic."""
    return _MOVES[type(method)](method, xp)


def _kept(slot: str, start: str = "0.0 * v") -> str:
    return f'memory.get("{slot}", {start})'


def _keep(slot: str, value: str) -> str:
    return f'memory["{slot}"] = {value}'


def _means(method: Any) -> list[str]:
    """The means of gradients and of their squares."""
    first, second = method.betas
    return [
        f"m = {first!r} * {_kept('exp_avg')} + (1 - {first!r}) * g",
        f"s = {second!r} * {_kept('exp_avg_sq')} + (1 - {second!r}) * (g * g)",
        f"{_keep('exp_avg', 'm')}",
        f"{_keep('exp_avg_sq', 's')}",
    ]


def _sgd(method: SGDMethod, xp: str) -> list[str]:
    if not method.momentum:
        return ["v = v - lr * g"]
    buffer = f"{method.momentum!r} * {_kept('momentum_buffer')}"
    step = f"g + {method.momentum!r} * b" if method.nesterov else "b"
    return [
        f"b = g if t == 1 else {buffer} + (1 - {method.dampening!r}) * g",
        _keep("momentum_buffer", "b"),
        f"v = v - lr * ({step})",
    ]


def _adam(method: AdamMethod | AdamWMethod, xp: str) -> list[str]:
    first, second = method.betas
    lines = _means(method)
    if method.amsgrad:
        lines += [
            f"s = {xp}.maximum({_kept('max_exp_avg_sq')}, s)",
            _keep("max_exp_avg_sq", "s"),
        ]
    return [
        *lines,
        f"root = math.sqrt(1 - {second!r} ** t)  # both means begin at 0, which this corrects",
        f"factor = lr * root / (1 - {first!r} ** t)",
        f"v = v - factor * (m / ({xp}.sqrt(s) + {method.eps!r} * root))",
    ]


def _nadam(method: NAdamMethod, xp: str) -> list[str]:
    first, second = method.betas
    fading = f"0.96 ** ({{}} * {method.momentum_decay!r})"
    now, after = (f"{first!r} * (1 - 0.5 * {fading.format(n)})" for n in ("t", "(t + 1)"))
    return [
        *_means(method),
        f"now, after = {now}, {after}",
        f"product = {_kept('mu_product', '1.0')} * now",
        _keep("mu_product", "product"),
        f"root = {xp}.sqrt(s / (1 - {second!r} ** t)) + {method.eps!r}",
        "v = v - lr * (1 - now) / (1 - product) * (g / root)",
        "v = v - lr * after / (1 - product * after) * (m / root)",
    ]


def _radam(method: RAdamMethod, xp: str) -> list[str]:
    first, second = method.betas
    most = 2 / (1 - second) - 1
    return [
        *_means(method),
        f"power, most = {second!r} ** t, {most!r}",
        "length = most - 2 * t * power / (1 - power)",
        f"factor = lr / (1 - {first!r} ** t)",
        "if length > 5:",
        "    top = (length - 4) * (length - 2) * most",
        "    bottom = (most - 4) * (most - 2) * length",
        "    factor = factor * math.sqrt(top / bottom) * math.sqrt(1 - power)",
        f"    v = v - factor * (m / ({xp}.sqrt(s) + {method.eps!r}))",
        "else:",
        "    v = v - factor * m",
    ]


def _adamax(method: AdamaxMethod, xp: str) -> list[str]:
    first, second = method.betas
    return [
        f"m = {first!r} * {_kept('exp_avg')} + (1 - {first!r}) * g",
        f"n = {xp}.maximum({second!r} * {_kept('exp_inf')}, {xp}.abs(g) + {method.eps!r})",
        _keep("exp_avg", "m"),
        _keep("exp_inf", "n"),
        f"v = v - lr / (1 - {first!r} ** t) * (m / n)",
    ]


def _rmsprop(method: RMSpropMethod, xp: str) -> list[str]:
    alpha = method.alpha
    lines = [
        f"s = {alpha!r} * {_kept('square_avg')} + (1 - {alpha!r}) * (g * g)",
        _keep("square_avg", "s"),
    ]
    if method.centered:
        lines += [
            f"m = {alpha!r} * {_kept('grad_avg')} + (1 - {alpha!r}) * g",
            _keep("grad_avg", "m"),
            "s = s - m * m",
            f"s = {xp}.maximum(s, 0 * s)  # rounding may have made it negative",
        ]
    step = f"g / ({xp}.sqrt(s) + {method.eps!r})"
    if not method.momentum:
        return [*lines, f"v = v - lr * ({step})"]
    return [
        *lines,
        f"b = {method.momentum!r} * {_kept('momentum_buffer')} + {step}",
        _keep("momentum_buffer", "b"),
        "v = v - lr * b",
    ]


def _adagrad(method: AdagradMethod, xp: str) -> list[str]:
    start = f"{method.initial_accumulator_value!r} + 0.0 * v"
    return [
        f"s = {_kept('sum', start)} + g * g",
        _keep("sum", "s"),
        f"rate = lr / (1 + (t - 1) * {method.lr_decay!r})",
        f"v = v - rate * (g / ({xp}.sqrt(s) + {method.eps!r}))",
    ]


def _adadelta(method: AdadeltaMethod, xp: str) -> list[str]:
    rho, eps = method.rho, method.eps
    return [
        f"s = {rho!r} * {_kept('square_avg')} + (1 - {rho!r}) * (g * g)",
        f"e = {_kept('acc_delta')}",
        f"d = {xp}.sqrt(e + {eps!r}) / {xp}.sqrt(s + {eps!r}) * g",
        _keep("square_avg", "s"),
        _keep("acc_delta", f"{rho!r} * e + (1 - {rho!r}) * (d * d)"),
        "v = v - lr * d",
    ]


def _lion(method: LionMethod, xp: str) -> list[str]:
    first, second = method.betas
    return [
        f"m = {_kept('exp_avg')}",
        _keep("exp_avg", f"{second!r} * m + (1 - {second!r}) * g"),
        f"v = v - lr * {xp}.sign({first!r} * m + (1 - {first!r}) * g)",
    ]


_MOVES: Final[Mapping[type[AnyMethod], Callable[[Any, str], list[str]]]] = {
    SGDMethod: _sgd,
    AdamMethod: _adam,
    AdamWMethod: _adam,
    NAdamMethod: _nadam,
    RAdamMethod: _radam,
    AdamaxMethod: _adamax,
    RMSpropMethod: _rmsprop,
    AdagradMethod: _adagrad,
    AdadeltaMethod: _adadelta,
    LionMethod: _lion,
}
