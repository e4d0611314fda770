"""Values as users type them: ``3``, ``[[1, 2], [3, 4]]``, ``1, 2``, ``true``, ``nan``."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from gradwire.blocks.values import Json, Tensor
from gradwire.runtime.flow import number

if TYPE_CHECKING:
    from pydantic import BaseModel

    from gradwire.blocks.values import Array

_TOKEN = re.compile(
    r"\s*(?:(?P<number>[-+−]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?)"
    r"|(?P<word>[-+]?[A-Za-z]+)|(?P<mark>[][(),]))"
)
_WORDS = {
    "true": True, "false": False, "none": None, "null": None,
    "nan": "nan", "inf": "inf", "+inf": "inf", "-inf": "-inf",
}  # fmt: skip
_CLOSING = {"[": "]", "(": ")"}


def parse(text: str) -> Any:
    """JSON data for ``text``: numbers, booleans, nested lists; ``1, 2`` is a list.

    An empty text is None. An invalid text is returned unchanged, so that the parameter's own
    validation gives the error message.
    """
    text = text.strip()
    if not text:
        return None
    try:
        tokens = list(_tokens(text))
        items, end = _items(tokens, 0, None)
    except (ValueError, RecursionError):
        return text
    bare = len(items) == 1 and not (len(tokens) > 1 and tokens[-1] == ",")
    return text if end != len(tokens) else items[0] if bare else items


def _tokens(text: str) -> Iterator[object]:
    at = 0
    while at < len(text):
        match = _TOKEN.match(text, at)
        if match is None:
            raise ValueError(text[at:])
        yield match["mark"] or _scalar(match)
        at = match.end()


def _scalar(match: re.Match[str]) -> tuple[object]:
    """The value in a tuple, to distinguish it from punctuation."""
    if (word := match["word"]) is not None:
        if word.lower() not in _WORDS:
            raise ValueError(word)
        return (_WORDS[word.lower()],)
    number = match["number"].replace("−", "-")
    return (int(number) if re.fullmatch(r"[-+]?\d+", number) else float(number),)


def _items(tokens: list[object], at: int, closing: str | None) -> tuple[list[object], int]:
    """Comma-separated items from ``at`` up to ``closing``; a trailing comma is allowed."""
    items: list[object] = []
    while at < len(tokens) and tokens[at] != closing:
        token = tokens[at]
        if isinstance(token, tuple):
            items.append(token[0])
            at += 1
        elif token in _CLOSING:
            inner, at = _items(tokens, at + 1, _CLOSING[token])
            items.append(inner)
        else:
            raise ValueError(token)
        if at < len(tokens) and tokens[at] == ",":
            at += 1
        elif at < len(tokens) and tokens[at] != closing:
            raise ValueError(tokens[at])
    if closing is None:
        return items, at
    if at == len(tokens):
        raise ValueError(f"{closing} is missing")
    return items, at + 1


def written(value: object) -> str:
    """``value`` as text that ``parse`` reads; a matrix has one row per line."""
    if value is None:
        return ""
    if isinstance(value, Tensor):
        value = value.to_json()
    if isinstance(value, str):
        return value
    if isinstance(value, list | tuple):
        rows = [written(item) if isinstance(item, str) else json.dumps(item) for item in value]
        nested = any(isinstance(item, list | tuple) for item in value)
        return "[" + (",\n " if nested else ", ").join(rows).replace('"', "") + "]"
    return json.dumps(value, default=_record)


def _record(value: BaseModel) -> Json:
    return value.model_dump(mode="json", exclude_defaults=True)


def glimpse(array: Array, most: int = 6) -> str:
    """The array in one line: all of it up to ``most`` elements, or else its beginning."""
    if array.ndim == 0:
        return number(array[()])
    if array.size <= most and array.ndim <= 2:
        rows = array if array.ndim == 2 else array[None]
        inner = ", ".join("[" + ", ".join(map(number, row)) + "]" for row in rows)
        return f"[{inner}]" if array.ndim == 2 else inner
    return "[" + ", ".join(map(number, array.ravel()[:most])) + ", …]"
