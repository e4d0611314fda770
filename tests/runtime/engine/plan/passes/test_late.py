"""Passes are imported for what they may replace; what they are not imported for, they leave."""

from __future__ import annotations

from collections.abc import Collection
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from gradwire.runtime.calculus import Trace, Value
from gradwire.runtime.diagram import load
from gradwire.runtime.engine import Session
from gradwire.runtime.engine.plan.jobs import Job
from gradwire.runtime.engine.plan.numpy_engine import NumpyEngine
from gradwire.runtime.engine.plan.passes import DEFAULT, FAST, late
from gradwire.runtime.engine.plan.tasks import PlainTask, Task
from tests.runtime.engine.plan.passes.test_passes import SEEDS, leaf
from tests.runtime.engine.programs import FAMILIES

if TYPE_CHECKING:
    from gradwire.runtime.engine.plan.plan import Plan

DIAGRAMS = sorted((Path(__file__).parents[5] / "assets" / "diagrams").glob("*.gradwire.json"))


NEXT_TO_JOBS = ("compiled",)
"""What this replaces is computed as before, but next to machine code."""


class Watched:
    """A pass that is imported, and compared with what its sign says."""

    def __init__(self, task_pass: late.LatePass) -> None:
        self.late = task_pass
        self._real = getattr(import_module(task_pass.__module__), task_pass.__name__)
        self.left = 0
        """Times that a few tasks are without a sign."""

    def __call__(self, tasks: list[Task], kept: Collection[Value]) -> list[Task]:
        found = self._real(list(tasks), kept)
        if len(tasks) < late.FEW and not self.late.sign(tasks):
            self.left += 1
            assert found == tasks or self.late.__name__ in NEXT_TO_JOBS, self.late
        return list(found)


class WatchedEngine(NumpyEngine):
    """Plans with passes that are watched."""

    passes: tuple[Watched, ...]

    def plan(self, *given: Any, **how: Any) -> Plan:
        before = self._left()
        found = super().plan(*given, **how)
        if self._left() > before:
            assert not any(isinstance(step, Job) for step, _ in found.parts)
        return found

    def _left(self) -> int:
        return sum(each.left for each in self.passes if each.late.__name__ in NEXT_TO_JOBS)


@pytest.fixture(autouse=True)
def imports() -> None:
    """Passes are imported as they are for users."""


@pytest.fixture(params=[DEFAULT, FAST], ids=["default", "fast"])
def engine(request: pytest.FixtureRequest) -> WatchedEngine:
    return WatchedEngine([Watched(each) for each in request.param])


@pytest.mark.night
def test_what_a_pass_is_not_imported_for_it_leaves_in_diagrams(engine: WatchedEngine) -> None:
    assert len(DIAGRAMS) > 20
    for path in DIAGRAMS:
        session = Session(load(path), engine=engine, partial=True)
        session.backward(session.losses[:1]) if session.losses else session.run()
    assert all(each.left for each in engine.passes)


@pytest.mark.night
def test_what_a_pass_is_not_imported_for_it_leaves_in_programs(engine: WatchedEngine) -> None:
    for family in FAMILIES.values():
        for seed in SEEDS:
            outputs = family(seed).outputs
            for some in (outputs[:1], outputs[-2:], outputs):
                engine.plan(some)


def test_the_least_sizes_are_not_above_those_of_the_passes() -> None:
    rooms = {each.__module__.rpartition(".")[2]: each.__module__ for each in (*DEFAULT, *FAST)}
    of = {name: vars(import_module(module)) for name, module in rooms.items()}
    names = ("rowwise", "components", "fused", "tiles", "compiled")
    assert min(of[name]["LARGE"] for name in names) >= of["rowwise"]["FEWEST"] >= late.LARGE
    assert of["fused"]["FEWEST"] >= late.FEW
    assert min(of["rowwise"]["MANY"], of["rowwise"]["MANY_ACROSS"]) == 16
    assert (of["scalars"]["SMALLEST"], of["groups"]["FEWEST"]) == (4, 8)
    assert (of["chains"]["SHORTEST"] - 1, of["products"]["FEWEST_TERMS"]) == (7, 3)
    assert of["products"]["FEWEST"] == 32


@pytest.mark.parametrize("times", [late.FEW - 1, late.FEW])
def test_many_tasks_are_for_passes_to_look_at(times: int) -> None:
    asked: list[int] = []
    late_pass = late.LatePass("lookups", "lookups", lambda tasks: bool(asked.append(len(tasks))))
    trace = Trace()
    tasks: list[Task] = [PlainTask(trace.xp.sin(leaf(trace)), []) for _ in range(times)]
    assert late_pass(tasks, ()) == tasks
    assert asked == ([times] if times < late.FEW else [])
