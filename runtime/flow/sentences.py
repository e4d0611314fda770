"""The sentences users read: what a state means here, with the names of real blocks."""

from __future__ import annotations

from collections.abc import Sequence

from runtime.flow.states import Cutter, State

_WHY = {
    "argmax": "is piecewise constant",
    "argmin": "is piecewise constant",
    "argsort": "gives positions, which are piecewise constant",
    "one_hot": "takes classes, which have no derivative",
    "take": "takes positions, which have no derivative",
    "take_along_axis": "takes positions, which have no derivative",
    "scatter_add": "takes positions, which have no derivative",
    "where": "only chooses by its condition",
    "surrogate": "sends its gradient to its other input on purpose",
    "cast": "leaves the floats, and only floats have gradients",
    "any": "is a yes or no",
    "all": "is a yes or no",
}
_COMPARISONS = ("equal", "not_equal", "less", "less_equal", "greater", "greater_equal")


def why(primitive: str, source_is_float: bool) -> str:
    """Why a primitive has no derivative, as the end of a sentence that begins with a block."""
    if primitive in _COMPARISONS:
        return "compares, and a yes or no is piecewise constant"
    if primitive in _WHY:
        return _WHY[primitive]
    return "has no derivative" if source_is_float else "works on integers or booleans"


def names(items: Sequence[object], limit: int = 4) -> str:
    """``a``, ``a and b``, ``a, b and 3 more``."""
    shown = [str(item) for item in items[:limit]]
    if len(items) > limit:
        shown.append(f"{len(items) - limit} more")
    return shown[0] if len(shown) == 1 else f"{', '.join(shown[:-1])} and {shown[-1]}"


def route(witness: Sequence[str]) -> str:
    """``loss ← mse ← relu2``, the middle left out when it is long."""
    shown = list(witness)
    if len(shown) > 8:
        shown = [*shown[:4], "…", *shown[-3:]]
    return " ← ".join(shown)


def carries(loss: str, variables: Sequence[str], witness: Sequence[str]) -> str:
    """The sentence of CARRIES."""
    to = f" to {names(variables)}" if variables else ""
    return f"Carries the gradient of {loss}{to}. Route: {route(witness)}."


def cut(
    state: State,
    loss: str,
    before: Sequence[Cutter],
    behind: Sequence[Cutter],
    variables: Sequence[str],
    frozen: Sequence[str],
) -> str:
    """The sentence of STOPPED and NO RULE.

    ``before`` are cutters between the loss and the wire, ``behind`` between the wire and the
    variables ``variables``; ``frozen`` would have to be made trainable besides.
    """
    parts = []
    if before:
        parts.append(f"{_subject(before)} every route to {loss}.")
    if behind:
        arrived = "" if before else "Gradient arrives here and is thrown away: "
        upstream = f" to {names(variables)}" if variables else ""
        parts.append(f"{arrived}{_subject(behind)} every route{upstream}.")
    if state is State.NO_RULE:
        reasons = dict.fromkeys(f"{c} {c.why}" for c in (*before, *behind) if c.why)
        if reasons:
            parts.append(f"{'; '.join(reasons)}.")
        parts.append("Move the loss before it, soften it, or use a StraightThrough block.")
    if frozen:
        parts.append(f"Besides, {names(frozen)} {'is' if len(frozen) == 1 else 'are'} frozen.")
    return " ".join(parts)


def _subject(cutters: Sequence[Cutter]) -> str:
    verb = "stop" if all(c.kind == "stop" for c in cutters) else "cut"
    return f"{names(cutters)} {verb if len(cutters) > 1 else verb + 's'}"


def frozen(names_of_frozen: Sequence[str], others: Sequence[str]) -> str:
    """The sentence of FROZEN."""
    is_are = "is" if len(names_of_frozen) == 1 else "are"
    text = f"{names(names_of_frozen)} {is_are} frozen, and nothing else upstream is trained."
    if others:
        text += f" The gradient still passes to {names(others)}."
    return text


def off_route(loss: str, reaches: Sequence[str]) -> str:
    """The sentence of OFF ROUTE."""
    rest = f" It reaches {names(reaches)}." if reaches else ""
    return f"{loss} never reads this.{rest}"


def differentiated(block: str) -> str:
    """OFF ROUTE, into a Gradient block."""
    return (
        f"{block} differentiates along the route that ends here. Gradient of higher order comes "
        "back through the wires of that route, not through this one."
    )


NOTHING_TO_TRAIN = "Only data and constants upstream: normal."
NO_LOSS = "There is no loss yet: add a Loss block, or let a chain end in one number."


def unknown(culprit: str | None) -> str:
    """The sentence of UNKNOWN."""
    return f"Not computed: {culprit} has a problem." if culprit else NO_LOSS
