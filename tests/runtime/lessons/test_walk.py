"""The player: steps, texts, hidden controls, hints, answers, goals, and going back."""

from __future__ import annotations

from dataclasses import replace

import pytest

from gradwire.blocks.errors import RunError
from gradwire.runtime.diagram import AddBlock, Diagram, apply
from gradwire.runtime.diagram.edits.changes import SetParameters
from gradwire.runtime.flow.tools.interventions import CutWire, change_of
from gradwire.runtime.lessons.answers import Answer, AnswerError
from gradwire.runtime.lessons.expressions.grammar import ConditionError
from gradwire.runtime.lessons.setting import variation
from gradwire.runtime.lessons.walk import Walk
from tests.runtime.diagram.drawing import make
from tests.runtime.lessons.lessons import plain, taught, with_step


def at(index, seed=0):
    walk = Walk(taught(), seed)
    for _ in range(index):
        walk.advance()
    return walk


def cut(diagram: Diagram) -> Diagram:
    return apply(diagram, change_of(diagram, [CutWire("mul1.a")])).after


def test_the_whole_lesson_answered_right():
    walk = Walk(taught())
    assert walk.text() == "The product is 6. {Braces}} stay."
    assert walk.hidden == {"gradients", "states", "values"}
    assert walk.is_done and walk.advance()
    assert walk.hidden == {"gradients", "states"}
    assert not walk.is_done
    assert walk.answer(Answer(text="2")).points == 4
    assert walk.after() == "It is 2."
    assert walk.hidden == {"states"}
    walk.advance()
    painted = walk.answer(Answer(painted={"mul1.a": "CARRIES", "mul1.b": "STOPPED"}))
    assert (painted.points, painted.right) == (4, True)
    walk.advance()
    assert [goal.met for goal in walk.goals()] == [False, False]
    assert not walk.answer(Answer(values={"x": 10})).right
    assert walk.answer(Answer(values={"x": 10}, open={"sg": True})).right
    assert [goal.met for goal in walk.goals()] == [True, True]
    walk.advance()
    assert not walk.answer(Answer(diagram=walk.diagram)).right
    assert walk.answer(Answer(diagram=cut(walk.diagram))).points == 4
    walk.advance()
    assert walk.options() == ["The value 30.", "The gradient."]
    assert walk.answer(Answer(option=1)).right
    assert walk.is_last and not walk.advance()
    assert [walk.outcomes[i].points for i in sorted(walk.outcomes)] == [4] * 5


def test_a_wrong_answer_names_the_misconception_with_the_author_s_own_words():
    outcome = at(1).answer(Answer(text="3"))
    assert outcome.misconception == "its own value"
    assert outcome.feedback == "No: x is 2."
    assert (outcome.yours, outcome.actual, outcome.place) == ("3", "2", "mul1")


@pytest.mark.parametrize(
    ("asked", "answer", "text", "name"),
    [
        ({"gradient": "w"}, "value('x') / 4", "0.5", "shared"),
        ({"gradient": "w"}, "value('w')", "3", "shared"),  # before "its own value"
        ({"gradient": "w"}, "-grad('w')", "-2", "shared"),
        ({"gradient": "x"}, "0", "0", "shared"),
        ({"gradient": "w"}, "None", "None", "shared"),
        ({"gradient": "w", "answer": "decade"}, "20 * grad('w')", "1e1", "shared"),
        ({"gradient": "w", "answer": "sign"}, "-grad('w')", "-", "shared"),
        ({"value": "mul1"}, "value('w') + value('x')", "5", "shared"),
        ({"value": "mul1"}, "value('w') + value('x')", "4.5", ""),
    ],
)
def test_a_wrong_answer_of_the_author_has_his_feedback(asked, answer, text, name):
    wrong = {"answer": answer, "name": "shared", "feedback": "Not {value('w')}."}
    walk = Walk(with_step(do="predict", wrong=[wrong], **asked))
    outcome = walk.answer(Answer(text=text))
    assert not outcome.right
    assert outcome.misconception == name
    assert (outcome.feedback == "Not 3.") == (name == "shared")


def test_a_wrong_answer_of_the_author_has_to_be_a_number():
    wrong = {"answer": "state('mul1.a')", "name": "a word"}
    walk = Walk(with_step(do="predict", gradient="w", wrong=[wrong]))
    with pytest.raises(ConditionError, match="A wrong answer is a number or None"):
        walk.answer(Answer(text="7"))


def test_a_prediction_is_committed_once_and_a_refused_answer_is_not_taken():
    walk = at(1)
    with pytest.raises(AnswerError, match="no answer to the question"):
        walk.answer(Answer(text="two"))
    walk.answer(Answer(text="3"))
    with pytest.raises(AnswerError, match="answered already"):
        walk.answer(Answer(text="2"))


@pytest.mark.parametrize(
    ("index", "answer", "message"),
    [
        (0, Answer(text="1"), "This step asks nothing."),
        (1, Answer(option=1), "another kind of step"),
        (1, Answer(), "another kind of step"),
        (2, Answer(text="CARRIES"), "another kind of step"),
        (2, Answer(painted={"sg.x": "ZERO"}), "sg.x is not asked for."),
        (2, Answer(painted={"mul1.a": "FROZEN"}), "FROZEN is not offered."),
        (3, Answer(values={"w": 1}), "w is not to be changed in this step."),
        (3, Answer(values={"x": [1, 2]}, text="1"), "another kind of step"),
        (3, Answer(open={"x": True}), "'x' can't be set so."),
        (3, Answer(values={"sg": 1}), "'sg' can't be set so."),
        (4, Answer(values={"x": 1}), "another kind of step"),
        (5, Answer(option=2), "There is no such option. Expected 0 to 1, got 2."),
    ],
)
def test_what_is_no_answer(index, answer, message):
    walk = at(index)
    with pytest.raises(AnswerError) as caught:
        walk.answer(answer)
    assert message in str(caught.value)
    assert walk.index not in walk.outcomes


def test_what_was_not_met_does_not_stay():
    walk = at(3)
    walk.answer(Answer(values={"x": 5}))
    walk.advance()
    assert walk.diagram == at(4).diagram


def test_values_are_kept_for_later_steps_and_going_back_shows_them_again():
    walk = at(3)
    before = walk.diagram
    walk.answer(Answer(values={"x": 10}, open={"sg": True}))
    changed = walk.diagram
    walk.advance()
    assert walk.diagram is changed
    walk.back()
    assert (walk.index, walk.diagram) == (3, changed)
    assert walk.is_done
    walk.back()
    assert walk.diagram == before
    while walk.back():
        pass
    assert walk.index == 0 and not walk.back()


def test_a_task_is_not_changed_under_later_answers():
    walk = at(4)
    walk.answer(Answer(diagram=cut(walk.diagram)))
    walk.back()
    with pytest.raises(AnswerError, match="Later steps are answered already"):
        walk.answer(Answer(values={"x": 10}, open={"sg": True}))


def test_the_editor_may_hand_over_its_diagram_as_a_change():
    walk = at(3)
    edited = apply(walk.diagram, SetParameters("x", {"value": 10.0})).after
    assert not walk.answer(Answer(diagram=edited)).right
    both = apply(edited, SetParameters("sg", {"open": True})).after
    assert walk.answer(Answer(diagram=both)).right
    walk = at(3)
    more = apply(both, AddBlock("more", make("Variable"))).after
    with pytest.raises(RunError, match="Only values of sources and stops"):
        walk.answer(Answer(diagram=more))


def test_a_drawing_that_can_not_run_meets_no_goal():
    walk = at(4)
    broken = apply(walk.diagram, SetParameters("w", {"value": [1.0, 2.0]})).after
    outcome = walk.answer(Answer(diagram=replace(broken, lesson=None)))
    assert (outcome.points, outcome.right) == (0, False)
    assert outcome.feedback


def test_a_huge_drawing_is_refused():
    walk = at(4)
    huge = apply(walk.diagram, AddBlock("big", make("Variable", shape=[9000, 9000]))).after
    with pytest.raises(AnswerError, match="computes too many numbers"):
        walk.answer(Answer(diagram=huge))


def test_hints_are_counted():
    walk = at(1)
    assert [walk.hint() for _ in range(4)] == [
        "Look at mul1.", "The other factor is 2.", "So it is that.", None,
    ]  # fmt: skip
    assert walk.hints_taken == 3


def test_a_seed_chooses_other_numbers_and_0_none():
    lesson = taught().lesson
    assert variation(lesson, 0) == {}
    found = {tuple(variation(lesson, seed).values()) for seed in range(1, 60)}
    assert found == {(w, x) for w in (2, 3, 5) for x in (4, 7)}
    walk = at(1, seed=1)
    numbers = variation(lesson, 1)
    assert walk.answer(Answer(text=str(numbers["x"]))).right
    for seed in (-1, 2**32):
        with pytest.raises(RunError, match="out of range"):
            Walk(taught(), seed)


def test_setup_holds_on_and_later_steps_may_change_it():
    steps = [
        {"do": "show", "setup": {"w": 7, "sg": "open"}, "text": "{value('w')} {grad('x')}"},
        {"do": "show", "text": "{value('w')}"},
        {"do": "show", "setup": {"sg": "closed"}, "text": "{value('w')} {grad('x')}"},
    ]
    walk, texts = Walk(taught(steps=steps, vary={})), []
    while True:
        texts.append(walk.text())
        if not walk.advance():
            break
    assert texts == ["7 7", "7", "7 None"]


def test_a_diagram_without_a_lesson_is_not_played():
    with pytest.raises(RunError, match="has no lesson"):
        Walk(plain())
    with pytest.raises(RunError, match="has no steps"):
        Walk(taught(steps=[], vary={}))


def test_a_transfer_question_has_one_right_option():
    options = [{"text": "a", "holds": "1 > 0"}, {"text": "b", "holds": "2 > 0"}]
    with pytest.raises(RunError, match="one option that holds, got 2"):
        Walk(with_step(do="check", options=options)).answer(Answer(option=0))


@pytest.mark.parametrize(("hidden", "told"), [([], "of `w` is 2."), (["gradients"], "")])
def test_a_goal_that_is_not_met_tells_no_number_that_is_hidden(hidden, told):
    step = {"do": "change", "goals": ["grad('w') == 10"]}
    walk = Walk(taught(hide=hidden, steps=[step]))
    outcome = walk.answer(Answer(values={"x": 2.0}))
    assert not outcome.right and told in outcome.feedback
    assert bool(outcome.feedback) == bool(told)
