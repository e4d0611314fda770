"""Models that a program makes, by reference."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from gradwire.blocks.errors import FileError
from gradwire.runtime.engine.interruption import Interrupted
from gradwire.runtime.flow.analyse import analyse
from gradwire.runtime.programs.references import ModelReference, capture_reference, parse_reference


def captured(text: str, **options):
    return capture_reference(parse_reference(text), **options)


@pytest.mark.parametrize(
    ("text", "reference"),
    [
        ("model.py:make", ModelReference(Path("model.py"), "make")),
        ("src/pkg/model.py:Maker.make", ModelReference(Path("src/pkg/model.py"), "Maker.make")),
        ("HEAD~1:model.py:make", ModelReference(Path("model.py"), "make", "HEAD~1")),
        ("C:/x/model.py:make", ModelReference(Path("C:/x/model.py"), "make")),
        ("v1.0:C:/x/model.py:make", ModelReference(Path("C:/x/model.py"), "make", "v1.0")),
        ("model.gradwire.json", None),
        ("model.py", None),
        ("model.py:", None),
        ("model.py:make me", None),
        ("model.py\n:make", None),
    ],
)
def test_what_is_a_reference(text, reference):
    assert parse_reference(text) == reference


def test_there_is_no_such_file(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(FileError, match=r"nowhere\.py:make: There is no such file"):
        captured("nowhere.py:make")


class TestWithPyTorch:
    @pytest.fixture(autouse=True)
    def _torch(self):
        pytest.importorskip("torch")

    def test_a_model_and_its_arguments(self, models):
        found = captured("models.py:detached")
        assert found.files == {"models.py": "models.py"}
        assert found.imported.parameters["encoder.weight"] == "encoder/weight"
        sentence = analyse(found.imported.diagram).variable("encoder/weight").sentence
        assert "detach (models.py:19)" in sentence

    def test_a_step(self, models):
        flow = analyse(captured("models.py:step").imported.diagram)
        assert [loss.block for loss in flow.losses] == ["loss"]

    def test_the_same_numbers_each_time(self, models):
        values = [
            captured("models.py:pair").imported.diagram.main.blocks["encoder"] for _ in range(2)
        ]
        assert values[0] == values[1]

    def test_a_module_of_a_package(self, models):
        package = models / "src" / "net"
        package.mkdir(parents=True)
        (package / "__init__.py").write_text("")
        (package / "parts.py").write_text("from models import Pair\n")
        (package / "model.py").write_text(
            "from .parts import Pair\nimport torch\ndef make(): return Pair(), torch.ones(3, 4)\n"
        )
        found = captured("src/net/model.py:make")
        assert found.files["parts.py"] == "src/net/parts.py"

    def test_the_working_folder_hides_no_module_of_python(self, models):
        (models / "glob.py").write_text("raise ImportError('glob.py of the user')\n")
        (models / "sub").mkdir()
        source = "import glob\nfrom models import Pair\nimport torch\n"
        (models / "sub" / "model.py").write_text(
            f"{source}def make(): return Pair(), torch.ones(3, 4)\n"
        )
        assert captured("sub/model.py:make").files["model.py"] == "sub/model.py"

    @pytest.mark.parametrize(
        ("name", "message"),
        [
            ("wrong", r"wrong raised ZeroDivisionError: division by zero \(models.py:81\)"),
            ("nothing", "models.py defines no nothing"),
            ("number", "number in models.py is not a function.*Expected.*got int"),
        ],
    )
    def test_what_is_wrong_with_it_is_said(self, models, name, message):
        with pytest.raises(FileError, match=f"models.py:{name}: {message}"):
            captured(f"models.py:{name}")

    def test_another_module_of_that_name(self, models):
        (models / "json.py").write_text("def make(): pass\n")
        with pytest.raises(FileError, match="json is another module"):
            captured("json.py:make")

    def test_it_can_be_abandoned(self, models):
        (models / "slow.py").write_text("import time\ndef make(): time.sleep(600)\n")
        with pytest.raises(Interrupted):
            captured("slow.py:make", cancelled=lambda: True)

    def test_a_program_cannot_read_our_input_nor_write_our_answers(self, models):
        (models / "loud.py").write_text(
            "from models import *\n"
            "import sys\n"
            "def make():\n"
            "    assert sys.stdin.read() == ''\n"
            "    print('{\"imported\": 1}')\n"
            "    return pair()\n"
        )
        assert captured("loud.py:make").imported.parameters

    def test_other_contents_of_a_file(self, models):
        text = (models / "models.py").read_text("utf-8").replace(".detach()", "")
        found = captured("models.py:detached", replaced={str(models / "models.py"): text})
        assert analyse(found.imported.diagram).variable("encoder/weight").state.row.passes
        assert ".detach()" in (models / "models.py").read_text("utf-8")

    def test_an_earlier_revision(self, models):
        git = ["git", "-c", "user.name=A", "-c", "user.email=a@b.c"]
        for command in (["init", "-q"], ["add", "."], ["commit", "-qm", "one"]):
            subprocess.run([*git, *command], check=True)
        file = models / "models.py"
        file.write_text(file.read_text("utf-8").replace(".detach()", ""), "utf-8")
        states = [
            analyse(captured(text).imported.diagram).variable("encoder/weight").state.value
            for text in ("HEAD:models.py:detached", "models.py:detached")
        ]
        assert states == ["STOPPED", "CARRIES"]
        status = subprocess.run([*git, "status", "--short"], capture_output=True, text=True)
        assert status.stdout.splitlines()[0] == " M models.py"
        for revision in ("nothing", "--output=x"):
            with pytest.raises(FileError, match="git can't give this revision"):
                captured(f"{revision}:models.py:detached")
