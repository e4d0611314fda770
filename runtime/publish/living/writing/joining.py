"""Joins the parts of the page's script, and leaves out comments and space."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping
from types import MappingProxyType
from typing import NamedTuple

from gradwire.runtime.publish.living.computing.kernels import kernel_parts, loops, source
from gradwire.runtime.publish.living.reasons import words

ARRAY_PARTS = ("arrays.js", "drawn.js", "compact.js")
"""What kernels are made with."""
LOOP_PARTS = ("loops/tables.js", "loops/loops.js")
"""What a page of long loops has besides."""
PARTS = (
    "tape.js",
    "states.js",
    "sentences.js",
    "reasons/blocks.js",
    "reasons/contributions.js",
    "reasons/flat.js",
    "reasons/origins.js",
    "reasons/numeric.js",
    "engine.js",
)
"""Steps and the sentences about them: with the kernels, what tests run without a page."""
PAGE_PARTS = (
    "words.js",
    "picture.js",
    "face.js",
    "camera.js",
    "why.js",
    "inside.js",
    "timeline.js",
    "controls.js",
    "conditions.js",
    "judging.js",
    "beliefs.js",
    "predict.js",
    "drawing.js",
    "panel.js",
    "keyboard.js",
    "page.js",
)
"""What draws the page and listens to the reader; in this order."""
LESSON_PARTS = ("answers.js", "lesson.js")
"""What a page of a lesson has besides."""
_TOKEN = re.compile(
    r"""(?P<comment>//[^\n]*|/\*.*?\*/)
    |(?P<text>'(?:[^'\\\n]|\\.)*'|"(?:[^"\\\n]|\\.)*"|`(?:[^`\\]|\\.)*`)
    |(?P<space>\s+)
    |(?P<regex>(?<=[(,=:!&|?{;]\s)/(?![*/])(?:[^/\\\n\[]|\\.|\[[^\]]*\])+/\w*
        |(?<=[(,=:!&|?{;])/(?![*/])(?:[^/\\\n\[]|\\.|\[[^\]]*\])+/\w*)
    |(?P<word>[\w$]+)
    |(?P<mark>.)""",
    re.VERBOSE | re.DOTALL,
)
_WORD = re.compile(r"[\w$]")


class Needs(NamedTuple):
    """What a diagram needs of the script; everything where it isn't said."""

    computed: Collection[str] | None = None
    """Names of primitives."""
    kinds: Collection[str] | None = None
    """Types of blocks."""
    foreign: Mapping[str, str] = MappingProxyType({})
    """The expressions of primitives of plug-ins."""
    loops: bool = True
    """Whether there is what repeats."""


EVERYTHING = Needs()


def engine_script(needs: Needs = EVERYTHING) -> str:
    """The script that computes diagrams, and says why."""
    return _joined(needs, PARTS)


def page_script(has_lesson: bool, needs: Needs = EVERYTHING) -> str:
    """The whole script of a page."""
    drawing = (*PAGE_PARTS[:-1], *LESSON_PARTS * has_lesson, PAGE_PARTS[-1])
    return _joined(needs, PARTS + drawing)


def _joined(needs: Needs, parts: Iterable[str]) -> str:
    parts = (*ARRAY_PARTS, *kernel_parts(needs.computed), *LOOP_PARTS * needs.loops, *parts)
    script = "".join(minified(source(part)) for part in parts)
    return (
        "'use strict';\n"
        + loops(needs.computed, needs.foreign)
        + words(script, needs.kinds)
        + script
    )


def minified(script: str) -> str:
    """A script in one line, without comments, needless spaces, commas and semicolons, and with
    ``let`` for ``const``. Each of its statements ends with a semicolon or a brace.

    Template literals are kept as they are; they must not contain further template literals.
    """
    parts: list[str] = []
    has_gap = False
    for token in _TOKEN.finditer(script):
        text = token.group()
        if token.lastgroup in ("space", "comment"):
            has_gap = True
            continue
        if parts and text in ")]}" and parts[-1] in (";," if text == "}" else ","):
            parts[-1] = text  # no statement of the script is empty, and no last element
        else:
            if parts and has_gap:
                parts[-1] += _separator(parts[-1][-1], text[0])
            parts.append("let" if text == "const" else text)
        has_gap = False
    return "".join(parts)


def _separator(before: str, after: str) -> str:
    """What must stay of the space between two tokens: each statement of the script has its end."""
    words = _WORD.match(before) and _WORD.match(after)
    return " " if words or (before in "+-" and after in "+-") else ""
