"""What ``train`` and ``study`` say and allow when they read data files."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, TypeAlias

from gradwire.runtime.cli.arguments import path_option
from gradwire.runtime.cli.output import UsageError
from gradwire.runtime.data.files.access import allow_data
from gradwire.runtime.data.progress import listening
from gradwire.runtime.diagram.files.regular import answered
from gradwire.runtime.progress_bars import bar
from gradwire.runtime.publish.printable import visible

AllowedData: TypeAlias = Annotated[
    list[Path] | None,
    path_option(
        "--allow-data",
        metavar="DIR",
        help="Let the diagram read data files in this folder and in those inside, although they "
        "lie outside of its own. May be repeated.",
    ),
]


def allow_folders(folders: Sequence[Path] | None) -> None:
    """Allow what ``--allow-data`` names; raises UsageError for what is no folder."""
    for folder in folders or ():
        if not answered(folder, folder.is_dir):
            raise UsageError(f"--allow-data {folder}: this is not a folder.")
        allow_data(folder)


@contextmanager
def shown_reading() -> Iterator[None]:
    """Within, a bar on the terminal says how far the reading of a large data file is.

    Ctrl-C ends the reading.
    """
    with (
        bar("Reading", share=True) as shown,
        listening(lambda x, done: shown.move(done, visible(x)) if done < 1.0 else shown.rest()),
    ):
        yield
