"""Quizzes in the formats that learning platforms import: GIFT, Aiken, and Moodle's XML."""

from __future__ import annotations

import re
from base64 import b64encode
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cache
from html import escape
from typing import TYPE_CHECKING
from xml.etree import ElementTree

from gradwire.blocks.block import Source
from gradwire.blocks.values import Tensor
from gradwire.runtime.diagram.model import MAIN, own_ports
from gradwire.runtime.diagram.paths import InstancePath, PortName
from gradwire.runtime.engine.lowering import lower
from gradwire.runtime.flow.words.formatting import number
from gradwire.runtime.lessons.amounts import amount
from gradwire.runtime.lessons.quiz.numbers import stated
from gradwire.runtime.publish.living.drawn.picture import pictures
from gradwire.runtime.publish.living.drawn.svg import svg
from gradwire.runtime.publish.printable import one_line

if TYPE_CHECKING:
    from gradwire.blocks.block import Block
    from gradwire.runtime.diagram.model import Diagram, Page
    from gradwire.runtime.lessons.quiz.question import AnswerOption, Question


# The diagram of a question, as a picture and in words: its blocks, wires and sources, and nothing
# that is computed, so that it shows all that is needed for an answer, and no answer.

_LETTERS = 22
"""Characters that a line of a face has room for."""
_SHOWN = 400
"""Characters of a parameter that is written out: formulas have some."""


class QuestionDiagrams:
    """Pictures of one diagram for its questions, which differ by the values of its variables."""

    def __init__(self, diagram: Diagram) -> None:
        pages = {name: replace(page, notes={}) for name, page in diagram.pages.items()}
        self._diagram = replace(diagram, pages=pages)
        self._drawn = cache(lambda: pictures(self._diagram, lower(self._diagram)))

    def svgs(self, values: Mapping[str, str]) -> list[str]:
        """The main page as SVG, then the pages that it uses, with values of variables by path."""
        drawn = self._drawn()
        found: dict[str, str] = {}
        for use, page in drawn["uses"].items():
            if page not in found:
                title = self._diagram.title if page == MAIN else page
                shown = {**drawn, "uses": {"": page}}
                found[page] = svg(title, shown, {}, self._numbers(InstancePath(use), page, values))
        return [*found.values()]

    def words(self) -> list[str]:
        """A line for each block that is no source of a single value: ``mul1 = Mul(w, x)``."""
        return [
            f"{name if page == MAIN else InstancePath.of(page, name)} = {text}"
            for page, content in self._diagram.pages.items()
            for name, block in content.blocks.items()
            if (text := _words(content, name, block))
        ]

    def _numbers(
        self, use: InstancePath, page: str, values: Mapping[str, str]
    ) -> dict[str, Sequence[str]]:
        found: dict[str, Sequence[str]] = {}
        for name, block in self._diagram.pages[page].blocks.items():
            text = values.get(use / name) or _value(block)
            if text and len(text) <= _LETTERS:
                found[name] = [text]
        return found


def _value(block: Block) -> str:
    """The value that a source has by itself."""
    given = getattr(block, "value", None) if isinstance(block, Source) else None
    if not isinstance(given, Tensor):
        return ""
    return stated(given.array) or amount(given.array)


def _words(page: Page, name: str, block: Block) -> str:
    if isinstance(block, Source) and block.wants_gradient:
        return ""  # the question says what variables are
    if value := _value(block):
        return value
    return f"{type(block).type_name()}({', '.join(_arguments(page, name, block))})"


def _arguments(page: Page, name: str, block: Block) -> Iterator[str]:
    ports, literals = own_ports(page, name), block.literals
    several = len(ports.inputs) > 1
    for port in ports.inputs:
        source = page.wires.get(PortName(name, port))
        if source is not None:
            outputs = own_ports(page, source.block).outputs
            given = str(source) if len(outputs) > 1 else source.block
        elif port in literals:
            array = literals[port].array
            given = (stated(array) or amount(array)) if array.shape else number(array[()])
        else:
            continue
        yield f"{port}: {given}" if several and "." not in port else given
    record = block.to_record()
    for key in sorted(record.keys() - {"type", *ports.inputs, *literals}):
        text = str(record[key])
        yield f"{key}={text}" if len(text) <= _SHOWN else f"{key}=…"


LETTERS = "ABCD"
_TOLERANCE = 0.01
"""How far a typed number may be from the right one, as a share of it; of 0, by itself."""
_SPECIAL = re.compile(r"([\\~=#{}:])")


def with_values(question: Question) -> str:
    """The text of a question with the values that belong to it."""
    values = ", ".join(f"{name} = {value}" for name, value in question.values.items())
    return f"{question.text} ({values})" if values else question.text


def gift(title: str, questions: Sequence[Question], diagrams: QuestionDiagrams) -> str:
    """In Moodle's GIFT, with feedback to every answer and with pictures of the diagram. A category
    has the title of the diagram.
    """
    parts = [f"$CATEGORY: {_category(title)}"] if title else []
    for count, question in enumerate(questions, 1):
        options = [_gift_option(option, question) for option in _answers(question)]
        name = _escaped(f"{count} {question.kind} {question.place}")
        pictures = [
            f"data:image/svg+xml;base64,{_base64(svg)}" for svg in _svgs(question, diagrams)
        ]
        text = _escaped(_html(question, pictures, diagrams))
        begin = "{#" if question.is_numerical else "{"
        parts.append("\n".join([f"::{name}::[html]{text}{begin}", *options, "}"]))
    return "\n\n".join(parts) + "\n"


def _gift_option(option: AnswerOption, question: Question) -> str:
    said_of_it = _escaped(said(option))
    if question.is_numerical:
        weight = "" if option.is_right else "%0%"
        return f"={weight}{option.number!r}:{_tolerance(option)!r}#{said_of_it}"
    return f"{'=' if option.is_right else '~'}{_escaped(option.text)}#{said_of_it}"


def _answers(question: Question) -> Sequence[AnswerOption]:
    """The options that a format can have: numbers, the right one first, where one is typed."""
    if not question.is_numerical:
        return question.options
    numbers = (option for option in question.options if option.number is not None)
    return sorted(numbers, key=lambda option: not option.is_right)


def _tolerance(option: AnswerOption) -> float:
    """How far from a number one may be that is taken for it."""
    return _TOLERANCE * abs(option.number or 0.0) or _TOLERANCE


def _html(question: Question, addresses: Sequence[str], diagrams: QuestionDiagrams) -> str:
    """The text of a question, and its diagram as pictures, at these addresses, and in words: a
    picture has no room for parameters and for all numbers of an array.
    """
    images = (f'<p><img src="{escape(each)}" alt="The diagram"></p>' for each in addresses)
    words = escape(one_line(_in_words(diagrams)))
    text = escape(one_line(with_values(question)))
    return f"<p>{text}</p>{''.join(images)}<p>{words}</p>"


def _in_words(diagrams: QuestionDiagrams) -> str:
    return f"The diagram: {'; '.join(diagrams.words())}."


def _svgs(question: Question, diagrams: QuestionDiagrams) -> list[str]:
    return diagrams.svgs(question.values)


def _base64(svg: str) -> str:
    return b64encode(svg.encode()).decode()


def _escaped(text: str) -> str:
    """A text in which nothing means anything to GIFT: one line, special characters escaped."""
    return _SPECIAL.sub(r"\\\1", one_line(text))


def _category(title: str) -> str:
    """A title as a category: slashes, which lead to one inside another, are doubled."""
    return one_line(title).replace("/", "//")


def aiken(questions: Sequence[Question], diagrams: QuestionDiagrams) -> str:
    """In the Aiken format, which has no feedback, no pictures and no numbers to type; the diagram
    is in words.
    """
    parts = []
    for question in questions:
        options = zip(LETTERS, question.options, strict=False)
        lines = [f"{letter}. {one_line(option.text)}" for letter, option in options]
        answer = f"ANSWER: {LETTERS[question.answer]}"
        text = f"{with_values(question)} {_in_words(diagrams)}"
        parts.append("\n".join([one_line(text), *lines, answer]))
    return "\n\n".join(parts) + "\n"


def moodle(title: str, questions: Sequence[Question], diagrams: QuestionDiagrams) -> str:
    """In Moodle's XML, with feedback to every answer and with pictures of the diagram."""
    root = ElementTree.Element("quiz")
    if title:
        category = ElementTree.SubElement(root, "question", type="category")
        _text(category, "category", f"$course$/top/{_category(title)}")
    for count, question in enumerate(questions, 1):
        kind = "numerical" if question.is_numerical else "multichoice"
        each = ElementTree.SubElement(root, "question", type=kind)
        _text(each, "name", f"{count} {question.kind} {question.place}")
        svgs = _svgs(question, diagrams)
        names = [f"diagram{place}.svg" for place in range(len(svgs))]
        addresses = [f"@@PLUGINFILE@@/{name}" for name in names]
        html = _html(question, addresses, diagrams)
        asked = _text(each, "questiontext", html, format="html")
        for name, picture in zip(names, svgs, strict=True):
            file = ElementTree.SubElement(asked, "file", name=name, path="/", encoding="base64")
            file.text = _base64(picture)
        ElementTree.SubElement(each, "defaultgrade").text = "1"
        if not question.is_numerical:
            ElementTree.SubElement(each, "single").text = "true"
            ElementTree.SubElement(each, "shuffleanswers").text = "true"
            ElementTree.SubElement(each, "answernumbering").text = "abc"
        for option in _answers(question):
            fraction = "100" if option.is_right else "0"
            text = repr(option.number) if question.is_numerical else option.text
            answer = _text(each, "answer", text, fraction=fraction, format="plain_text")
            if question.is_numerical:
                ElementTree.SubElement(answer, "tolerance").text = repr(_tolerance(option))
            _text(answer, "feedback", said(option), format="plain_text")
    ElementTree.indent(root)
    return f'<?xml version="1.0" encoding="UTF-8"?>\n{ElementTree.tostring(root, "unicode")}\n'


def _text(
    parent: ElementTree.Element, tag: str, text: str, **attributes: str
) -> ElementTree.Element:
    found = ElementTree.SubElement(parent, tag, attributes)
    ElementTree.SubElement(found, "text").text = one_line(text)
    return found


def said(option: AnswerOption) -> str:
    """What is said to who chose an option: the misconception by name, and what is so."""
    return option.feedback if option.is_right else f"{option.misconception}: {option.feedback}"


def report(
    file: str, seed: int, questions: Sequence[Question], diagrams: QuestionDiagrams
) -> Mapping[str, object]:
    """As JSON, with the misconception behind every wrong answer, and the diagram of each question
    as SVG and in words.
    """
    return {
        "report": "quiz",
        "version": 4,
        "file": file,
        "seed": seed,
        "diagram": diagrams.words(),
        "questions": [
            {
                "kind": str(question.kind),
                "place": str(question.place),
                "text": question.text,
                "values": dict(question.values),
                "pictures": _svgs(question, diagrams),
                "answer": question.answer,
                "number": question.number,
                "is_numerical": question.is_numerical,
                "options": [
                    {
                        "text": option.text,
                        "misconception": option.misconception or None,
                        "feedback": option.feedback,
                    }
                    for option in question.options
                ],
            }
            for question in questions
        ],
    }
