"""Completion of what is typed, as shells ask for it."""

from __future__ import annotations

import pytest


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_a_shell_gets_its_script(gradwire, monkeypatch, shell):
    monkeypatch.setenv("_GRADWIRE_COMPLETE", f"source_{shell}")
    done = gradwire()
    assert done.code == 0 and f"_GRADWIRE_COMPLETE=complete_{shell}" in done.out


@pytest.mark.parametrize(
    ("words", "completed"),
    [("gradwire tim", "timeline"), ("gradwire desktop --rem", "--remove"), ("gradwire qq", "")],
)
def test_bash_completes_commands_and_options(gradwire, monkeypatch, words, completed):
    monkeypatch.setenv("_GRADWIRE_COMPLETE", "complete_bash")
    monkeypatch.setenv("COMP_WORDS", words)
    monkeypatch.setenv("COMP_CWORD", str(len(words.split()) - 1))
    assert gradwire().out.strip() == completed
