"""The fields of the steps of a lesson: what each kind has, and how it is written in a form."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from enum import Enum, auto
from math import isfinite
from types import MappingProxyType
from typing import Any

from gradwire.app.services.translation import editor
from gradwire.blocks.classes.dataclass import dataclass
from gradwire.blocks.nearest import did_you_mean
from gradwire.runtime.diagram import MAX_TEXT
from gradwire.runtime.lessons import NAMES, ConditionError, parse_condition, parse_goal, parse_text


class FieldKind(Enum):
    """How a field is written."""

    TEXT = auto()
    """Text with ``{expressions}``."""
    TEXTS = auto()
    """A text a line."""
    GOALS = auto()
    """An expression or a contract a line."""
    PLACE = auto()
    PLACES = auto()
    """Paths with commas between, which can be picked on the canvas."""
    CHOICE = auto()
    CONTROLS = auto()
    """Names of controls with commas between."""
    SETTINGS = auto()
    """``w = 3`` a line; ``sg = open`` for a stop."""
    OPTIONS = auto()
    """``text | condition | feedback`` a line."""
    WRONG = auto()
    """``answer | name | feedback`` a line."""
    FEEDBACK = auto()
    """``misconception | feedback`` a line."""
    VARY = auto()
    """``w = 1, 2, 3`` a line."""


@dataclass(frozen=True, slots=True)
class StepField:
    """One field of a step."""

    key: str
    title: str
    kind: FieldKind
    hint: str = ""
    choices: tuple[str, ...] = ()

    @property
    def has_lines(self) -> bool:
        """Whether it needs several lines."""
        return self.kind not in (
            FieldKind.PLACE,
            FieldKind.PLACES,
            FieldKind.CHOICE,
            FieldKind.CONTROLS,
        )

    @property
    def is_picked(self) -> bool:
        """Whether it is filled by clicks on the canvas."""
        return self.kind in (FieldKind.PLACE, FieldKind.PLACES)


TITLES: Mapping[str, str] = MappingProxyType(
    {
        "show": editor.noop("Read"),
        "predict": editor.noop("Predict a number"),
        "paint": editor.noop("Paint states"),
        "change": editor.noop("Change numbers and stops"),
        "build": editor.noop("Build"),
        "check": editor.noop("Check by a question"),
    }
)
"""The kinds of steps, in the words of the editor."""
CHOICES: Mapping[str, str] = MappingProxyType(
    {
        "": editor.noop("nothing"),
        "forward": editor.noop("the forward pass"),
        "backward": editor.noop("the backward pass"),
        "all": editor.noop("both passes"),
        "number": editor.noop("a number"),
        "estimate": editor.noop("a number within a factor of two"),
        "sign": editor.noop("a sign"),
        "decade": editor.noop("a power of ten"),
    }
)
"""What is chosen from lists, in words."""
_TEXT = StepField("text", editor.noop("Text"), FieldKind.TEXT,
                  editor.noop('The gradient is {grad("w")}.'))  # fmt: skip
_GOALS = StepField("goals", editor.noop("Goals, one a line"), FieldKind.GOALS,
                   'grad("b") == 2 * grad("a")')  # fmt: skip
_FEEDBACK = StepField(
    "feedback", editor.noop("Own words, one a line: misconception | feedback"), FieldKind.FEEDBACK,
    "one branch only | Both wires bring gradient back.",
)  # fmt: skip
VARY = StepField("vary", editor.noop("Numbers that a seed chooses from"), FieldKind.VARY,
                 editor.noop("w = 1, 2, 3"))  # fmt: skip
"""The field of the whole lesson that is written in lines."""
_OF_KIND: Mapping[str, tuple[StepField, ...]] = MappingProxyType(
    {
        "show": (
            StepField("look", editor.noop("Lit"), FieldKind.PLACES),
            StepField("play", editor.noop("Plays"), FieldKind.CHOICE,
                      choices=("", "forward", "backward", "all")),
        ),
        "predict": (
            StepField("gradient", editor.noop("Gradient of"), FieldKind.PLACE),
            StepField("value", editor.noop("or value of"), FieldKind.PLACE),
            StepField("answer", editor.noop("Answer"), FieldKind.CHOICE,
                      choices=("number", "estimate", "sign", "decade")),
            StepField("wrong",
                      editor.noop("Wrong answers, one a line: answer | its name | feedback"),
                      FieldKind.WRONG,
                      'value("max1") / 2 | split evenly | One input gets all of it.'),
            _FEEDBACK,
        ),
        "paint": (
            StepField("wires", editor.noop("Wires"), FieldKind.PLACES),
            StepField("states", editor.noop("States"), FieldKind.CONTROLS,
                      "CARRIES, ZERO, STOPPED"),
            _FEEDBACK,
        ),
        "change": (
            _GOALS,
            StepField("only", editor.noop("Only these"), FieldKind.PLACES),
        ),
        "build": (_GOALS,),
        "check": (
            StepField("options", editor.noop("Options, one a line: text | condition | feedback"),
                      FieldKind.OPTIONS, 'It is 0. | grad("w") == 0 | Look at the stop.'),
        ),
    }
)  # fmt: skip
_COMMON = (
    StepField("hints", editor.noop("Hints, weak to strong"), FieldKind.TEXTS),
    StepField("after", editor.noop("Shown after the answer"), FieldKind.TEXT),
    StepField("setup", editor.noop("Numbers and stops on entry"), FieldKind.SETTINGS, "w = 3"),
    StepField("reveal", editor.noop("Reveals at its end"), FieldKind.CONTROLS, "gradients, states"),
    StepField("losses", editor.noop("Losses"), FieldKind.PLACES),
)


def fields_of(kind: str) -> tuple[StepField, ...]:
    """The fields of a kind of step, in the order of the form."""
    return (_TEXT, *_OF_KIND[kind], *_COMMON)


def written(field: StepField, value: Any) -> str:
    """A value of a step as it stands in the form."""
    match field.kind:
        case FieldKind.TEXTS | FieldKind.GOALS:
            return "\n".join(value or ())
        case FieldKind.PLACES | FieldKind.CONTROLS:
            return ", ".join(value or ())
        case FieldKind.SETTINGS:
            return "\n".join(f"{path} = {_setting(each)}" for path, each in (value or {}).items())
        case FieldKind.OPTIONS:
            return "\n".join(_joined(each, _OPTION) for each in value or ())
        case FieldKind.WRONG:
            return "\n".join(_joined(each, _WRONG) for each in value or ())
        case FieldKind.FEEDBACK:
            return "\n".join(f"{name} | {_one_line(text)}" for name, text in (value or {}).items())
        case FieldKind.VARY:
            rows = {path: ", ".join(map(_number, row)) for path, row in (value or {}).items()}
            return "\n".join(f"{path} = {numbers}" for path, numbers in rows.items())
        case _:
            return value or ""


def read(field: StepField, text: str) -> Any:
    """The value that a text of the form stands for. Raises ConditionError with the character."""
    text = text[: MAX_TEXT * 8]
    match field.kind:
        case FieldKind.TEXT:
            parse_text(text)
            return text.strip()
        case FieldKind.TEXTS:
            return [line.strip() for _, line in _lines(text, parse_text)]
        case FieldKind.GOALS:
            return [line.strip() for _, line in _lines(text, parse_goal)]
        case FieldKind.PLACES | FieldKind.CONTROLS:
            return [part.strip() for part in text.split(",") if part.strip()]
        case FieldKind.SETTINGS:
            return dict(_read_setting(at, line) for at, line in _lines(text))
        case FieldKind.OPTIONS:
            return [_read_option(at, line) for at, line in _lines(text)]
        case FieldKind.WRONG:
            return [_read_wrong(at, line) for at, line in _lines(text)]
        case FieldKind.FEEDBACK:
            return dict(_read_feedback(at, line) for at, line in _lines(text))
        case FieldKind.VARY:
            return dict(_read_vary(at, line) for at, line in _lines(text))
        case _:
            return text.strip()


def _lines(text: str, parse: Callable[[str], object] | None = None) -> list[tuple[int, str]]:
    """The lines that are not empty, each with the index of its first character."""
    found, at = [], 0
    for line in text.split("\n"):
        if line.strip():
            if parse is not None:
                _checked(parse, line, at)
            found.append((at, line))
        at += len(line) + 1
    return found


def _checked(parse: Callable[[str], object], text: str, at: int) -> None:
    """Parse a text that begins at a character of the form."""
    blank = len(text) - len(text.lstrip())
    try:
        parse(text.strip())
    except ConditionError as error:
        error.offset += at + blank
        raise


def _setting(value: object) -> str:
    return value if isinstance(value, str) else json.dumps(value)


def _read_setting(at: int, line: str) -> tuple[str, object]:
    path, equals, value = line.partition("=")
    value = value.strip()
    if value in ("open", "closed"):
        return path.strip(), value
    try:
        if not equals:
            raise ValueError
        return path.strip(), json.loads(value)
    except ValueError:
        what = editor.tr("This is no setting: write w = 3, or sg = open.")
        raise ConditionError(what, at + len(path)) from None


_OPTION = ("text", "holds", "feedback")
_PARSED: tuple[Callable[[str], object], ...] = (parse_text, parse_condition, parse_text)
_WRONG = ("answer", "name", "feedback")


def _joined(record: Mapping[str, str], keys: Sequence[str]) -> str:
    """The values of a record with bars between, on one line."""
    return " | ".join(_one_line(record.get(key, "")) for key in keys).rstrip(" |")


def _one_line(text: str) -> str:
    return " ".join(text.split())


def _parts(at: int, line: str, count: int) -> list[tuple[int, str]]:
    """What stands between bars, each with the index of its first character; ``count`` at most."""
    found = []
    for part in line.split("|", count - 1):
        found.append((at, part))
        at += len(part) + 1
    return found


def _read_option(at: int, line: str) -> dict[str, str]:
    parts = _parts(at, line, len(_OPTION))
    if len(parts) < 2:
        what = editor.tr("An option needs a condition: text | condition.")
        raise ConditionError(what, at + len(line) - 1)
    for parse, (start, text) in zip(_PARSED, parts, strict=False):
        _checked(parse, text, start)
    texts = [text.strip() for _, text in parts]
    required = dict(zip(_OPTION, texts[:2], strict=False))
    return required | ({"feedback": texts[2]} if any(texts[2:]) else {})


def _read_wrong(at: int, line: str) -> dict[str, str]:
    """A wrong answer of the author: an expression or None, the misconception, and feedback."""
    parts = _parts(at, line, len(_WRONG))
    if parts[0][1].strip() != "None":
        _checked(parse_condition, parts[0][1], at)
    if len(parts) < 2 or not parts[1][1].strip():
        what = editor.tr("A wrong answer needs the name of what leads to it: answer | name.")
        raise ConditionError(what, at + len(line) - 1)
    if len(parts) == len(_WRONG):
        _checked(parse_text, parts[2][1], parts[2][0])
    texts = (text.strip() for _, text in parts)
    return {key: text for key, text in zip(_WRONG, texts, strict=False) if text}


def _read_feedback(at: int, line: str) -> tuple[str, str]:
    name, bar, text = line.partition("|")
    if not bar or not text.strip():
        what = editor.tr("Own words need the misconception before them: misconception | feedback.")
        raise ConditionError(what, at + len(line) - 1)
    if name.strip() not in NAMES:
        what = editor.tr("There is no misconception of this name.")
        hint = did_you_mean(name.strip(), NAMES)
        raise ConditionError(what, at + len(name) - len(name.lstrip()), next_step=hint)
    _checked(parse_text, text, at + len(name) + 1)
    return name.strip(), text.strip()


def _number(value: float) -> str:
    return repr(int(value)) if float(value).is_integer() and abs(value) < 1e15 else repr(value)


def _read_vary(at: int, line: str) -> tuple[str, list[float]]:
    path, _, row = line.partition("=")
    try:
        found = [float(part.replace("−", "-")) for part in row.split(",")]
        if not path.strip() or not all(map(isfinite, found)):
            raise ValueError
    except ValueError:
        what = editor.tr("These are no numbers to choose from: write w = 1, 2, 3.")
        raise ConditionError(what, at + len(path)) from None
    return path.strip(), found
