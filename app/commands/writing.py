"""What commands that write files have in common: where to, whether to replace, what went wrong."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from PySide6.QtWidgets import QMessageBox

from gradwire.app.document.loading import stem_of
from gradwire.app.panels.layouts import path_to_save
from gradwire.app.panels.workspace import WindowPart
from gradwire.app.services.background import Cancelled
from gradwire.blocks.errors import GradwireError

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable

    from gradwire.runtime.diagram import Pulse

_T = TypeVar("_T")
_NAMED = 5
"""Files that a question names."""


class WritingCommands(WindowPart):
    """Asks before it writes, works in the background, and says why a file was not written."""

    def _ask_for_file(
        self, title: str, ending: str, kinds: str, *, endings: Collection[str] = (), tail: str = ""
    ) -> Path | None:
        """The file to write, at first named as the diagram with a ``tail``.

        A name without one of ``endings``, or without any where none are given, gets ``ending``.
        """
        start = self._folder() / f"{stem_of(self._document.diagram)}{tail}{ending}"
        path = path_to_save(self._frame, title, kinds, start)
        if path is None:
            return None
        has_ending = path.suffix.lower() in endings if endings else bool(path.suffix)
        return path if has_ending else path.with_name(path.name + ending)

    def _may_replace(self, title: str, files: Iterable[Path]) -> bool:
        """Ask before replacing files whose names nobody chose."""
        known = [file.name for file in files if file.exists()]
        if not known:
            return True
        more = "…" if len(known) > _NAMED else ""
        text = self.tr("Replace {0}?").format(", ".join(known[:_NAMED]) + more)
        asked = QMessageBox.question(self._frame, title, text)
        return asked == QMessageBox.StandardButton.Yes

    def _run(self, text: str, job: Callable[[Pulse], _T], *, pure: bool = False) -> _T | None:
        """The result of ``job``, run in the background; None, with the reason, if there is none."""
        try:
            return self._background.run(text, job, pure=pure)
        except Cancelled:
            return None
        except GradwireError as error:
            self._document.problem.emit(str(error))
            return None

    def _write(self, path: Path, content: bytes) -> bool:
        """Write a file, or say why it was not written."""
        from gradwire.app.pictures.files import write  # which few starts need

        reason = write(path, content)
        if reason:
            self._report_unwritten(path, reason)
        return not reason

    def _report_unwritten(self, path: Path, reason: str) -> None:
        text = self.tr("{0} was not written: {1}. Choose another folder.")
        self._document.problem.emit(text.format(path, reason))
