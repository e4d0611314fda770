"""A browser that can't unpack a page keeps the picture, and says so."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from gradwire.runtime.build import build, loss, variable
from gradwire.runtime.publish.living.publishing import publish
from gradwire.runtime.publish.living.writing.html import TOO_OLD

if TYPE_CHECKING:
    from pathlib import Path

    from tests.runtime.publish.living.script.browsers import Browser


@pytest.mark.night
def test_an_old_browser_shows_the_picture_and_says_why(browser: Browser, tmp_path: Path) -> None:
    file = tmp_path / "page.html"
    file.write_text(publish(build(loss(variable("w", 3.0)))), encoding="utf-8")
    browser.open(file)
    browser.until("globalThis.living")
    assert browser.text("main > p") == "" and browser.count(".still") == 0
    script = browser.before("() => { delete globalThis.DecompressionStream; }")
    try:
        browser.open(file)
        browser.until("document.querySelector('main > p')")
        assert browser.text("main > p") == TOO_OLD
        assert browser.count(".still .block") == 2
        assert browser.run("getComputedStyle(document.querySelector('.face')).fill").startswith(
            "oklch"
        )
    finally:
        browser.forget(script)
    assert browser.complaints == []
