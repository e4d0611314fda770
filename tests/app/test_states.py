"""What every state needs in the editor; where one lacks it, the message says what to add."""

import pytest

from gradwire.app.evaluation.evaluator import evaluate
from gradwire.app.services.theme import THEMES
from gradwire.runtime.flow import State
from gradwire.runtime.flow.words.states import ColourRole
from tests.app.canvas.paint.test_gallery import SAMPLES
from tests.app.gallery import states
from tests.together import together

each = pytest.mark.parametrize("state", State)


@pytest.fixture(scope="module")
def gallery():
    return evaluate(states())


@together("theme", THEMES.values(), ids=lambda theme: theme.name)
@together("role", ColourRole)
def test_every_role_has_a_colour_in_every_theme(role, theme):
    assert role in theme.lanes, (
        f"Add ColourRole.{role.name} to lanes of the theme {theme.name} in app/services/theme.py."
    )


@each
def test_it_is_in_the_gallery(state, gallery):
    assert state in SAMPLES, (
        f"Add a chain with a wire that is {state} to tests/app/gallery.py, and the wire's key to "
        "SAMPLES in tests/app/canvas/paint/test_gallery.py."
    )
    assert gallery.states[SAMPLES[state]] is state


@each
def test_it_has_a_sentence(state, gallery):
    verdict = gallery.verdict(SAMPLES[state])
    assert verdict is not None
    assert verdict.sentence, (
        f"Give State.{state.name} a sentence: in its row in runtime/flow/words/states.py, or a "
        "case of its own in runtime/flow/words/numeric_sentences.py."
    )
