"""Text of which no character has power over a terminal, or is refused by XML."""

from __future__ import annotations

import re
from functools import cache

from gradwire.blocks.errors import shortened

_DELETE, _SURROGATES = 0x7F, range(0xD800, 0xE000)
_INVISIBLE = (*range(0x80, 0xA0), 0x200E, 0x200F, *range(0x2028, 0x202F), *range(0x2066, 0x206A))
"""The second set of controls, and marks that break lines or turn the direction of writing."""
_TITLE = 200
"""Characters of a title that are shown."""
_NOT_XML = r"[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]"


@cache
def _symbols() -> dict[int, str]:
    """What is shown for each character; made only for text that has one."""
    return (
        {code: chr(0x2400 + code) for code in range(0x20) if chr(code) != "\n"}
        | {_DELETE: "␡"}
        | dict.fromkeys((*_INVISIBLE, *_SURROGATES, 0xFFFE, 0xFFFF), "\N{REPLACEMENT CHARACTER}")
    )


def visible(text: str) -> str:
    """Text without power over a terminal: what would move the cursor, change colours or turn the
    direction of writing is shown as a symbol (``␛``); line breaks stay.
    """
    return text if text.isprintable() else text.translate(_symbols())


def one_line(text: str) -> str:
    """Likewise, with a symbol for every line break too."""
    return visible(text.replace("\n", "␊"))


def title_line(title: str) -> str:
    """A title as a line that is not too long."""
    return one_line(shortened(title, _TITLE))


def xml_text(text: str) -> str:
    """Text, or whole XML, with a symbol for every character that may not stand in XML."""
    return re.sub(_NOT_XML, lambda match: match[0].translate(_symbols()), text)
