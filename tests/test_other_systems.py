"""What a user does first, where the system has not all that Linux has: as on Windows."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from gradwire.runtime.diagram import load

ROOT = Path(__file__).parents[1]
DIAGRAMS = ROOT / "assets" / "diagrams"
pytestmark = pytest.mark.night
# Python runs this at the start of each process, also of those that ours start.
STRIPPED = """
import os, signal, sys

class Absent:
    def find_spec(self, name, path=None, target=None):
        if name in ("fcntl", "grp", "pwd", "resource", "termios"):
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)

sys.meta_path.insert(0, Absent())
import platformdirs  # goes by the name of the system, and so takes what Linux has while it is there
for module, names in ((os, "fork getuid geteuid sched_getaffinity sysconf"), (signal, "SIGHUP")):
    for name in names.split():
        delattr(module, name)
"""
EDIT = """
import sys
from pathlib import Path
from PySide6.QtCore import QSettings
from PySide6.QtWidgets import QApplication
from gradwire.app.services.settings import Settings
from gradwire.app.shell.main_window import MainWindow

application = QApplication(sys.argv[:1])
window = MainWindow(Settings(QSettings("settings.ini", QSettings.Format.IniFormat)))
window.show()
assert window.open_path(Path(sys.argv[1]))
assert window.document.save_as(Path(sys.argv[2]))
window.close()
"""


@pytest.fixture
def python(tmp_path):
    """Runs Python on a system that lacks what Windows lacks, and returns what it writes."""
    if not hasattr(os, "sched_getaffinity"):
        pytest.skip("takes away what only Linux has")
    (tmp_path / "site").mkdir()
    (tmp_path / "site" / "sitecustomize.py").write_text(STRIPPED)
    paths = [str(tmp_path / "site"), str(ROOT / "runtime" / "public")]
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(paths)}

    def run(*arguments: str | Path) -> str:
        done = subprocess.run(
            [sys.executable, *map(str, arguments)], env=environment, cwd=tmp_path,
            capture_output=True, text=True, encoding="utf-8", check=False,
        )  # fmt: skip
        assert done.returncode == 0, done.stderr
        assert "Traceback" not in done.stderr
        return done.stdout

    with pytest.raises(AssertionError, match="No module named 'fcntl'"):
        run("-c", "import fcntl")
    return run


def test_an_example_runs(python):
    assert "loss" in python("-m", "gradwire", "run", DIAGRAMS / "gan.gradwire.json")


def test_a_training_is_recorded(python, tmp_path):
    out = tmp_path / "trained"
    source = DIAGRAMS / "training_spirals.gradwire.json"
    python("-m", "gradwire", "train", source, "--out", out, "--steps", "3")
    assert sorted(path.name for path in out.iterdir())


def test_a_model_is_imported(python, tmp_path):
    model = Path(__file__).parent / "runtime/interchange/importing/data/perceptron.keras"
    pytest.importorskip("h5py")
    out = tmp_path / "model.gradwire.json"
    python("-m", "gradwire", "import", model, "-o", out)
    assert "hidden/weight" in python("-m", "gradwire", "flow", out)


def test_the_editor_opens_and_saves(python, tmp_path):
    pytest.importorskip("PySide6")
    opened, saved = DIAGRAMS / "gan.gradwire.json", tmp_path / "saved.gradwire.json"
    python("-c", EDIT, opened, saved)
    assert load(saved) == load(opened)
