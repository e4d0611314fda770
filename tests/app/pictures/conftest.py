"""Pictures of a diagram with every sort of mark."""

from __future__ import annotations

import pytest

from gradwire.app.evaluation.evaluator import evaluate
from gradwire.app.pictures.options import PictureOptions
from gradwire.app.pictures.page_picture import PagePicture
from gradwire.runtime.diagram import Note, Point
from tests.app.canvas.pages import block, diagram

STRANGE = 'a<&"\\x_{}%$#'
"""A name that XML and TeX would take for markup; blocks may have it."""


@pytest.fixture
def picture(qapp):
    """``picture(**options)``: values, a heat map, a stop, a frame, a note, a name of markup."""
    table = [[float(i * j % 7) for i in range(9)] for j in range(9)]
    drawn = diagram(
        {
            STRANGE: block("Variable", value=table),
            "stop": block("StopGradient"),
            "b": block("Variable", value=2.0),
            "mul": block("Mul"),
            "sum": block("Sum"),
            "loss": block("Loss"),
        },
        {
            "stop.x": f"{STRANGE}.out",
            "mul.a": "stop.out",
            "mul.b": "b.out",
            "sum.x": "mul.out",
            "loss.x": "sum.out",
        },
        layout={
            name: Point(230.0 * place, 40.0 * (place % 3))
            for place, name in enumerate([STRANGE, "stop", "b", "mul", "sum", "loss"])
        },
        notes={
            "n": Note("日本 <script>alert(1)</script> ∇ 10⁻³", Point(0, 200), 300, 60),
            "f": Note("frame", Point(-20, -20), 700, 180, frame=True),
        },
    )
    result = evaluate(drawn)
    return lambda **options: PagePicture(drawn, "main", result, options=PictureOptions(**options))
