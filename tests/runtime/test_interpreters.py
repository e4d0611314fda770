"""Interpreters that are started run nothing that lies in the working folder."""

from __future__ import annotations

import ast
import importlib.util
import os
import pkgutil
import re
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

from gradwire.runtime import interpreters
from gradwire.runtime.diagram import save
from tests.runtime.cli.conftest import diagram, lesson_files, seed
from tests.runtime.cli.test_process import EVERY
from tests.runtime.training.studies.studies import line
from tests.test_house import MODULES, ROOT

__all__ = ["diagram", "lesson_files", "seed"]

MODEL = ROOT / "assets/models/mxnet_seed.json"
SOURCES = f"import sys; sys.path[:0] = {[str(ROOT), str(ROOT / 'runtime/public')]}"

# ---- nothing else starts processes ------------------------------------------------------------

STARTERS = re.compile(
    r"(multiprocessing|subprocess|pty|asyncio\.subprocess)(\..*)?|asyncio\.create_subprocess\w*"
    r"|os\.(exec|fork|popen|posix_spawn|spawn|startfile|system)\w*|sys\.executable"
    r"|concurrent\.futures\.[Pp]rocess\w*|.*\.QProcess"
)
"""What starts processes, and the name of the interpreter."""
WORDS = re.compile(
    r"\b((multi|sub)process(ing)?|pty|exec[lv]\w*|fork\w*|popen|posix_spawn\w*|spawn\w+|startfile"
    r"|system|executable|create_subprocess\w*|futures\.process|ProcessPool\w+|QProcess)\b"
)
"""One of these is in a source that has one of those: few sources have to be parsed."""


def starters_in(source: str) -> set[str]:
    """The starters that a source imports, or reads of their modules."""
    found = set()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            found |= {str(node.module), *(f"{node.module}.{alias.name}" for alias in node.names)}
        elif isinstance(node, ast.Attribute):
            found.add(ast.unparse(node))
    return {name for name in found if STARTERS.fullmatch(name)}


def test_processes_are_started_in_one_place():
    found = {
        path.relative_to(ROOT).as_posix(): names
        for path in MODULES
        if WORDS.search(text := path.read_text(encoding="utf-8")) and (names := starters_in(text))
    }
    assert found == {
        "runtime/interpreters.py": {
            "subprocess", "subprocess.PIPE", "subprocess.Popen", "subprocess.TimeoutExpired",
            "sys.executable",
        },
        "runtime/programs/references.py": {"subprocess", "subprocess.run"},  # git
        "app/services/translation.py": {"subprocess", "subprocess.run"},  # Qt's, and no Python
        "runtime/cli/desktop/desktop.py": {  # named in an entry; the desktop's own indexers
            "subprocess", "subprocess.run", "sys.executable",
        },
    }  # fmt: skip


@pytest.mark.parametrize(
    "source",
    [
        "import multiprocessing.spawn", "from multiprocessing import get_context",
        "from os import execv", "import os; os.posix_spawnp()", "from sys import executable",
        "from concurrent.futures import ProcessPoolExecutor",
        "import asyncio; asyncio.create_subprocess_exec()",
        "from PySide6 import QtCore; QtCore.QProcess()",
    ],
)  # fmt: skip
def test_whatever_starts_a_process_is_found(source):
    assert WORDS.search(source) and starters_in(source)


# ---- the path ---------------------------------------------------------------------------------

SHOW = "import sys\ndef main(): print(sys.flags.ignore_environment, *sys.path, sep='\\n')"
START = f"""{SOURCES}
sys.path += ["added", "."]
from gradwire.runtime.interpreters import start
print(start("shown").communicate()[0].decode(), end="")
"""


@pytest.fixture
def folders(tmp_path, monkeypatch):
    """The working folder, one beside it that has a module, and one that the path gets later."""
    found = SimpleNamespace(here=tmp_path / "here", named=tmp_path / "named")
    for folder in (found.here, found.named, found.here / "added"):
        folder.mkdir()
    (found.named / "shown.py").write_text(SHOW)
    (found.here / "began.py").write_text(START)
    monkeypatch.delenv("PYTHONSAFEPATH", raising=False)
    return found


def path_of_child(folders, *options: str, named: tuple[Path, ...]) -> list[str]:
    """The path of an interpreter that an interpreter with such options starts, and before it
    whether it ignores the environment.
    """
    done = subprocess.run(
        [sys.executable, *options],
        cwd=folders.here,
        env=os.environ | {"PYTHONPATH": os.pathsep.join(map(str, named))},
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    )
    return done.stdout.splitlines()


WAYS = [("-c", "import began"), ("-m", "began"), ("began.py",)]


@pytest.mark.parametrize("way", WAYS, ids=lambda way: way[0])
def test_the_working_folder_is_not_on_the_path_unless_it_is_named(folders, way):
    here, named = str(folders.here), str(folders.named)
    path = path_of_child(folders, *way, named=(folders.named,))
    assert not {"", ".", here} & set(path) and {named, "added"} <= set(path)
    path = path_of_child(folders, *way, named=(folders.named, folders.here))
    assert not {"", "."} & set(path) and {named, here} <= set(path)


def test_nor_is_the_folder_of_the_script(folders):
    script = folders.named / "script.py"
    script.write_text(START)
    other = folders.here / "shown.py"
    other.write_text(SHOW)
    path = path_of_child(folders, str(script), named=(folders.here,))
    assert str(folders.named) not in path and str(folders.here) in path


def test_an_interpreter_that_ignores_the_environment_starts_others_that_do(folders):
    began = f"{SOURCES}\nsys.path += [{str(folders.named)!r}]\nimport began"
    ignores, *path = path_of_child(folders, "-E", "-c", began, named=(folders.here,))
    assert ignores == "1" and str(folders.here) not in path
    ignores, *path = path_of_child(folders, "-c", began, named=(folders.here,))
    assert ignores == "0" and str(folders.here) in path


def test_the_package_is_found_last_where_nothing_else_names_its_folder(folders, monkeypatch):
    monkeypatch.syspath_prepend(folders.named)
    monkeypatch.setattr(interpreters, "_HOME", str(folders.here))
    out = interpreters.start("shown").communicate()[0].decode()
    assert out.splitlines()[-1] == str(folders.here)


# ---- commands and the editor ------------------------------------------------------------------

OPTIONAL = {"distributed", "h5py", "jax", "llvmlite", "onnx", "torch"}
EDIT = f"""
import os, sys
os.environ["QT_QPA_PLATFORM"] = "offscreen"
{SOURCES}
from pathlib import Path
from PySide6.QtCore import QSettings, Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication
from gradwire.app.services.settings import Settings
from gradwire.app.shell.windows import OpenWindows
from tests.app.closing import give_up
application = QApplication(sys.argv[:1])
store = QSettings(str(Path("settings.ini")), QSettings.Format.IniFormat)
window = OpenWindows(Settings(store)).new(Path({str(MODEL)!r}))
def until(done):
    while not done() and not os.path.exists("imported"):
        QTest.qWait(10)
until(lambda: window.document.diagram.main.blocks and not window.evaluator.busy)
QTest.mouseClick(window.toolbar.buttons["train"], Qt.MouseButton.LeftButton)
until(lambda: window.training.step_shown > 0)
window.training.pause()
give_up(window)
"""


@pytest.fixture
def run(tmp_path, monkeypatch):
    """``run(script, *arguments)`` runs a script, as that of the command ``gradwire``, in a folder
    with a file for each module that there is. Returns the modules that came from there.
    """
    scripts, home, folder = (tmp_path / name for name in ("bin", "home", "downloads"))
    for made in (scripts, home, folder):
        made.mkdir()
    names = {*sys.stdlib_module_names, *(module.name for module in pkgutil.iter_modules())}
    names |= {*OPTIONAL, "sitecustomize", "usercustomize", "app", "blocks", "runtime", "assets"}
    for name in names:
        mark = f"open({str(folder / 'imported')!r}, 'a').write('{name} ')\n"
        (folder / f"{name}.py").write_text(f"{mark}raise ImportError({name!r})\n")
    for name in ("HOME", "XDG_CONFIG_HOME", "XDG_CACHE_HOME", "GRADWIRE_PROGRESS"):
        monkeypatch.setenv(name, str(home / name))
    for name in ("PYTHONSAFEPATH", "PYTHONPATH"):
        monkeypatch.delenv(name, raising=False)

    def call(script: str, *arguments: object) -> str:
        path = scripts / "script"
        path.write_text(script)
        done = subprocess.run(
            [sys.executable, path, *map(str, arguments)],
            cwd=folder,
            capture_output=True,
            text=True,
            timeout=300,
        )
        assert "Traceback" not in done.stderr, done.stderr
        assert done.returncode in {0, 1}, done.stderr  # 1: what a study claims does not hold
        imported = folder / "imported"
        return imported.read_text() if imported.exists() else ""

    return call


COMMAND = f"{SOURCES}\nfrom gradwire.__main__ import main\nsys.exit(main())"
EDITS = importlib.util.find_spec("PySide6") is not None


def test_a_file_in_the_folder_would_be_seen(run):
    assert run("import sys; sys.path[0] = ''\ntry: import colorsys\nexcept ImportError: pass")


@pytest.mark.night
def test_an_import_and_a_study_run_nothing_in_the_working_folder(run, tmp_path):
    assert run(COMMAND, "import", MODEL, "-o", "model.gradwire.json") == ""
    save(line(), tmp_path / "line.gradwire.json")
    study = ("study", tmp_path / "line.gradwire.json", "--vary", "seed=0,1", "--workers", 2)
    assert run(COMMAND, *study) == ""


@pytest.mark.skipif(not EDITS, reason="the editor is not installed")
def test_the_editor_runs_nothing_in_the_working_folder(run):
    assert run(EDIT) == ""


@pytest.mark.night  # a second for each command
@pytest.mark.parametrize("line", [*EVERY, "train {0} --out {0}.jax --steps 2 --engine jax"])
def test_no_command_runs_anything_in_the_working_folder(run, seed, lesson_files, line):
    if "jax" in line:
        pytest.importorskip("jax")
    assert run(COMMAND, *line.format(seed, *lesson_files).split()) == ""


# ---- builds ------------------------------------------------------------------------------------

BUILD = """#!{python} -P
{sources}
sys.frozen, sys.executable = True, __file__
import runpy
runpy.run_path({program!r}, run_name="__main__")
"""


def build(folder: Path, name: str = "gradwire") -> Path:
    """An executable that does what one of a build does, without being built."""
    path = folder / name
    program = str(ROOT / ".ci/onefolder/program.py")
    path.write_text(BUILD.format(python=sys.executable, sources=SOURCES, program=program))
    path.chmod(0o755)
    return path


executables = pytest.mark.skipif(
    sys.platform == "win32", reason="a script is no executable on Windows"
)


@pytest.mark.night
@executables
def test_a_build_starts_itself_and_runs_nothing_in_the_working_folder(run, tmp_path):
    path = str(build(tmp_path))
    command = f"import os, sys; os.execv({path!r}, [{path!r}, *sys.argv[1:]])"
    assert run(command, "import", MODEL, "-o", tmp_path / "model.gradwire.json") == ""
    assert (tmp_path / "model.gradwire.json").exists()
    save(line(), tmp_path / "line.gradwire.json")
    study = ("study", tmp_path / "line.gradwire.json", "--vary", "seed=0,1", "--workers", 2)
    assert run(command, *study, "--out", tmp_path / "study") == ""
    trained = (tmp_path / "study/trainings.jsonl").read_text()
    assert trained.count("\n") == 2 and "error" not in trained


@executables
def test_the_editor_of_a_build_is_the_one_that_is_called_so(tmp_path):
    for name, command in (("gradwire", "gradwire"), ("gradwire-editor", "gradwire edit")):
        out = subprocess.check_output([build(tmp_path, name), "--help"], text=True)
        assert out.startswith(f"Usage: {command} [OPTIONS]")


@executables
def test_what_a_build_starts_is_no_part_of_it(tmp_path, monkeypatch):
    shown = tmp_path / "shown"
    shown.write_text('#!/bin/sh\necho "$*" $PYINSTALLER_RESET_ENVIRONMENT\n')
    shown.chmod(0o755)
    monkeypatch.setattr(sys, "frozen", True, raising=False)
    monkeypatch.setattr(sys, "executable", str(shown))
    out = interpreters.start("gradwire.runtime").communicate()[0].decode()
    assert out == "--serve-module gradwire.runtime 1\n"


def test_a_build_serves_its_own_modules_alone(monkeypatch):
    served = []
    monkeypatch.setattr(interpreters, "serve", served.append)
    assert not interpreters.serve_if_asked([]) and not interpreters.serve_if_asked(["run", "x"])
    for module in ("os", "gradwire", "gradwires.x"):
        with pytest.raises(ValueError, match="no module of Gradwire"):
            interpreters.serve_if_asked(["--serve-module", module])
    assert served == []
    assert interpreters.serve_if_asked(["--serve-module", "gradwire.runtime"])
    assert served == ["gradwire.runtime"]


# ---- what else they are started with ----------------------------------------------------------


def test_matrix_products_get_one_thread_unless_the_user_chose(monkeypatch):
    for name in interpreters.BLAS:
        monkeypatch.delenv(name, raising=False)
    assert set(interpreters.blas_threads(1).values()) == {"1"}
    monkeypatch.setenv("OMP_NUM_THREADS", "4")
    assert interpreters.blas_threads(1) == {}
