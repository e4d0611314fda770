"""What a user should know about the past of a training, in sentences."""

from __future__ import annotations

from typing import TYPE_CHECKING

from app.services.translation import editor

if TYPE_CHECKING:
    from typing import Any

    from app.evaluation.training import Control
    from runtime.training.ring import Ring


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


def about_memory(rings: list[Ring[Any]]) -> str:
    """How far back a training goes, and in what memory."""
    used, limit = (sum(getattr(ring, name) for ring in rings) for name in ("nbytes", "limit"))
    text = editor.tr("Back to any step: {0} states are kept, {1} steps apart, in {2} of {3} MiB.")
    mebi = f"{used / 2**20:.1f}"
    return text.format(len(rings[0]), rings[0].spacing, mebi, limit // 2**20)
