"""What starting a command imports: time at each start grows with it."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import get_type_hints

import pytest

from gradwire.runtime.cli.entry import COMMANDS, _command
from tests.runtime.cli.test_process import ROOT

SLOW = {
    "asyncio", "concurrent.futures.process", "jax", "llvmlite.binding", "multiprocessing",
    "numpy.ma", "numpy.random", "onnx", "PySide6", "rich", "scipy", "torch", "unittest",
}  # fmt: skip
"""What a run of a small diagram needs nothing of."""
OF_OTHER_DIAGRAMS = {
    "gradwire.blocks.formulas.content", "gradwire.blocks.library.data",
    "gradwire.blocks.library.parts", "gradwire.blocks.library.pages.joins",
    "gradwire.blocks.library.views", "gradwire.runtime.calculus.choices",
    "gradwire.runtime.engine.unrolling", "gradwire.runtime.flow.numbers.elsewhere",
    "gradwire.runtime.flow.tools.contracts", "gradwire.runtime.views.views",
}  # fmt: skip

OF_LESSONS = {
    "gradwire.runtime.diagram.lesson", "gradwire.runtime.diagram.training",
    "gradwire.runtime.diagram.edits.applying", "gradwire.runtime.flow.tools.interventions",
    "gradwire.runtime.lessons.course", "gradwire.runtime.lessons.misconceptions",
    "gradwire.runtime.lessons.timeline", "gradwire.runtime.training",
}  # fmt: skip
"""What lessons need, and recipes, but not what only states numbers."""

CODE = """
import sys
from gradwire.__main__ import main
code = main()
print(*sys.modules, file=sys.stderr)
sys.exit(code)
"""


def loaded(*arguments: object, **environment: str) -> set[str]:
    """The modules that are there once a command has ended well."""
    path = os.pathsep.join(map(str, (ROOT, ROOT / "runtime" / "public")))
    done = subprocess.run(
        [sys.executable, "-c", CODE, *map(str, arguments)],
        env=os.environ | {"PYTHONPATH": path} | environment,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    return set(done.stderr.split())


@pytest.mark.night
def test_a_run_imports_nothing_that_the_diagram_does_not_hold(seed):
    modules = loaded("run", seed)
    assert "gradwire.blocks.library.gradient" in modules
    assert not modules & (SLOW | OF_OTHER_DIAGRAMS)
    families = {
        name.split(".")[3] for name in modules if name.startswith("gradwire.blocks.library.")
    }
    of_every_diagram = {"formula", "pages", "sources"}
    assert families == {"arithmetic", "gradient", "losses"} | of_every_diagram


@pytest.mark.night
def test_a_run_of_a_small_diagram_imports_no_pass_and_writes_no_machine_code(seed):
    modules = loaded("run", seed)
    passes = {name for name in modules if name.startswith("gradwire.runtime.engine.plan.passes.")}
    assert passes == {"gradwire.runtime.engine.plan.passes.late"}
    assert not {"llvmlite", "gradwire.runtime.engine.compiler.regions"} & modules


@pytest.mark.night
@pytest.mark.parametrize("command", ["check", "flow", "doctor"])
def test_other_commands_import_nothing_slow(seed, command):
    assert not loaded(command, seed) & SLOW


@pytest.mark.night
def test_checking_numbers_in_notes_imports_nothing_of_lessons_but_expressions():
    file = ROOT / "assets" / "diagrams" / "mxnet_seed.gradwire.json"
    assert "{value(" in file.read_text(encoding="utf-8")
    modules = loaded("check", file)
    assert "gradwire.runtime.lessons.expressions.evaluation" in modules
    assert not modules & OF_LESSONS


def test_checking_a_diagram_without_notes_imports_nothing_of_lessons(seed):
    assert not [
        name for name in loaded("check", seed) if name.startswith("gradwire.runtime.lessons")
    ]


@pytest.mark.parametrize("flag", ["--help", "--version"])
def test_what_needs_no_command_imports_none(flag):
    modules = loaded(flag)
    assert not [name for name in modules if name.startswith("gradwire.runtime.cli.commands.")]
    assert not modules & (
        SLOW | {"gradwire.blocks.block", "numpy", "pydantic", "gradwire.runtime.engine"}
    )


@pytest.mark.night
def test_completing_an_option_imports_its_command_alone(seed):
    asked = {"_GRADWIRE_COMPLETE": "complete_bash", "COMP_WORDS": "gradwire check --gr"}
    modules = loaded(**asked, COMP_CWORD="2")
    commands = [name for name in modules if name.startswith("gradwire.runtime.cli.commands.")]
    assert commands == ["gradwire.runtime.cli.commands.check"]


@pytest.mark.parametrize("name", COMMANDS)
def test_typer_asks_no_drive_for_a_path(name: str) -> None:
    """It would wait for good for one that does not answer; ``regular`` asks, and for a while."""
    hints = get_type_hints(_command(name), include_extras=True)
    paths = {what: hint.__metadata__[0] for what, hint in hints.items() if "Path" in str(hint)}
    assert [what for what, info in paths.items() if info.parser is not Path] == []
