"""A learner's answers, and the small JSON file that has them.

The file has no marks: whoever grades it computes them again. Its digest shows that nothing was
changed by accident or by hand, and the digest of the lesson that it answers this lesson. Numbers
and keys are written as a web page writes them too, so that pages make the same digests.
"""

from __future__ import annotations

import hashlib
import json
import math
import re
from collections.abc import Mapping
from dataclasses import field, replace
from decimal import Decimal
from typing import TYPE_CHECKING, Any

from gradwire.blocks.classes.dataclass import dataclass
from gradwire.blocks.errors import FileError, RunError
from gradwire.runtime.diagram import OLDER_STATES
from gradwire.runtime.diagram.files.fields import only_fields, read_object, read_text, shown
from gradwire.runtime.diagram.files.parsing import Flaw, Path, parse
from gradwire.runtime.diagram.files.reading import read
from gradwire.runtime.diagram.files.regular import read_regular
from gradwire.runtime.diagram.files.writing import write
from gradwire.runtime.lessons.setting import MAX_SEED

if TYPE_CHECKING:
    from pathlib import Path as File

    from gradwire.runtime.diagram.lesson import Setting
    from gradwire.runtime.diagram.model import Diagram

FIELD = "gradwire_answers"
VERSION = 2
MAX_BYTES = 4 << 20
"""Size of a file of answers."""
MAX_NAME = 200
"""Characters of a learner's name."""
MAX_ANSWER = 1_000
"""Characters of a typed answer."""
_FIELDS = (FIELD, "lesson", "title", "learner", "seed", "steps", "digest")
_STEP = ("step", "answer", "painted", "values", "open", "diagram", "option", "confidence", "hints")
_ANSWERS = ("answer", "painted", "values", "open", "diagram", "option")
_LARGEST = 1e300
"""Below this, numbers are what JavaScript has."""


class AnswerError(RunError):
    """An answer that is none to the question, such as a word in place of a number."""


@dataclass(frozen=True)
class Answer:
    """What a learner answers to one step. Only the fields of the step's kind are given.

    ``confidence`` is in percent, from 50 (a guess) to 100 (certain); None if it was not asked.
    """

    text: str | None = None
    """Numbers as they were typed, "None", or a sign."""
    painted: Mapping[str, str] | None = None
    """Names of states by wire."""
    values: Mapping[str, Setting] = field(default_factory=dict)
    """New values of sources."""
    open: Mapping[str, bool] = field(default_factory=dict)
    """Stops that were opened (True) or closed."""
    diagram: Diagram | None = None
    """What was drawn."""
    option: int | None = None
    """The place of the chosen option, from 0 on."""
    confidence: int | None = None

    def to_record(self, step: int, hints: int) -> dict[str, object]:
        """The JSON form, with the number of the step (from 1 on) and of the hints taken."""
        given = {
            "answer": self.text,
            "painted": None if self.painted is None else dict(self.painted),
            "values": dict(self.values) or None,
            "open": dict(self.open) or None,
            "diagram": None if self.diagram is None else _drawn(self.diagram),
            "option": self.option,
            "confidence": self.confidence,
            "hints": hints or None,
        }
        return {"step": step} | {k: v for k, v in given.items() if v is not None}


@dataclass(frozen=True)
class AnswerSheet:
    """The answers of one learner to one lesson: by the number of the step, with hints taken."""

    lesson: str
    title: str
    learner: str
    seed: int
    answers: Mapping[int, Answer]
    hints: Mapping[int, int]


def bare(diagram: Diagram) -> Diagram:
    """The diagram without layout, notes, styles and bookmarks."""
    pages = {
        name: replace(page, layout={}, notes={}, bends={}, routes={}, styles={})
        for name, page in diagram.pages.items()
    }
    return replace(diagram, pages=pages, views=())


def _drawn(diagram: Diagram) -> object:
    return json.loads(write(replace(bare(diagram), lesson=None)))


def lesson_digest(diagram: Diagram) -> str:
    """The digest of a lesson and its diagram; layout makes no difference.

    The version of the file format makes none either: what was answered before stays answered.
    """
    text = re.sub(r'(?<="gradwire": )\d+', "2", write(bare(diagram)), count=1)
    return hashlib.sha256(text.encode("utf-8")).hexdigest()


def sealed(record: Mapping[str, object]) -> dict[str, object]:
    """A record of answers with its digest."""
    rest = {key: value for key, value in record.items() if key != "digest"}
    return rest | {"digest": _digest(rest)}


def _digest(record: Mapping[str, object]) -> str:
    return hashlib.sha256(canonical(record).encode("utf-8")).hexdigest()


def canonical(value: object) -> str:
    """JSON in one form: keys sorted, nothing between, numbers as JavaScript writes them."""
    if isinstance(value, Mapping):
        ordered = sorted(value.items(), key=lambda item: _units(item[0]))
        return "{" + ",".join(f"{_text(key)}:{canonical(item)}" for key, item in ordered) + "}"
    if isinstance(value, list | tuple):
        return "[" + ",".join(map(canonical, value)) + "]"
    if isinstance(value, str):
        return _text(value)
    if isinstance(value, int | float) and not isinstance(value, bool):
        return _number(float(value)) if abs(value) < _LARGEST else str(value)
    return json.dumps(value)


def _units(text: str) -> bytes:
    """The UTF-16 units of a text, by which JavaScript sorts."""
    return text.encode("utf-16-be", "surrogatepass")


def _text(text: str) -> str:
    return "".join(
        f"\\u{ord(c):04x}" if "\ud800" <= c <= "\udfff" else c
        for c in json.dumps(text, ensure_ascii=False)
    )


def _number(value: float) -> str:
    """A finite number as JavaScript writes it."""
    sign, digits, exponent = Decimal(repr(value)).normalize().as_tuple()
    assert isinstance(exponent, int)  # the number is finite
    text, point = "".join(map(str, digits)), len(digits) + exponent
    if value == 0:
        return "0"
    if len(text) <= point <= 21:
        written = text.ljust(point, "0")
    elif 0 < point <= 21:
        written = f"{text[:point]}.{text[point:]}"
    elif -6 < point <= 0:
        written = "0." + "0" * -point + text
    else:
        fraction = f".{text[1:]}" if len(text) > 1 else ""
        written = f"{text[0]}{fraction}e{point - 1:+d}"
    return "-" * sign + written


def read_sheet(file: File) -> AnswerSheet:
    """The answers in a file. Raises FileError for what is malformed or was changed."""
    try:
        text = read_regular(file, MAX_BYTES).decode("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "they are not UTF-8 text"
        raise FileError(f"The answers can't be read: {reason}.", path=str(file)) from None
    return parse_sheet(text, str(file))


def parse_sheet(text: str, path: str | None = None) -> AnswerSheet:
    """The answers in a text. Raises FileError with line and column."""
    document = parse(text, path)
    try:
        return _sheet(read_object(document, ()))
    except Flaw as flaw:
        found = flaw
    raise found.in_text(text, path)


def _sheet(document: dict[str, object]) -> AnswerSheet:
    if document.get(FIELD) not in (1, VERSION) or isinstance(document.get(FIELD), bool):
        raise Flaw(
            (FIELD,) if FIELD in document else (),
            "This is no file of answers.",
            expected=f'"{FIELD}": {VERSION}',
            got=shown(document.get(FIELD)) if FIELD in document else None,
            next_step="Save the answers from the lesson again.",
        )
    only_fields(document, _FIELDS, ())
    for key in _FIELDS:
        if key not in document:
            raise Flaw((), f"The field {key!r} is missing.", expected=f'"{key}"')
    digest = _digest({key: value for key, value in document.items() if key != "digest"})
    if document["digest"] != digest:
        raise Flaw(
            ("digest",),
            "The answers were changed after they were saved.",
            expected=f"the digest {digest[:12]}…",
            got=shown(document["digest"]),
            next_step="Ask for the file as the lesson saved it.",
        )
    learner = read_text(document["learner"], ("learner",)).strip()
    if not 0 < len(learner) <= MAX_NAME:
        raise Flaw(
            ("learner",),
            "The answers need the name of a learner.",
            expected=f"1 to {MAX_NAME} characters",
            got=shown(learner),
        )
    answers, hints = _steps(document["steps"])
    return AnswerSheet(
        read_text(document["lesson"], ("lesson",)),
        read_text(document["title"], ("title",)),
        learner,
        _whole(document["seed"], ("seed",), 0, MAX_SEED),
        answers,
        hints,
    )


def _steps(value: object) -> tuple[dict[int, Answer], dict[int, int]]:
    if not isinstance(value, list):
        raise Flaw(("steps",), "'steps' is not a list.", expected="[…]", got=shown(value))
    answers: dict[int, Answer] = {}
    hints: dict[int, int] = {}
    for place, entry in enumerate(value):
        path: Path = ("steps", place)
        record = read_object(entry, path)
        only_fields(record, _STEP, path)
        number = _whole(record.get("step"), (*path, "step") if "step" in record else path, 1, 999)
        if number in hints:
            raise Flaw((*path, "step"), f"Step {number} is answered twice.")
        hints[number] = _whole(record.get("hints", 0), (*path, "hints"), 0, 3)
        answer = _answer(record, path)
        if any(key in record for key in _ANSWERS):
            answers[number] = answer
    return answers, hints


def _answer(record: dict[str, object], path: Path) -> Answer:
    return Answer(
        text=_bounded(record["answer"], (*path, "answer")) if "answer" in record else None,
        painted=_states(record["painted"], (*path, "painted")) if "painted" in record else None,
        values=_values(record.get("values", {}), (*path, "values")),
        open=_flags(record.get("open", {}), (*path, "open")),
        diagram=_diagram(record["diagram"], (*path, "diagram")) if "diagram" in record else None,
        option=_whole(record["option"], (*path, "option"), 0, 7) if "option" in record else None,
        confidence=_whole(record["confidence"], (*path, "confidence"), 50, 100)
        if "confidence" in record
        else None,
    )


def _bounded(value: object, path: Path) -> str:
    text = read_text(value, path)
    if len(text) > MAX_ANSWER:
        raise Flaw(path, "The answer is too long.", expected=f"at most {MAX_ANSWER} characters",
                   got=f"{len(text):,}")  # fmt: skip
    return text


def _texts(value: object, path: Path) -> dict[str, str]:
    record = read_object(value, path)
    return {key: _bounded(text, (*path, key)) for key, text in record.items()}


def _states(value: object, path: Path) -> dict[str, str]:
    """Names of states, those of version 1 as they are called now."""
    return {key: OLDER_STATES.get(text, text) for key, text in _texts(value, path).items()}


def _flags(value: object, path: Path) -> dict[str, bool]:
    flags = {}
    for key, flag in read_object(value, path).items():
        if not isinstance(flag, bool):
            raise Flaw((*path, key), f"{key!r} is neither true nor false.", got=shown(flag))
        flags[key] = flag
    return flags


def _values(value: object, path: Path) -> dict[str, Any]:
    record = read_object(value, path)
    for key, numbers in record.items():
        if not are_numbers(numbers):
            raise Flaw(
                (*path, key), f"{key!r} is no number.", expected="numbers", got=shown(numbers)
            )
    return record


def are_numbers(value: object, depth: int = 3) -> bool:
    """Whether a value is a finite number, or nested lists of some."""
    if isinstance(value, list | tuple):
        return depth > 0 and all(are_numbers(item, depth - 1) for item in value)
    if not isinstance(value, int | float) or isinstance(value, bool):
        return False
    return abs(value) < _LARGEST and math.isfinite(value)


def _diagram(value: object, path: Path) -> Diagram:
    read_object(value, path)
    try:
        return read(json.dumps(value))
    except FileError as error:
        raise Flaw(
            path,
            f"The diagram can't be read: {error.what}",
            expected=error.expected,
            got=error.got,
        ) from None


def _whole(value: object, path: Path, least: int, most: int) -> int:
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    if not isinstance(value, int) or isinstance(value, bool) or not least <= value <= most:
        name = next((part for part in reversed(path) if isinstance(part, str)), "step")
        raise Flaw(
            path,
            f"{name!r} is not a whole number in its range.",
            expected=f"{least} to {most}",
            got=shown(value),
        )
    return value
