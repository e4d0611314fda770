"""Quizzes as platforms read them: nothing in a text means anything to the format."""

from __future__ import annotations

import re
from base64 import b64decode
from html import unescape
from xml.etree import ElementTree

import numpy as np
import pytest

import gradwire as gw
from gradwire.blocks import Source
from gradwire.runtime.build import add, build, constant, loss, mul, variable
from gradwire.runtime.engine import Session
from gradwire.runtime.lessons.quiz.asking import quiz
from gradwire.runtime.lessons.quiz.question import AnswerOption, Question, QuestionKind
from gradwire.runtime.publish.quiz import QuestionDiagrams, aiken, gift, moodle, said, with_values
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
    options = (AnswerOption(f"right {text}", "Right."), AnswerOption(f"wrong {text}", text, text),
               AnswerOption("0", "It is not.", "sign"))  # fmt: skip
    return Question(QuestionKind.GRADIENT, text, f"What is {text}?", {text: "−3"}, options)


DIAGRAMS = {name: QuestionDiagrams(diagram(name)) for name in EXAMPLES}
FAN_OUT = DIAGRAMS["fan_out"]


def expected(question):
    options = [o for o in question.options if not question.is_numerical or o.number is not None]
    if question.is_numerical:
        options.sort(key=lambda option: not option.is_right)
    texts = [repr(o.number) if question.is_numerical else o.text for o in options]
    shares = [100 if o.is_right else 0 for o in options]
    return with_values(question), [*zip(texts, shares, map(said, options), strict=True)]


def plain(html):
    """The text of a question in HTML, and the addresses of its pictures."""
    text, images = html.removeprefix("<p>").split("</p>", 1)
    return unescape(text), [unescape(each) for each in re.findall(r'<img src="([^"]*)"', images)]


def assert_read_back(title, asked, diagrams=FAN_OUT):
    """An independent reader of GIFT finds every question with its answers and feedback."""
    found = read_gift(gift(title, asked, diagrams))
    for number, (each, question) in enumerate(zip(found, asked, strict=True), 1):
        answers = [(a.text, a.percentage, a.feedback) for a in each.answers]
        text, pictures = plain(each.text)
        assert (text, answers) == expected(question)
        assert (each.category, each.format, each.feedback) == ((title,), "html", "")
        assert each.title == f"{number} {question.kind} {question.place}"
        svgs = [b64decode(each.removeprefix("data:image/svg+xml;base64,")) for each in pictures]
        assert [svg.decode() for svg in svgs] == diagrams.svgs(question.values)
        assert all(ElementTree.fromstring(svg).tag.endswith("svg") for svg in svgs) and svgs
        tolerances = [a.tolerance for a in each.answers if question.is_numerical]
        assert tolerances == [
            abs(float(text)) / 100 or 0.01 for text, _, _ in answers if question.is_numerical
        ]


@pytest.mark.parametrize("name", EXAMPLES)
def test_another_reader_of_gift_finds_every_question(name):
    asked = quiz(Session(diagram(name)), 12, 3)
    assert_read_back(name, asked, DIAGRAMS[name])
    numbers = [question for question in asked if question.number is not None]
    assert {each.is_numerical for each in numbers} == ({True, False} if numbers else set())


@pytest.mark.parametrize("text", NASTY)
def test_another_reader_of_gift_finds_what_means_something_to_gift(text):
    assert_read_back(text, [nasty(text)])


@pytest.mark.parametrize(
    "write",
    [
        lambda a: gift("t", a, FAN_OUT),
        lambda a: aiken(a, FAN_OUT),
        lambda a: moodle("t", a, FAN_OUT),
    ],
)
def test_line_breaks_and_controls_begin_nothing_new(write):
    asked = [nasty("two\nlines\r\n\nANSWER: B\x00\x1b[2J\u2028")]
    plain = [nasty("two")]
    assert write(asked).count("\n") == write(plain).count("\n")
    assert not set(write(asked)) & {"\x00", "\x1b", "\r", "\u2028"}


@pytest.mark.parametrize("name", EXAMPLES)
def test_moodle_and_aiken_have_every_question(name):
    asked, diagrams = quiz(Session(diagram(name)), 12, 3), DIAGRAMS[name]
    found = ElementTree.fromstring(moodle(name, asked, diagrams)).findall("question")[1:]
    blocks = aiken(asked, diagrams).strip().split("\n\n")
    for each, block, question in zip(found, blocks, asked, strict=True):
        assert each.get("type") == ("numerical" if question.is_numerical else "multichoice")
        answers = [
            (a.findtext("text"), float(a.get("fraction")), a.findtext("feedback/text"))
            for a in each.findall("answer")
        ]
        text, pictures = plain(each.findtext("questiontext/text"))
        assert (text, answers) == expected(question)
        files = {file.get("name"): file.text for file in each.findall("questiontext/file")}
        assert [address.removeprefix("@@PLUGINFILE@@/") for address in pictures] == [*files]
        assert [b64decode(file).decode() for file in files.values()] == diagrams.svgs(
            question.values
        )
        lines = block.split("\n")
        assert lines[0].startswith(f"{with_values(question)} The diagram: ")
        assert [line[3:] for line in lines[1:-1]] == [o.text for o in question.options]
        assert lines[-1] == "ANSWER: " + "ABCD"[question.answer]


@pytest.mark.parametrize("text", NASTY)
def test_xml_has_what_means_something_to_xml(text):
    (each,) = ElementTree.fromstring(moodle("", [nasty(text)], FAN_OUT))
    assert plain(each.findtext("questiontext/text"))[0] == with_values(nasty(text))


@pytest.mark.parametrize("name", [*EXAMPLES, "em_stopped", "training_spirals"])
def test_a_question_about_a_number_states_all_that_it_follows_from(name):
    """Every source is in the words of the diagram, or among the values of the question."""
    session = Session(diagram(name))
    asked = [
        q for q in quiz(session, 30, 1) if q.kind in (QuestionKind.GRADIENT, QuestionKind.VALUE)
    ]
    stated = {line.split(" = ")[0]: line for line in QuestionDiagrams(diagram(name)).words()}
    for path, instance in session.program.instances.items():
        if isinstance(instance.block, Source) and asked:
            known = stated.get(path) or asked[0].values[path]
            assert "numbers," not in known and "(" not in known
    assert bool(asked) == (name != "training_spirals")


def test_a_picture_has_the_values_of_the_question_and_nothing_computed():
    (svg,) = FAN_OUT.svgs({"w": "77"})
    assert ">77<" in svg and ">loss<" in svg
    assert not {"∇", "role-"} & {*re.findall("∇|role-", svg)}
    assert len(re.findall('class="end"', svg)) == 1, "one face has a number"
    assert len(DIAGRAMS["gan"].svgs({})) == 3, "the main page, and two that it uses"


def test_the_diagram_in_words():
    assert FAN_OUT.words()[:3] == [
        "product = Mul(a: w, b: w)", "triple = Mul(a: 3, b: w)", "copy = StopGradient(w)",
    ]  # fmt: skip


def filtered():
    """Σ clip(w · c + [3, 4, …]) with constants that no face has room for."""
    w = variable("w", 2.0)
    c = constant("c", [0.25, 1.25, 2.25, 3.25, 4.25, 5.25, 6.25])
    shifted = add(mul(w, c, name="scaled"), np.arange(7.0) + 3.5, name="shifted")
    bent = gw.clip(shifted, min=-1.5, max=9.5)
    return build(loss(gw.formula(x=gw.sum(bent), expression=LONG)))


LONG = "x * 3.75 + exp(-x / 1000) - exp(-x / 2000) + 0.125"


@pytest.mark.parametrize("write", [gift, moodle])
def test_what_a_picture_has_no_room_for_is_in_words(write):
    made = filtered()
    asked = quiz(Session(made), 3, 1)
    text = write("", asked, QuestionDiagrams(made)).replace("\\", "")
    for part in ("c = [0.25, 1.25, 2.25, 3.25, 4.25, 5.25, 6.25]", "b: [3.5, 4.5, 5.5, 6.5, 7.5,",
                 "max=9.5, min=-1.5", LONG):  # fmt: skip
        assert text.count(part) == len(asked) == 3, part


def test_nothing_is_asked_that_follows_from_numbers_that_are_not_stated():
    few, many = (build(loss(gw.sum(mul(variable("w", 2.0), np.ones(size))))) for size in (16, 17))
    kinds = [{q.kind for q in quiz(Session(each), 30, 1)} for each in (few, many)]
    assert {QuestionKind.GRADIENT, QuestionKind.VALUE} & kinds[0] and not {
        QuestionKind.GRADIENT,
        QuestionKind.VALUE,
    } & kinds[1]
