"""The four pictures of the architecture page, recorded while Gradwire does what they show:
``python -m tests.assets.architecture`` writes them, or those that are named.
"""

from __future__ import annotations

import ast
import contextlib
import inspect
import io
import os
import re
import subprocess
import sys
import textwrap
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any

import gradwire as gw
from tests.assets.house import ROOT, TINTS

if TYPE_CHECKING:
    from types import FrameType

PICTURES = ROOT / "assets" / "manual" / "pictures"
PAGE_SCRIPT = "runtime/publish/living/script"
_ABOUT, _WIDE, _HIGH, _INDENT, _CODE = 320, 640, 48, 14, 292
"""Where the words of a step begin, width, height of a step, indent of a call, and width of a box
that has none, px."""


@dataclass(frozen=True)
class Step:
    """Something that is called, and how deep below other steps."""

    file: str
    name: str
    depth: int

    @property
    def about(self) -> str:
        """The first sentence that its file has on it."""
        text = (ROOT / self.file).read_text(encoding="utf-8")
        said = (_comment if self.file.endswith(".js") else _docstring)(text, self.name)
        found = re.split(r"(?<=\w[.])\s", said.replace("``", ""), maxsplit=1)[0]
        assert found, f"{self.name} in {self.file} has no docstring"
        return found


@dataclass(frozen=True)
class Walk:
    """What is done, the steps to be seen in it, in order, and what a page does afterwards."""

    title: str
    work: Callable[[], None]
    steps: tuple[str, ...]
    """Functions, methods and classes, ``file:name``, each first called after those above it, as far
    up as ``— title``: there another thread, event or machine goes on.
    """


# ---- what is done -------------------------------------------------------------------------------


def _explain_a_diagram() -> None:
    from gradwire.runtime.cli import entry

    entry.main(["flow", str(ROOT / "assets" / "diagrams" / "gan.gradwire.json"), "--run"])


def _capture_a_model() -> None:
    import torch

    torch.manual_seed(0)
    model = torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.ReLU(), torch.nn.Linear(4, 1))
    gw.capture(lambda x: model(x).sum(), torch.ones(2, 3))


def _publish_a_page() -> None:
    gw.publish(gw.load(ROOT / "assets" / "diagrams" / "mxnet_seed.gradwire.json"))


def _edit_a_diagram() -> None:
    import tempfile

    from PySide6.QtCore import QSettings, QTimer
    from PySide6.QtWidgets import QApplication

    from gradwire.app.services.settings import Settings
    from gradwire.app.shell.main_window import MainWindow
    from gradwire.runtime.diagram import SetParameters
    from tests.app.closing import give_up

    app = QApplication([])
    with tempfile.TemporaryDirectory() as folder:
        stored = QSettings(str(Path(folder) / "settings.ini"), QSettings.Format.IniFormat)
        path = ROOT / "assets" / "diagrams" / "gan.gradwire.json"
        window = MainWindow(Settings(stored), path=path)
        window.show()
        change = SetParameters("fake", {"open": True})

        close = partial(give_up, window)

        def edit() -> None:
            window.evaluator.resultChanged.disconnect(edit)
            window.evaluator.resultChanged.connect(lambda: QTimer.singleShot(500, close))
            QTimer.singleShot(0, lambda: window.canvas.changeRequested.emit(change))

        window.open_path(path)
        window.evaluator.resultChanged.connect(edit)
        app.exec()  # until the window closes


WALKS = {
    "diagram": Walk(
        "A diagram: gradwire flow gan --run",
        _explain_a_diagram,
        (
            "runtime/cli/commands/flow.py:flow",
            "runtime/diagram/files/storage.py:load",
            "runtime/diagram/files/migrations.py:migrate",
            "runtime/engine/session/session.py:Session",
            "runtime/engine/lowering.py:lower_loops",
            "runtime/engine/flatten.py:flatten",
            "runtime/diagram/checks/checks.py:check",
            "blocks/library/linear.py:Linear.forward",
            "runtime/flow/analyse.py:analyse",
            "runtime/flow/observing.py:observe",
            "runtime/engine/compiled.py:compile_request",
            "runtime/calculus/reverse.py:sweep",
            "runtime/engine/plan/plan.py:Plan",
            "runtime/publish/flow_report.py:flow_report",
            "runtime/publish/text.py:show",
        ),
    ),
    "edit": Walk(
        "An edit: a stop is opened in the editor",
        _edit_a_diagram,
        (
            "app/commands/edit.py:EditCommands.change",
            "app/document/document.py:Document.apply",
            "runtime/diagram/edits/applying.py:apply",
            "app/controllers/presenter.py:Presenter.show_diagram",
            "app/evaluation/evaluator.py:Evaluator.request",
            "— in the worker's thread",
            "app/evaluation/evaluator.py:Evaluation.__call__",
            "runtime/engine/rebind.py:rebind",
            "runtime/flow/analyse.py:analyse",
            "runtime/flow/observed.py:ObservedFlow",
            "— back in the window's thread",
            "app/evaluation/evaluator.py:Evaluator._receive",
            "— at the next frame, before and after the result",
            "app/canvas/paint/painter.py:paint",
        ),
    ),
    "capture": Walk(
        "A captured model: gradwire.capture(loss, x)",
        _capture_a_model,
        (
            "runtime/interchange/importing/capturing.py:capture",
            "runtime/interchange/importing/torch/capture/capturing.py:capture_torch",
            "runtime/interchange/importing/stage.py:Stage",
            "runtime/interchange/importing/torch/capture/recording.py:CaptureRecording",
            "runtime/interchange/importing/torch/performing.py:Performer.perform",
            "runtime/interchange/importing/stage.py:Stage.block",
            "runtime/interchange/importing/torch/capture/checking.py:gradients_of",
            "runtime/interchange/importing/options.py:conclude",
            "runtime/interchange/importing/paging.py:Paging",
        ),
    ),
    "publish": Walk(
        "A published page: gradwire.publish(diagram)",
        _publish_a_page,
        (
            "runtime/publish/living/publishing.py:publish",
            "runtime/publish/living/data.py:living_data",
            "runtime/publish/living/computing/switches.py:switches_of",
            "runtime/publish/living/computing/tape.py:tape_of",
            "runtime/publish/living/drawn/picture.py:pictures",
            "runtime/publish/living/computing/verification.py:verify",
            "runtime/publish/living/writing/html.py:page",
            "— in the reader's browser",
            f"{PAGE_SCRIPT}/page.js:App",
            f"{PAGE_SCRIPT}/engine.js:Live",
            f"{PAGE_SCRIPT}/states.js:levels",
            f"{PAGE_SCRIPT}/drawing.js:Drawing",
            f"{PAGE_SCRIPT}/why.js:Why",
        ),
    ),
}


# ---- what is seen -------------------------------------------------------------------------------


def seen(walk: Walk) -> Iterator[Step | str]:
    """The steps of a walk as they are called. Raises AssertionError for one that is not called, or
    before one that is listed before it, and says so.
    """
    found = _first_calls(walk)
    last: dict[int, tuple[int, str]] = {}
    for listed in walk.steps:
        if listed.startswith("— "):
            yield listed.removeprefix("— ")
            last.clear()
            continue
        file, _, name = listed.partition(":")
        if file.endswith(".js"):
            yield Step(file, name, _depth_in_page(file, name, walk.steps))
            continue
        assert listed in found, f"{listed} is not called; change WALKS in {__name__}"
        number, thread, depth = found[listed]
        before, earlier = last.get(thread, (-1, ""))
        assert number > before, f"{listed} is called before {earlier}; change WALKS in {__name__}"
        last[thread] = number, listed
        yield Step(file, name, depth)


def _first_calls(walk: Walk) -> dict[str, tuple[int, int, int]]:
    """By step: its number among all first calls, its thread, and how many steps call it."""
    by_place = {}
    for listed in walk.steps:
        file, _, name = listed.partition(":")
        by_place[str(ROOT / file), name] = by_place[str(ROOT / file), f"{name}.__init__"] = listed
    found: dict[str, tuple[int, int, int]] = {}
    files = {file for file, _ in by_place}
    first = walk.steps[0].partition(":")[2]
    open_calls = threading.local()

    def record(frame: FrameType, event: str, _: Any) -> None:
        code = frame.f_code
        if code.co_filename not in files or not code.co_flags & inspect.CO_OPTIMIZED:
            return  # what is run to define a class is none
        if not found and code.co_qualname != first:
            return
        calls: list[tuple[FrameType, str]] = vars(open_calls).setdefault("calls", [])
        step = by_place.get((code.co_filename, code.co_qualname))
        if event == "return" and calls and calls[-1][0] is frame:
            calls.pop()
        elif event == "call" and step is not None and step not in {each for _, each in calls}:
            found.setdefault(step, (len(found), threading.get_ident(), len(calls)))
            calls.append((frame, step))

    before = sys.getprofile(), threading.getprofile()
    threading.setprofile(record)
    sys.setprofile(record)
    try:
        with contextlib.redirect_stdout(io.StringIO()):
            walk.work()
    finally:
        sys.setprofile(before[0])
        threading.setprofile(before[1])
    return found


def _depth_in_page(file: str, name: str, steps: tuple[str, ...]) -> int:
    """How deep something of the page's script is made: below the file that calls it."""
    makers = [
        each.partition(":")
        for each in steps
        if each.startswith(PAGE_SCRIPT)
        and f" {name}(" in (ROOT / each.partition(":")[0]).read_text(encoding="utf-8")
    ]
    outer = [(maker, it) for maker, _, it in makers if maker != file]
    return 1 + _depth_in_page(*outer[0], steps) if outer else 0


def _docstring(text: str, name: str) -> str:
    """The first paragraph on something; that of its class where it has none."""
    node: ast.AST = ast.parse(text)
    found = ""
    for part in name.split("."):
        node = next(x for x in ast.iter_child_nodes(node) if getattr(x, "name", None) == part)
        assert isinstance(node, ast.FunctionDef | ast.ClassDef)
        found = ast.get_docstring(node) or found
    return " ".join(found.partition("\n\n")[0].split())


def _comment(text: str, name: str) -> str:
    found = re.search(rf"((?:^// .*\n)+)(?:class|function) {name}\b", text, re.MULTILINE)
    assert found, f"{name} has no comment"
    return " ".join(found[1].replace("// ", "").split())


# ---- what is drawn ------------------------------------------------------------------------------


def svg(walk: Walk) -> str:
    """The steps from top to bottom, each below and right of the one that calls it.

    A background of its own keeps it readable on dark pages.
    """
    rows: list[str] = []
    lines: list[str] = []
    tops: list[float] = []
    """The feet of the boxes that the next one may be called from, by depth."""
    y = 44.0
    for step in seen(walk):
        if isinstance(step, str):
            rows.append(_text(16, y + 18, step, 'font-style="italic" fill="#55606b"'))
            y += 28
            tops.clear()
            continue
        x = 16 + step.depth * _INDENT
        del tops[step.depth :]
        if tops:
            lines.append(_line(x - _INDENT + 8, tops[-1], y + _HIGH / 2 - 4, x))
        tops += [y + _HIGH - 8] * (step.depth + 1 - len(tops))
        rows += _row(step, x, y)
        y += _HIGH
    size = f'width="{_WIDE}" height="{y + 8:g}"'
    head = f'<svg xmlns="http://www.w3.org/2000/svg" {size} font-family="sans-serif">'
    ground = f'<rect {size} rx="6" fill="#ffffff"/>'
    title = _text(16, 28, walk.title, 'font-weight="bold" fill="#1f2933"', 14)
    return "\n".join([head, ground, title, *lines, *rows, "</svg>", ""])


def _row(step: Step, x: float, y: float) -> Iterator[str]:
    tint = TINTS[step.file.partition("/")[0]]
    wide = _CODE - (x - 16)
    yield (
        f'<rect x="{x:g}" y="{y:g}" width="{wide:g}" height="{_HIGH - 8}" rx="4" fill="{tint}" '
        'stroke="#8a94a0"/>'
    )
    name = step.name.removesuffix(".__call__")
    yield _text(x + 8, y + 16, name, 'font-weight="bold" fill="#1f2933"')
    file = step.file
    if len(file) * 5.6 > wide - 12:  # the room and the end say most
        parts = file.split("/")
        file = "/".join([*parts[:2], "…", *parts[-2:]])
    yield _text(x + 8, y + 32, file, 'fill="#55606b"', 10.5)
    lines = textwrap.wrap(step.about, 45)
    for number, line in enumerate(lines[:3]):
        middle = y + 24 + (number - (min(len(lines), 3) - 1) / 2) * 15
        yield _text(_ABOUT, middle, line, 'fill="#1f2933"')


def _line(x: float, y: float, middle: float, end: float) -> str:
    return f'<path d="M {x:g} {y:g} V {middle:g} H {end:g}" fill="none" stroke="#8a94a0"/>'


def _text(x: float, y: float, text: str, style: str, size: float = 12) -> str:
    return f'<text x="{x:g}" y="{y:g}" font-size="{size:g}" {style}>{escape(text)}</text>'


def picture(name: str) -> Path:
    """The file of the picture of a walk."""
    return PICTURES / f"walk_{name}.svg"


def drawn(name: str) -> str:
    """The picture of a walk, to be called once in an interpreter, which has nothing ready yet."""
    os.environ["QT_QPA_PLATFORM"] = "offscreen"
    return svg(WALKS[name])


if __name__ == "__main__":
    for chosen in sys.argv[1:]:
        picture(chosen).write_text(drawn(chosen), encoding="utf-8")
    for each in WALKS if not sys.argv[1:] else ():
        subprocess.run([sys.executable, "-m", "tests.assets.architecture", each], check=True)
