"""The paths of data files in a diagram, which are relative to the folder of its file."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path, PureWindowsPath
from typing import TYPE_CHECKING

from gradwire.blocks.importing.kinds import is_dataset
from gradwire.runtime.diagram.files.regular import resolved

if TYPE_CHECKING:
    from gradwire.runtime.diagram.model import Diagram


def home_of(path: Path) -> Path:
    """The folder that the paths in a diagram's file are relative to; links are followed. Raises
    FileError, OSError and ValueError.
    """
    return resolved(path).parent


def with_data_paths(diagram: Diagram, change: Callable[[str], str]) -> Diagram:
    """The diagram with the path of every data file changed; the same one if none changes."""
    pages = dict(diagram.pages)
    for page_name, page in diagram.pages.items():
        changed = {
            name: block.with_parameters(path=path)
            for name, block in page.blocks.items()
            if is_dataset(block) and block.path
            if (path := change(block.path)) != block.path
        }
        if changed:
            ends = page.ends
            pages[page_name] = replace(page, blocks={**page.blocks, **changed}).with_ends(ends)
    same = all(page is diagram.pages[name] for name, page in pages.items())
    return diagram if same else replace(diagram, pages=pages)


def moved(diagram: Diagram, folder: Path | None) -> Diagram:
    """The diagram as its file in another folder has it: its data files stay where they are.

    Their relative paths are written from the other folder, or are absolute where none leads there,
    as between drives. Without a folder before or after, paths stay as they are.
    """
    before = diagram.folder
    if before == folder:
        return diagram
    if before is None or folder is None:
        return replace(diagram, folder=folder)
    changed = with_data_paths(diagram, lambda path: led_from(folder, path, before))
    return replace(changed, folder=folder)


def at_home(diagram: Diagram, path: Path | None) -> Diagram:
    """A snapshot of a diagram, which may be older than a Save As, as its file has it."""
    return diagram if path is None else moved(diagram, home_of(path))


def led_from(folder: Path, path: str, before: Path) -> str:
    """A path that leads from ``folder`` to where ``path`` leads from the folder ``before``."""
    if Path(path).is_absolute() or PureWindowsPath(path).is_absolute():
        return path
    place = os.path.normpath(before / path)
    try:
        return Path(os.path.relpath(place, folder)).as_posix()
    except ValueError:  # on another drive
        return place
