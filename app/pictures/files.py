"""Pictures as the content of files: PNG, SVG, PDF and TikZ."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING, TypeAlias

from PySide6.QtCore import QBuffer, QByteArray, QIODevice, QMarginsF, QSaveFile, QSizeF
from PySide6.QtGui import QImage, QImageWriter, QPageSize, QPainter, QPdfWriter

from gradwire.app.pictures.svg import svg
from gradwire.app.pictures.tikz import tikz

if TYPE_CHECKING:
    from pathlib import Path

    from gradwire.app.canvas.paint.painter import Progress
    from gradwire.app.pictures.page_picture import PagePicture

Draw: TypeAlias = "Callable[[Sequence[PagePicture], str, Progress | None], bytes]"

_PNG_SCALE = 2.0
"""Pixels of a picture per px of the canvas at 100 %, where no width on paper is given."""
_PNG_PER_INCH = 300.0
"""Resolution of a PNG of a given width on paper."""
_MAX_PIXELS = 60e6
"""Largest number of pixels of a picture; a larger page is drawn at a lower resolution."""
_CM_PER_INCH = 2.54
_PDF_PER_INCH = 1200


def image(picture: PagePicture, progress: Progress | None = None) -> QImage:
    """The picture in pixels."""
    size, wanted = picture.size, _PNG_SCALE
    if picture.options.width is not None:
        wanted = picture.scale / _CM_PER_INCH * _PNG_PER_INCH
    scale = min(wanted, (_MAX_PIXELS / (size.width() * size.height())) ** 0.5)
    made = QImage((size * scale).toSize(), QImage.Format.Format_RGB32)
    per_metre = round(100.0 * scale / picture.scale)
    made.setDotsPerMeterX(per_metre)
    made.setDotsPerMeterY(per_metre)
    with QPainter(made) as painter:
        painter.scale(scale, scale)
        picture.paint(painter, progress)
    return made


def _png(pictures: Sequence[PagePicture], title: str, progress: Progress | None) -> bytes:
    buffer = QBuffer()
    buffer.open(QIODevice.OpenModeFlag.WriteOnly)
    QImageWriter(buffer, QByteArray(b"PNG")).write(image(pictures[0], progress))
    return bytes(buffer.data().data())


def _svg(pictures: Sequence[PagePicture], title: str, progress: Progress | None) -> bytes:
    return svg(pictures[0], title, progress).encode()


def _tikz(pictures: Sequence[PagePicture], title: str, progress: Progress | None) -> bytes:
    return tikz(pictures[0], progress).encode()


def _pdf(pictures: Sequence[PagePicture], title: str, progress: Progress | None) -> bytes:
    """A document with a sheet for each picture, of the picture's size."""
    buffer = QBuffer()
    buffer.open(QIODevice.OpenModeFlag.WriteOnly)
    writer = QPdfWriter(buffer)
    writer.setTitle(title)
    writer.setCreator("Gradwire")
    writer.setResolution(_PDF_PER_INCH)
    writer.setPageMargins(QMarginsF())
    writer.setPageSize(_sheet(pictures[0]))
    with QPainter(writer) as painter:
        for number, picture in enumerate(pictures):
            if number:
                writer.setPageSize(_sheet(picture))
                writer.newPage()
            scale = picture.scale / _CM_PER_INCH * _PDF_PER_INCH
            painter.save()
            painter.scale(scale, scale)
            picture.paint(painter, progress)
            painter.restore()
    return bytes(buffer.data().data())


def _sheet(picture: PagePicture) -> QPageSize:
    size = picture.size * (10.0 * picture.scale)
    exact = QPageSize.SizeMatchPolicy.ExactMatch
    return QPageSize(QSizeF(size), QPageSize.Unit.Millimeter, "", exact)


KINDS: Mapping[str, Draw] = MappingProxyType(
    {".svg": _svg, ".png": _png, ".pdf": _pdf, ".tex": _tikz}
)
"""What draws a file, by the ending of its name. Only a PDF holds more than one picture."""


def targets(path: Path, pages: Sequence[str]) -> list[Path]:
    """The files to write: ``path``, or for several pages one with the name of each added."""
    if len(pages) == 1 or path.suffix.lower() == ".pdf":
        return [path]
    found: list[Path] = []
    for page in pages:
        safe = "".join(c if c.isalnum() or c in " -_" else "_" for c in page)
        name = path.with_name(f"{path.stem}-{safe}{path.suffix}")
        while name in found:
            name = name.with_name(f"{name.stem}_{name.suffix}")
        found.append(name)
    return found


def contents(
    path: Path, pictures: Sequence[PagePicture], title: str, progress: Progress | None = None
) -> dict[Path, bytes]:
    """The contents of the files to write, see :func:`targets`."""
    draw = KINDS[path.suffix.lower()]
    files = targets(path, [picture.page for picture in pictures])
    if len(files) == 1:
        return {path: draw(pictures, title, progress)}
    return {
        file: draw([picture], f"{title}: {picture.page}", progress)
        for file, picture in zip(files, pictures, strict=True)
    }


def write(path: Path, content: bytes) -> str:
    """Write a file, all of it or nothing; return why not, or an empty text."""
    file = QSaveFile(str(path))
    done = (
        file.open(QIODevice.OpenModeFlag.WriteOnly)
        and file.write(content) == len(content)
        and file.commit()
    )
    return "" if done else file.errorString()
