"""The page: one HTML file that needs nothing else and may ask for nothing else."""

from __future__ import annotations

import base64
import hashlib
import json
import re
import zlib
from collections.abc import Collection, Iterable, Mapping, Sequence
from html import escape, unescape
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple

from gradwire.runtime.lessons.texts import unmarked
from gradwire.runtime.publish.living.computing.kernels import kernel_parts, loops, source
from gradwire.runtime.publish.living.reasons import words
from gradwire.runtime.publish.living.writing.repeats import compacted

if TYPE_CHECKING:
    from gradwire.blocks.values import Json


# Texts packed for a page: deflated, and written in 91 printable characters.
#
# Two characters hold 13 bits, or 14 where those are few enough (basE91, J. Henke), which takes 8 %
# less than base64. ``<``, ``&`` and ``"`` are not among them: what is packed ends no element, and
# needs no escapes.

ALPHABET = "".join(chr(code) for code in range(33, 127) if chr(code) not in '"&<')
_BASE = len(ALPHABET)
_FEW = 88
"""Values of 13 bits up to which one bit more fits into two characters: 91² − 2¹³ − 1."""

UNPACK = """const LETTERS = Array.from({length: 94}, (_, k) => String.fromCharCode(k + 33))
  .filter((letter) => !'"&<'.includes(letter)).join('');
function bytesOf(text) {
  const bytes = [];
  let held = 0, bits = 0;
  for (let at = 0; at < text.length; at += 2) {
    const low = LETTERS.indexOf(text[at]);
    if (at + 1 === text.length) {
      bytes.push((held | (low << bits)) & 255);
      break;
    }
    const pair = low + 91 * LETTERS.indexOf(text[at + 1]);
    held |= pair << bits;
    bits += (pair & 8191) > 88 ? 13 : 14;
    for (; bits > 7; bits -= 8, held >>= 8) bytes.push(held & 255);
  }
  return Uint8Array.from(bytes);
}
"""
"""The script that reads it back."""


def packed(text: str) -> str:
    """A text as deflated UTF-8: the same text always gives the same."""
    deflate = zlib.compressobj(9, memLevel=9)
    return _letters(deflate.compress(text.encode()) + deflate.flush())


def unpacked(text: str) -> str:
    """The text that was packed; raises ValueError or zlib.error for what was not."""
    return zlib.decompress(_bytes(text)).decode()


def _letters(data: bytes) -> str:
    found = []
    held = bits = 0
    for byte in data:
        held |= byte << bits
        bits += 8
        if bits > 13:
            few = held & 8191 <= _FEW
            pair = held & (16383 if few else 8191)
            held >>= 14 if few else 13
            bits -= 14 if few else 13
            found += [ALPHABET[pair % _BASE], ALPHABET[pair // _BASE]]
    if bits:
        found.append(ALPHABET[held % _BASE])
        if bits > 7 or held >= _BASE:
            found.append(ALPHABET[held // _BASE])
    return "".join(found)


def _bytes(text: str) -> bytes:
    found = bytearray()
    held = bits = 0
    for at in range(0, len(text), 2):
        low = ALPHABET.index(text[at])
        if at + 1 == len(text):
            found.append((held | low << bits) & 255)
            break
        pair = low + _BASE * ALPHABET.index(text[at + 1])
        held |= pair << bits
        bits += 14 if pair & 8191 <= _FEW else 13
        while bits > 7:
            found.append(held & 255)
            held >>= 8
            bits -= 8
    return bytes(found)


# Joins the parts of the page's script, and leaves out comments and space.

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
    foreign: Mapping[str, Sequence[str]] = MappingProxyType({})
    """The expressions of primitives of plug-ins, each with the names of its attributes."""
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


PICTURE_STYLE = "picture.css"
PAGE_STYLE = "page.css"

LOADER = minified(
    "'use strict';\n"
    + UNPACK
    + """(async () => {
  const part = (id) => document.getElementById(id);
  const read = async (id) => {
    const bytes = new Blob([bytesOf(part(id).textContent)]);
    const plain = bytes.stream().pipeThrough(new DecompressionStream('deflate'));
    return new Response(plain).text();
  };
  const add = (kind, text) => {
    const made = document.createElement(kind);
    made.textContent = text;
    document.body.append(made);
  };
  try {
    const [look, data, code] = await Promise.all(['look', 'data', 'code'].map(read));
    add('style', look);
    part('data').textContent = data;
    add('script', code);
  } catch (error) {
    const told = document.createElement('p');
    told.textContent = part('app').dataset.trouble;
    part('app').prepend(told);
  }
})();
"""
)
"""Unpacks the style, the data and the script. Where a browser can't, the page stays a picture, and
says so."""
TOO_OLD = (
    "This browser can't unpack the page, so this is a picture of it. Chrome 80, Edge 80, Safari "
    "16.4 and Firefox 113 or newer show it alive."
)


_LEFTWARD = frozenset(
    "ar aeb apc arc ars ary arz bal bgn ckb dv fa glk he iw khw ks lrc luz mzn nqo pnb prs ps rhg "
    "sd sdh skr syr ug ur yi".split()
)
"""Languages that are written from right to left. Source: likely subtags of Unicode's CLDR."""
_LEFTWARD_SCRIPTS = frozenset({"arab", "hebr", "syrc", "thaa", "nkoo", "adlm"})


def page(data: dict[str, Any], fallback: str, extra: str = "") -> str:
    """The HTML of a page; ``fallback`` is SVG for readers without scripts.

    Style, data and script are packed, which makes the page less than half as large; the policy lets
    them in by their hashes. ``extra`` is a second script: tests read through it what the page
    computes, and such a page is not packed.
    """
    computed = {op[0] for tape in data["tapes"] for op in tape["ops"]}
    foreign = {k: text for tape in data["tapes"] for k, text in tape.get("foreign", {}).items()}
    kinds = {kind for kind, *_ in data["blocks"].values()}
    data = shared(compacted(data), fallback)
    script = page_script("lesson" in data, Needs(computed, kinds, foreign, "runs" in data))
    look = styled(PAGE_STYLE)
    scripts = [script, extra] if extra else [LOADER, script]
    style = styled(PICTURE_STYLE)
    title = escape(str(data["title"]) or "Gradwire")
    policy = (
        f"default-src 'none'; script-src {' '.join(map(source_hash, scripts))}; "
        f"style-src {source_hash(style)} {source_hash(look)}; img-src data:; "
        "base-uri 'none'; form-action 'none'"
    )
    head = f'<main id="app" data-trouble="{escape(TOO_OLD)}"><h1>{title}</h1>'
    return (
        f"<!doctype html>\n<html{_language(data.get('lesson', {}).get('language', ''))}>"
        '<head><meta charset="utf-8">'
        f'<meta http-equiv="Content-Security-Policy" content="{policy}">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>{title}</title><style>{style}</style></head>\n"
        f"<body>{head}<p>{escape(unmarked(data['text']))}</p>{fallback}</main>\n"
        + (_plain(data, scripts, look) if extra else _packed(data, script, look))
        + "</body></html>\n"
    )


def _plain(data: dict[str, Json], scripts: list[str], look: str) -> str:
    parts = [
        f"<style>{look}</style>\n",
        f'<script type="application/json" id="data">{embedded(data)}</script>\n',
    ]
    return "".join([*parts, *(f"<script>{each}</script>" for each in scripts)])


def _packed(data: dict[str, Json], script: str, look: str) -> str:
    parts = {"look": look, "data": embedded(data), "code": script}
    texts = [
        f'<script type="text/plain" id="{name}">{packed(text)}</script>\n'
        for name, text in parts.items()
    ]
    return "".join([*texts, f"<script>{LOADER}</script>"])


def _language(tag: str) -> str:
    """The attributes of a page for the language of its texts and the direction of its script."""
    language, *rest = tag.lower().split("-")
    is_leftward = language in _LEFTWARD or not _LEFTWARD_SCRIPTS.isdisjoint(rest)
    is_leftward &= "latn" not in rest
    return f' lang="{escape(tag or "en")}"' + ' dir="rtl"' * is_leftward


def picture_page(title: str, text: str, picture: str, reason: str, language: str = "") -> str:
    """The HTML of a page that does not compute, with the reason."""
    style = styled(PICTURE_STYLE, PAGE_STYLE)
    policy = f"default-src 'none'; style-src {source_hash(style)}; img-src data:; base-uri 'none'"
    return (
        f"<!doctype html>\n<html{_language(language)}>"
        '<head><meta charset="utf-8">'
        f'<meta http-equiv="Content-Security-Policy" content="{policy}">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>{escape(title or 'Gradwire')}</title><style>{style}</style></head>\n"
        f"<body><header><h1>{escape(title)}</h1><p>{escape(unmarked(text))}</p>"
        f"<p>{escape('This page is a picture. ' + reason)}</p></header>{picture}</body></html>\n"
    )


def styled(*names: str) -> str:
    """Style sheets of the script's folder, without comments and space."""
    plain = re.sub(r"/\*.*?\*/", "", "".join(map(source, names)), flags=re.DOTALL)
    return re.sub(r"\s*([{};,>])\s*|\s*\n\s*|(?<=:)\s+", r"\1", plain).strip()


def shared(data: dict[str, Any], fallback: str) -> dict[str, Any]:
    """The data with the place of each view among the pictures of the fallback that has it too."""
    places: dict[str, int] = {}
    for place, address in enumerate(re.findall(r'<image[^>]* href="([^"]*)"', fallback)):
        places.setdefault(unescape(address), place)

    def block(given: list[Any]) -> list[Any]:
        *rest, more = given
        view = more.get("view")
        return [*rest, {**more, "view": places[view]}] if view in places else given

    pages = {
        name: {**page, "blocks": [block(each) for each in page["blocks"]]}
        for name, page in data["pages"].items()
    }
    return {**data, "pages": pages}


def embedded(data: object) -> str:
    """JSON that ends no script element, with keys in the order given."""
    text = json.dumps(data, separators=(",", ":"), ensure_ascii=False, allow_nan=False)
    escaped = text.replace("<", "\\u003c").replace("\u2028", "\\u2028")
    return escaped.replace("\u2029", "\\u2029")


def source_hash(text: str) -> str:
    """What a Content-Security-Policy calls an inline script or style."""
    digest = hashlib.sha256(text.encode()).digest()
    return f"'sha256-{base64.b64encode(digest).decode()}'"
