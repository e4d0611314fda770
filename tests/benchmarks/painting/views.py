"""Processor time of views: making pictures of new values, and painting them on faces.

``python -m tests.benchmarks.painting.views`` prints the least and the median in ms; each new
picture is painted once. On a busy machine the least is nearer to the truth.
"""

from __future__ import annotations

import os
import statistics
import time
from collections.abc import Callable
from typing import Any

os.environ.setdefault("QT_QPA_PLATFORM", "offscreen")

import numpy as np
from PySide6.QtWidgets import QApplication

import gradwire as gw
from gradwire.app.canvas.paint.blocks.face_cache import FaceCache
from gradwire.app.canvas.state.looks import Look
from gradwire.app.services.theme import LIGHT
from gradwire.runtime.diagram.model import Size
from gradwire.runtime.engine import Session
from gradwire.runtime.views.views import Views

FRAMES = 40


def diagram(resolution: int) -> Any:
    """A network of 2-16-1 over 200 points, and every view of it."""
    draw = np.random.default_rng(0)

    @gw.page
    def net(points: Any) -> Any:
        hidden = gw.tanh(points @ gw.variable("w1", draw.normal(size=(2, 16))))
        return hidden @ gw.variable("w2", draw.normal(size=(16, 1)))

    points = gw.constant("points", draw.normal(size=(200, 2)))
    labels = gw.constant("labels", draw.integers(0, 2, 200))
    score = net(points, name="net")
    loss = gw.loss(gw.mean(score**2), name="loss")
    return gw.build(
        loss,
        gw.field(points, labels, page="net", resolution=resolution, name="field"),
        gw.scatter(points, labels, name="scatter"),
        gw.histogram(score, name="histogram"),
        gw.image(gw.constant("images", draw.uniform(size=(64, 28, 28))), name="image"),
        gw.plot(loss, name="plot"),
    )


def measured(work: Callable[[], object]) -> str:
    """Milliseconds of processor time, the least and the median."""
    times = []
    for _ in range(FRAMES):
        start = time.process_time()
        work()
        times.append(1e3 * (time.process_time() - start))
    return f"{min(times):.2f}, {statistics.median(times):.2f}"


def painted(resolution: int) -> None:
    """Print what making and painting the pictures of all views takes."""
    session, views = Session(diagram(resolution)), Views()
    values = session.run().values

    def pictures() -> Any:
        return views.pictures(session.diagram, session.program, values)

    print(f"field of {resolution} × {resolution}: all five pictures {measured(pictures)} ms")
    for path in pictures():
        cache, spent = FaceCache(), []
        for _ in range(FRAMES):
            view = pictures()[path]
            start = time.process_time()
            cache.begin(1.0, 1.0, LIGHT, 1 << 28)
            cache.picture(Look("views", "▧", path, size=Size(420.0, 360.0), view=view))
            spent.append(1e3 * (time.process_time() - start))
        print(f"  {path}: painted in {min(spent):.2f}, {statistics.median(spent):.2f} ms")


def main() -> None:
    application = QApplication.instance() or QApplication([])
    for resolution in (64, 200):
        painted(resolution)
    application.processEvents()


if __name__ == "__main__":
    main()
