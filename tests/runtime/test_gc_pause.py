"""The cycle collector is off while something large is built, and as it was afterwards."""

import gc
import weakref
from collections.abc import Callable, Iterator

import pytest

from gradwire.runtime.build import build, loss, variable
from gradwire.runtime.diagram import check, dumps, loads
from gradwire.runtime.engine import Session
from gradwire.runtime.flow.analyse import analyse
from gradwire.runtime.gc_pause import MANY, uncollected


@pytest.fixture(autouse=True)
def collecting() -> Iterator[None]:
    was = gc.isenabled()
    gc.enable()
    yield
    (gc.enable if was else gc.disable)()


@pytest.fixture
def thawed() -> Iterator[None]:
    """Nothing is frozen, as the tests themselves are otherwise."""
    gc.collect()
    gc.unfreeze()
    yield
    gc.freeze()


def collections_in(work: Callable[[], object]) -> int:
    """How often the collector runs while ``work`` does, if every object makes it due."""
    seen: list[str] = []

    def note(phase: str, _: object) -> None:
        seen.append(phase)

    thresholds = gc.get_threshold()
    gc.callbacks.append(note)
    gc.set_threshold(20)
    try:
        work()
    finally:
        gc.set_threshold(*thresholds)
        gc.callbacks.remove(note)
    return seen.count("start")


def test_pauses_nest_and_end_where_they_began() -> None:
    with uncollected():
        with uncollected():
            assert not gc.isenabled()
        assert not gc.isenabled()
    assert gc.isenabled()


@pytest.mark.night
@pytest.mark.usefixtures("thawed")
def test_many_new_objects_become_old_without_being_looked_at() -> None:
    with uncollected():
        new: list[list[int]] = [[] for _ in range(MANY + 1000)]
    assert any(old is new[0] for old in gc.get_objects(generation=2))


@pytest.mark.night
@pytest.mark.usefixtures("thawed")
def test_what_was_new_before_the_pause_does_not_count() -> None:
    thresholds = gc.get_threshold()
    gc.set_threshold(0)
    try:
        before: list[list[int]] = [[] for _ in range(MANY + 1000)]
        with uncollected():
            new: list[list[int]] = [[]]
        assert not any(old is new[0] for old in gc.get_objects(generation=2))
        assert before
    finally:
        gc.set_threshold(*thresholds)


@pytest.mark.night
@pytest.mark.usefixtures("thawed")
def test_what_became_old_is_collected_all_the_same() -> None:
    class Node:
        itself: object

    with uncollected():
        node = Node()
        node.itself = node
        gone = weakref.ref(node)
        kept: list[list[int]] = [[] for _ in range(MANY + 1000)]
    del node
    gc.collect()
    assert kept
    assert gone() is None


def test_what_a_program_has_frozen_stays_frozen() -> None:
    gc.collect()
    frozen: list[list[int]] = [[]]
    gc.freeze()
    with uncollected():
        kept: list[list[int]] = [[] for _ in range(MANY + 1000)]
    assert kept
    assert gc.get_freeze_count() and not any(old is frozen for old in gc.get_objects())


def test_a_failure_ends_the_pause() -> None:
    with pytest.raises(ZeroDivisionError), uncollected():
        raise ZeroDivisionError
    assert gc.isenabled()


def test_a_collector_that_is_off_stays_off() -> None:
    gc.disable()
    with uncollected():
        pass
    assert not gc.isenabled()


@pytest.mark.night
def test_everything_that_grows_with_a_diagram_is_built_in_one_pause() -> None:
    x = end = variable("x", [0.5, 1.0])
    for _ in range(200):
        end = end * x
    total = loss(end.sum())
    diagram = build(total)
    session = Session(diagram)
    text = dumps(diagram)
    for work in (
        lambda: build(total),
        lambda: dumps(diagram),
        lambda: loads(text),
        lambda: check(diagram),
        lambda: Session(diagram),
        lambda: analyse(diagram),
        lambda: session.prepare(values=session.losses),
    ):
        assert collections_in(work) <= 8, work  # beside the pause, not for each block
