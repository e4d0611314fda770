"""The recipe of a diagram that has none, and what a user should know about one."""

from __future__ import annotations

from typing import TYPE_CHECKING

from app.services.translation import editor
from runtime.diagram.training import OptimiserRule, SGDMethod, Training
from runtime.training.course import Course
from runtime.training.ring import LIMIT

if TYPE_CHECKING:
    from collections.abc import Sequence

    from runtime.diagram import Diagram


def default_recipe(rate: float) -> Training:
    """Gradient descent on the sum of all losses, with the rate of the settings."""
    return Training(optimisers=(OptimiserRule(name="SGD", method=SGDMethod(lr=rate)),))


def courses_of(diagrams: Sequence[Diagram], names: Sequence[str], rate: float) -> list[Course]:
    """A course of each diagram; they share the memory for states.

    Raises what ``Course`` does.
    """
    given, limit = default_recipe(rate), LIMIT // len(diagrams)
    return [
        Course(diagram, given, name=name, limit=limit)
        for diagram, name in zip(diagrams, names, strict=True)
    ]


def about_recipe(diagram: Diagram, courses: Sequence[Course], rate: float) -> str:
    """By what recipe a diagram is trained if it has none, and which variables stay."""
    texts = []
    if diagram.training is None:
        text = editor.tr("Without a recipe, SGD with a rate of {0} follows the sum of all losses.")
        texts.append(text.format(f"{rate:g}"))
    if courses:
        texts += courses[0].trainer.notes
    return " ".join(texts)
