"""``gradwire watch``: running programs is tested in ``tests/runtime/watch/test_command.py``."""

from __future__ import annotations

import pytest


def test_a_program_that_is_not_there(gradwire, tmp_path):
    done = gradwire("watch", tmp_path / "none.py")
    assert done.code == 2 and "no such file" in done.err


def test_what_a_program_prints_is_no_part_of_its_report(gradwire, tmp_path):
    pytest.importorskip("torch")
    script = tmp_path / "train.py"
    script.write_text("print('hello')\n", "utf-8")
    done = gradwire("watch", "--json", script)
    assert done.code == 0 and "hello" in done.err and "hello" not in done.out
