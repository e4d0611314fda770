"""Outcomes as they are written and spoken."""

import pytest
from PySide6.QtWidgets import QLabel

from gradwire.app.panels.lessons.player import OutcomeRow, Outcomes, to_html
from gradwire.runtime.lessons.texts import unmarked


@pytest.fixture
def outcomes(qtbot):
    made = Outcomes()
    qtbot.addWidget(made)
    return made


def test_feedback_has_the_marks_of_lessons_and_no_html(outcomes):
    outcomes.show_rows([OutcomeRow("w", "1", "2", 0, False, "", "Take **all** of `w²` <b>.")])
    shown = "".join(label.text() for label in outcomes.findChildren(QLabel))
    assert "Take <b>all</b> of <code>w²</code> &lt;b&gt;." in shown
    assert outcomes.text() == "✗ w: yours 1, actual 2. Take all of w² <b>."


def test_texts_of_lessons_are_paragraphs():
    assert to_html("One\ntwo.\n\n`a<b`") == "<p>One two.</p><p><code>a&lt;b</code></p>"
    assert unmarked("**a** and `b`") == "a and b"
