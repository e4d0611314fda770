"""The command, called as its entry point calls it, and diagrams to call it with."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

import pytest

from gradwire.runtime import extras
from gradwire.runtime.cli.entry import main
from gradwire.runtime.diagram import save
from gradwire.runtime.lessons.walk import Walk
from tests.runtime.lessons.lessons import taught

SEED: dict[str, Any] = {
    "a": {"type": "Variable", "value": [[1, 2]]},
    "b": {"type": "Variable", "value": [[0, 1]]},
    "mul": {"type": "Mul", "a": 3},
    "stop": {"type": "StopGradient"},
    "add": {"type": "Add"},
    "loss": {"type": "Loss"},
}
SEED_WIRES = {
    "mul.b": "b.out",
    "stop.x": "mul.out",
    "add.a": "stop.out",
    "add.b": "a.out",
    "loss.x": "add.out",
}


@dataclass(frozen=True)
class Outcome:
    """How a command ended: exit code, standard output, standard error."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        """Standard output as strict JSON: no NaN, no Infinity."""

        def refuse(word: str) -> None:
            raise AssertionError(f"{word} is not JSON")

        return json.loads(self.out, parse_constant=refuse)

    def table(self, title: str) -> list[list[str]]:
        """The cells of a plain table, header first."""
        text = self.out.split(f"\n{title}\n", 1)[1].split("\n\n", 1)[0]
        lines = text.rstrip("\n").split("\n")
        starts = [0] + [
            i + 2
            for i in range(len(lines[0]) - 2)
            if all(line[i : i + 2].strip() == "" for line in lines)
            and lines[0][i + 2 : i + 3].strip()
        ]
        ends = [*starts[1:], None]
        return [[line[a:b].strip() for a, b in zip(starts, ends, strict=True)] for line in lines]


@pytest.fixture
def gradwire(capsys):
    """``gradwire("run", path)`` -> Outcome."""

    def call(*arguments: object) -> Outcome:
        capsys.readouterr()
        code = main([str(argument) for argument in arguments])
        out, err = capsys.readouterr()
        assert "Traceback" not in out + err
        return Outcome(code, out, err)

    return call


@pytest.fixture
def lesson_files(tmp_path):
    """A diagram with a lesson, and a file of answers to it."""
    lesson, answers = tmp_path / "lesson.gradwire.json", tmp_path / "answers.json"
    save(taught(), lesson)
    answers.write_text(json.dumps(Walk(taught()).answers("Ada")), encoding="utf-8")
    return lesson, answers


@pytest.fixture
def diagram(tmp_path):
    """``diagram(blocks, wires)`` writes a file and gives its path."""

    def write(
        blocks: dict[str, Any],
        wires: dict[str, str],
        title: str = "",
        name: str = "d",
        **pages: tuple[dict[str, Any], dict[str, str]],
    ) -> Any:
        contents = {"main": (blocks, wires)} | pages
        data = {
            "gradwire": 3,
            "title": title,
            "pages": {
                page: {"blocks": blocks, "wires": wires, "layout": {}}
                for page, (blocks, wires) in contents.items()
            },
        }
        path = tmp_path / f"{name}.gradwire.json"
        path.write_text(json.dumps(data), encoding="utf-8")
        return path

    return write


@pytest.fixture
def seed(diagram):
    """loss = MakeLoss(stop_gradient(3 * b) + a)."""
    return diagram(SEED, SEED_WIRES, title="Seed", name="seed")


@pytest.fixture
def no_typeface(monkeypatch):
    """Only the package with the fonts is not installed."""
    from gradwire.app.services import typeface

    find = extras.find_spec
    monkeypatch.setattr(
        extras, "find_spec", lambda name: None if name == "pymupdf_fonts" else find(name)
    )
    typeface.install.cache_clear()
    yield
    typeface.install.cache_clear()
