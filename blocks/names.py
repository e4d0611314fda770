"""The rules for names of blocks, pages, notes and ports, and names for new blocks."""

from __future__ import annotations

import re
from collections.abc import Container, Iterable, Iterator
from itertools import count

from gradwire.blocks.limits import MAX_LEAF_PATH
from gradwire.blocks.paths import UNWRITTEN

MAIN = "main"
"""The page that runs."""

MAX_LENGTH = 100
"""Maximum number of characters of a name."""
NAME_RULE = f'1 to {MAX_LENGTH} printable characters other than . / : = ", no space at either end'
"""The rule for names: ``.`` and ``/`` separate names in paths, ``:`` ends a page's name in
messages, ``=`` ends a name on the command line, ``"`` ends it in programs and files."""

PORT_RULE = f"1 to {MAX_LEAF_PATH:,} characters other than : and control characters"
"""The rule for names of ports; the outputs of an Unpack are named like paths of leaves."""

_FORBIDDEN = frozenset('./:="')
_WORD_START = re.compile(r"(?<=[a-z0-9])(?=[A-Z][a-z])|(?<=[a-z])(?=[A-Z])")


def is_name(text: str) -> bool:
    """Whether this is a valid name of a block, page or note; see ``NAME_RULE``."""
    if text.isidentifier() and text.isascii():  # as most are
        return len(text) <= MAX_LENGTH
    return (
        0 < len(text) <= MAX_LENGTH
        and text.isprintable()
        and _FORBIDDEN.isdisjoint(text)
        and text == text.strip()
    )


def is_port(text: str) -> bool:
    """Whether this is a valid name of a port; see ``PORT_RULE``."""
    return 0 < len(text) <= MAX_LEAF_PATH and ":" not in text and UNWRITTEN.search(text) is None


def snake_case(type_name: str) -> str:
    """``StopGradient`` → ``stop_gradient``, ``Conv2D`` → ``conv2d``, ``IsNaN`` → ``is_nan``."""
    return _WORD_START.sub("_", type_name.replace("NaN", "Nan")).lower()


def fresh_names(type_name: str, taken: Container[str]) -> Iterator[str]:
    """Unused names for blocks of a type: ``mul1``, ``mul2``, …, ``arctan2_1``, ….

    The first Loss is ``loss``, the next ``loss2``: most diagrams have one, and reports name it.
    """
    base = snake_case(type_name)
    if type_name == "Loss" and base not in taken:
        yield base
    joint = "_" if base[-1:].isdigit() else ""
    for number in count(2 if type_name == "Loss" else 1):
        if f"{base}{joint}{number}" not in taken:
            yield f"{base}{joint}{number}"


class FreshNames:
    """Gives out unused names for many blocks, each in the same time however many there are."""

    def __init__(self, taken: Iterable[str] = ()) -> None:
        self.taken = set(taken)
        self._series: dict[str, Iterator[str]] = {}
        self._numbers: dict[str, int] = {}

    def of(self, type_name: str) -> str:
        """The next of ``fresh_names``, which is taken from now on."""
        series = self._series.get(type_name)
        if series is None:
            series = self._series[type_name] = fresh_names(type_name, self.taken)
        name = next(series)
        self.taken.add(name)
        return name

    def like(self, wanted: str, type_name: str = "") -> str:
        """``wanted`` if it is free, else the next name of a type or, without one, ``wanted_2``."""
        name = wanted
        if wanted in self.taken and type_name:
            return self.of(type_name)
        while name in self.taken:
            number = self._numbers[wanted] = self._numbers.get(wanted, 1) + 1
            name = f"{wanted}_{number}"
        self.taken.add(name)
        return name
