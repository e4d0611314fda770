"""The page: one HTML file that needs nothing else and may ask for nothing else."""

from __future__ import annotations

import base64
import hashlib
import json
import re
from html import escape, unescape
from typing import Any

from gradwire.runtime.lessons.texts import unmarked
from gradwire.runtime.publish.living.computing.kernels import source
from gradwire.runtime.publish.living.writing.compact import compacted
from gradwire.runtime.publish.living.writing.joining import Needs, minified, page_script
from gradwire.runtime.publish.living.writing.packing import UNPACK, packed

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


def _plain(data: dict[str, Any], scripts: list[str], look: str) -> str:
    parts = [
        f"<style>{look}</style>\n",
        f'<script type="application/json" id="data">{embedded(data)}</script>\n',
    ]
    return "".join([*parts, *(f"<script>{each}</script>" for each in scripts)])


def _packed(data: dict[str, Any], script: str, look: str) -> str:
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


def embedded(data: Any) -> str:
    """JSON that ends no script element, with keys in the order given."""
    text = json.dumps(data, separators=(",", ":"), ensure_ascii=False, allow_nan=False)
    escaped = text.replace("<", "\\u003c").replace("\u2028", "\\u2028")
    return escaped.replace("\u2029", "\\u2029")


def source_hash(text: str) -> str:
    """What a Content-Security-Policy calls an inline script or style."""
    digest = hashlib.sha256(text.encode()).digest()
    return f"'sha256-{base64.b64encode(digest).decode()}'"
