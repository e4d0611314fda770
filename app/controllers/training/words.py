"""What a user should know about the past of a training, in sentences."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gradwire.app.services.background import Cancelled
from gradwire.app.services.translation import editor

if TYPE_CHECKING:
    from collections.abc import Sequence

    from gradwire.app.evaluation.training import Control
    from gradwire.runtime.training import States


def undo_text(control: Control | None) -> str:
    """The name of the undo of a run, of a single step, or without one of going back."""
    if control is None:
        return editor.tr("Go to a step of the training")
    return editor.tr("Training step") if control.most == 1 else editor.tr("Train")


def about_past(step: int) -> str:
    """That an earlier step is shown."""
    text = editor.tr(
        "Values, wires and reasons are those of step {0}. Play goes on from here, as another run."
    )
    return text.format(f"{step:,}")


def about_memory(states: Sequence[States]) -> str:
    """How far back a training goes, and in what memory."""
    used, limit = sum(kept.nbytes for kept in states), sum(kept.limit for kept in states)
    first = states[0]
    text = editor.tr("Back to any step: {0} states are kept, {1} steps apart, in {2} of {3} MiB.")
    found = text.format(first.kept, first.spacing, f"{used / 2**20:.1f}", limit // 2**20)
    if first.first:
        lost = editor.tr("Steps before {0} can't be reached any more.").format(f"{first.first:,}")
        found = f"{found} {lost}"
    return found


def about_loss(error: Exception, step: int | None, first: int = 0) -> str:
    """Why a training has ended with its process, and from where Play goes on: a step, or None for
    a new run; ``first`` is the first step that can still be reached.
    """
    if isinstance(error, Cancelled):
        text = editor.tr("The training was cancelled.")
    else:
        text = editor.tr("The training has stopped: {0}.").format(error)
    if step is None:
        return f"{text} " + editor.tr("Play begins a new run.")
    more = editor.tr("Nothing that is shown is lost: Play goes on from step {0}.")
    text = f"{text} {more.format(f'{step:,}')}"
    if first < step:
        back = editor.tr("The scale leads back to any step from {0} on.")
        text = f"{text} {back.format(f'{first:,}')}"
    return text
