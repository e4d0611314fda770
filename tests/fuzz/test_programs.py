"""Each fuzz program runs, can be repeated, and finds what is broken on purpose."""

from __future__ import annotations

import subprocess
import sys
import threading
import time
from itertools import islice
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pytest

from gradwire.blocks.library.gradient import GradientScale
from gradwire.runtime.calculus.primitives import elementwise
from gradwire.runtime.data.files import npy
from gradwire.runtime.diagram import Diagram, Page
from gradwire.runtime.diagram.files import models, parsing, tensors
from gradwire.runtime.lessons import answers
from gradwire.runtime.publish import printable, text
from tests.fuzz import arguments, diagrams, files, sentences
from tests.fuzz.programs import PROGRAMS
from tests.fuzz.runner import MOST_FAILURES, Program, Report, fuzz

FEW = range(6)


@pytest.mark.sampled(one_in=7)
@pytest.mark.parametrize("name", PROGRAMS)
def test_a_handful_of_cases_keep_their_promise(name: str) -> None:
    report = fuzz(PROGRAMS[name], 7, numbers=FEW)
    assert report.cases == len(FEW)
    assert report.failures == [], report.failures[0].trace if report.failures else ""


def first_failure(name: str, cases: int) -> str:
    """What the first failure of a program says, in so many cases."""
    report = fuzz(PROGRAMS[name], 7, numbers=range(cases))
    assert report.failures, f"{cases} cases have found nothing"
    return report.failures[0].summary


def test_a_reader_that_fails_in_another_way_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parsing.Flaw, "in_text", lambda *a: KeyError("no place"))
    assert "KeyError" in first_failure("files", 20)


@pytest.mark.night
def test_arrays_that_are_not_those_that_were_saved_are_found(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(tensors.TensorFile, "_checked", lambda self, file: self._path)
    assert "other numbers than were saved" in first_failure("arrays", 300)


@pytest.mark.night
def test_a_header_that_is_not_caught_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(npy, "_FLAWS", (ValueError,))
    assert "Error" in first_failure("data", 400)


@pytest.mark.night
def test_a_pass_that_computes_something_else_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    def wrong(x: Any, out: Any, **_: Any) -> None:
        np.add(x, 1e-3, out=out)

    def swapped(tasks: list[Any], kept: Any) -> list[Any]:
        for task in tasks:
            if task.values[0].primitive is elementwise.TANH:
                task.kernel = wrong
        return tasks

    monkeypatch.setattr(diagrams, "DEFAULT", (swapped,))
    assert "Tanh" in first_failure("engines", 60)


def test_a_state_that_is_another_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    from gradwire.runtime.flow.structure.searches import WireStates
    from gradwire.runtime.flow.words.states import State

    monkeypatch.setattr(WireStates, "of_value", lambda *a: State.CARRIES)
    assert "AssertionError" in first_failure("states", 20)


def test_content_without_cause_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sentences, "diagnose", lambda session: [])
    assert "AssertionError" in first_failure("doctor", 60)


@pytest.mark.night
def test_escapes_that_are_printed_are_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(text, "visible", lambda said: said)
    monkeypatch.setattr(printable, "_symbols", dict)
    assert "AssertionError" in first_failure("commands", 60)


def test_an_error_that_explains_nothing_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(arguments.CALLS, "dumps", lambda diagram: diagram.pages)
    monkeypatch.setattr(arguments, "CALLS", {"dumps": arguments.CALLS["dumps"]})
    assert "dumps(" in first_failure("arguments", 20)


@pytest.mark.night
def test_a_lesson_that_fails_in_another_way_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(models.ModelReader, "_flaw", lambda *a: KeyError("no place"))
    assert "KeyError" in first_failure("lessons", 30)


@pytest.mark.night
def test_answers_that_are_marked_though_they_were_changed_are_found(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(answers, "sealed", lambda record: {"digest": record["digest"]})
    assert "marked, though it was changed" in first_failure("answers", 120)


def counted(rng: Random) -> str:
    """Fails now and then."""
    assert rng.random() < 0.8
    return "well"


def test_cases_are_those_of_their_seed_and_number() -> None:
    program = Program("counted", "none", counted)
    report = fuzz(program, 3, numbers=range(40))
    again = [fuzz(program, 3, numbers=[n]) for n in range(40)]
    assert {f.number for f in report.failures} == {n for n, r in enumerate(again) if r.failures}
    other = fuzz(program, 4, numbers=range(40))
    assert {f.number for f in other.failures} != {f.number for f in report.failures}
    assert report.cases == 40 and report.outcomes["well"] == 40 - len(report.failures)


def test_the_report_says_how_to_repeat_a_failure_and_many_end_the_run() -> None:
    def fail(rng: Random) -> str:
        raise ValueError("broken")

    report = fuzz(Program("failing", "none", fail), 5)
    assert len(report.failures) == MOST_FAILURES
    lines = str(report).splitlines()
    assert lines[0].startswith(f"failing: {MOST_FAILURES} cases in 0 s")
    assert lines[1:3] == ["  case 0: ValueError: broken",
                          "    python -m tests.fuzz failing --seed 5 --case 0"]  # fmt: skip


def test_a_case_without_an_end_is_a_failure(monkeypatch: pytest.MonkeyPatch) -> None:
    def loop(rng: Random) -> str:
        end = time.monotonic() + 60
        while time.monotonic() < end:
            pass
        return "ended by itself"

    monkeypatch.setattr("tests.fuzz.runner.SECONDS", 0.2)
    (failure,) = fuzz(Program("endless", "none", loop), 0, numbers=[0]).failures
    assert "processor time" in failure.summary


def test_a_case_that_waits_for_ever_is_a_failure(monkeypatch: pytest.MonkeyPatch) -> None:
    def wait(rng: Random) -> str:
        return str(threading.Event().wait(60))

    monkeypatch.setattr("tests.fuzz.runner.PATIENCE", 0.2)
    (failure,) = fuzz(Program("waiting", "none", wait), 0, numbers=[0]).failures
    assert "more than 0.2 s" in failure.summary


@pytest.mark.night
def test_a_case_has_a_limit_of_memory() -> None:
    script = (
        "import numpy as np, sys; from tests.fuzz import __main__ as main\n"
        "from tests.fuzz.runner import Program\n"
        "big = Program('big', 'none', lambda rng: str(np.ones(main.MEMORY // 8).sum()))\n"
        "main.PROGRAMS['big'] = big; sys.argv = ['fuzz', 'big', '--case', '0']; main.main()"
    )
    done = run("-c", script)
    assert "MemoryError" in done.stdout and "1 failures" in done.stdout, done.stderr


def test_time_ends_a_run() -> None:
    report: Report = fuzz(Program("counted", "none", lambda rng: "done"), 0, seconds=0.05)
    assert report.outcomes["done"] > 1 and report.failures == []


def run(*arguments: str) -> subprocess.CompletedProcess[str]:
    root = Path(__file__).parents[2]
    command = [sys.executable, *arguments]
    return subprocess.run(command, cwd=root, capture_output=True, text=True, timeout=240)


@pytest.mark.night
def test_the_command_names_the_programs_and_fails_where_one_does() -> None:
    done = run("-m", "tests.fuzz", "contracts", "--minutes", "0.005")
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("contracts: ") and "0 failures" in done.stdout
    done = run("-m", "tests.fuzz", "nothing")
    assert done.returncode == 2 and "no program nothing" in done.stderr


def test_damage_is_of_every_sort() -> None:
    data = b'{"a": [1, 2.5, "text"], "b": {"c": null}}' * 3
    found = {files.damaged(Random(seed), data, lambda: data) for seed in range(60)}
    assert len(found) > 50
    assert (
        {len(d) < len(data) for d in found} == {len(d) > len(data) for d in found} == {True, False}
    )


def test_a_parameter_that_is_not_a_number_is_no_failure() -> None:
    page = Page({"a": GradientScale(scale=float("nan"))})
    assert files.read_and_run(lambda: Diagram({"main": page})) == "read"


def test_hard_diagrams_have_special_values_of_two_dtypes() -> None:
    from tests.fuzz.drawing import hard

    made = [hard(Random(seed)) for seed in range(40)]
    blocks = [b for d in made for page in d.pages.values() for b in page.blocks.values()]
    arrays = [b.value.array for b in blocks if getattr(b, "value", None) is not None]
    floats = [a for a in arrays if a.dtype.kind == "f"]
    assert {a.dtype.name for a in floats} == {"float32", "float64"}
    assert any(np.isnan(a).any() for a in floats) and any(np.isinf(a).any() for a in floats)
    assert sentences.MOST_FIXES and list(islice(made, 1))
