"""Studies as files: what they say is read, and what is wrong in one is named with its place."""

from __future__ import annotations

import json
from typing import Any

import pytest

from gradwire.blocks.errors import FileError
from gradwire.runtime.training.studies.files import Claim, load_study

RECORD: dict[str, Any] = {
    "diagram": "line.gradwire.json",
    "measure": {"port": "loss.out", "passes": 3},
    "variants": {"stopped": {}, "open": {"set": {"stop": {"open": True}}}},
    "claims": [{"variant": "open", "above": 1, "less_than": "stopped"}],
}


@pytest.fixture
def written(tmp_path):
    """``written(**changes)`` is the path of a study with these fields changed."""

    def write(**changes):
        path = tmp_path / "line.study.json"
        path.write_text(json.dumps(RECORD | changes, indent=1), encoding="utf-8")
        return path

    return write


def test_a_study_is_read(written):
    study = load_study(written())
    assert (study.seeds, study.steps, study.measure.passes) == (10, None, 3)
    assert study.variants["open"].set == {"stop": {"open": True}}
    assert study.claims[0].text == "open: above 1 and less than stopped"


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        ({"claims": [{"variant": "opem", "above": 1}]}, ("no variant 'opem'", "Did you mean open")),
        ({"claims": [{"variant": "open", "more_than": "x"}]}, ("no variant 'x'", "stopped, open")),
        ({"claims": [{"variant": "open", "share": 0.5}]}, ("claims nothing", "above, below")),
        ({"claims": [{"variant": "open", "abve": 1}]}, ("no field 'abve'", "above")),
        ({"seeds": 0}, ("'seeds' can't be in a study", "1")),
        ({"seeds": 10_000}, ("'seeds' can't be in a study", "1000")),
        ({"variants": {}}, ("'variants'",)),
        ({"measure": {}}, ("'port' is missing",)),
        ({"speed": 1}, ("no field 'speed'",)),
    ],
)
def test_what_is_wrong_is_said_with_its_place(written, changes, told):
    with pytest.raises(FileError) as caught:
        load_study(written(**changes))
    assert all(words in str(caught.value) for words in told), caught.value
    assert caught.value.line is not None and caught.value.line >= 1


@pytest.mark.parametrize("text", ["", "[]", "{", '{"diagram": 1e999}', "\ud800"])
def test_what_is_no_study_is_refused(tmp_path, text):
    path = tmp_path / "odd.study.json"
    path.write_bytes(text.encode("utf-8", "surrogatepass"))
    with pytest.raises(FileError):
        load_study(path)


def test_a_claim_is_told_in_words():
    assert Claim(variant="a", below=0.25).text == "a: below 0.25"
    assert Claim(variant="a", more_than="b").text == "a: more than b"
