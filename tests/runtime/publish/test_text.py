"""Numbers and tables as people read them."""

from __future__ import annotations

import io
from xml.etree import ElementTree

import numpy as np
import pytest

from gradwire.runtime.publish.printable import one_line, visible, xml_text
from gradwire.runtime.publish.text import WRITTEN_OUT, TextTable, array_text, plain, show


@pytest.mark.parametrize(
    ("array", "text"),
    [
        (np.float32(0.1), "0.1"),
        (np.array([[1, 2]]), "[[1, 2]]"),
        (np.array([[1.0, 2.5e-9]]), "[[1, 2.5e-09]]"),
        (np.array([np.nan, np.inf, -np.inf]), "[nan, inf, -inf]"),
        (np.array([True, False]), "[true, false]"),
        (np.zeros((0, 3)), "[]"),
        (np.uint64(2**64 - 1), "18446744073709551615"),
    ],
)
def test_small_arrays_are_written_out(array, text):
    assert array_text(np.asarray(array)) == text


def test_a_large_array_is_summed_up():
    array = np.arange(66, dtype=np.float32)
    assert array_text(array) == "66 numbers from 0 to 65, mean 32.5"
    array[0] = np.nan
    assert array_text(array) == "66 numbers from 1 to 65, mean 33, 1 not finite"
    assert array_text(np.full(70, np.inf)) == "70 numbers, 70 not finite"
    assert array_text(np.arange(70) < 3) == "70 booleans, 3 true"


def test_an_array_at_the_limit_is_written_out():
    assert array_text(np.ones(WRITTEN_OUT)).count("1") == WRITTEN_OUT


def test_columns_are_aligned_and_never_cut():
    long = "x" * 500
    text = plain(["head", TextTable("T", ("a", "value"), (("one", "1"), ("b", long)))])
    assert text == f"head\n\nT\na    value\none  1\nb    {long}\n"


def test_a_cell_stays_on_its_line():
    assert plain([TextTable("", ("a",), (("two\nlines",),))]) == "a\ntwo lines\n"


def test_an_empty_table_shows_its_headings():
    assert plain([TextTable("T", ("a", "b"), ())]) == "T\na  b\n"


class Terminal(io.StringIO):
    """A stream that says it is a terminal."""

    def isatty(self) -> bool:
        return True


PARTS = ["[bold]loss[/bold] = 1", TextTable("Wires", ("to", "state"), (("a.x", "CARRIES"),))]


def test_a_terminal_gets_rules_and_colours(monkeypatch):
    monkeypatch.setenv("TERM", "xterm-256color")
    monkeypatch.delenv("NO_COLOR", raising=False)
    terminal = Terminal()
    show(PARTS, terminal)
    assert "─" in terminal.getvalue() and "\x1b[" in terminal.getvalue()
    assert "[bold]loss[/bold] = 1" in terminal.getvalue()  # nothing typed by a user is markup


@pytest.mark.parametrize(("stream", "term"), [(io.StringIO(), "xterm"), (Terminal(), "dumb")])
def test_elsewhere_it_is_plain(monkeypatch, stream, term):
    monkeypatch.setenv("TERM", term)
    show(PARTS, stream)
    assert stream.getvalue() == plain(PARTS)
    assert "─" not in stream.getvalue() and "\x1b" not in stream.getvalue()


def test_a_narrow_terminal_folds_and_loses_nothing(monkeypatch):
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "30")
    terminal = Terminal()
    show([TextTable("", ("n", "value"), (("a", "0123456789" * 10),))], terminal)
    assert sum(c.isdigit() for c in terminal.getvalue() if c != "\x1b") >= 100


NASTY = "a\x1b[31mb\x07\r\x9bc\x7f\u202ed\ud800e\ufffe"
"""A colour, a bell, a return, a second introducer, a delete, a turn of direction, a surrogate."""


def test_no_character_has_power_over_a_terminal():
    assert visible(NASTY) == "a␛[31mb␇␍\ufffdc␡\ufffdd\ufffde\ufffd"
    assert visible("α ↛ ▽\n½") == "α ↛ ▽\n½"
    assert one_line("a\nb") == "a␊b"


@pytest.mark.parametrize("terminal", [False, True])
def test_what_is_shown_has_no_control_characters(terminal, monkeypatch):
    stream = io.StringIO()
    monkeypatch.setattr(stream, "isatty", lambda: terminal)
    monkeypatch.setenv("NO_COLOR", "1")
    monkeypatch.setenv("TERM", "vt100")
    show([NASTY, TextTable(f"title {NASTY}", ("port",), ((NASTY,),))], stream)
    assert stream.getvalue().count("␛[31mb") == 3
    assert not set(stream.getvalue()) & set("\x07\r\x9b\x7f\u202e\ud800")


def test_any_text_may_stand_in_xml():
    read = ElementTree.fromstring(f"<t>{xml_text(NASTY)}</t>")
    assert read.text == "a␛[31mb␇\n\x9bc\x7f\u202ed\ufffde\ufffd"
