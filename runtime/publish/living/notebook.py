"""Diagrams and sessions in a notebook: their page in a frame, or a picture with the reason."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING

from gradwire.blocks.errors import GradwireError, LimitError
from gradwire.runtime.diagram.model import MAIN
from gradwire.runtime.engine import Session
from gradwire.runtime.engine.flatten import flatten
from gradwire.runtime.publish.living.computing.numbers import numbers
from gradwire.runtime.publish.living.computing.verification import verify
from gradwire.runtime.publish.living.data import Living, living_data
from gradwire.runtime.publish.living.publishing import still
from gradwire.runtime.publish.living.writing.html import page, picture_page

if TYPE_CHECKING:
    from gradwire.runtime.diagram import Diagram

MOST_BLOCKS = 200
"""Blocks of the largest diagram that is shown alive: a cell must not take seconds."""
MOST_RUN = 7_000
"""With those of each step of a loop."""
MOST_SETTINGS = 8
"""Combinations of switches whose sentences are written; beyond, those of the diagram alone."""
HEIGHT = 480
"""Of the frame, in px."""


def frame(subject: Diagram | Session) -> str:
    """The subject's page in a frame of its own, with the values that a session has now.

    The frame may run the page's script, and reach neither the notebook nor the network.
    """
    session = subject if isinstance(subject, Session) else None
    diagram = subject.diagram if isinstance(subject, Session) else subject
    try:
        html = page(_living(diagram, session).data, "")
    except GradwireError as error:
        html = picture_page(diagram.title, diagram.description, still(diagram), str(error))
    return (
        f'<iframe sandbox="allow-scripts allow-downloads" srcdoc="{escape(html)}" width="100%" '
        f'height="{HEIGHT}" title="{escape(diagram.title or "Diagram")}" '
        'style="border: 1px solid #8888; border-radius: 6px"></iframe>'
    )


def _living(diagram: Diagram, session: Session | None) -> Living:
    count = sum(len(each.blocks) for each in diagram.pages.values())
    if count > MOST_BLOCKS:
        raise LimitError(f"It has {count:,} blocks; notebooks show {MOST_BLOCKS} alive.")
    if (run := len(flatten(diagram, MAIN).instances)) > MOST_RUN:
        raise LimitError(f"All steps have {run:,} blocks; notebooks show {MOST_RUN:,} alive.")
    living = living_data(diagram, MOST_SETTINGS)
    verify(living)
    leaves = living.data["leaves"]
    for path, value in {} if session is None else session.values.items():
        if path in leaves and leaves[path]["shape"] == value.shape:
            leaves[path]["data"] = numbers(value)
    return living
