"""Opens the conflicts of a merge in a window of their own, for the command line."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from gradwire.blocks.errors import RunError
from gradwire.runtime.cli.display import why_no_window

if TYPE_CHECKING:
    from collections.abc import Mapping

    from gradwire.runtime.diagram import Diagram, Side, Three


def resolve(
    three: Three[Diagram], title: str, choices: Mapping[str, Side]
) -> Mapping[str, Side] | None:
    """The sides that were chosen, by names of conflicts; None if nothing is to be saved.

    Raises RunError, which names the headless way, if no window can open.
    """
    if reason := why_no_window(unseen=True):
        raise RunError(
            reason,
            next_step="Without a window: --html FILE shows both sides, --ours CONFLICT and "
            "--theirs CONFLICT choose one.",
        )
    # Import Qt only now that it is known to be available.
    from PySide6.QtWidgets import QApplication

    from gradwire.app.panels.dialogs.merging import Merging
    from gradwire.app.services import theme, translation
    from gradwire.app.services.settings import Settings

    application = QApplication.instance()
    if not isinstance(application, QApplication):
        QApplication.setApplicationName("Gradwire")
        QApplication.setDesktopFileName("gradwire")
        application = QApplication(sys.argv[:1])
        translation.install(application)
        settings = Settings()
        theme.apply(theme.THEMES.get(settings.theme) or theme.system(), application, settings.text)
    dialog = Merging(three, title, choices, None)
    return dialog.choices if dialog.exec() else None
