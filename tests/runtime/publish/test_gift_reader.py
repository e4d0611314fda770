"""The reader of GIFT that quizzes are compared with: all of what it knows, and nothing else."""

from __future__ import annotations

import pytest

from tests.runtime.publish.gift_reader import Answer, Malformed, Question, read_gift

EVERYTHING = r"""
// A comment stands alone,
$CATEGORY: course/and//or

// or in a question.
::A title\: escaped::[markdown]Which \{braces\}\nare \= \~ \# \\n?{
  // Another comment.
  =both # [so] it is
  ~%-33.5%[html]none#
  ~ neither
  ####In general\: both.
}

Which year?{#1822:5}

How much?{#
  =3.14:0.01#Right.
  =%50%3:1e-1 # Near.
}
"""


def test_all_that_it_knows_is_read():
    assert read_gift(EVERYTHING) == [
        Question(
            ("course", "and/or"), "A title: escaped", "markdown", "Which {braces}\nare = ~ # \\n?",
            (
                Answer("both", 100, "[so] it is"), Answer("none", -33.5, ""),
                Answer("neither", 0, ""),
            ),
            "In general: both.",
        ),
        Question(("course", "and/or"), "", "", "Which year?", (Answer("1822", 100, "", 5),), ""),
        Question(
            ("course", "and/or"), "", "", "How much?",
            (Answer("3.14", 100, "Right.", 0.01), Answer("3", 50, "Near.", 0.1)),
            "",
        ),
    ]  # fmt: skip


def test_weights_may_make_up_a_right_answer():
    (found,) = read_gift("Which?{~%50%a ~%50%b ~%-100%c}")
    assert [each.percentage for each in found.answers] == [50, 50, -100]


@pytest.mark.sampled(one_in=3)
@pytest.mark.parametrize(
    "text",
    [
        "A question without answers?",
        "Which?{}",
        "{=a ~b}",
        "Which?{=a ~b",
        "Which?{=a ~b}}",
        "Which?{=a ~b} More?",
        "Which?{a =b}",
        "Which?{= ~b}",
        "Which?{~a ~b}",
        "Which?{~%50%a ~%40%b}",
        "Which?{=a#one#two ~b}",
        "Which?{=a:b ~c}",
        "Which?{=a\\b ~c}",
        "Which?{=a ~{b}}",
        "Which = what?{=a ~b}",
        "Which: this?{=a ~b}",
        "Which?\n\n{=a ~b}",
        "::Title:Which?{=a ~b}",
        "Which ends with a \\{=a ~b}",
        "$CATEGORY:",
        "$CATEGORY: a\nWhich?{=a ~b}",
        "How much?{#}",
        "How much?{#many}",
        "How much?{#3:some}",
        "How much?{#=3 ~4}",
    ],
)
def test_what_is_malformed_is_refused(text):
    with pytest.raises(Malformed):
        read_gift(text)
