"""``gradwire grade``: a class in a table, in CSV and in JSON."""

from __future__ import annotations

import csv
import io
import json

import pytest

from gradwire.runtime.data.files.csv_text import guarded
from gradwire.runtime.diagram import save
from gradwire.runtime.lessons.answers import Answer, sealed
from tests.runtime.lessons.course.test_marks import RIGHT, played
from tests.runtime.lessons.lessons import taught


@pytest.fixture
def school(tmp_path):
    """A lesson, and files of answers by the name of the learner."""
    lesson = tmp_path / "stops.gradwire.json"
    save(taught(), lesson)

    def answers(name, given=RIGHT, **changes):
        file = tmp_path / f"{len(list(tmp_path.iterdir()))}.json"
        file.write_text(json.dumps(sealed(played(name, given) | changes)), encoding="utf-8")
        return str(file)

    return str(lesson), answers


def test_a_table_of_the_class_and_its_misconceptions(gradwire, school):
    lesson, answers = school
    wrong = answers("Bo", [None, Answer(text="3", confidence=60)])
    done = gradwire("grade", lesson, answers("Ada"), wrong)
    assert (done.code, done.err) == (0, "")
    rows = done.table("Marks")
    assert rows[0] == ["learner", "2 predict", "3 paint", "4 change", "5 build", "6 check",
                       "points", "hints", "confident", "right"]  # fmt: skip
    assert rows[1][0:7] == ["Ada", "4", "4", "4", "", "4", "16 of 20"]
    assert rows[2][0:2] == ["Bo", "0"]
    assert done.table("Misconceptions")[1] == ["its own value", "1"]


def test_csv_has_a_row_a_learner_and_no_formula(gradwire, school, tmp_path):
    lesson, answers = school
    names = ['=HYPERLINK("x")', "+1", "-1", "@SUM(A1)", " =1", 'Zoë; "Z"\u202e']
    table = tmp_path / "marks.csv"
    done = gradwire("grade", lesson, *(answers(name) for name in names), "--csv", str(table))
    assert done.code == 0
    rows = list(csv.reader(io.StringIO(table.read_bytes().decode("utf-8-sig"))))
    assert rows[0][:3] == ["learner", "step 2 (predict)", "step 3 (paint)"]
    assert [row[0] for row in rows[1:]] == [guarded(name.strip()) for name in names]
    assert not any(cell.startswith(("=", "+", "-", "@")) for row in rows for cell in row)
    assert {len(row) for row in rows} == {len(rows[0])}


def test_one_wrong_file_is_refused_and_the_others_are_marked(gradwire, school):
    lesson, answers = school
    foreign = answers("Bo", lesson="0" * 64)
    done = gradwire("grade", lesson, answers("Ada"), foreign)
    assert done.code == 2
    assert "Ada" in done.out and "Bo" not in done.out
    assert f"{foreign}: error: These answers are to another lesson" in done.err
    report = gradwire("grade", lesson, answers("Cy"), foreign, "--json")
    assert report.code == 2
    assert [each["learner"] for each in report.json["learners"]] == ["Cy"]
    assert report.json["problems"][0]["file"] == foreign
    steps = report.json["learners"][0]["steps"]
    assert (steps[0]["points"], steps[3]["answered"]) == (4, False)


def test_what_can_not_be_graded(gradwire, school, seed, tmp_path):
    lesson, answers = school
    file = answers("Ada")
    assert gradwire("grade", seed, file).code != 0, "it has no lesson"
    assert gradwire("grade", lesson, file, "--csv", lesson).code == 2
    assert gradwire("grade", lesson, file, "--csv", file).code == 2
    assert gradwire("grade", lesson, file, "--csv", str(tmp_path / "no" / "x.csv")).code == 2
    assert gradwire("grade", lesson, str(tmp_path / "none.json")).code == 2
    assert gradwire("grade", lesson).code == 2
