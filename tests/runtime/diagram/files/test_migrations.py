from pathlib import Path

import pytest

from gradwire.blocks.errors import FileError
from gradwire.runtime.diagram import dumps, load, loads
from gradwire.runtime.diagram.files import migrations
from gradwire.runtime.engine import Session
from tests.runtime.diagram.drawing import seed

GOLDEN = Path(__file__).parent / "golden"
PAGES = GOLDEN / "version1_pages.gradwire.json"
STATES = GOLDEN / "version2_states.gradwire.json"


def test_an_older_file_takes_every_step(monkeypatch):
    """Pretend that a version 0 had a list of wires, and a version -1 had no pages."""

    def from_minus_1(document, notice):
        blocks, wires = document.pop("blocks"), document.pop("wires")
        return document | {"pages": {"main": {"blocks": blocks, "wires": wires}}}

    def from_0(document, notice):
        for page in document["pages"].values():
            page["wires"] = {target: source for source, target in page["wires"]}
        return document

    monkeypatch.setattr(migrations, "STEPS", migrations.STEPS | {-1: from_minus_1, 0: from_0})
    text = '{"gradwire": -1, "title": "Old", "blocks": {"a": {"type": "Variable"}, ' \
        '"stop": {"type": "StopGradient"}}, "wires": [["a.out", "stop.x"]]}'  # fmt: skip
    diagram = loads(text)
    assert diagram.title == "Old"
    assert '"gradwire": 3' in dumps(diagram)
    assert '"stop.x": "a.out"' in dumps(diagram)


def test_what_is_wrong_after_a_step_is_told_at_the_nearest_place(monkeypatch):
    monkeypatch.setattr(
        migrations, "STEPS", {0: lambda old, _: {"pages": {"main": old["page"]}}} | migrations.STEPS
    )
    with pytest.raises(FileError, match=r"^1:1: There is no field 'colour' here"):
        loads('{"gradwire": 0, "page": {"colour": 1}}')


@pytest.mark.parametrize(
    ("version", "message"),
    [
        (
            "4",
            "has version 4, which is newer than this Gradwire supports. Expected version 3 or "
            "older. Update",
        ),
        ("0", "There is no version 0."),
        ('"1"', "it has no version. Expected \"gradwire\": 3, got '1'."),
        ("true", "it has no version."),
        ("1.0", "it has no version."),
    ],
)
def test_versions_that_can_not_be_read(version, message):
    with pytest.raises(FileError) as caught:
        loads(f'{{"pages": {{}},\n"gradwire": {version}}}')
    assert message in str(caught.value)
    assert (caught.value.line, caught.value.column) == (2, 1)


def test_the_version_that_is_written_is_the_newest():
    assert f'"gradwire": {migrations.VERSION}' in dumps(seed())
    assert all(step < migrations.VERSION for step in migrations.STEPS)


def test_uses_of_version_1_keep_variables_of_their_own():
    """The numbers are those that version 1 gave."""
    heard = []
    diagram = load(PAGES, notice=heard.append)
    run = Session(diagram).backward()
    assert {name: float(g) for name, g in run.gradients.items()} == pytest.approx(
        {
            "v": 1.9226229,
            "once/w": 0.9613115,
            "one/p/w": 3.1091855,
            "one/q/w": -3.4167161,
            "two/p/w": -2.2803059,
            "two/q/w": -1.1506038,
        }
    )
    (text,) = heard
    assert "one on page main, two on page main, p on page twice, q on page twice." in text
    assert {
        (page, name)
        for page, content in diagram.pages.items()
        for name, block in content.blocks.items()
        if getattr(block, "independent", False)
    } == {("main", "one"), ("main", "two"), ("twice", "p"), ("twice", "q")}
    assert loads(dumps(diagram)) == diagram


def test_pages_without_variables_or_used_once_are_left_alone():
    heard = []
    text = dumps(load(PAGES, notice=heard.append))
    load_again = loads(text.replace('"gradwire": 3', '"gradwire": 1'))
    assert load_again == loads(text)
    for use in ("sign", "back", "once"):
        assert not load_again.main.blocks[use].independent


@pytest.mark.parametrize(
    "pages", ["3", '{"a": 3}', '{"a": {"blocks": [1]}}', '{"a": {"blocks": {"b": 1}}}']
)
def test_a_broken_file_of_version_1_is_refused_by_line(pages):
    with pytest.raises(FileError) as caught:
        loads(f'{{"gradwire": 1, "pages": {pages}}}')
    assert caught.value.line == 1


def test_states_of_version_2_have_their_newer_names():
    heard = []
    diagram = load(STATES, notice=heard.append)
    paint, change, check = diagram.lesson.steps
    assert paint.states == ("VANISHING", "EXPLODING", "CARRIES")
    assert paint.text == "Which are FLOOD?"  # a text is the author's
    assert change.goals == ('state("loss.x") != "EXPLODING" and "VANISHING"!=state(\'loss.x\')',)
    assert [option.holds for option in check.options] == [
        "state('loss.x') == 'EXPLODING'", 'state("loss.x") == "CARRIES"',
    ]  # fmt: skip
    assert diagram.main.notes["why"].text == 'It is {state("loss.x") == "EXPLODING"}, not "FLOOD".'
    assert heard == []
    text = dumps(diagram)
    assert loads(text) == diagram and '"gradwire": 3' in text


def test_a_file_of_the_newest_version_may_have_older_names_of_states():
    text = STATES.read_text(encoding="utf-8").replace('"gradwire": 2', '"gradwire": 3')
    assert loads(text).lesson.steps[0].states == ("VANISHING", "EXPLODING", "CARRIES")


@pytest.mark.parametrize("lesson", ["3", "[]", '{"steps": 3}', '{"steps": [3, {"states": [1]}]}'])
def test_a_broken_lesson_of_version_2_is_refused_by_line(lesson):
    with pytest.raises(FileError) as caught:
        loads(f'{{"gradwire": 2, "lesson": {lesson}, "pages": {{"main": {{"notes": 3}}}}}}')
    assert caught.value.line == 1
