"""Goals and facts in words, with `` `names` ``, and without the numbers that they ask for.

What a goal compares with may be the answer of its step, so its words name what it is about: the
text of the step says what is asked of that.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, TypeAlias

from gradwire.runtime.diagram.paths import split_leaf
from gradwire.runtime.lessons.expressions.grammar import FACTS, WHAT_IFS

if TYPE_CHECKING:
    from gradwire.runtime.flow.tools.contracts import Contract
    from gradwire.runtime.flow.tools.interventions import Intervention


# What-ifs of expressions: what is changed before a part of them is computed.

Trial: TypeAlias = "tuple[Intervention, ...]"
"""Interventions that are made together, in order."""


def trial_of(name: str, args: Sequence[ast.expr]) -> Trial:
    """What a what-if with checked arguments changes."""
    from gradwire.runtime.flow.tools.interventions import (  # seldom asked
        CloseStop,
        CutWire,
        OpenStop,
    )

    paths = [str(ast.literal_eval(each)) for each in args[1:]]
    if name == "opened":
        return tuple(OpenStop(*split_leaf(path)) for path in paths)
    return tuple(map(CloseStop if name == "closed" else CutWire, paths))


def trials_in(node: ast.AST, before: Trial = ()) -> Iterator[Trial]:
    """Every trial that a checked expression needs, with those that it is inside of."""
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in WHAT_IFS:
        before = (*before, *trial_of(node.func.id, node.args))
        yield before
    for child in ast.iter_child_nodes(node):
        yield from trials_in(child, before)


STOP_WORDS = {True: "open", False: "closed"}
_KINDS = {
    "grad": ("the gradient of {}", "the gradients of {}"),
    "value": ("the value of {}", "the values of {}"),
    "state": ("the state of the wire into {}", "the states of the wires into {}"),
}
_CONTRACTS = {
    "flows": "{0} sends gradient to {1}.",
    "blocked": "{0} sends no gradient to {1}.",
    "nonzero": "{0} sends a gradient to {1} that is not zero.",
    "finite": "All gradients of {0} for {1} are finite.",
    "updates": "{0} alone updates {1}.",
}


def condition_words(tree: ast.expr) -> str:
    """What a condition is about, such as "The gradients of `a` and `b` are as asked."."""
    sentences = []
    is_and = isinstance(tree, ast.BoolOp) and isinstance(tree.op, ast.And)
    for part in tree.values if isinstance(tree, ast.BoolOp) and is_and else [tree]:
        is_closed = isinstance(part, ast.UnaryOp) and isinstance(part.op, ast.Not)
        inner = part.operand if isinstance(part, ast.UnaryOp) and is_closed else part
        if isinstance(inner, ast.Call) and _name(inner) == "open":
            sentences.append(f"{fact_words(inner)} is {STOP_WORDS[not is_closed]}.")
            continue
        facts = list(facts_in(part))
        verb = "are" if len(facts) > 1 else "is"
        sentences.append(f"{_capital(_about(facts))} {verb} as asked." if facts else "It holds.")
    return " ".join(dict.fromkeys(sentences))


def contract_words(contract: Contract) -> str:
    """What a contract asks for, such as "`loss` sends gradient to `w`."."""
    if contract.kind == "blocked" and contract.loss == "*":
        return f"Nothing sends gradient to `{contract.pattern}`."
    every = "anything" if contract.kind == "blocked" else "everything"
    ends = [every if end == "*" else f"`{end}`" for end in (contract.loss, contract.pattern)]
    return _capital(_CONTRACTS[contract.kind].format(*ends))


def facts_in(tree: ast.expr) -> Iterator[ast.Call]:
    """What an expression asks about a diagram, each once, in order."""
    seen: set[str] = set()
    waiting: list[ast.AST] = [tree]
    while waiting:
        node = waiting.pop()
        if isinstance(node, ast.Call) and _name(node) in {*FACTS, *WHAT_IFS}:
            if ast.dump(node) not in seen:
                seen.add(ast.dump(node))
                yield node
            continue
        waiting += [*ast.iter_child_nodes(node)][::-1]


def fact_words(call: ast.Call) -> str:
    """A fact in words, such as "the gradient of `w` for `loss`"; of a stop its name."""
    name = _name(call)
    if name in WHAT_IFS:
        changed = _listed(_paths(call.args[1:]))
        inner = list(facts_in(call.args[0]))
        about = "what is computed from " * (len(inner) > 1) + _about(inner) or "it"
        return f"{about} with {changed} {name}"
    return _subject(call) if name == "open" else _KINDS[name][0].format(_subject(call))


def _about(calls: list[ast.Call]) -> str:
    """Facts, those of one kind together, such as "the gradients of `a` and `b`"."""
    grouped: dict[str, list[str]] = {}
    for call in calls:
        alone = _name(call) not in _KINDS
        grouped.setdefault(fact_words(call) if alone else _name(call), []).append(
            "" if alone else _subject(call)
        )
    phrases = [
        _KINDS[kind][len(subjects) > 1].format(_listed(subjects)) if kind in _KINDS else kind
        for kind, subjects in grouped.items()
    ]
    return " and ".join(phrases)


def _subject(call: ast.Call) -> str:
    path, *losses = _paths(call.args)
    return f"{path} for {losses[0]}" if losses else path


def _paths(arguments: list[ast.expr]) -> list[str]:
    return [f"`{argument.value!s}`" for argument in arguments if isinstance(argument, ast.Constant)]


def _listed(names: list[str]) -> str:
    """``a``, ``a and b`` or ``a, b and c``."""
    return " and ".join([*filter(None, [", ".join(names[:-1])]), *names[-1:]])


def _name(call: ast.Call) -> str:
    return call.func.id if isinstance(call.func, ast.Name) else ""


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]
