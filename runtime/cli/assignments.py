"""``--set NAME=VALUE``: assignments as people type them."""

from __future__ import annotations

import json
import re

from gradwire.blocks import PortLiteral
from gradwire.runtime.cli.output import UsageError

_WORD = re.compile(r'(?<![\w."+-])([+-]?)(nan|inf|infinity|true|false)(?![\w."])', re.IGNORECASE)
_EXAMPLE = "For example --set a=3, --set 'W=[[1, 2], [3, 4]]' or --set x=nan."


def parse_assignment(text: str) -> tuple[str, PortLiteral]:
    """``"a=[1, 2]"`` as a name and a literal; raises UsageError."""
    name, equals, value = text.partition("=")
    name = name.strip()
    if not (name and equals and value.strip()):
        raise UsageError(
            f"--set {text!r} is not NAME=VALUE.", expected="NAME=VALUE", next_step=_EXAMPLE
        )
    try:
        return name, parse_literal(value)
    except (ValueError, TypeError) as error:
        raise UsageError(
            f"The value of --set {name} can't be read: {error}.",
            expected="a number, true, false, nan, inf, or nested lists of them",
            got=value.strip()[:80],
            next_step=_EXAMPLE,
        ) from None


def parse_literal(text: str) -> PortLiteral:
    """JSON, and also bare ``nan`` and ``inf``, ``True``, ``.5``, ``1.``; raises ValueError."""
    text = _WORD.sub(_quoted, text.strip())
    text = re.sub(r"(?<![\w.])([+-]?)\.(?=\d)", r"\g<1>0.", text)
    text = re.sub(r"(?<=\d)\.(?!\d)", ".0", text)
    text = re.sub(r"(?<![\w.])\+(?=\d)", "", text)
    try:
        data = json.loads(text)
    except json.JSONDecodeError as error:
        raise ValueError(f"{error.msg} at character {error.pos + 1}") from None
    except RecursionError:
        raise ValueError("lists are nested too deeply") from None
    return PortLiteral(data)


def _quoted(match: re.Match[str]) -> str:
    sign, word = match[1], match[2].lower()
    if word in ("true", "false"):
        return sign + word
    return f'"{"-" if sign == "-" and word != "nan" else ""}{word[:3]}"'
