"""``gradwire desktop``: Gradwire in the menu of the desktop, and its files open with it."""

from __future__ import annotations

import hashlib
import json
import re
import shutil
import subprocess
import sys
from contextlib import suppress
from importlib.resources import files
from pathlib import Path
from typing import Annotated

import typer
from platformdirs.unix import Unix

from gradwire.runtime.cli.output import PROBLEMS, UsageError, json_text, say
from gradwire.runtime.diagram.files.regular import read_regular
from gradwire.runtime.interpreters import is_build

# The files of a desktop below XDG_DATA_HOME, and the record of those that Gradwire wrote.

RECORD = "gradwire/desktop.json"
SOURCES = {
    "applications/gradwire.desktop": "desktop/gradwire.desktop",
    "icons/hicolor/scalable/apps/gradwire.svg": "icons/gradwire.svg",
    "metainfo/org.example.gradwire.metainfo.xml": "desktop/org.example.gradwire.metainfo.xml",
    "mime/packages/gradwire.xml": "desktop/gradwire.xml",
}
"""Assets, by the places that they get below XDG_DATA_HOME."""
INDEXES = {
    "applications": ("update-desktop-database", ("mimeinfo.cache",)),
    "mime": (
        "update-mime-database",
        ("XMLnamespaces", "aliases", "generic-icons", "globs", "globs2", "icons", "magic",
         "mime.cache", "subclasses", "treemagic", "types", "version"),
    ),
}  # fmt: skip
"""Folders that a program indexes, if there is one, and what it writes."""
_LARGEST = 1 << 24
"""Bytes of a file that is looked at; those that are written are smaller by far."""
_SPECIAL = re.compile(r"""[\s"'\\><~|&;$*?#()`]""")


def start_command() -> str:
    """The command line of the editor, as an entry of the desktop writes it."""
    # -P: what lies in the folder that the desktop starts it in is not imported.
    started = () if is_build() else ("-P", "-m", "gradwire")
    return " ".join(map(quoted, (sys.executable, *started, "edit")))


def quoted(argument: str) -> str:
    """An argument in an entry's ``Exec``: quoted, then escaped as any string of an entry is."""
    if _SPECIAL.search(argument):
        argument = '"' + re.sub(r'(["`$\\])', r"\\\1", argument) + '"'
    return _escaped(argument).replace("%", "%%")


class Entries:
    """What is below a data home. A file there is Gradwire's if the record has its digest, or if it
    is what would be written now.
    """

    def __init__(self, home: Path) -> None:
        self._home = home
        self._files: dict[str, str] = {}
        self._folders: list[str] = []
        with suppress(FileNotFoundError):
            record = json.loads(read_regular(home / RECORD, _LARGEST))
            self._files, self._folders = record["files"], record["folders"]

    def install(self) -> tuple[list[Path], list[Path]]:
        """Write what is missing or is of another version: what was written, and what was left."""
        wanted = _contents()
        there = {name: self._read(name) for name in wanted}
        left = [name for name in wanted if not self._may_write(name, there[name], wanted[name])]
        written = [name for name in wanted if there[name] != wanted[name] and name not in left]
        for name in written:
            self._write(name, wanted[name])
        self._files |= {name: _digest(wanted[name]) for name in wanted if name not in left}
        self._make_folders((self._home / RECORD).parent)
        record = json_text({"files": self._files, "folders": self._folders}).encode()
        if self._read(RECORD) != record:
            self._write(RECORD, record)
        if written:
            self._index()
        return self._paths(written), self._paths(left)

    def remove(self) -> tuple[list[Path], list[Path]]:
        """Take away what was written: what was removed, and what was left."""
        wanted = _contents()
        there = {name: self._read(name) for name in {**wanted, **self._files}}
        own = [
            name
            for name, content in there.items()
            if content is not None and self._may_write(name, content, wanted.get(name))
        ]
        left = [name for name in self._files if there[name] is not None and name not in own]
        for name in own:
            (self._home / name).unlink()
        if own:
            self._index()
        (self._home / RECORD).unlink(missing_ok=True)
        self._remove_folders()
        return self._paths(own), self._paths(left)

    def _may_write(self, name: str, there: bytes | None, wanted: bytes | None) -> bool:
        return there is None or there == wanted or _digest(there) == self._files.get(name)

    def _read(self, name: str) -> bytes | None:
        with suppress(FileNotFoundError):
            return read_regular(self._home / name, _LARGEST)
        return None

    def _write(self, name: str, content: bytes) -> None:
        path = self._home / name
        self._make_folders(path.parent)
        path.write_bytes(content)

    def _make_folders(self, folder: Path) -> None:
        if not folder.is_dir():
            self._make_folders(folder.parent)
            folder.mkdir()
            if folder.is_relative_to(self._home):
                self._folders.append(folder.relative_to(self._home).as_posix())

    def _index(self) -> None:
        for folder, (program, _) in INDEXES.items():
            found = shutil.which(program)
            if found and (self._home / folder).is_dir():
                # It complains of the files of others, and a desktop indexes again by itself.
                subprocess.run([found, str(self._home / folder)], check=False, capture_output=True)

    def _remove_folders(self) -> None:
        """Those that were made and in which there is nothing but indexes of what is gone."""
        for name in sorted(self._folders, reverse=True):  # the deepest first
            folder = self._home / name
            _, indexes = INDEXES.get(name, ("", ()))
            there = [*folder.iterdir()] if folder.is_dir() else []
            emptied = [path for path in there if path.is_dir() and not any(path.iterdir())]
            if all(path in emptied or path.name in indexes for path in there):
                for path in there:
                    path.rmdir() if path in emptied else path.unlink()
                folder.rmdir()

    def _paths(self, names: list[str]) -> list[Path]:
        return [self._home / name for name in names]


def _contents() -> dict[str, bytes]:
    """What is to be where, for this installation of Gradwire."""
    assets = files("gradwire.assets")
    contents = {name: (assets / source).read_bytes() for name, source in SOURCES.items()}
    entry = "applications/gradwire.desktop"
    text = contents[entry].decode().replace("@PROGRAM@", _escaped(sys.executable))
    return contents | {entry: text.replace("@COMMAND@", start_command()).encode()}


def _digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def _escaped(text: str) -> str:
    return text.replace("\\", "\\\\")


ELSEWHERE = {
    "darwin": "make an application of `{}` with Automator (Run Shell Script, with the input as "
    'arguments: add "$@"), and choose it for a diagram in Finder by Get Info > Open with.',
    "win32": "right-click a diagram, then Open with > Choose another app, and choose "
    "gradwire-editor.exe beside {}.",
}
"""How it is done on systems that keep this elsewhere."""


def desktop(
    install: Annotated[bool, typer.Option("--install", help="Write what is missing.")] = False,
    remove: Annotated[bool, typer.Option("--remove", help="Take away what it wrote.")] = False,
) -> None:
    """Put Gradwire into the desktop's menu, and open diagrams with it.

    On Linux: an entry of the menu, an icon, the type of files *.gradwire.json, and a description
    for software centres, below XDG_DATA_HOME. What is there already and is not of Gradwire, and
    what you have changed, stays as it is.
    """
    if sys.platform in ELSEWHERE:
        command = sys.executable if sys.platform == "win32" else start_command()
        raise UsageError(
            "`gradwire desktop` is for Linux.",
            next_step=f"Here, {ELSEWHERE[sys.platform].format(command)}",
        )
    if install == remove:
        raise UsageError("Say --install or --remove.")
    entries = Entries(Unix().user_data_path)
    done, left = entries.install() if install else entries.remove()
    for path in done:
        typer.echo(f"{'wrote' if install else 'removed'} {path}")
    if not done and not left:
        typer.echo("nothing to do")
    for path in left:
        say(f"{path} is not as Gradwire wrote it, and stays as it is.")
    if left:
        raise typer.Exit(PROBLEMS)
