"""What every state needs; where one lacks something, the message says what to add."""

from dataclasses import fields
from pathlib import Path
from string import Formatter

import pytest

from gradwire.runtime.flow import State, Thresholds
from gradwire.runtime.flow.numbers.rules import RULES
from gradwire.runtime.flow.words.sentences import by_loss
from gradwire.runtime.flow.words.states import PASSING, STATES, best

TABLE = "runtime/flow/words/states.py"
RULES_FILE = "runtime/flow/numbers/rules.py"

each = pytest.mark.parametrize("state", State)


def placeholders(text: str) -> set[str]:
    return {name for _, name, _, _ in Formatter().parse(text) if name}


@each
def test_it_has_a_row(state):
    assert state in STATES, f"Add a row for State.{state.name} to STATES in {TABLE}."


@each
@pytest.mark.parametrize("words", ["title", "legend", "spoken"])
def test_it_has_words(state, words):
    text = getattr(STATES[state], words)
    assert text, f"Give State.{state.name} a {words} in its row in {TABLE}."


@each
def test_a_numeric_state_has_one_rule_and_others_have_none(state):
    count = sum(rule.state is state for rule in RULES)
    if STATES[state].numeric:
        assert count == 1, (
            f"State.{state.name} is numeric: add Rule(State.{state.name}, …) to RULES in "
            f"{RULES_FILE}, before the rules that it takes precedence over; it has {count}."
        )
    else:
        assert count == 0, f"State.{state.name} has a rule, so its row needs numeric=True."


@each
def test_a_numeric_state_passes_gradient(state):
    row = STATES[state]
    assert not row.numeric or row.passes, f"State.{state.name} is numeric: leave its rank at 0."


@each
def test_its_placeholders_are_known(state):
    row = STATES[state]
    known = {field.name for field in fields(Thresholds)}
    unknown = placeholders(row.legend) - known
    assert not unknown, f"Add {unknown} to Thresholds in {RULES_FILE}; the legend of {state} asks."
    assert placeholders(row.label) <= {"rms", "zeros"}, f"The label of {state} in {TABLE}."
    assert placeholders(row.sentence) <= {"rms", "peak", "zeros", "total"}, (
        f"The sentence of {state} in {TABLE}."
    )


@each
def test_what_is_of_concern_has_a_sign_for_pages(state):
    row = STATES[state]
    assert bool(row.concern) == bool(row.sign), (
        f"Give State.{state.name} both a sign and a concern in {TABLE}, or neither."
    )


@each
def test_its_lane_has_a_mark_besides_its_line(state):
    row = STATES[state]
    plain = state in (State.CARRIES, State.NOTHING_TO_TRAIN)
    assert plain or row.glyph or row.cut or row.label, (
        f"Give State.{state.name} a glyph, a cut or a label in {TABLE}."
    )


@each
def test_it_is_in_the_manual(state):
    page = Path(__file__).parents[4] / "assets" / "manual" / "states.md"
    assert f"| {state.value} |" in page.read_text(encoding="utf-8"), (
        f"Add a row for {state.value} to the tables of assets/manual/states.md."
    )


def test_of_several_losses_the_best_state_is_shown():
    order = [
        State.CARRIES, State.FROZEN, State.STOPPED, State.NO_RULE, State.NOTHING_TO_TRAIN,
        State.OFF_ROUTE, State.UNKNOWN,
    ]  # fmt: skip
    assert sorted(order, key=lambda state: state.row.rank) == order
    assert best(reversed(order)) is State.CARRIES
    assert best([], State.FROZEN) is State.FROZEN


def test_gradient_passes_in_carries_and_what_refines_it():
    assert {State.CARRIES, *(state for state in State if state.row.numeric)} == PASSING


def test_complaints_are_ranked():
    ranked = [State.NONFINITE, State.STOPPED, State.ZERO, State.EXPLODING, State.VANISHING]
    found = [state.row.complaint.gravity for state in ranked]
    assert found == sorted(found)
    assert [s for s in State if s.row.complaint and s.row.complaint.is_error] == [State.NONFINITE]


@pytest.mark.parametrize(
    ("state", "rms", "zeros", "label"),
    [
        (State.ZERO, "0", "100 %", "0"),
        (State.PARTIAL, "1", "37 %", "37 %"),
        (State.VANISHING, "10⁻⁸", "", "▽ 10⁻⁸"),
        (State.EXPLODING, "", "", "▲"),
        (State.STOPPED, "1", "", ""),
    ],
)
def test_labels_have_numbers(state, rms, zeros, label):
    assert state.row.label_of(rms=rms, zeros=zeros) == label


def test_states_by_loss_are_grouped_and_said_only_where_they_differ():
    states = {"D": State.STOPPED, "G": State.CARRIES, "E": State.STOPPED}
    assert by_loss(states) == "G: carries gradient; D and E: stopped."
    assert by_loss({"D": State.STOPPED, "E": State.STOPPED}) == ""
    assert by_loss({}) == ""


def test_older_names_are_read_and_not_listed():
    assert State.FLOOD is State("FLOOD") is State.EXPLODING
    assert State.FAINT is State("FAINT") is State.VANISHING
    assert not {"FLOOD", "FAINT"} & {state.name for state in State}
    with pytest.raises(ValueError, match="DRAUGHT"):
        State("DRAUGHT")
    assert Thresholds(flood=3.0, faint_relative=0.5) == Thresholds(
        exploding=3.0, vanishing_relative=0.5
    )
    assert Thresholds(0.3, vanishing=2.0).faint == 2.0
    with pytest.raises(TypeError, match="older name"):
        Thresholds(flood=1.0, exploding=2.0)
    with pytest.raises(TypeError, match="drought"):
        Thresholds(drought=1.0)
    with pytest.raises(AttributeError, match="no 'drought'"):
        _ = Thresholds().drought
