"""A numeric state touches the table and its rule: added to those two, it shows everywhere."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from gradwire.app.services.theme import THEMES
from tests.app.spiky import EDITS

SENTENCE = "One of 100 elements is 1000, against an rms of 100."


@pytest.fixture(scope="module")
def shown():
    done = subprocess.run(
        [sys.executable, "-m", "tests.app.spiky"],
        cwd=Path(__file__).parents[2],
        env=os.environ | {"QT_QPA_PLATFORM": "offscreen"},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_it_touches_two_modules():
    assert list(EDITS) == [
        "gradwire.runtime.flow.words.states",
        "gradwire.runtime.flow.numbers.rules",
    ]


@pytest.mark.night
def test_flow_finds_and_explains_it(shown):
    told = shown["headless"]
    assert told["state"] == "SPIKY"
    assert told["sentence"] == told["variable"] == SENTENCE
    assert told["lax"] == "CARRIES", "its threshold moves it"


@pytest.mark.night
def test_reports_and_the_doctor_have_it(shown):
    told = shown["headless"]
    assert told["report"] == "SPIKY"
    assert SENTENCE in told["report text"]
    assert told["doctor"] == "spiky"
    assert "one large element" in told["doctor text"]


def test_the_command_line_has_it(shown):
    told = shown["headless"]["commands"]
    assert "SPIKY" in told["run"]
    wire = json.loads(told["flow"])["wires"]["product.a"]["verdicts"]["loss.out"]
    assert (wire["state"], wire["why"]) == ("SPIKY", SENTENCE)
    assert "one large element" in told["doctor"]
    assert "SPIKY" not in told["lax"]


def test_the_canvas_draws_it_in_every_theme(shown):
    told = shown["editor"]
    assert told["lane"] == dict.fromkeys(THEMES, True)
    assert told["code"]
    assert told["label"] == "△ 10²"
    assert told["legend"] == "spiky: one element above 5 × the rms"


def test_the_editor_has_its_words(shown):
    told = shown["editor"]
    assert "carries a spiky gradient" in told["spoken"]
    assert told["search"] == told["search by words"] == ["product"]
    assert any("Carries, spiky" in text for text in told["panel"])
    assert any(SENTENCE in text for text in told["panel"])
    assert told["dialog"] == "Spiky above this many times the rms"
