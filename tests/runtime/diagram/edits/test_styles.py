"""Colours of blocks, frames and notes, and collapsed blocks: looks apart from meaning."""

from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gradwire.blocks.errors import ChangeError
from gradwire.runtime.diagram import (
    AddBlock,
    Arrange,
    Diagram,
    Note,
    Point,
    PortName,
    RemoveBlocks,
    RenameBlock,
    SetNote,
    Style,
    StyleBlocks,
    apply,
    check,
    dumps,
    group,
    loads,
    same_meaning,
    ungroup,
)
from gradwire.runtime.diagram.diff import diff
from gradwire.runtime.diagram.edits.clipboard import copied, pasted
from gradwire.runtime.diagram.layout.graph import BlockFace
from gradwire.runtime.diagram.layout.measures import HEADER
from tests.runtime.diagram.drawing import make, page, seed
from tests.strategies import styles

GOLDEN = Path(__file__).parents[1] / "files" / "golden" / "styles.gradwire.json"
SMALL = Style(collapsed=True)
P = PortName.parse


def after(diagram, *made):
    for change in made:
        diagram = apply(diagram, change).after
    return diagram


def styled(**given_styles):
    return after(seed(), StyleBlocks(given_styles))


def test_a_style_is_set_for_several_blocks_and_a_plain_one_is_not_kept():
    edit = apply(seed(), StyleBlocks({"mul": SMALL, "stop": Style("red")}))
    assert edit.label == "Change the look of mul, stop"
    assert edit.after.main.styles == {"mul": SMALL, "stop": Style("red")}
    assert same_meaning(edit.before, edit.after)
    assert after(edit.after, StyleBlocks({"mul": Style()})).main.styles == {"stop": Style("red")}


def test_only_colours_of_the_palette_and_blocks_of_the_page():
    with pytest.raises(ChangeError, match="no colour 'blu'"):
        apply(seed(), StyleBlocks({"a": Style("blu")}))
    with pytest.raises(ChangeError, match="no colour 'pink'"):
        apply(seed(), SetNote("n", Note(colour="pink")))
    with pytest.raises(ChangeError, match="no block 'nobody'"):
        apply(seed(), StyleBlocks({"nobody": SMALL}))


def test_styles_follow_names_and_go_with_their_blocks():
    diagram = styled(mul=SMALL, stop=Style("red"))
    diagram = after(diagram, RenameBlock("mul", "product"), RemoveBlocks(["stop"]))
    assert diagram.main.styles == {"product": SMALL}


@given(styles())
def test_files_keep_them(style):
    diagram = after(seed(), StyleBlocks({"mul": style}), SetNote("n", Note(colour=style.colour)))
    assert loads(dumps(diagram)).main.styles == diagram.main.styles
    assert loads(dumps(diagram)).main.notes == diagram.main.notes


def test_the_golden_file_is_written_as_it_was_read():
    text = GOLDEN.read_text(encoding="utf-8")
    assert dumps(loads(text)) == text
    assert loads(text).main.styles["loss"] == Style("purple", collapsed=True)


def test_a_style_without_its_block_is_reported():
    here = replace(seed().main, styles={"nobody": SMALL})
    assert [d.location.block for d in check(Diagram({"main": here}))] == ["nobody"]


def test_copies_and_pages_keep_them():
    diagram = styled(mul=SMALL, stop=Style("red"))
    paste = pasted(diagram, "main", copied(diagram, "main", {"mul"}))
    (copy,) = paste.blocks
    assert after(diagram, paste.change).main.styles[copy] == SMALL
    batch = group(diagram, "main", ["mul", "stop"])
    grouped = after(diagram, batch)
    assert grouped.main.styles == {}
    (inner,) = (content for name, content in grouped.pages.items() if name != "main")
    assert inner.styles == diagram.main.styles
    use = next(n for n in grouped.main.blocks if n not in diagram.main.blocks)
    assert after(grouped, ungroup(grouped, "main", use)).main.styles == diagram.main.styles


def test_the_difference_of_two_diagrams_names_them_without_meaning():
    found = diff(seed(), styled(mul=SMALL))
    assert found.pages[0].restyled == ("mul",)
    assert not found.has_meaning


def test_a_collapsed_block_is_as_high_as_its_title_with_its_ports_at_its_sides():
    face = BlockFace.of(styled(mul=SMALL), "main", "mul")
    assert face.height == HEADER
    assert 0 < face.enters("a") < face.leaves("out") < face.enters("b") < HEADER
    assert face.leaves("out") == HEADER / 2


def test_arrange_moves_closer_what_is_collapsed():
    def extent(diagram):
        return max(at.y for at in after(diagram, Arrange()).main.layout.values())

    blocks = {f"v{i}": make("Variable") for i in range(4)}
    wires = {f"all.parts.{i}": f"v{i}.out" for i in range(4)}
    tall = Diagram({"main": page(blocks | {"all": make("Concat")}, wires)})
    assert extent(after(tall, StyleBlocks(dict.fromkeys(blocks, SMALL)))) < extent(tall)


@pytest.fixture
def routed():
    """A wire from ``w`` to ``t``, led down at x = 300, then level at y = 337 into ``t``."""
    made = page(
        {"w": make("Variable"), "t": make("Tanh"), "aside": make("Concat")}, {"t.x": "w.out"}
    )
    layout = {"w": Point(0.0, 0.0), "t": Point(500.0, 300.0), "aside": Point(310.0, 290.0)}
    return Diagram({"main": replace(made, layout=layout, routes={P("t.x"): (300.0,)})})


def test_a_block_that_is_shown_in_full_drops_the_routes_that_it_covers(routed):
    small = Diagram({"main": replace(routed.main, styles={"aside": SMALL})})
    assert after(small, AddBlock("other", make("Tanh"))).main.routes
    assert not after(small, StyleBlocks({"aside": Style()})).main.routes


def test_a_collapsed_block_keeps_the_routes_of_its_wires_where_nothing_is_in_the_way(routed):
    clear = after(routed, RemoveBlocks(["aside"]))
    assert after(clear, StyleBlocks({"t": SMALL})).main.routes == {P("t.x"): (300.0,)}
    assert not after(routed, StyleBlocks({"t": SMALL})).main.routes  # at y = 314 it would be behind
    assert after(clear, StyleBlocks({"t": Style("red")})).main.routes


@pytest.mark.parametrize("names", [["t"], ["w", "t"], ["aside"]])
def test_undo_is_exact(routed, names):
    edit = apply(routed, StyleBlocks(dict.fromkeys(names, SMALL)))
    assert edit.before is routed
    assert edit.before.main.routes == {P("t.x"): (300.0,)}


@given(st.data())
def test_a_change_to_a_style_changes_nothing_else(data):
    diagram = seed()
    edit = apply(diagram, StyleBlocks({"mul": data.draw(styles())}))
    assert edit.after.main.layout is diagram.main.layout
    assert edit.after.main.wires is diagram.main.wires
