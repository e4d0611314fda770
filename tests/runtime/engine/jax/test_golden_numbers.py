"""The golden numbers by the JAX engine, to the digits that are asked of NumPy's."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

pytest.importorskip("jax")

from runtime.engine.session.engines import open_engine
from tests.golden.cases import DATA, Case
from tests.golden.runner import cases, check
from tests.runtime.engine.jax.alike import compiled_quickly

ENGINE = open_engine("jax")
CASES = [
    pytest.param(case, id=f"{path.stem}-{case}")
    for path in sorted(DATA.glob("*.json"))
    for case in cases(path)
    if case.check is not None
]


@pytest.fixture(autouse=True, scope="module")
def every_session_has_the_engine(unarranged: None) -> Iterator[None]:
    """Cases make sessions without naming an engine."""
    with pytest.MonkeyPatch.context() as patch, compiled_quickly():
        patch.setattr("runtime.engine.session.session.open_engine", lambda *_, **how: ENGINE)
        yield


def test_there_are_hundreds() -> None:
    assert len(CASES) > 400


@pytest.mark.parametrize("case", CASES)
def test_case(case: Case) -> None:
    assert [str(difference) for difference in check(case)] == []
