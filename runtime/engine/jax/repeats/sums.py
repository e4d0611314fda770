"""Sums over the results of all steps, which a loop carries instead of stacking the results."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from gradwire.runtime.calculus.primitives.elementwise import ADD
from gradwire.runtime.engine.jax.repeats.body import Home
from gradwire.runtime.engine.jax.repeats.parts import Carried

if TYPE_CHECKING:
    from collections.abc import Sequence

    from gradwire.runtime.calculus import Value
    from gradwire.runtime.engine.jax.repeats.body import Body
    from gradwire.runtime.engine.jax.repeats.building import Building


class _Term(NamedTuple):
    """One term of a chain of additions, and the ``total`` with it."""

    total: Value
    home: Home | None


def carry_sums(building: Building) -> None:
    """Let loops carry the sums of what their steps compute, in the order of the additions."""
    for chain in _chains(building):
        at = 0
        while at < len(chain):
            home = chain[at].home
            count = 0 if home is None else _whole(chain, at, home.body)
            if home is not None and count:
                initial = chain[at - 1].total if at else None
                if initial is None or building.ready(initial, home.body):
                    _carry(building, home.body, chain[at : at + count], initial)
            at += count or 1


def _chains(building: Building) -> list[list[_Term]]:
    """The chains of additions outside loops in which results of loops are added one by one."""
    homes, inputs = building.homes, building.operations.inputs
    chains: dict[Value, list[_Term]] = {}
    for value in building.operations.entries:
        if value.primitive is not ADD or value in homes:
            continue
        total, term = inputs[value]
        if term not in homes and total in homes:
            total, term = term, total
        if term not in homes:
            continue
        chain = chains.get(total)
        if chain is None or chain[-1].total is not total:
            chain = [_Term(total, homes.get(total))]
        chain.append(_Term(value, homes[term]))
        chains[value] = chain
    return list({id(chain): chain for chain in chains.values()}.values())


def _whole(chain: Sequence[_Term], at: int, body: Body) -> int:
    """The number of terms from ``at`` on that are results of each step in order; 0 if none are."""
    pattern = []
    for _, home in chain[at:]:
        if home is None or home.body is not body or home.step != 0:
            break
        pattern.append(home.copy)
    count = len(pattern) * body.steps
    terms = [home for _, home in chain[at : at + count]]
    wanted = ((copy, step) for step in range(body.steps) for copy in pattern)
    fits = len(terms) == count and all(
        home is not None and home.body is body and home.copy is copy and home.step == step
        for home, (copy, step) in zip(terms, wanted, strict=True)
    )
    return count if fits else 0


def _carry(building: Building, body: Body, terms: Sequence[_Term], initial: Value | None) -> None:
    """Add the terms of a step to what the loop carries."""
    each = len(terms) // body.steps
    slot = total = body.slot(terms[0].total)
    for i in range(each):
        ours = terms[i::each]
        home = ours[0].home
        assert home is not None  # it is a result of the loop
        total = body.add(tuple(term.total for term in ours), [total, home.copy])
        for step, term in enumerate(ours):
            building.homes.setdefault(term.total, Home(body, total, step))
    body.carried.append(Carried(slot, initial, total))
