"""A strict reader of Moodle's GIFT, independent of the writer: it guesses nothing.

It reads choices and numbers, not matching, true or false, essays and missing words.
Source: https://docs.moodle.org/en/GIFT_format
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

_TEXT = r"(?:\\[\\~=#{}:n]|[^\\~=#{}:])*"
_NUMBER = r"[+-]?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d+)?"
_FORMAT = re.compile(r"\[(html|markdown|moodle|plain)\]")
_CATEGORY = re.compile(r"\$CATEGORY:(.*\S)")
_QUESTION = re.compile(
    rf"(?:::(?P<title>{_TEXT})::)?(?P<text>{_TEXT})"
    rf"\{{(?P<answers>(?:\\.|[^\\{{}}])*?)(?:####(?P<general>{_TEXT}))?\}}"
)
_ANSWER = re.compile(
    rf"(?P<mark>[=~])(?:%(?P<weight>-?\d+(?:\.\d+)?)%)?(?P<text>{_TEXT})"
    rf"(?P<tolerance>:{_TEXT})?(?:#(?P<feedback>{_TEXT}))?"
)


class Malformed(ValueError):
    """What is not GIFT."""


class Answer(NamedTuple):
    """One answer and the percentage of the grade for it; a number has a tolerance."""

    text: str
    percentage: float
    feedback: str
    tolerance: float | None = None


class Question(NamedTuple):
    """One question; the category is a path, and the format is empty where none is given."""

    category: tuple[str, ...]
    title: str
    format: str
    text: str
    answers: tuple[Answer, ...]
    feedback: str


def read_gift(content: str) -> list[Question]:
    """All questions in their order; raises Malformed for anything else."""
    category: tuple[str, ...] = ()
    questions = []
    for block in re.split(r"\n(?:[ \t]*\n)+", content):
        lines = [line.strip() for line in block.split("\n")]
        text = "\n".join(line for line in lines if not line.startswith("//")).strip()
        if text.startswith("$CATEGORY"):
            category = _category(text)
        elif text:
            questions.append(_question(category, text))
    return questions


def _category(text: str) -> tuple[str, ...]:
    """The path of a category; a doubled slash belongs to a name."""
    found = _matched(_CATEGORY, text)[1]
    return tuple(part.strip().replace("//", "/") for part in re.split("(?<!/)/(?!/)", found))


def _question(category: tuple[str, ...], block: str) -> Question:
    found = _matched(_QUESTION, block)
    format_, text = _formatted(found["text"])
    body = found["answers"].strip()
    answers = tuple(_numbers(body[1:]) if body.startswith("#") else _choices(body))
    percentages = [answer.percentage for answer in answers]
    if 100 not in (max(percentages), sum(each for each in percentages if each > 0)):
        raise Malformed(f"No answer is right: {block!r}")
    if not text:
        raise Malformed(f"A question asks nothing: {block!r}")
    general = _plain(found["general"] or "")
    return Question(category, _plain(found["title"] or ""), format_, text, answers, general)


def _choices(body: str) -> Iterator[Answer]:
    for found in _found(body):
        text = _formatted(found["text"])[1]
        if found["tolerance"] or not text:
            raise Malformed(f"This is no answer: {found[0]!r}")
        yield Answer(text, _percentage(found), _plain(found["feedback"] or ""))


def _numbers(body: str) -> Iterator[Answer]:
    """Numbers to within a tolerance, which is 0 if none is given; one alone needs no mark."""
    body = body.strip()
    for found in _found(body if body.startswith("=") else f"={body}"):
        text, tolerance = found["text"].strip(), (found["tolerance"] or ":0")[1:].strip()
        if found["mark"] == "~":
            raise Malformed(f"A number can't be chosen: {found[0]!r}")
        _matched(re.compile(_NUMBER), text)
        _matched(re.compile(_NUMBER), tolerance)
        yield Answer(text, _percentage(found), _plain(found["feedback"] or ""), float(tolerance))


def _found(body: str) -> Iterator[re.Match[str]]:
    """The answers one after the other, at least one, and nothing between them."""
    place = 0
    while place < len(body) or not place:
        found = _ANSWER.match(body, place)
        if found is None:
            raise Malformed(f"No answer begins at {body[place:]!r}")
        yield found
        place = found.end()


def _percentage(found: re.Match[str]) -> float:
    return float(found["weight"] or ("100" if found["mark"] == "=" else "0"))


def _formatted(text: str) -> tuple[str, str]:
    """The format of a text, and the text."""
    text = text.strip()
    found = _FORMAT.match(text)
    return (found[1], _plain(text[found.end() :])) if found else ("", _plain(text))


def _plain(text: str) -> str:
    return re.sub(r"\\(.)", lambda m: "\n" if m[1] == "n" else m[1], text.strip())


def _matched(pattern: re.Pattern[str], text: str) -> re.Match[str]:
    found = pattern.fullmatch(text)
    if found is None:
        raise Malformed(f"This is no GIFT: {text!r}")
    return found
