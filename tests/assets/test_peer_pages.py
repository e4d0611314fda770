"""Pages about other systems, README.md too, print what they say, where those are installed."""

from __future__ import annotations

import pytest

from tests.assets.examples import PAGES_OF_PEERS, run_python


@pytest.mark.night
@pytest.mark.parametrize(
    ("page", "system"), PAGES_OF_PEERS.items(), ids=lambda x: getattr(x, "stem", x)
)
def test_a_page_prints_what_it_says(page, system, tmp_path, monkeypatch):
    pytest.importorskip(system)
    monkeypatch.chdir(tmp_path)
    _, outputs = run_python(page)
    assert outputs
    for expected, printed in outputs:
        assert printed.rstrip("\n") == expected.rstrip("\n")
