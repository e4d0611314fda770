"""The manual: its pages, their HTML, and a full-text search."""

from __future__ import annotations

import re
from collections import Counter
from functools import cache
from typing import TYPE_CHECKING

from markdown_it import MarkdownIt

from gradwire.app.services.examples import ASSETS
from gradwire.blocks.classes.dataclass import dataclass

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from markdown_it.token import Token

FOLDER = ASSETS / "manual"
INDEX = "index.md"

_MARKDOWN = MarkdownIt("commonmark", {"html": False}).enable("table")


@dataclass(frozen=True, slots=True)
class ManualSection:
    """A heading of a page and the text up to the next one."""

    title: str
    anchor: str
    text: str


@dataclass(frozen=True, slots=True)
class ManualPage:
    """One Markdown file; ``name`` is its path inside the folder, ``extend/block.md``."""

    name: str
    text: str
    sections: tuple[ManualSection, ...]

    @property
    def title(self) -> str:
        """The first heading."""
        return self.sections[0].title


@dataclass(frozen=True, slots=True)
class Hit:
    """A section that contains all words of a search, and a line of it that contains one."""

    page: str
    anchor: str
    title: str
    line: str


@dataclass(frozen=True)
class Manual:
    """All pages by name, and the chapters in which the index lists them."""

    pages: dict[str, ManualPage]
    chapters: dict[str, tuple[str, ...]]

    def search(self, words: str) -> list[Hit]:
        """Sections that contain every word, ignoring case; matches in headings come first."""
        sought = words.casefold().split()
        if not sought:
            return []
        hits = [hit for page in self._in_order() for hit in _hits(page, sought)]
        return sorted(hits, key=lambda hit: not any(w in hit.title.casefold() for w in sought))

    def _in_order(self) -> Iterator[ManualPage]:
        yield self.pages[INDEX]
        yield from (self.pages[name] for names in self.chapters.values() for name in names)


@cache
def manual(folder: Path = FOLDER) -> Manual:
    """The manual in a folder; its ``index.md`` lists the pages under headings of chapters."""
    pages = {
        path.relative_to(folder).as_posix(): _page(path, folder)
        for path in sorted(folder.rglob("*.md"))
    }
    return Manual(pages, _chapters(pages[INDEX]))


def html(page: ManualPage) -> str:
    """The page's Markdown as HTML for Qt; every heading is a link target."""
    tokens = _MARKDOWN.parse(page.text)
    anchors = iter(section.anchor for section in page.sections)
    for token in tokens:
        if token.type == "heading_open":
            token.attrSet("id", next(anchors))
        elif token.type == "fence":
            token.content = token.content.rstrip("\n")  # Qt would show an extra line
    return str(_MARKDOWN.renderer.render(tokens, _MARKDOWN.options, {}))


def anchor_of(title: str) -> str:
    """The anchor of a heading, as on GitHub and in Sphinx."""
    return re.sub(r"[^\w\- ]", "", title.lower()).strip().replace(" ", "-")


def _page(path: Path, folder: Path) -> ManualPage:
    text = path.read_text(encoding="utf-8")
    return ManualPage(path.relative_to(folder).as_posix(), text, tuple(_sections(text)))


def _sections(text: str) -> Iterator[ManualSection]:
    tokens, lines = _MARKDOWN.parse(text), text.splitlines()
    heads = [
        (token.map[0], tokens[i + 1])
        for i, token in enumerate(tokens)
        if token.type == "heading_open" and token.map is not None
    ]
    ends = [line for line, _ in heads[1:]] + [len(lines)]
    found: Counter[str] = Counter()
    for (line, inline), end in zip(heads, ends, strict=True):
        title = _plain(inline)
        anchor = anchor_of(title)
        repeated = f"-{found[anchor]}" if found[anchor] else ""  # as GitHub tells them apart
        found[anchor] += 1
        yield ManualSection(title, anchor + repeated, "\n".join(lines[line + 1 : end]))


def _chapters(index: ManualPage) -> dict[str, tuple[str, ...]]:
    """The links of each section of the index."""
    found = {
        section.title: tuple(re.findall(r"\]\(([\w/-]+\.md)\)", section.text))
        for section in index.sections
    }
    return {title: names for title, names in found.items() if names}


def _hits(page: ManualPage, sought: list[str]) -> Iterator[Hit]:
    for section in page.sections:
        everything = f"{page.title} {section.title} {section.text}".casefold()
        here = f"{section.title} {section.text}".casefold()
        if all(word in everything for word in sought) and any(word in here for word in sought):
            title = (
                section.title if section.title == page.title else f"{page.title}: {section.title}"
            )
            yield Hit(page.name, section.anchor, title, _line_with(section.text, sought))


def _line_with(text: str, sought: list[str]) -> str:
    lines = [line.strip(" #|-*`") for line in text.splitlines()]
    having = [line for line in lines if any(word in line.casefold() for word in sought)]
    return re.sub(r"\[([^]]*)\]\([^)]*\)", r"\1", (having or [""])[0]).replace("`", "")


def _plain(inline: Token) -> str:
    return "".join(t.content for t in inline.children or () if t.type in ("text", "code_inline"))
