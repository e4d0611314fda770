"""``gradwire lesson``: a lesson by typing, with answers that can be graded."""

from __future__ import annotations

import io
import json

import pytest

from gradwire.runtime.diagram import apply, save
from gradwire.runtime.flow.tools.interventions import CutWire, change_of
from gradwire.runtime.lessons.answers import lesson_digest, parse_sheet
from gradwire.runtime.lessons.course.progress import LessonProgress, ProgressFile
from tests.runtime.lessons.lessons import taught, with_step
from tests.runtime.lessons.marked import ANSWERED, RAW, marked_lesson, plainly


@pytest.fixture
def lesson(tmp_path, monkeypatch, gradwire):
    """Plays the lesson with these lines typed; progress is kept in a temporary folder."""
    file = tmp_path / "stops.gradwire.json"
    save(taught(), file)
    monkeypatch.setenv("GRADWIRE_PROGRESS", str(tmp_path / "progress.json"))

    def play(*lines, options=()):
        monkeypatch.setattr("sys.stdin", io.StringIO("".join(f"{line}\n" for line in lines)))
        return gradwire("lesson", str(file), *options)

    play.folder = tmp_path
    return play


def test_a_whole_lesson_is_typed_and_graded(lesson, gradwire):
    drawn = lesson.folder / "mine.gradwire.json"
    diagram = taught()
    save(apply(diagram, change_of(diagram, [CutWire("mul1.a")])).after, drawn)
    answers = lesson.folder / "ada.json"
    done = lesson(
        "", "h", "two", "3", "80",  # read; a hint, no number, a wrong number
        "a", "c", "100",  # paint both wires
        "w = 1", "x = 10", "nothing", "open sg",
        "nowhere.json", str(drawn),
        "z", "b", "",  # no letter of an option, an option, no confidence
        options=("--answers", str(answers), "--learner", "Ada"),
    )  # fmt: skip
    assert done.code == 0
    for part in (
        "Stops: Tell what a stop does to values and to gradients.",
        "The product is 6. {Braces}} stay.",
        "Look at mul1.",
        "This is no answer to the question.",
        "Not quite: 0 of 4 points.\n  yours   3\n  actual  2\nNo: x is 2.",
        "It is 2.",
        "w is not to be changed in this step.",
        "sg is closed.",
        "Step 6 of 6",
    ):
        assert part in done.out
    graded = gradwire("grade", str(lesson.folder / "stops.gradwire.json"), str(answers), "--json")
    (ada,) = graded.json["learners"]
    assert [step["points"] for step in ada["steps"][:3]] == [0, 4, 4]
    assert (ada["hints"], ada["steps"][0]["confidence"]) == (1, 80)


def test_texts_are_printed_without_their_marks(tmp_path, monkeypatch, gradwire):
    step = {
        "do": "predict",
        "gradient": "w",
        "text": "Say **now** what `w` gets.",
        "hints": ["It is **not** `w`."],
        "after": "**So** `w**2` counts.",
    }
    file = tmp_path / "marked.gradwire.json"
    save(with_step(**step), file)
    monkeypatch.setattr("sys.stdin", io.StringIO("h\n2\n\n\n"))
    printed = gradwire("lesson", str(file), "--no-keep").out
    for part in ("Say now what w gets.", "It is not w.", "So w**2 counts."):
        assert part in printed


def test_no_text_of_a_lesson_has_marks_in_a_terminal(tmp_path, monkeypatch, gradwire):
    file, drawn = tmp_path / "marked.gradwire.json", tmp_path / "drawn.gradwire.json"
    lesson = marked_lesson()
    save(lesson, file)
    save(apply(lesson, change_of(lesson, [CutWire("mul1.a")])).after, drawn)
    lines = ["", "h", "7", "", "h", "3", "", "h", "a", "", "h", "x = 9", "open sg", "x = 10",
             str(drawn), "a", ""]  # fmt: skip
    monkeypatch.setattr("sys.stdin", io.StringIO("".join(f"{line}\n" for line in lines)))
    printed = gradwire("lesson", str(file), "--no-keep").out
    assert not RAW.search(printed)
    missing = [name for name in ("goal", *ANSWERED) if plainly(name) not in printed]
    assert missing == []


def test_leaving_early_keeps_the_answers_and_the_progress(lesson):
    answers = lesson.folder / "bo.json"
    options = ("--answers", str(answers), "--learner", "Bo", "--seed", "5")
    done = lesson("", "7", "", options=options)  # the input ends
    assert done.code == 0
    sheet = parse_sheet(answers.read_text())
    assert (sheet.learner, sheet.seed) == ("Bo", 5)
    assert list(sheet.answers) == [2]
    kept = ProgressFile(lesson.folder / "progress.json").of(lesson_digest(taught()))
    assert kept is not None and (kept.done, kept.last, kept.of) == (False, 3, 20)


def test_going_back_and_skipping(lesson):
    done = lesson("", "s", "b", "s", "b", "b", "", "2", "q")
    assert done.code == 0
    steps = [line for line in done.out.splitlines() if line.startswith("Step ")]
    assert [int(line.split()[1]) for line in steps] == [1, 2, 3, 2, 3, 2, 1, 2]


def test_progress_may_be_left_alone_and_a_damaged_file_is_kept(lesson):
    place = lesson.folder / "progress.json"
    assert lesson(options=("--no-keep",)).code == 0
    assert not place.exists()
    place.write_text("{")
    assert "was damaged" in lesson().out
    assert ProgressFile(place).read() == {
        lesson_digest(taught()): LessonProgress("Stops", False, 0, 20, 1)
    }


def test_what_makes_no_sense(lesson, gradwire, seed, tmp_path):
    assert lesson(options=("--answers", "x.json")).code == 2, "no name"
    same = str(lesson.folder / "stops.gradwire.json")
    assert lesson(options=("--answers", same, "--learner", "A")).code == 2
    assert json.loads((lesson.folder / "stops.gradwire.json").read_text())["lesson"]
    assert gradwire("lesson", seed, "--no-keep").code == 3
    assert lesson(options=("--seed", "-1")).code == 2
