"""The style sheet of a page has the colours of the editor's themes."""

from __future__ import annotations

import re

import pytest

from gradwire.app.services.theme import DARK, HUES, LIGHT, Theme
from gradwire.runtime.flow.words.states import STATES, ColourRole, Form
from gradwire.runtime.publish.living.computing.kernels import source

STYLE = source("picture.css") + source("page.css")


def variables(selector: str) -> dict[str, str]:
    """The custom properties of the first rule of a selector."""
    start = STYLE.index(selector)
    body = STYLE[start : STYLE.index("}", start)]
    return dict(re.findall(r"--([\w-]+): ([^;]+);", body))


@pytest.mark.parametrize(
    ("selector", "theme"),
    [
        (":root {", LIGHT),
        (":root:not([data-theme=light]) {", DARK),
        (":root[data-theme=dark] {", DARK),
    ],
)
def test_colours_are_those_of_the_themes(selector: str, theme: Theme) -> None:
    found = variables(selector)
    names = {"canvas": "canvas", "surface": "surface", "ink": "ink", "soft": "ink_soft",
             "accent": "accent", "wire": "wire", "error": "error", "note": "note"}  # fmt: skip
    assert {key: found[key] for key in names} == {k: getattr(theme, f) for k, f in names.items()}
    roles = {role.name.lower(): theme.lanes[role] for role in ColourRole}
    assert {role: found[role] for role in roles} == roles
    for part, tone in (("tint", theme.tint), ("edge", theme.edge), ("glyph", theme.glyph)):
        assert float(found[f"{part}-l"]) == tone.lightness
        assert float(found[f"{part}-c"]) == tone.chroma


def test_every_family_has_its_hue() -> None:
    for family, hue in HUES.items():
        rule = next(r for r in re.findall(r"^(\.f-[^{]*)\{([^}]*)\}", STYLE, re.M)
                    if f".f-{family}" in re.split(r"[,\s]+", r[0]))  # fmt: skip
        assert rule[1].strip() == ("--chroma: 0;" if hue is None else f"--hue: {hue:g};")


def test_every_state_has_a_form_and_a_colour() -> None:
    drawn_by_script = {Form.NONE, Form.SOLID, Form.HOLLOW, Form.SAW, Form.ZIGZAG}
    for row in STATES.values():
        assert f".role-{row.colour.name.lower()} " in STYLE
        if row.form not in drawn_by_script:
            assert f".form-{row.form.name.lower().replace('_', '-')} " in STYLE
