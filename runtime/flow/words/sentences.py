"""The sentences users read: what a state means here, with the names of real blocks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from gradwire.runtime.flow.lazy import MANY

if TYPE_CHECKING:
    from gradwire.runtime.flow.words.states import Cutter, State

ENDS = 3
"""Blocks that are named at the far end of a long route."""


def names(items: Sequence[object], limit: int = 4, more: bool = False) -> str:
    """``a``, ``a and b``, ``a, b and 3 more``, ``a, b and many more`` where there are ``more``
    than given, or very many.
    """
    shown = [str(item) for item in items]
    if len(items) > limit + 1:
        many = more or len(items) > MANY
        shown[limit:] = ["many more" if many else f"{len(items) - limit} more"]
    return shown[0] if len(shown) == 1 else f"{', '.join(shown[:-1])} and {shown[-1]}"


def route(witness: Sequence[str]) -> str:
    """``loss ← mse ← relu2``, the middle left out when it is long."""
    if len(witness) > 8:
        witness = [*witness[:4], "…", *witness[-ENDS:]]
    return " ← ".join(witness)


def carries(losses: Sequence[str], variables: Sequence[str], witness: Sequence[str]) -> str:
    """The sentence of CARRIES; the route is that of the first loss. Of no variable may be known
    that it gets the gradient.
    """
    to = f" to {names(variables)}" if variables else ""
    text = f"Carries the gradient of {names(losses)}{to}."
    return f"{text} Route: {route(witness)}." if len(witness) > 1 else text


def by_loss(states: Mapping[str, State]) -> str:
    """What the states are where those for several losses differ; empty where all agree.

    ``G: carries gradient; D and E: stopped.``
    """
    losses: dict[str, list[str]] = {}
    for loss, state in sorted(states.items(), key=lambda item: item[1].row.rank):
        losses.setdefault(state.row.spoken, []).append(loss)
    if len(losses) < 2:
        return ""
    text = "; ".join(f"{names(alike)}: {spoken}" for spoken, alike in losses.items())
    return f"{text}."


def shared(paths: Sequence[str]) -> str:
    """That a variable is the same in several uses of its page; empty for one."""
    if len(paths) < 2:
        return ""
    return f"{names(paths)} are one variable, and the gradients of all uses add up."


def cut(
    loss: str,
    before: Sequence[Cutter],
    behind: Sequence[Cutter],
    further: Sequence[Cutter],
    variables: Sequence[str],
    frozen: Sequence[str],
    dtype: str | None = None,
    more: bool = False,
) -> str:
    """The sentence of STOPPED and NO RULE.

    ``before`` are cutters between the loss and the wire, ``behind`` between the wire and the
    variables, ``further`` others that would still cut, of which there may be ``more``; ``frozen``
    would have to be made trainable besides. ``dtype`` is that of a wire that carries no floats.
    """
    parts = []
    if dtype:
        parts.append(f"Only floats have gradients, and this is {dtype}.")
    elif before:
        parts.append(_closed(before, f"every route to {loss}"))
    else:
        parts.append("Gradient arrives here and is thrown away.")
    if behind:
        parts.append(_closed(behind, f"every route from here to {names(variables or frozen)}"))
    if further:
        nearer = {cutter.block for cutter in (*before, *behind)}
        that = "that" if len(nearer) == 1 else "those"
        parts.append(f"With {that} open, {_closed(further, 'the gradient', more)}")
    parts += _advice([*behind, *further, *([] if dtype else before)])
    if frozen:
        parts.append(f"{names(frozen)} {_is(frozen)} frozen as well.")
    return " ".join(parts)


def constant(stopped: Mapping[str, Sequence[str]], is_owned: bool) -> str:
    """That stops keep constant what these variables compute; with optimisers that are known
    (``is_owned``) or not.
    """
    several = len(stopped) > 1
    stops = list(dict.fromkeys(stop for each in stopped.values() for stop in each))
    nobody = ", and no optimiser updates " + ("them" if several else "it") if is_owned else ""
    return (
        f"{names([*stopped])} {'get' if several else 'gets'} none{nobody}: {names(stops)} "
        f"keep{'s' * (len(stops) == 1)} what {'they compute' if several else 'it computes'} "
        "constant, as for a target, a teacher or the other player."
    )


def passing_on(variables: Sequence[str]) -> str:
    """That gradient only passes through the network of these variables."""
    return (
        f"{names(variables)} {_is(variables)} updated by no optimiser here: gradient passes "
        "through to what is, as through a critic or the other player."
    )


ACCURACY = (
    "An accuracy cannot be trained: train a CrossEntropy of the scores and the labels, and only "
    "display the accuracy."
)
INDEX = (
    "An index has no gradient: interpolate between neighbouring elements, or weigh all of them "
    "by a Softmax."
)


def soft_already(soft: str, hard: str) -> str:
    """Where ``hard`` chooses by what a Softmax or a Sigmoid makes."""
    return f"{soft} is soft already: use its output instead of that of {hard}."


def a_stop_wins(heads: Sequence[str]) -> str:
    """Where a stop stands behind Loss blocks."""
    return f"MXNet would let the gradient of {names(heads)} through; here a stop always wins."


def _closed(cutters: Sequence[Cutter], what: str, more: bool = False) -> str:
    """Who cuts and why: ``argmax1 cuts every route to loss: it is piecewise constant``."""
    reasons: dict[str, dict[str, None]] = {}
    for cutter in cutters:
        reasons.setdefault(cutter.named, {}).update({cutter.why: None} if cutter.why else {})
    verb = "cut" if any(reasons.values()) else "stop"
    who = names([*reasons], more=more or len(cutters) > MANY)
    text = f"{who} {verb if len(reasons) > 1 else f'{verb}s'} {what}"
    stated = [(block, " and ".join(whys)) for block, whys in reasons.items() if whys]
    if not stated:
        return f"{text}."
    if len(stated) == len(reasons) and len({why for _, why in stated}) == 1:
        return f"{text}: {'it' if len(stated) == 1 else 'each'} {stated[0][1]}."
    return f"{text}: {'; '.join(f'{block} {why}' for block, why in stated[:3])}."


def _advice(cutters: Sequence[Cutter]) -> list[str]:
    """What to do about slots without a derivative, unless they are closed on purpose."""
    closed = [cutter for cutter in cutters if cutter.remedy is not None]
    if not closed:
        return []
    it = "it" if len({cutter.block for cutter in closed}) == 1 else "them"
    remedies = {cutter.remedy or "" for cutter in closed}
    remedy = remedies.pop() if len(remedies) == 1 else "soften {it}"
    ways = [f"move the loss before {it}", *([remedy.format(it=it)] if remedy else [])]
    if all(cutter.bypassable for cutter in closed):
        ways.append("use a StraightThrough block")
    text = ", ".join(ways[:-1]) + (", or " if len(ways) > 1 else "") + ways[-1]
    return [f"{text[0].upper()}{text[1:]}."]


def unfit(block: str, why: str) -> str:
    """Where no StraightThrough gets past a block."""
    return f"A StraightThrough block cannot bypass {block} alone: {why}."


def whole_tree(block: str, hard: str, soft: str) -> str:
    """Where a StraightThrough gets past a block only for all leaves of a tree together."""
    return f"Past {block} it takes the whole tree (hard: {hard}, soft: {soft})."


def one_leaf(block: str) -> str:
    """Where no StraightThrough gets past a block, as it would have to act on one leaf of a tree."""
    return f"{unfit(block, 'it would have to act on one leaf of a tree')} Pick that leaf first."


def unfit_choice(block: str, why: str) -> str:
    """The same of an ArgMax or ArgMin."""
    return (
        f"{unfit(block, why)} It can take a OneHot of {block} as its hard side, and a Softmax as "
        "its soft one."
    )


def in_vain(blocks: str) -> str:
    """Where the repair of these blocks would let nothing through."""
    return f"No gradient comes back even past {blocks}."


def without_effect(why: str) -> str:
    """What a repair would give where no loss changes with the variable."""
    return f"it would be 0, because {why}."


def on_purpose(block: str) -> str:
    """Where a StraightThrough stands already: another would take the gradient of its soft side."""
    return f"For a gradient here, add a loss that reads this before {block}."


def _is(items: Sequence[str]) -> str:
    return "is" if len(items) == 1 else "are"


def frozen(
    variables: Sequence[str],
    trained: Sequence[str],
    behind: Sequence[Cutter],
    passed_on: Sequence[str],
    itself: bool,
) -> str:
    """The sentence of FROZEN, about frozen variables or (``itself``) of one.

    ``behind`` are cutters between the wire and the variables that are ``trained``, or the frozen
    ones where none is. ``passed_on`` still get gradient from the same block.
    """
    parts = [f"{names(variables)} {_is(variables)} frozen"]
    if not (trained or itself):
        parts[0] += ", and nothing else upstream is trained"
    parts[0] += "."
    if behind:
        parts.append(_closed(behind, f"every route from here to {names(trained or variables)}"))
    if passed_on:
        parts.append(f"The gradient still passes to {names(passed_on)}.")
    return " ".join(parts)


def twin(module: str, trained: str) -> str:
    """Where a stopped module is a copy of a trained one."""
    return (
        f"{module} has the form of {trained}, which is trained, and values like it, as a target "
        "network or a teacher has."
    )


def target_of(losses: Sequence[str]) -> str:
    """Where what a stop lets through as numbers is a target alone."""
    return f"What comes of it is the target of {names(losses)}, whose prediction is trained."


def judged_by(variable: str) -> str:
    """Where what is behind a stop is trained on data as well."""
    return (
        f"What reads it, such as {variable}, is trained on data as well, as the other player of a "
        "game is."
    )


_UNFREEZE = "Unfreeze what is to be trained, in PyTorch by requires_grad_() of its module."


def nothing_trained(frozen: Sequence[str]) -> str:
    """Where all variables that a loss reads are frozen."""
    who = f"all {len(frozen)} variables are" if len(frozen) > 1 else "its only variable is"
    return f"Nothing is trained: {who} frozen ({names(frozen)}). {_UNFREEZE}"


def owns_frozen(optimiser: str, frozen: Sequence[str]) -> str:
    """Where an optimiser owns nothing that is trained."""
    return f"{optimiser} updates nothing: {names(frozen)} {_is(frozen)} frozen. {_UNFREEZE}"


def by_beginning(modules: Sequence[str], first: str, is_trained: bool) -> str:
    """Where those modules of a list are frozen, or trained, whose names begin alike."""
    state, others = ("trained", "frozen") if is_trained else ("frozen", "trained")
    return (
        f"{names(modules)} are {state} and those between them {others}: the names of all begin "
        f"with {first}. If only {first} is to be {state}, compare names with a separator behind "
        "the number."
    )


def stopped_besides(before: Sequence[Cutter], loss: str) -> str:
    """Where gradient would not come to a frozen variable either."""
    return _closed(before, f"every route to {loss} as well")


def cuts_besides(ruleless: Sequence[Cutter], loss: str) -> str:
    """What lacks a rule on routes beside those that are stopped."""
    return _closed(ruleless, f"other routes to {loss}")


def shared_stop(variable: str, loss: str, also: Sequence[str]) -> str:
    """Where a stop would keep a variable from a loss, but from others too; empty without others."""
    if not also:
        return ""
    return (
        f"A StopGradient would keep it from {names(also)} too: let the optimiser that steps "
        f"{loss} leave {variable} out, by wrt."
    )


def off_route(losses: Sequence[str], reaches: Sequence[str]) -> str:
    """The sentence of OFF ROUTE."""
    if len(losses) == 1:
        text = f"{losses[0]} never reads this."
    elif len(losses) == 2:
        text = f"Neither {losses[0]} nor {losses[1]} reads this."
    else:
        text = f"None of {names(losses)} reads this."
    return f"{text} It reaches {names(reaches)}." if reaches else text


def only_shown(view: str) -> str:
    """OFF ROUTE, on the way to nothing but views."""
    return f"This is only shown, in {view}: a view takes no part in training."


def ignored(bypassed: str, port: str) -> str:
    """The remark on what a bypassed block ignores."""
    return f"{bypassed} is bypassed: only its input {port} goes on."


UNREAD = "Use it on the way to a loss, freeze it if it is not to be trained, or leave it out."
"""What to do about a variable that no loss reads."""


def differentiated(block: str) -> str:
    """OFF ROUTE, into a Gradient block."""
    return (
        f"{block} differentiates one input with respect to the other. Second-order gradient flows "
        "back along the wires between them, not through this one."
    )


def constant_derivative(blocks: Sequence[str]) -> str:
    """OFF ROUTE, of what only Gradient blocks read whose results do not depend on it."""
    verb = "computes does" if len(blocks) == 1 else "compute do"
    what = "The derivative" if len(blocks) == 1 else "The derivatives"
    return f"{what} that {names(blocks)} {verb} not change with this."


def nothing_to_train(integers: Sequence[str]) -> str:
    """The sentence of NOTHING TO TRAIN; ``integers`` are variables that have no gradient."""
    if not integers:
        return "Only data and constants upstream: normal."
    holds = "holds" if len(integers) == 1 else "hold"
    return f"Only data, constants and {names(integers)} upstream, which {holds} no floats: normal."


NO_LOSS = "There is no loss yet: add a Loss block, or end a chain in a single number."


def unknown(culprit: str | None) -> str:
    """The sentence of UNKNOWN."""
    return f"Not computed: {culprit} has an error." if culprit else NO_LOSS
