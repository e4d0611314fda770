"""A numeric state added as the manual says, and where it shows: run as a program by a test.

``SPIKY``: one element is many times the root mean square. The sources of the two modules that a
state touches are edited on their way in, before anything imports them; what follows only looks.
"""

from __future__ import annotations

import contextlib
import io
import json
import sys
from importlib.machinery import SourceFileLoader
from pathlib import Path
from tempfile import TemporaryDirectory

EDITS = {
    "gradwire.runtime.flow.words.states": (
        ('    ZERO = "ZERO"\n', '    ZERO = "ZERO"\n    SPIKY = "SPIKY"\n'),
        (
            "        State.ZERO: StateRow(\n",
            """        State.SPIKY: StateRow(
            numeric=True,
            title="Carries, spiky",
            legend="spiky: one element above {spike} × the rms",
            spoken="carries a spiky gradient",
            search="peak",
            form=Form.SAW,
            colour=ColourRole.LARGE,
            label="△ {rms}",
            sign="△",
            concern=5,
            complaint=Complaint("spiky", "one large element", 5),
            accent="yellow",
            sentence="One of {total} elements is {peak}, against an rms of {rms}.",
        ),
        State.ZERO: StateRow(
""",
        ),
    ),
    "gradwire.runtime.flow.numbers.rules": (
        (
            "    cancels: float",
            '    spike: float = _threshold(5.0, "Spiky above this many times the rms")\n'
            "    cancels: float",
        ),
        (
            "    Rule(State.PARTIAL",
            "    Rule(State.SPIKY, lambda s, scale, limits: s.peak > limits.spike * s.rms),\n"
            "    Rule(State.PARTIAL",
        ),
    ),
}
"""All that a new state touches: the table, and the rule with its threshold."""


class _Edited(SourceFileLoader):
    def get_code(self, fullname: str):
        source = self.get_source(fullname)
        for old, new in EDITS.get(fullname, ()):
            assert source.count(old) == 1, (fullname, old)
            source = source.replace(old, new)
        return compile(source, self.path, "exec")


class _Finder:
    @staticmethod
    def find_spec(name, path, target=None):
        if name not in EDITS:
            return None
        from importlib.machinery import PathFinder

        spec = PathFinder.find_spec(name, path, target)
        spec.loader = _Edited(name, spec.origin)
        return spec


def diagram():
    """``loss = Σ w·x``: of a hundred elements of w one is 1000, the others are 1."""
    import gradwire.runtime.build as b

    weights = b.constant("w", [1000.0, *[1.0] * 99])
    product = b.mul(b.variable("x", [1.0] * 100), weights, name="product")
    return b.build(b.loss(b.sum(product), name="loss"))


def headless() -> dict[str, object]:
    """What flow, sentences, doctor, reports and the command line make of it."""
    from gradwire.runtime.cli.entry import main
    from gradwire.runtime.diagram import save
    from gradwire.runtime.engine import Session
    from gradwire.runtime.flow import Thresholds, diagnose, observe
    from gradwire.runtime.publish.contracts import DoctorReport
    from gradwire.runtime.publish.flow_report import flow_report
    from gradwire.runtime.publish.text import plain

    session = Session(diagram())
    observed = observe(session)
    report = flow_report(session, observed, observed.losses, None, "d.json")
    doctor = DoctorReport("d.json", observed.losses, tuple(diagnose(session)))
    with TemporaryDirectory() as folder:
        path = Path(folder) / "d.gradwire.json"
        save(diagram(), path)
        commands = {
            "run": _typed(main, "run", path),
            "flow": _typed(main, "flow", path, "--run", "--json"),
            "doctor": _typed(main, "doctor", path),
            "lax": _typed(main, "run", path, "--threshold", "spike=50"),
        }
    return {
        "state": observed.state("product.a").name,
        "variable": observed.variable("x").sentence,
        "sentence": observed.verdict("product.a").sentence,
        "lax": observe(session, thresholds=Thresholds(spike=50.0)).state("product.a").name,
        "report": report.to_json()["wires"]["product.a"]["verdicts"]["loss.out"]["state"],
        "report text": plain(report.parts()),
        "doctor": doctor.to_json()["findings"][0]["what"],
        "doctor text": plain(doctor.parts()),
        "commands": commands,
    }


def _typed(main, *arguments: object) -> str:
    with contextlib.redirect_stdout(io.StringIO()) as out:
        main([str(argument) for argument in arguments])
    return out.getvalue()


def editor() -> dict[str, object]:
    """How the editor shows it: lane, label, legend, colours, words, panel, search, dialog."""
    import numpy as np
    from PySide6.QtGui import QColor, QImage, QPainter
    from PySide6.QtWidgets import QApplication, QLabel

    from gradwire.app.canvas.paint.legend import title
    from gradwire.app.canvas.paint.wires import lanes
    from gradwire.app.canvas.scene.curves import Courses
    from gradwire.app.canvas.scene.focus import Focus, FocusKind
    from gradwire.app.canvas.scene.geometry import Scene
    from gradwire.app.canvas.state.annotations import resolve
    from gradwire.app.canvas.state.lanes import CODES
    from gradwire.app.canvas.state.tooltips import describe
    from gradwire.app.evaluation.evaluator import evaluate
    from gradwire.app.panels.bars.find_bar import search
    from gradwire.app.panels.dialogs.thresholds import ThresholdsDialog
    from gradwire.app.panels.why.why import Why
    from gradwire.app.services.theme import THEMES
    from gradwire.runtime.flow import State, Thresholds

    application = QApplication(["spiky", "-platform", "offscreen"])
    spiky = State["SPIKY"]
    shown = diagram()
    result = evaluate(shown)
    scene = Scene(shown, "main")
    annotations = resolve(scene, result)
    wire = scene.wire_index["product.a"]
    drawn = {}
    for theme in THEMES.values():
        image = QImage(200, 40, QImage.Format.Format_RGB32)
        image.fill(QColor(theme.canvas))
        with QPainter(image) as painter:
            bundle = lanes.Bundle(
                Courses(np.array([[10.0, 12.0, 190.0, 12.0]])),
                np.array([CODES[spiky]], np.int8),
                np.ones(1),
            )
            lanes.draw_curves(painter, bundle, theme, 1.0)
        colour = theme.lane(spiky)
        drawn[theme.name] = any(
            image.pixelColor(x, y) == colour for x in range(200) for y in range(13, 40)
        )
    panel = Why()
    panel.set_diagram(shown)
    panel.set_result(result)
    panel.set_wire("product.a")
    dialog = ThresholdsDialog(Thresholds())
    seen = {
        "lane": drawn,
        "code": int(annotations.total.codes[wire]) == CODES[spiky],
        "label": annotations.total.label(wire),
        "legend": title(spiky, Thresholds()),
        "spoken": describe(annotations, Focus(FocusKind.WIRE, "product.a")),
        "search": search(shown, result, "product spiky"),
        "search by words": search(shown, result, "product peak"),
        "panel": [label.text() for label in panel.findChildren(QLabel)],
        "dialog": dialog.fields["spike"].accessibleName(),
    }
    application.quit()
    return seen


if __name__ == "__main__":
    sys.meta_path.insert(0, _Finder())
    json.dump({"headless": headless(), "editor": editor()}, sys.stdout)
