"""Programs of plain PyTorch that train as they should draw no alarm; see ``tests.truth``."""

from __future__ import annotations

import pytest

pytest.importorskip("torch")

from tests.truth.programs import Program, programs_of

MODULES = ("networks", "players", "teachers")
PROGRAMS = [p for p in programs_of("healthy", MODULES) if isinstance(p, Program)]
MINIMUM = 35


def test_there_are_many():
    assert len(PROGRAMS) >= MINIMUM


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.name)
def test_a_healthy_program_draws_no_alarm(program):
    assert program.alarms() == []
