"""Explains wrong parameters in Gradwire's words; none of the validator's own text is shown."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from gradwire.blocks.errors import ParameterError
from gradwire.blocks.nearest import did_you_mean

if TYPE_CHECKING:
    from pydantic_core import ErrorDetails

_EXPECTED: Mapping[str, str] = {
    "bool": "true or false",
    "int": "a whole number",
    "float": "a number",
    "finite_number": "a finite number",
    "string": "text",
    "list": "a list",
    "tuple": "a list",
    "dict": "an object",
    "model": "an object",
    "mapping": "an object",
    "none": "null",
    "missing": "more entries",
    "too_long": "at most {max_length} entries",
    "too_short": "at least {min_length} entries",
    "literal": "{expected}",
    "greater_than_equal": "at least {ge}",
    "greater_than": "more than {gt}",
    "less_than_equal": "at most {le}",
    "less_than": "less than {lt}",
}
"""What is expected, by the type of the validator's error or its first word."""


def parameter_error(
    type_name: str, known: Sequence[str], errors: Sequence[ErrorDetails]
) -> ParameterError:
    """The error of a block with wrong parameters; ``known`` are its parameters and inputs."""
    first = errors[0]
    name = str(first["loc"][0]) if first["loc"] else ""
    if first["type"] == "extra_forbidden":
        return ParameterError(
            f"{type_name} has no parameter or input {name!r}.",
            expected="one of " + ", ".join(known) if known else "no parameter at all",
            next_step=did_you_mean(name, known),
        )
    own = [str(error["ctx"]["error"]) for error in errors if error["type"] == "value_error"]
    if own:
        what = f"Parameter {name!r} of {type_name}" if name else type_name
        shown = repr(first["input"])[:80] if name else None
        stop = "" if own[0].endswith("?") else "."
        return ParameterError(f"{what} is wrong: {own[0]}{stop}", got=shown)
    about = [error for error in errors if error["loc"][:1] == first["loc"][:1]]
    expected = dict.fromkeys(text for error in about if (text := expected_text(error)))
    return ParameterError(
        f"Parameter {name!r} of {type_name} is wrong."
        if name
        else f"The name of a parameter of {type_name} is wrong.",
        expected=" or ".join(expected) or "another value",
        got=repr(first["input"])[:80],
    )


def expected_text(error: ErrorDetails) -> str:
    """What the validator expects; empty where that has no words here."""
    kind, context = error["type"], error.get("ctx", {})
    text = _EXPECTED.get(kind) or _EXPECTED.get(kind.partition("_")[0], "")
    return text.format_map(_Described(context))


class _Described(dict[str, object]):
    """The numbers in an error; for one that the validator does not give there is a phrase."""

    def __missing__(self, key: str) -> str:
        return "another number"
