"""The cycle collector is off while something large is built, and as it was afterwards."""

import gc
from collections.abc import Callable, Iterator

import pytest

from runtime.build import build, loss, variable
from runtime.diagram import check, dumps, loads
from runtime.engine import Session
from runtime.flow import analyse
from runtime.gc_pause import uncollected


@pytest.fixture(autouse=True)
def collecting() -> Iterator[None]:
    was = gc.isenabled()
    gc.enable()
    yield
    (gc.enable if was else gc.disable)()


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


def test_a_failure_ends_the_pause() -> None:
    with pytest.raises(ZeroDivisionError), uncollected():
        raise ZeroDivisionError
    assert gc.isenabled()


def test_a_collector_that_is_off_stays_off() -> None:
    gc.disable()
    with uncollected():
        pass
    assert not gc.isenabled()


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
