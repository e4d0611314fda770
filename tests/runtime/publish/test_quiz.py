"""Quizzes as platforms read them: nothing in a text means anything to the format."""

from __future__ import annotations

from xml.etree import ElementTree

import pytest

from gradwire.runtime.engine import Session
from gradwire.runtime.lessons.quiz.asking import quiz
from gradwire.runtime.lessons.quiz.question import Kind, Option, Question
from gradwire.runtime.publish.quiz import aiken, gift, moodle, said, with_values
from tests.examples.gallery import diagram
from tests.runtime.publish.gift_reader import read_gift

NASTY = (
    "a = c ~ d # e : f \\ g",
    "</text>]]> & \"q\" 'r' <script>",
    "// $CATEGORY: x ::t:: // =%50%",
    "{a} stray } and { brace",
    "ends with a \\",
)
EXAMPLES = ("fan_out", "gan", "straight_through")


def nasty(text):
    """A question whose every text is this one."""
    options = (Option(f"right {text}", "Right."), Option(f"wrong {text}", text, text),
               Option("0", "It is not.", "sign"))  # fmt: skip
    return Question(Kind.GRADIENT, text, f"What is {text}?", {text: "−3"}, options)


def expected(question):
    answers = [(o.text, 100 if o.is_right else 0, said(o)) for o in question.options]
    return with_values(question), answers


def assert_read_back(title, asked):
    """An independent reader of GIFT finds every question with its answers and feedback."""
    found = read_gift(gift(title, asked))
    for number, (each, question) in enumerate(zip(found, asked, strict=True), 1):
        answers = [(a.text, a.percentage, a.feedback) for a in each.answers]
        assert (each.text, answers) == expected(question)
        assert (each.category, each.format, each.feedback) == ((title,), "plain", "")
        assert each.title == f"{number} {question.kind} {question.place}"


@pytest.mark.parametrize("name", EXAMPLES)
def test_another_reader_of_gift_finds_every_question(name):
    assert_read_back(name, quiz(Session(diagram(name)), 12, 3))


@pytest.mark.parametrize("text", NASTY)
def test_another_reader_of_gift_finds_what_means_something_to_gift(text):
    assert_read_back(text, [nasty(text)])


@pytest.mark.parametrize("write", [lambda a: gift("t", a), aiken, lambda a: moodle("t", a)])
def test_line_breaks_and_controls_begin_nothing_new(write):
    asked = [nasty("two\nlines\r\n\nANSWER: B\x00\x1b[2J\u2028")]
    plain = [nasty("two")]
    assert write(asked).count("\n") == write(plain).count("\n")
    assert not set(write(asked)) & {"\x00", "\x1b", "\r", "\u2028"}


@pytest.mark.parametrize("name", EXAMPLES)
def test_moodle_and_aiken_have_every_question(name):
    asked = quiz(Session(diagram(name)), 12, 3)
    root = ElementTree.fromstring(moodle(name, asked))
    multiple = root.findall("question[@type='multichoice']")
    blocks = aiken(asked).strip().split("\n\n")
    for each, block, question in zip(multiple, blocks, asked, strict=True):
        answers = [
            (a.findtext("text"), float(a.get("fraction")), a.findtext("feedback/text"))
            for a in each.findall("answer")
        ]
        assert (each.findtext("questiontext/text"), answers) == expected(question)
        lines = block.split("\n")
        assert lines[0] == with_values(question)
        assert [line[3:] for line in lines[1:-1]] == [o.text for o in question.options]
        assert lines[-1] == "ANSWER: " + "ABCD"[question.answer]


@pytest.mark.parametrize("text", NASTY)
def test_xml_has_what_means_something_to_xml(text):
    (each,) = ElementTree.fromstring(moodle("", [nasty(text)]))
    assert each.findtext("questiontext/text") == with_values(nasty(text))
