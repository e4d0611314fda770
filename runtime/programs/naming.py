"""Contracts of captured models in the model's own names, as ``encoder.0.weight``."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import islice
from typing import TYPE_CHECKING

from gradwire.runtime.flow import Contract, Outcome, check_contracts
from gradwire.runtime.flow.tools.patterns import matches

if TYPE_CHECKING:
    from gradwire.runtime.diagram.training import Training
    from gradwire.runtime.flow import Flow, ObservedFlow

_WILD = re.compile(r"[*?[]")


def paths_of(pattern: str, parameters: Mapping[str, str]) -> list[str]:
    """The paths of the parameters that a pattern means by the model's names for them, where ``.``
    and ``/`` are the same.
    """
    wanted = pattern.replace(".", "/")
    found = [path for own, path in parameters.items() if matches(wanted, own.replace(".", "/"))]
    return list(dict.fromkeys(found))


def in_paths(contract: Contract, parameters: Mapping[str, str]) -> list[Contract]:
    """A contract by the diagram's paths, one for each parameter that it means by the model's names;
    itself where it means none of them.
    """
    paths = map(_literal, paths_of(contract.pattern, parameters))
    return [replace(contract, pattern=path) for path in paths] or [contract]


def check_named(
    contracts: Sequence[Contract],
    observed: ObservedFlow | None,
    flow: Flow,
    training: Training | None,
    parameters: Mapping[str, str],
) -> list[Outcome]:
    """The outcome of each contract, as of ``check_contracts``.

    A pattern may name parameters as the model does, or variables and wires as the diagram does.
    """
    written = [in_paths(contract, parameters) for contract in contracts]
    every = [contract for some in written for contract in some]
    outcomes = iter(check_contracts(every, observed, flow, training))
    return [
        Outcome(contract, tuple(b for o in islice(outcomes, len(some)) for b in o.breaches))
        for contract, some in zip(contracts, written, strict=True)
    ]


def _literal(path: str) -> str:
    """A pattern that means a path and nothing else."""
    return _WILD.sub(lambda found: f"[{found[0]}]", path)
