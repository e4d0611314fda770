"""What is in a build that others wrote: names, versions, licences and their texts.

All of it is read from what is installed where the build is made: the metadata of distributions,
Python's own licence, and on Debian the copyright files of packages that brought a library.
"""

from __future__ import annotations

import os
import platform
import subprocess
import sys
import sysconfig
from collections.abc import Iterable
from importlib.metadata import Distribution, distributions
from pathlib import Path
from typing import NamedTuple

TEXTS = Path(__file__).with_name("licences")
WITHOUT_TEXT = {
    "latex2mathml": ("MIT",),
    "pyside6_essentials": ("LGPL-3.0-only", "GPL-3.0-only"),  # the former adds to the latter
    "shiboken6": ("LGPL-3.0-only", "GPL-3.0-only"),
}
"""Distributions that carry no licence text, and the standard texts of the licence they name."""
_WORDS = ("licen", "copying", "notice", "authors")
_RULE = "=" * 100


class Notice(NamedTuple):
    """What is said of one part of the build."""

    name: str
    version: str
    licence: str
    places: tuple[str, ...]
    """Where its source is."""
    texts: tuple[str, ...]


class NoticeError(Exception):
    """A part of the build of which nobody knows whose it is, or on what terms."""


def notices(files: Iterable[Path]) -> str:
    """The text that goes with a build of these files. Raises NoticeError."""
    owners, packages = set(), set()
    dists = {_key(dist): dist for dist in distributions()}
    owner_of = {
        Path(os.path.realpath(dist.locate_file(file))): key
        for key, dist in dists.items()
        for file in dist.files or ()
    }
    homes = _stdlib()
    if _package_of(homes[0] / "os.py") is None:  # else much besides Python is below its prefix
        homes.append(Path(os.path.realpath(sys.base_prefix)))
    unknown = []
    for path in {Path(os.path.realpath(file)) for file in files}:
        if path in owner_of:
            owners.add(owner_of[path])
        elif any(home in path.parents for home in homes):
            continue
        elif (package := _package_of(path)) is not None:
            packages.add(package)
        else:
            unknown.append(str(path))
    if unknown:
        raise NoticeError("No package is known to have brought " + ", ".join(sorted(unknown)))
    own = [_of_distribution(dists[key]) for key in sorted(owners)]
    return _written([*own, _of_python(), *map(_of_package, sorted(packages))])


def _key(dist: Distribution) -> str:
    return dist.metadata["Name"].replace("-", "_").lower()


def _stdlib() -> list[Path]:
    return [Path(os.path.realpath(sysconfig.get_path(name))) for name in ("stdlib", "platstdlib")]


def _of_distribution(dist: Distribution) -> Notice:
    about = dist.metadata
    kinds = [x.rpartition(" :: ")[2] for x in about.get_all("Classifier") or () if "License" in x]
    licence = about["License-Expression"] or about["License"] or ", ".join(kinds)
    own = [
        file.read_text(encoding="utf-8").strip()
        for file in dist.files or ()
        if ".dist-info" in file.parts[0] and any(word in file.name.lower() for word in _WORDS)
    ]
    standard = WITHOUT_TEXT.get(_key(dist), ())
    if bool(own) == bool(standard):
        what = "has a licence text now" if own else "has no licence text"
        raise NoticeError(f"{about['Name']} {dist.version} ({licence}) {what}.")
    if standard:
        author = about["Author"] or about["Author-email"]
        own = [f"Copyright (c) {author}", *map(_standard, standard)]
    urls = [url.partition(", ")[2] for url in about.get_all("Project-URL") or ()]
    places = [url for url in (about["Home-page"], *urls) if url]
    return Notice(
        about["Name"], dist.version, licence.partition("\n")[0], tuple(places), tuple(own)
    )


def _standard(licence: str) -> str:
    return (TEXTS / f"{licence}.txt").read_text(encoding="utf-8").strip()


def _of_python() -> Notice:
    places = [*_stdlib(), Path(sys.base_prefix)]
    found = [path for place in places if (path := place / "LICENSE.txt").is_file()]
    if not found:
        raise NoticeError(f"Python has no LICENSE.txt in {', '.join(map(str, places))}.")
    text = found[0].read_text(encoding="utf-8").strip()
    version = platform.python_version()
    return Notice("Python", version, "PSF-2.0", ("https://www.python.org",), (text,))


def _package_of(path: Path) -> str | None:
    """The Debian package that brought a file, or None."""
    if not sys.platform.startswith("linux"):
        return None
    # Debian has merged /lib into /usr/lib, but a package may still name the former.
    for name in (path, Path("/", *path.parts[2:])):
        try:
            done = subprocess.run(["dpkg-query", "-S", name], capture_output=True, text=True)
        except FileNotFoundError:  # not a Debian system
            return None
        if done.returncode == 0:
            return done.stdout.partition(": ")[0]
    return None


def _of_package(package: str) -> Notice:
    form = ["dpkg-query", "-W", "-f", "${Version}\n${Homepage}", package]
    version, _, home = subprocess.check_output(form, text=True).partition("\n")
    file = Path("/usr/share/doc", package.partition(":")[0], "copyright")
    if not file.is_file():
        raise NoticeError(f"The package {package} has no {file}.")
    text = file.read_text(encoding="utf-8").strip()
    return Notice(package, version, "see below", (home,) if home else (), (text,))


def _written(parts: list[Notice]) -> str:
    lines = ["This folder contains the following, each on its own terms.", ""]
    lines += [f"  {part.name} {part.version}: {part.licence}" for part in parts]
    for part in parts:
        lines += ["", _RULE, f"{part.name} {part.version}", f"Licence: {part.licence}"]
        lines += [f"Source: {place}" for place in part.places]
        for text in part.texts:
            lines += ["", text]
    return "\n".join(lines) + "\n"
