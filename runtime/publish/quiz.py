"""Quizzes in the formats that learning platforms import: GIFT, Aiken, and Moodle's XML."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING
from xml.etree import ElementTree

from gradwire.runtime.publish.printable import one_line

if TYPE_CHECKING:
    from gradwire.runtime.lessons.quiz.question import Option, Question

LETTERS = "ABCD"
_SPECIAL = re.compile(r"([\\~=#{}:])")


def with_values(question: Question) -> str:
    """The text of a question with the values that belong to it."""
    values = ", ".join(f"{name} = {value}" for name, value in question.values.items())
    return f"{question.text} ({values})" if values else question.text


def gift(title: str, questions: Sequence[Question]) -> str:
    """In Moodle's GIFT, with feedback to every answer. A category has the title of the diagram."""
    parts = [f"$CATEGORY: {_category(title)}"] if title else []
    for number, question in enumerate(questions, 1):
        options = [_gift_option(option) for option in question.options]
        name = _escaped(f"{number} {question.kind} {question.place}")
        text = _escaped(with_values(question))
        parts.append("\n".join([f"::{name}::[plain]{text}{{", *options, "}"]))
    return "\n\n".join(parts) + "\n"


def _gift_option(option: Option) -> str:
    mark = "=" if option.is_right else "~"
    return f"{mark}{_escaped(option.text)}#{_escaped(said(option))}"


def _escaped(text: str) -> str:
    """A text in which nothing means anything to GIFT: one line, special characters escaped."""
    return _SPECIAL.sub(r"\\\1", one_line(text))


def _category(title: str) -> str:
    """A title as a category: slashes, which lead to one inside another, are doubled."""
    return one_line(title).replace("/", "//")


def aiken(questions: Sequence[Question]) -> str:
    """In the Aiken format, which has no feedback."""
    parts = []
    for question in questions:
        options = zip(LETTERS, question.options, strict=False)
        lines = [f"{letter}. {one_line(option.text)}" for letter, option in options]
        answer = f"ANSWER: {LETTERS[question.answer]}"
        parts.append("\n".join([one_line(with_values(question)), *lines, answer]))
    return "\n\n".join(parts) + "\n"


def moodle(title: str, questions: Sequence[Question]) -> str:
    """In Moodle's XML, with feedback to every answer."""
    root = ElementTree.Element("quiz")
    if title:
        category = ElementTree.SubElement(root, "question", type="category")
        _text(category, "category", f"$course$/top/{_category(title)}")
    for number, question in enumerate(questions, 1):
        each = ElementTree.SubElement(root, "question", type="multichoice")
        _text(each, "name", f"{number} {question.kind} {question.place}")
        _text(each, "questiontext", with_values(question), format="plain_text")
        ElementTree.SubElement(each, "defaultgrade").text = "1"
        ElementTree.SubElement(each, "single").text = "true"
        ElementTree.SubElement(each, "shuffleanswers").text = "true"
        ElementTree.SubElement(each, "answernumbering").text = "abc"
        for option in question.options:
            fraction = "100" if option.is_right else "0"
            answer = _text(each, "answer", option.text, fraction=fraction, format="plain_text")
            _text(answer, "feedback", said(option), format="plain_text")
    ElementTree.indent(root)
    return f'<?xml version="1.0" encoding="UTF-8"?>\n{ElementTree.tostring(root, "unicode")}\n'


def _text(
    parent: ElementTree.Element, tag: str, text: str, **attributes: str
) -> ElementTree.Element:
    found = ElementTree.SubElement(parent, tag, attributes)
    ElementTree.SubElement(found, "text").text = one_line(text)
    return found


def said(option: Option) -> str:
    """What is said to who chose an option: the misconception by name, and what is so."""
    return option.feedback if option.is_right else f"{option.misconception}: {option.feedback}"


def report(file: str, seed: int, questions: Sequence[Question]) -> Mapping[str, object]:
    """As JSON, with the misconception behind every wrong answer."""
    return {
        "report": "quiz",
        "version": 2,
        "file": file,
        "seed": seed,
        "questions": [
            {
                "kind": str(question.kind),
                "place": str(question.place),
                "text": question.text,
                "values": dict(question.values),
                "answer": question.answer,
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
