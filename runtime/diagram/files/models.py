"""Reads and writes the parts of a document that are models: lesson, training and comparison."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, Generic, TypeVar, get_args

from pydantic import BaseModel, ValidationError

from gradwire.blocks.classes.dataclass import dataclass
from gradwire.blocks.errors import BuildError
from gradwire.blocks.names import NAME_RULE
from gradwire.blocks.nearest import did_you_mean
from gradwire.blocks.parameter_errors import expected_text
from gradwire.runtime.diagram.files.fields import read_object, shown
from gradwire.runtime.diagram.files.parsing import Flaw, Path

if TYPE_CHECKING:
    from pydantic_core import ErrorDetails

    from gradwire.runtime.diagram.comparison import Comparison
    from gradwire.runtime.diagram.lesson import Lesson
    from gradwire.runtime.diagram.training import Training

_MAX_WHOLE = 1e15
_Model = TypeVar("_Model", bound=BaseModel)


@dataclass(frozen=True)
class ModelReader(Generic[_Model]):
    """Reads one model of a document, and says what is wrong with it in words.

    ``entries`` names one entry of each list whose entries messages count ("step 2"); these have a
    line of their own in files. ``tag`` is the field by which a record says which of several it is.
    """

    find: Callable[[], type[_Model]]
    """Imports the model, which most documents have no need of."""
    called: str
    entries: Mapping[str, str]
    tag: str
    untagged: str
    """What is wrong where the tag is missing or unknown."""

    @property
    def model(self) -> type[_Model]:
        """The class of the record."""
        return self.find()

    def read(self, value: object, path: Path) -> _Model:
        """The model in a document. Raises Flaw with the place of what is wrong."""
        record = read_object(value, path)
        try:
            return self.model.model_validate(record)
        except ValidationError as error:
            raise self._flaw(record, path, error.errors(include_url=False)) from None

    def read_from(self, document: Mapping[str, object], field: str) -> _Model | None:
        """The model in a field of a document; None without the field."""
        return self.read(document[field], (field,)) if field in document else None

    def given(self, value: _Model | Mapping[str, object] | None) -> _Model | None:
        """The model that a program gives, also as a mapping. Raises BuildError."""
        if value is None or isinstance(value, self.model):
            return value
        try:
            return self.read(value, ())
        except Flaw as flaw:
            raise BuildError(flaw.what, **flaw.more) from None

    def lines(self, record: Mapping[str, object]) -> list[str]:
        """The fields of a model's record as JSON, each a line."""
        found = []
        for key, value in whole_numbers(record).items():
            text = _json(value)
            if key in self.entries and value:
                text = "[\n" + ",\n".join(f"      {_json(entry)}" for entry in value) + "\n    ]"
            found.append(f"{_json(key)}: {text}")
        return found

    def _flaw(self, record: dict[str, object], path: Path, errors: list[ErrorDetails]) -> Flaw:
        first = errors[0]
        inner = _place(record, first)
        where = (*path, *inner)
        key = str(first["loc"][-1]) if first["loc"] else ""
        match first["type"]:
            case "extra_forbidden":
                known = self._known(record, inner[:-1])
                return Flaw(
                    where,
                    f"There is no field {key!r} here.",
                    expected="one of " + ", ".join(known),
                    next_step=did_you_mean(key, known),
                )
            case "missing":
                return Flaw(where, f"The field {key!r} is missing.", expected=f'"{key}": "…"')
            case "string_too_long" | "too_long" if isinstance(first["input"], str):
                context = first.get("ctx", {})
                return Flaw(
                    where,
                    f"{self._subject(inner)} is too long.",
                    expected=f"at most {context.get('max_length', 0):,} characters",
                    got=f"{len(first['input']):,}",
                )
            case "string_unicode":
                return Flaw(
                    where, "A field has half a character in its name.", got=shown(first["input"])
                )
            case "union_tag_not_found" | "union_tag_invalid":
                kinds = self._models(record, inner)
                tags = ", ".join(str(kind.model_fields[self.tag].default) for kind in kinds)
                return Flaw(
                    where,
                    self.untagged,
                    expected=f'a field "{self.tag}", one of {tags}',
                    got=shown(first["input"]),
                )
            case "value_error":  # names alone are checked beyond their type and range
                return Flaw(
                    where,
                    f"{self._subject(inner)} is not a valid name.",
                    expected=NAME_RULE,
                    got=shown(first["input"]),
                )
        about = [error for error in errors if _place(record, error)[: len(inner)] == inner]
        expected = dict.fromkeys(text for error in about if (text := expected_text(error)))
        return Flaw(
            where,
            f"{self._subject(inner)} can't be in {self.called}.",
            expected=" or ".join(expected) or None,
            got=shown(first["input"]),
        )

    def _subject(self, path: Path) -> str:
        """What an error is about: ``Entry 2 of 'hints' of step 1``."""
        counted = len(path) > 1 and path[0] in self.entries
        step = f" of {self.entries[str(path[0])]} {int(path[1]) + 1}" if counted else ""
        inner = path[2:] if step else path
        if not inner:
            return f"The whole{step}"
        *_, key = [part for part in inner if isinstance(part, str)]
        entry = [str(part + 1) for part in inner[inner.index(key) :] if isinstance(part, int)]
        return (f"Entry {', '.join(entry)} of {key!r}" if entry else repr(key)) + step

    def _known(self, record: Mapping[str, object], path: Path) -> list[str]:
        """The fields that the object at ``path`` may have."""
        here: Any = record
        for part in path:
            here = here[part]
        tag = here.get(self.tag)
        kinds = self._models(record, path)
        of_tag = [kind for kind in kinds if _tag(kind, self.tag) == tag] if tag else []
        return [name for kind in (of_tag or kinds)[:1] for name in kind.model_fields]

    def _models(self, record: Mapping[str, object], path: Path) -> list[type[BaseModel]]:
        """The models that what is at ``path`` may be of."""
        kinds: list[type[BaseModel]] = [self.model]
        here: Any = record
        for part in path:
            if isinstance(part, str):
                tag = here.get(self.tag)
                fits = [kind for kind in kinds if tag and _tag(kind, self.tag) == tag] or kinds
                kinds = [
                    model
                    for kind in fits
                    if part in kind.model_fields
                    for model in _models_in(kind.model_fields[part].annotation)
                ]
            here = here[part]
        return kinds


def _tag(kind: type[BaseModel], tag: str) -> object:
    return kind.model_fields[tag].default if tag in kind.model_fields else None


def _models_in(annotation: object) -> Iterator[type[BaseModel]]:
    """The models in a type, such as those of a union or of the entries of a list."""
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        yield from getattr(annotation, "kinds", (annotation,))
    for part in get_args(annotation):
        yield from _models_in(part)


def _place(record: Mapping[str, object], error: ErrorDetails) -> Path:
    """The path of an error in the document. The validator's has names of its types in between."""
    here: Any = record
    path: list[str | int] = []
    for part in error["loc"]:
        in_object = isinstance(here, dict) and part in here
        in_list = isinstance(here, list) and isinstance(part, int) and part < len(here)
        if in_object or in_list:
            here = here[part]
            path.append(part)
    return tuple(path)


def whole_numbers(value: object) -> Any:
    """JSON data with its whole numbers written without ``.0``."""
    if isinstance(value, dict):
        return {key: whole_numbers(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [whole_numbers(item) for item in value]
    if isinstance(value, float) and value.is_integer() and abs(value) < _MAX_WHOLE:
        return int(value)
    return value


def _json(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, allow_nan=False)


def _lesson() -> type[Lesson]:
    from gradwire.runtime.diagram.lesson import Lesson

    return Lesson


def _training() -> type[Training]:
    from gradwire.runtime.diagram.training import Training

    return Training


def _comparison() -> type[Comparison]:
    from gradwire.runtime.diagram.comparison import Comparison

    return Comparison


LESSON = ModelReader(_lesson, "a lesson", {"steps": "step"}, "do", "A step says what it does.")
TRAINING = ModelReader(
    _training,
    "a recipe for training",
    {"optimisers": "optimiser", "averages": "average"},
    "kind",
    "A method or a schedule says of what kind it is.",
)
COMPARISON = ModelReader(
    _comparison,
    "a comparison",
    {"disagreements": "disagreement", "missteps": "misstep"},
    "what",
    "A disagreement is about a value or a gradient.",
)
