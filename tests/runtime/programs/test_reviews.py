"""Results with lasting identities, SARIF and baselines."""

from __future__ import annotations

import json

import pytest

from gradwire.blocks.errors import FileError
from gradwire.runtime.programs.reviews import (
    FilePlace,
    ReviewResult,
    baseline,
    read_baseline,
    review,
    sarif,
    written_place,
)

ONE = ReviewResult(
    "m.json", "no_gradient", "warning", "why", "encoder/w", "loss", FilePlace("src/a b.py", 7)
)
OTHER = ONE._replace(rule="contract", level="error", where="")


def identities(*results):
    return [identity for identity, _ in review(results).results]


def test_an_identity_outlives_lines_and_sizes():
    moved = ONE._replace(text="another size", place=FilePlace("src/a b.py", 70), level="note")
    assert identities(ONE) == identities(moved)
    for other in (ONE._replace(where="v"), ONE._replace(rule="r"), ONE._replace(subject="s")):
        assert identities(other) != identities(ONE)


@pytest.mark.parametrize(("rule", "first"), [("exploding", "flood"), ("vanishing", "faint")])
def test_an_identity_outlives_the_name_of_its_rule(rule, first):
    renamed, before = ONE._replace(rule=rule), ONE._replace(rule=first)
    assert identities(renamed) == identities(before)
    assert f'"what": "{rule}"' in baseline(review([renamed]))


def test_several_of_one_kind_are_told_apart():
    first, second = identities(ONE, ONE)
    assert second == f"{first}-2"


def test_a_baseline_leaves_out_what_is_known(tmp_path):
    file = tmp_path / "baseline.json"
    file.write_text(baseline(review([OTHER, ONE])), "utf-8")
    known = read_baseline(file)
    assert not review([ONE, OTHER]).beyond(known).results
    (left,) = review([ONE, OTHER, ONE]).beyond(known).results
    assert left[0].endswith("-2")
    assert json.loads(file.read_text())["known"][0]["what"] == "contract"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[]", "not a baseline"), ("{", "not a baseline"), ('{"version": 1}', "not a baseline"),
        ('{"version": 2, "known": []}', "newer version"), (None, "can't be read"),
    ],
)  # fmt: skip
def test_what_is_no_baseline(tmp_path, text, message):
    file = tmp_path / "baseline.json"
    if text is not None:
        file.write_text(text)
    with pytest.raises(FileError, match=message):
        read_baseline(file)


def test_sarif():
    log = sarif(review([ONE, OTHER]), "1.2.3")
    (run,) = log["runs"]
    assert [rule["id"] for rule in run["tool"]["driver"]["rules"]] == ["no_gradient", "contract"]
    one, other = run["results"]
    (place,) = one["locations"]
    assert place["physicalLocation"] == {
        "artifactLocation": {"uri": "src/a%20b.py"},
        "region": {"startLine": 7},
    }
    assert place["logicalLocations"] == [{"fullyQualifiedName": "encoder/w", "name": "w"}]
    assert one["partialFingerprints"] != other["partialFingerprints"]
    assert "logicalLocations" not in other["locations"][0]


@pytest.mark.parametrize(
    ("file", "uri"),
    [
        ("ü 日#?%.json", "%C3%BC%20%E6%97%A5%23%3F%25.json"),
        ("c:d.json", "c%3Ad.json"),  # no scheme
        ("s\udcff.json", "s%FF.json"),  # as Python has names that are not UTF-8
    ],
)
def test_names_of_files_are_uris_in_sarif(file, uri):
    log = sarif(review([ONE._replace(place=FilePlace(file), subject=file)]), "1.2.3")
    (place,) = log["runs"][0]["results"][0]["locations"]
    assert place["physicalLocation"]["artifactLocation"] == {"uri": uri}
    json.dumps(log).encode()


@pytest.mark.parametrize(
    ("written", "place"),
    [
        ("a.py:7: x = 1", FilePlace("src/a.py", 7)),
        ("a.py:7", FilePlace("src/a.py", 7)),
        ("b.py:7", None),
        ("", None),
        ("a.py", None),
    ],
)
def test_places_of_a_program(written, place):
    assert written_place(written, {"a.py": "src/a.py"}) == place
