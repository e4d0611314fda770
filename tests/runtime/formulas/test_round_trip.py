"""Every page of the examples, written as a formula and read again, computes the same."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import gradwire.runtime.build as b
from gradwire.blocks.block import Source
from gradwire.blocks.errors import BuildError
from gradwire.blocks.formulas.places import FormulaError
from gradwire.blocks.library.pages import Page as PageBlock
from gradwire.runtime.diagram import Diagram, Page, apply, load
from gradwire.runtime.engine import Session
from gradwire.runtime.formulas.adding import add_formula
from gradwire.runtime.formulas.writing import formula_of

EXAMPLES = sorted((Path(__file__).parents[3] / "assets" / "diagrams").glob("*.gradwire.json"))


def rewritten(diagram: Diagram, page: str) -> Diagram:
    """The diagram with a page whose blocks, but for its sources, were written and read again."""
    here = diagram.pages[page]
    text = formula_of(diagram, page, list(here.blocks))
    sources = {name: block for name, block in here.blocks.items() if isinstance(block, Source)}
    bare = diagram.with_page(page, Page(sources))
    return apply(bare, add_formula(bare, text, page=page).change).after


@pytest.mark.sampled(one_in=7)
@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.name.partition(".")[0])
def test_a_page_as_a_formula_keeps_every_gradient(path: Path) -> None:
    diagram = load(path)
    expected = Session(diagram, fast=False).backward()
    for page in diagram.pages:
        found = Session(rewritten(diagram, page), fast=False).backward()
        assert found.gradients.keys() == expected.gradients.keys()
        for name, gradient in expected.gradients.items():
            assert (gradient is None) == (found.gradients[name] is None), (page, name)
            if gradient is not None:
                np.testing.assert_allclose(found.gradients[name], gradient, 1e-5, 1e-7, name)


@pytest.fixture
def diagram() -> Diagram:
    @b.page("my encoder")
    def encoder(x, scale=2.0):
        h = b.tanh(x * scale)
        return h, b.sum(h)

    @b.page("twice")
    def twice(x):
        return encoder(x)["out2"] * 2

    return b.build(b.loss(twice(b.variable("w", [1.0, 2.0]))))


def uses(diagram: Diagram, page: str = "main") -> list[PageBlock]:
    return [b for b in diagram.pages[page].blocks.values() if isinstance(b, PageBlock)]


def test_a_page_is_called_by_its_name(diagram: Diagram) -> None:
    added = add_formula(diagram, "loss2 = twice(w)\ne = my_encoder(w, scale=3, independent=True)")
    after = apply(diagram, added.change).after
    *_, again, other = uses(after)
    assert (again.page, other.page, other.independent) == ("twice", "my encoder", True)
    assert other.literals["scale"].to_json() == 3
    parts = apply(diagram, add_formula(diagram, "y = my_encoder(w)['out2'] + 1").change).after
    assert "my encoder1.out2" in {str(source) for source in parts.main.wires.values()}
    spelled = add_formula(diagram, "page(w, page='my encoder')")
    assert uses(apply(diagram, spelled.change).after)[-1].page == "my encoder"


@pytest.mark.parametrize(
    ("text", "at", "what"),
    [
        ("w + twise(w)", 4, "There is no block 'twise'. Did you mean twice"),
        ("w + twice(w, w)", 4, "has fewer inputs"),
        ("w + twice(w, y=2)", 13, "takes no 'y' here"),
        ("page(w, page='nowhere')", 8, "There is no page 'nowhere'"),
        ("main(w)", 0, "can't be used on this page"),
    ],
)
def test_a_wrong_call_is_pointed_at(diagram: Diagram, text: str, at: int, what: str) -> None:
    with pytest.raises(FormulaError) as caught:
        add_formula(diagram, text)
    assert (caught.value.offset, what in str(caught.value)) == (at, True), caught.value


def test_a_page_can_not_contain_itself(diagram: Diagram) -> None:
    with pytest.raises(BuildError, match="'twice' can't be used on this page"):
        add_formula(diagram, "y = twice(x)", page="my encoder")


def test_a_name_that_reads_as_a_loss_is_written_otherwise() -> None:
    diagram = b.build(b.mean(b.square(b.variable("w", 2.0)), name="data_loss"))
    assert formula_of(diagram, "main", list(diagram.main.blocks)) == "_data_loss = mean(square(w))"


def test_a_loss_that_is_read_stays_a_loss() -> None:
    head = b.loss(b.square(b.variable("w", 2.0)), name="loss")
    diagram = b.build(b.block("Plot", head, name="curve"))
    assert type(rewritten(diagram, "main").main.blocks["loss"]).__name__ == "Loss"


def test_records_are_written_and_read_as_parameters() -> None:
    columns = {"x": {"flatten": True}, "y": {"of": ["y"], "dtype": "int64", "one_hot": 10}}
    data = b.block("Dataset", source="digits", columns=columns, name="digits")
    diagram = b.build(b.sum(data["x"], name="total"), b.sum(data["y"], name="count"))
    assert rewritten(diagram, "main").main.blocks["digits"] == diagram.main.blocks["digits"]


@pytest.mark.parametrize("text", ["dataset(columns={1: 2})", "dataset(columns={'x': {**y}})"])
def test_what_is_no_record_is_pointed_at(diagram: Diagram, text: str) -> None:
    with pytest.raises(FormulaError, match="keys of a record are texts"):
        add_formula(diagram, text)
