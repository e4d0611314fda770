"""PyTorch of another version than those that captures were tried with."""

from __future__ import annotations

import re

import pytest

from gradwire.blocks.errors import RunError
from gradwire.runtime.interchange.importing.torch import versions
from gradwire.runtime.interchange.importing.torch.versions import NEWEST, OLDEST, within
from tests.assets.examples import ROOT

OLDER, NEWER = f"{OLDEST[0]}.{OLDEST[1] - 1}.1", f"{NEWEST[0]}.{NEWEST[1] + 1}.0+cpu"
MISSING = "import torch_of_tomorrow"


def fail_here() -> None:
    """Fail where a module of the capture needs what PyTorch no longer has."""
    exec(compile(MISSING, str(versions._HERE / "capture" / "modes.py"), "exec"), {})


@pytest.mark.parametrize("version", [OLDER, NEWER, "of git"])
def test_what_another_one_lacks_is_one_clear_line(version):
    said = re.escape(f"this is {version} (No module")
    with pytest.raises(RunError, match=said) as told, within(version):
        fail_here()
    assert "\n" not in str(told.value.args[0])
    assert told.value.next_step is not None and "pip install" in told.value.next_step


def test_what_it_lacks_among_those_that_were_tried_is_a_fault_of_ours():
    with pytest.raises(ModuleNotFoundError), within(f"{NEWEST[0]}.{NEWEST[1]}.1"):
        fail_here()


def test_an_error_of_the_model_goes_on_as_it_is():
    with pytest.raises(TypeError, match=r"^of the model$"), within(NEWER):
        raise TypeError("of the model")


@pytest.mark.parametrize("version", [OLDER, "2.13.0+cpu", NEWER, "of git"])
def test_a_capture_is_tried(version):
    with within(version):
        pass


def test_the_manual_says_which():
    page = (ROOT / "assets" / "manual" / "pytorch.md").read_text(encoding="utf-8")
    oldest, newest = (".".join(map(str, numbers)) for numbers in (OLDEST, NEWEST))
    assert f"PyTorch {oldest} to {newest}" in page
