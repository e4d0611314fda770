"""``gradwire mcp``: what is served is tested by a client, in ``tests/runtime/programs``."""

from __future__ import annotations

import pytest


def test_what_it_needs_is_said(gradwire, monkeypatch):
    monkeypatch.setattr("gradwire.runtime.extras.installed", lambda name: name != "mcp")
    done = gradwire("mcp")
    assert done.code == 3 and "mcp" in done.err and "install" in done.err.lower()


def test_it_has_no_arguments(gradwire):
    pytest.importorskip("mcp")
    assert gradwire("mcp", "what").code == 2
