"""Writes the page for ``man`` from the commands: ``python -m tests.assets.man_page``."""

from __future__ import annotations

import re
from typing import Any

import typer

from gradwire.runtime.cli.entry import application
from gradwire.runtime.version import __version__
from tests.assets.examples import ROOT

PAGE = ROOT / "assets" / "man" / "gradwire.1"


def page() -> str:
    """All commands with their options, in the order of the command line."""
    group: Any = typer.main.get_command(application())
    summary = group.help.partition(".")[0]
    about, *codes = group.epilog.partition(" Exit codes: ")[::2]
    parts = [
        f'.TH GRADWIRE 1 "" "Gradwire {__version__}" "User Commands"',
        ".SH NAME",
        rf"gradwire \- {_text(summary[0].lower() + summary[1:])}",
        ".SH SYNOPSIS",
        ".B gradwire",
        r"[\fIFILE\fR]",
        ".br",
        ".B gradwire",
        r"\fICOMMAND\fR [\fIOPTIONS\fR] [\fIARGUMENTS\fR]",
        ".br",
        r".B gradwire\-editor",
        r"[\fIFILE\fR]",
        ".SH DESCRIPTION",
        _text(about.replace("`", "")),
        ".SH OPTIONS",
        *_options(group),
        ".SH COMMANDS",
    ]
    for name, command in group.commands.items():
        arguments = [_metavar(each) for each in command.params if each.opts[0][0] != "-"]
        typed = _text(" ".join([name, "[OPTIONS]", *arguments]))
        parts += [f'.SS "gradwire {typed}"', *_paragraphs(command.help)]
        parts += _options(command)
    parts += [".SH EXIT STATUS"]
    for code, meaning in re.findall(r"(\d+) ([^,.]+)", codes[0]):
        parts += [".TP", f".B {code}", _text(meaning)]
    parts += [
        ".SH SEE ALSO",
        r"The manual is in the editor: \fBgradwire\fR, then Ctrl+F1.",
        r"\fBgradwire \-\-install\-completion\fR sets up completion for your shell.",
    ]
    return "\n".join(parts) + "\n"


def _paragraphs(text: str) -> list[str]:
    said = (" ".join(each.split()) for each in text.replace("\b", "").split("\n\n"))
    return "\n.PP\n".join(_text(each) for each in said).split("\n")


def _options(command: Any) -> list[str]:
    lines = []
    for each in command.params:
        names = [name for name in (*each.opts, *each.secondary_opts) if name.startswith("-")]
        if names and not names[0].endswith("completion"):  # typer's own words
            shown = ", ".join(rf"\fB{_text(name)}\fR" for name in names)
            value = "" if each.is_flag else rf" \fI{_text(_metavar(each))}\fR"
            lines += [".TP", shown + value, _text(" ".join((each.help or "").split()))]
    return lines


def _metavar(parameter: Any) -> str:
    word = (parameter.metavar or parameter.name.upper()).strip("[]")
    return f"{word}..." if parameter.nargs == -1 else word


def _text(text: str) -> str:
    """Text in which nothing is a request or an escape, and a hyphen can be copied."""
    text = text.replace("\\", r"\e").replace("-", r"\-")
    return rf"\&{text}" if text.startswith((".", "'")) else text


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
