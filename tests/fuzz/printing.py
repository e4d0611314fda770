"""Strange text in every field of a file: what is printed or written stays text, JSON and XML."""

from __future__ import annotations

import io
import json
import re
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any
from xml.etree import ElementTree

from gradwire.blocks.errors import FileError
from gradwire.blocks.names import is_name
from gradwire.runtime.cli.entry import main
from gradwire.runtime.diagram import load
from tests.fuzz.runner import Program

if TYPE_CHECKING:
    from random import Random

PIECES = (
    "\x00", "\x07", "\x08", "\r", "\n", "\t", "\x0b", "\x1b[31m", "\x1b]0;title\x07", "\x7f",
    "\x85", "\x9b2J", "\u200e", "\u200f", "\u2028", "\u2029", "\u202e", "\u2066", "\u2069",
    "\u200d", "\ufeff", "\ufffe", "\uffff", "\ud800", "\udc00", "\U0001f600", "e\u0301", "ﷺ",
    "<b>", "&amp;", "&#0;", "]]>", "<!--", "<?xml", '"', "'", "\\", "\\u0000", "{0}", "{name}",
    "{", "}", "%s", "%(a)s", "%", "[red]", "[/]", "[bold", "$(id)", "`", "*", "**", "__proto__",
    "None", "nan", "0", "-", "--json", "=", "#", "→", "−", " ", "   ", "x" * 300,
    '<img src="/dev/zero">', "../..", ":", ";", "|", "~",
)  # fmt: skip
"""What terminals, markup, formats and shells give a meaning to."""
POWERFUL = re.compile(
    r"[\x00-\x09\x0b-\x1f\x7f-\x9f\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]"
)
"""No command prints any of these."""
FREE = ("Traceback", "itself failed", "<bound method", "object at 0x")


def text(rng: Random) -> str:
    """A few strange pieces, with letters between them."""
    return "".join(
        rng.choice((rng.choice(PIECES), rng.choice("abw1_"))) for _ in range(rng.randint(1, 5))
    )


def name(rng: Random) -> str:
    """A name that a file may hold, mostly a strange one."""
    for _ in range(20):
        if is_name(found := text(rng)):
            return found
    return f"n{rng.randrange(10)}"


def document(rng: Random) -> dict[str, Any]:
    """A file with strange text in every field, some of which does not run or is refused."""
    w, v, stop, loss, page, pack = (f"{name(rng)}{i}" for i in range(6))
    strange = rng.random() < 0.5
    blocks: dict[str, Any] = {
        w: {"type": "Variable", "value": [rng.choice((0.0, 1.0, "nan", "inf")), 2.0]},
        v: {"type": "Variable", "value": [0.0, rng.choice((1, 1e30))]},
        stop: {"type": "StopGradient"},
        "log": {"type": rng.choice(("Log", "Relu", "Round"))},
        "add": {"type": "Add"},
        "sum": {"type": "Sum"},
        loss: {"type": "Loss"},
        "use": {"type": "Page", "page": page},
        pack: {"type": "Pack", "keys": [name(rng), "b"]},
        "shown": {"type": "Display"},
    }
    wires = {
        f"{stop}.x": f"{w}.out", "log.x": f"{v}.out", "add.a": f"{stop}.out", "add.b": "log.out",
        "sum.x": "add.out", f"{loss}.x": "sum.out", f"{pack}.items.0": f"{w}.out",
        f"{pack}.items.1": f"{v}.out", "shown.x": f"{pack}.out",
    }  # fmt: skip
    if strange:
        blocks["odd"] = {"type": text(rng), text(rng): text(rng)}
        blocks["wrong"] = {"type": "Sum", rng.choice(("axis", text(rng))): text(rng)}
        wires[f"{rng.choice(('add', 'odd'))}.{name(rng)}"] = f"{w}.{rng.choice(('out', name(rng)))}"
    if rng.random() < 0.05:
        blocks[text(rng)] = {"type": "Add"}
    inner = {
        "blocks": {name(rng): {"type": "Constant", "value": 1.0}, "out": {"type": "PageOutput"}},
        "wires": {},
    }
    inner["wires"]["out.x"] = f"{next(iter(inner['blocks']))}.out"
    lines = [
        f"flows({loss} -> {w})",
        f"finite(* -> {v})",
        f"blocked({name(rng)} -> {w})",
        text(rng),
    ]
    return {
        "gradwire": 3,
        "title": text(rng),
        "description": text(rng),
        "contracts": rng.sample(lines, rng.randint(0, 3)),
        "lesson": {
            "goal": text(rng),
            "steps": [
                {"do": "show", "text": text(rng), "hints": [text(rng)]},
                {"do": "predict", "gradient": rng.choice((w, text(rng))), "text": text(rng)},
            ][: rng.randrange(3)],
        },
        "pages": {
            "main": {
                "blocks": blocks,
                "wires": wires,
                "notes": {
                    name(rng): {"text": text(rng), "at": [0, 300], "width": 90, "height": 80}
                },
            },
            page: inner,
        },
    }


def _commands(rng: Random, path: str, report: str, data: dict[str, Any]) -> tuple[str, ...]:
    known = rng.choice([*data["pages"]["main"]["blocks"], text(rng)]).replace("\0", "␀")
    return rng.choice((
        ("run", path), ("run", path, "--json"), ("run", path, "--set", f"{known}={text(rng)}"),
        ("run", path, "--loss", known), ("flow", path), ("flow", path, "--json"),
        ("flow", path, "--run"), ("flow", path, "--ledger", "--dialects"),
        ("flow", path, "--run", "--ledger", "--dialects", "--json"),
        ("flow", path, "--wire", known),
        ("doctor", path), ("doctor", path, "--json"), ("check", path),
        ("check", path, "--contracts", "--gradients", "--json", "--junit", report),
        ("check", path, "--contracts", "--junit", report),
        ("whatif", path, "--open", known), ("whatif", path, "--freeze", known, "--json"),
        ("lesson", path, "--no-keep"), ("grade", path, path), ("grade", path, path, "--json"),
        ("study", path), ("study", path, "--json"),
        ("quiz", path, "--answers"), ("timeline", path), ("timeline", path, "--json"),
        ("train", path, "--out", f"{report}.run", "--steps", "3"),
        ("train", path, "--resume", f"{report}.run", "--steps", "4", "--json"),
        ("timeline", path, "--block", known),
        ("blocks", known), ("run", path + text(rng)), (known, path),
    ))  # fmt: skip


@contextmanager
def _streams() -> Iterator[tuple[io.TextIOWrapper, io.TextIOWrapper]]:
    """Standard output and error in memory, as strict as a terminal in UTF-8; no input."""
    before, read = (sys.stdout, sys.stderr), sys.stdin
    out, err = (io.TextIOWrapper(io.BytesIO(), encoding="utf-8") for _ in range(2))
    sys.stdout, sys.stderr, sys.stdin = out, err, io.StringIO("\nh\n3\n\n")
    try:
        yield out, err
    finally:
        (sys.stdout, sys.stderr), sys.stdin = before, read


def _written(stream: io.TextIOWrapper) -> str:
    stream.flush()
    stream.seek(0)
    with stream:
        return stream.read()


def command_case(rng: Random) -> str:
    """One command on such a file."""
    with tempfile.TemporaryDirectory() as folder:
        stem = re.sub(r"[/\x00\ud800-\udfff]", "_", text(rng))[:60]
        path, report = Path(folder) / f"{stem}.gradwire.json", Path(folder) / "report.xml"
        data = document(rng)
        path.write_text(json.dumps(data), encoding="utf-8")
        typed = _commands(rng, str(path), str(report), data)
        with _streams() as (out, err):
            code = main([part.encode(errors="replace").decode() for part in typed])
        said, told = _written(out), _written(err)
        assert code in range(4), (code, typed)
        for printed in (said, told):
            assert not POWERFUL.search(printed), (typed, printed)
            assert not any(slip in printed for slip in FREE), (typed, printed)
        if "--json" in typed and said:
            json.loads(said, parse_constant=_refuse)
        if report.exists():
            ElementTree.parse(report)
    return f"exits with {code}"


def _refuse(word: str) -> None:
    raise AssertionError(f"{word} is not JSON")


def picture_case(rng: Random) -> str:
    """Such a file as a drawing: SVG and TikZ."""
    from gradwire.app.evaluation.evaluator import evaluate
    from gradwire.app.pictures.headless import start
    from gradwire.app.pictures.options import PictureOptions
    from gradwire.app.pictures.page_picture import PagePicture
    from gradwire.app.pictures.svg import svg
    from gradwire.app.pictures.tikz import tikz

    start()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "d.gradwire.json"
        path.write_text(json.dumps(document(rng)), encoding="utf-8")
        try:
            diagram = load(path)
        except FileError:
            return "refused"
    options = PictureOptions.parse({"lettering": rng.choice(["text", "shapes"])})
    picture = PagePicture(diagram, "main", evaluate(diagram), options=options)
    ElementTree.fromstring(svg(picture, text(rng)).encode())
    assert tikz(picture).isascii()
    return "drawn"


PROGRAMS = (
    Program("commands", "commands print text, JSON and XML whatever a file says", command_case),
    Program("pictures", "drawings are XML whatever a file says", picture_case),
)
