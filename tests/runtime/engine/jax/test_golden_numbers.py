"""The golden numbers by the JAX engine, to the digits that are asked of NumPy's."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

pytest.importorskip("jax")

from gradwire.runtime.engine.session.engines import open_engine
from tests.golden.cases import DATA, Case
from tests.golden.runner import cases, check
from tests.runtime.engine.jax.alike import compiled_quickly, engine_of_all_sessions

CASES = [
    pytest.param(case, id=f"{path.stem}-{case}")
    for path in sorted(DATA.glob("*.json"))
    for case in cases(path)
    if case.check is not None
]


@pytest.fixture(autouse=True, scope="module")
def every_session_has_the_engine(unarranged: None) -> Iterator[None]:
    """Cases make sessions without naming an engine."""
    with engine_of_all_sessions(open_engine("jax")), compiled_quickly():
        yield


def test_there_are_hundreds() -> None:
    assert len(CASES) > 400


@pytest.mark.sampled(one_in=127)
@pytest.mark.parametrize("case", CASES)
def test_case(case: Case) -> None:
    assert [str(difference) for difference in check(case)] == []
