"""Reports on other systems against PyTorch and JAX, which are really run: none is wrong."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from gradwire.runtime.engine import Session
from gradwire.runtime.flow import dialects, observe

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from gradwire.runtime.diagram import Diagram
    from gradwire.runtime.flow.observed import ObservedFlow
    from gradwire.runtime.flow.tools.dialects import SystemReport
    from tests.runtime.flow.tools.peer_diagrams import Found, Peer

Array = np.ndarray[Any, Any]
FEWEST = {"examples": 15, "questions": 220, "random": 150, "blocks": 145, "choices": 72}
"""Diagrams of each part that are compared with both systems."""
MOST_UNKNOWN = {"choices": 0.4}
"""The share of reports that say that the gradient is not known; 0.01 of other parts."""
ROUNDING = {"float16": 1e-2}
"""Of gradients, relative to the largest element; 1e-3 of other dtypes."""


@pytest.fixture(scope="module", autouse=True)
def installed(jax_in_float64: object) -> None:
    pytest.importorskip("torch", reason="PyTorch is not installed", exc_type=ImportError)


@pytest.mark.sampled(one_in=5)
@pytest.mark.parametrize("part", FEWEST)
@pytest.mark.filterwarnings("ignore")  # of casts and overflows inside the other systems
def test_no_report_is_wrong(part: str, capsys: pytest.CaptureFixture[str]) -> None:
    from tests.runtime.flow.tools.peer_cases import PARTS

    tally, wrong = Counter[str](), []
    for name, diagram in PARTS[part]():
        wrong += [f"{name}: {line}" for line in wrong_reports(diagram, tally)]
    with capsys.disabled():
        print(f"\n{part}: {dict(tally)}")
    assert not wrong, "\n".join(wrong)
    assert tally["diagrams in both"] >= FEWEST[part]
    assert tally["not known"] <= MOST_UNKNOWN.get(part, 0.01) * tally["reports"]
    few = 0.01 * tally["reports"] if part == "random" else 0
    assert tally["ill-conditioned"] <= few
    if part == "random":
        assert tally["differs"] >= 20


def wrong_reports(diagram: Diagram, tally: Counter[str]) -> Iterator[str]:
    """A line for each report that is not what the system gives."""
    from tests.runtime.flow.tools.peer_diagrams import PEERS, NotThere

    observed = observe(Session(diagram))
    trained = observed.program.trainable
    reports = {(n, r.system): r for n in trained for r in dialects(observed, n).reports}
    there = 0
    for system, peers in PEERS.items():
        mine = {name: reports[name, system] for name in trained}
        try:
            peer, found = first_that_agrees(observed, mine, peers)
        except NotThere:
            continue
        there += 1
        for name, report in mine.items():
            tally["reports"] += 1
            tally["differs"] += bool(report.because)
            tally["not known"] += report.says == "not known"
            if right(report, found, name):
                continue
            exact = peer(observed, "float64").gradients() if found else None
            if found and exact and not same(found[name], exact[name]):
                tally["ill-conditioned"] += 1  # the system contradicts itself
            else:
                yield f"{name} {report}, and it is {found and found[name]}"
    tally["diagrams in both"] += there == len(PEERS)


def first_that_agrees(
    observed: ObservedFlow, reports: Mapping[str, SystemReport], peers: Sequence[type[Peer]]
) -> tuple[type[Peer], Found]:
    """What gives the numbers of all reports, or else the last, and its gradients."""
    for peer in peers:
        found = peer(observed).gradients()
        if all(right(report, found, name) for name, report in reports.items()):
            break
    return peer, found


def test_the_diagrams_are_distinct_and_cover_the_table_and_all_blocks() -> None:
    from gradwire.runtime.calculus.choices.table import CHOICES, INTEGERS
    from tests.runtime.calculus.peers.pytorch import FUNCTIONS
    from tests.runtime.flow.tools.peer_cases import PARTS

    found = {part: dict(diagrams()) for part, diagrams in PARTS.items()}
    everything = [repr(d.pages) for part in found.values() for d in part.values()]
    assert len(set(everything)) >= sum(FEWEST.values())
    kinds = {
        block.type_name()
        for part in found.values()
        for diagram in part.values()
        for page in diagram.pages.values()
        for block in page.blocks.values()
    }
    assert FUNCTIONS.keys() <= kinds
    floats = [choice for choice in CHOICES if choice.shown and choice not in INTEGERS]
    points = {f"{choice} ({kind})" for choice in floats for kind in choice.blocks}
    assert points <= found["choices"].keys()


def right(report: SystemReport, found: Found, name: str) -> bool:
    """Whether a report has the kind and the numbers of what came back."""
    if report.says == "not known":
        return True
    if found is None:
        return report.says == "error"
    gradient = found[name]
    if report.says == "None" or gradient is None:
        return report.says == "None" and gradient is None
    if report.says == "zeros":
        return bool(np.all(np.abs(gradient) <= 1e-6))  # as far as terms cancel
    return report.says != "error" and same(report.gradient, gradient)


def same(a: Array | None, b: Array | None) -> bool:
    """Whether two gradients are the same numbers but for rounding; JAX has no subnormal ones."""
    if a is None or b is None:
        return a is b
    step = ROUNDING.get(b.dtype.name, 1e-3)
    tiny = float(np.finfo(b.dtype).tiny)
    with np.errstate(all="ignore"):
        size = np.abs(np.where(np.isfinite(b), b, 0)).max(initial=0.0)
        near = np.isclose(a, b, rtol=step, atol=step * size + tiny, equal_nan=True)
    return a.shape == b.shape and bool(near.all())
