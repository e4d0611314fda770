"""The recipe of a diagram that has none, and what a user should know about one."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gradwire.app.services.translation import editor

if TYPE_CHECKING:
    from collections.abc import Sequence

    from gradwire.runtime.diagram import Diagram, Training
    from gradwire.runtime.training import FollowedCourse


def default_recipe(rate: float) -> Training:
    """Gradient descent on the sum of all losses, with the rate of the settings."""
    from gradwire.runtime.diagram import OptimiserRule, SGDMethod, Training

    return Training(optimisers=(OptimiserRule(name="SGD", method=SGDMethod(lr=rate)),))


def about_recipe(diagram: Diagram, courses: Sequence[FollowedCourse], rate: float) -> str:
    """By what recipe a diagram is trained if it has none, and which variables stay."""
    texts = []
    if diagram.training is None:
        text = editor.tr("Without a recipe, SGD with a rate of {0} follows the sum of all losses.")
        texts.append(text.format(f"{rate:g}"))
    if courses:
        texts += courses[0].notes
    return " ".join(texts)
