import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gradwire.blocks import Opaque, PortLiteral, Tensor
from gradwire.blocks.errors import ChangeError
from gradwire.runtime.diagram import (
    AddBlock,
    Arrange,
    Batch,
    Connect,
    Diagram,
    Disconnect,
    InsertPage,
    MoveBlocks,
    Note,
    Page,
    Point,
    PortName,
    RemoveBlocks,
    RemovePage,
    RenameBlock,
    RenamePage,
    SetLesson,
    SetNote,
    SetParameters,
    SetTitle,
    SetTraining,
    SetViews,
    View,
    apply,
    can_connect,
    check,
    dumps,
    loads,
)
from gradwire.runtime.diagram.lesson import Lesson, ShowStep
from gradwire.runtime.diagram.model import same_meaning
from gradwire.runtime.diagram.training import OptimiserRule, Training
from tests.runtime.diagram.drawing import draw, make, page, scale, seed
from tests.strategies import changes, diagrams

P = PortName.parse


def after(diagram, *made):
    for change in made:
        diagram = apply(diagram, change).after
    return diagram


def wires(diagram, page="main"):
    return {str(t): str(s) for t, s in diagram.pages[page].wires.items()}


def concat():
    """cat reads a, then the number 5, then b, then a again."""
    return draw(
        {
            "a": make("Variable"),
            "b": make("Variable"),
            "cat": make("Concat", **{"parts.1": 5}),
            "stop": make("StopGradient"),
        },
        {
            "cat.parts.0": "a.out",
            "cat.parts.2": "b.out",
            "cat.parts.3": "a.out",
            "stop.x": "cat.out",
        },
    )


def nested():
    """Two uses of the page scale, the second with its factor as a literal."""
    return draw(
        {
            "a": make("Variable"),
            "one": make("Page", page="scale"),
            "two": make("Page", page="scale", factor=5),
            "loss": make("Loss"),
        },
        {"one.x": "a.out", "one.factor": "a.out", "two.x": "one.y", "loss.x": "two.twice"},
        scale=scale(),
    )


class TestLaws:
    @pytest.mark.night
    @given(st.data(), diagrams())
    def test_of_every_change(self, data, diagram):
        for _ in range(3):
            change = data.draw(changes(diagram))
            text = dumps(diagram)
            try:
                edit = apply(diagram, change)
            except ChangeError as error:
                assert dumps(diagram) == text
                if isinstance(change, Connect):
                    assert can_connect(diagram, change.page, *change_ends(change)) == error.what
                continue
            assert edit.before is diagram
            assert dumps(edit.before) == text
            assert loads(dumps(edit.after)) == edit.after
            assert edit.label
            if isinstance(change, Connect):
                assert can_connect(diagram, change.page, *change_ends(change)) is None
            self.assert_ends_are_known(edit.after)
            diagram = edit.after

    def assert_ends_are_known(self, diagram):
        for content in diagram.pages.values():
            for known, counted in zip(content.ends, replace(content).ends, strict=True):
                assert {k: sorted(v) for k, v in known.items()} == {
                    k: sorted(v) for k, v in counted.items()
                }

    @pytest.mark.night
    @given(st.data(), diagrams())
    def test_of_batches(self, data, diagram):
        made, here = [], diagram
        for _ in range(3):
            change = data.draw(changes(here))
            try:
                here = apply(here, change).after
            except ChangeError:
                continue
            made.append(change)
        edit = apply(diagram, Batch("all", tuple(made)))
        assert edit.after == here
        assert edit.label == "all"

    def test_what_does_not_change_is_shared(self):
        diagram = nested()
        known = diagram.main.ends
        edit = apply(diagram, MoveBlocks({"a": Point(1, 2)}))
        was, now = edit.before.main, edit.after.main
        assert edit.after.pages["scale"] is edit.before.pages["scale"]
        assert now.blocks is was.blocks
        assert now.wires is was.wires
        assert now.ends is known
        assert now.layout != was.layout

    def test_a_change_that_changes_nothing_keeps_the_pages(self):
        diagram = nested()
        assert apply(diagram, Batch("nothing", ())).after.pages is diagram.pages
        assert apply(diagram, RenameBlock("a", "a")).after.pages is diagram.pages

    def test_a_batch_is_all_or_nothing(self):
        with pytest.raises(ChangeError, match="There is no block 'z'"):
            apply(seed(), Batch("two", (RemoveBlocks(["a"]), RemoveBlocks(["z"]))))


def change_ends(change):
    return change.source, change.target


class TestBlocks:
    def test_a_new_block_stands_last_at_its_place(self):
        edit = apply(seed(), AddBlock("c", make("Mul", a=2), Point(3, 4)))
        assert list(edit.after.main.blocks)[-1] == "c"
        assert edit.after.main.layout["c"] == Point(3, 4)
        assert edit.label == "Add c"

    @pytest.mark.parametrize(
        ("change", "message"),
        [
            (AddBlock("a", make("Mul")), "a: There is already a block 'a'."),
            (AddBlock("x.y", make("Mul")), "'x.y' is not a valid block name. Expected 1 to 100"),
            (AddBlock("c", make("Mul"), page="no"), "no: There is no page 'no'. Expected one of m"),
            (AddBlock("c", make("Mul"), Point(math.nan, 0)), "c: A position must be finite."),
            (RemoveBlocks(["z"]), "z: There is no block 'z'."),
            (RenameBlock("z", "y"), "z: There is no block 'z'."),
            (RenameBlock("a", "b"), "a: There is already a block 'b'."),
            (RenameBlock("a", ""), "a: '' is not a valid block name."),
            (MoveBlocks({"z": Point(0, 0)}), "z: There is no block 'z'."),
            (MoveBlocks({"a": Point(0, math.inf)}), "a: A position must be finite."),
            (SetParameters("z", {}), "z: There is no block 'z'."),
            (SetParameters("mul", {"slope": 1}), "mul: Mul has no parameter or input 'slope'."),
            (SetParameters("mul", {"a": "x"}), "mul: "),
            (SetParameters("mul", {"type": "Add"}), "can't be called 'type'."),
            (Disconnect(P("a.x")), "a.x: No wire ends here."),
        ],
    )
    def test_what_can_not_be_done_is_told(self, change, message):
        with pytest.raises(ChangeError) as caught:
            apply(seed(), change)
        assert message in str(caught.value)

    def test_blocks_go_with_their_wires_and_places(self):
        diagram = after(seed(), Arrange(), RemoveBlocks(["stop", "a"]))
        assert list(diagram.main.blocks) == list(diagram.main.layout) == ["b", "mul", "add", "loss"]
        assert wires(diagram) == {"mul.b": "b.out", "loss.x": "add.out"}

    def test_everything_may_go(self):
        everything = RemoveBlocks(list(seed().main.blocks))
        assert after(seed(), Arrange(), everything) == Diagram()
        assert apply(seed(), everything).label == "Remove 6 blocks"

    def test_a_new_name_keeps_order_wires_and_place(self):
        diagram = after(seed(), Arrange(), RenameBlock("stop", "sg"))
        assert dumps(diagram) == dumps(after(seed(), Arrange())).replace("stop", "sg")
        assert apply(seed(), RenameBlock("stop", "sg")).label == "Rename stop to sg"

    def test_a_literal_is_set_and_taken_away(self):
        diagram = after(seed(), SetParameters("mul", {"a": 4.5, "b": [1, 2]}))
        assert diagram.main.blocks["mul"] == make("Mul", a=4.5, b=[1, 2])
        assert after(diagram, SetParameters("mul", {"b": None})).main.blocks["mul"] == make(
            "Mul", a=4.5
        )

    def test_the_block_before_stays_as_it_was(self):
        edit = apply(seed(), SetParameters("a", {"trainable": False}))
        assert edit.before.main.blocks["a"] == make("Variable", value=[[1, 2]])
        assert edit.label == "Change trainable of a"

    def test_a_record_that_is_repaired_becomes_a_block(self):
        misfit = Opaque(original_type="Clip", record={"min": "low", "note": None, "max": 1})
        diagram = draw({"odd": misfit})
        diagram = after(diagram, SetParameters("odd", {"min": 0.0}))
        assert isinstance(diagram.main.blocks["odd"], Opaque)
        diagram = after(diagram, SetParameters("odd", {"note": None}))
        assert diagram.main.blocks["odd"] == make("Clip", min=0.0, max=1)

    def test_large_arrays_go_over_as_they_are(self):
        array = np.linspace(0, 1, 5000, dtype=np.float32)
        diagram = draw({"w": make("Variable", value=array), "mul": make("Mul", a=array.tolist())})
        frozen = after(diagram, SetParameters("w", {"trainable": False})).main.blocks["w"]
        assert frozen == make("Variable", value=array, trainable=False)
        assert frozen.value.array is diagram.main.blocks["w"].value.array
        both = after(diagram, SetParameters("mul", {"b": 2})).main.blocks["mul"]
        assert both == make("Mul", a=array.tolist(), b=2)
        none = after(diagram, SetParameters("mul", {"a": None})).main.blocks["mul"]
        assert none == make("Mul")
        with pytest.raises(ChangeError, match="but the value has shape"):
            apply(diagram, SetParameters("w", {"shape": [3]}))

    def test_an_opaque_block_stores_only_json(self):
        diagram = draw({"odd": Opaque(original_type="Elsewhere")})
        values = {"a": PortLiteral(2), "b": Tensor([1, 2]), "c": np.float32(0.5), "d": (1, "x")}
        diagram = after(diagram, SetParameters("odd", values))
        assert diagram.main.blocks["odd"].record == {"a": 2, "b": [1, 2], "c": 0.5, "d": [1, "x"]}
        with pytest.raises(ChangeError, match="'e' can't be stored"):
            apply(diagram, SetParameters("odd", {"e": object()}))


class TestWires:
    def test_a_wire_takes_the_place_of_another(self):
        edit = apply(seed(), Connect(P("b.out"), P("stop.x")))
        assert list(wires(edit.after)) == list(wires(edit.before))
        assert wires(edit.after)["stop.x"] == "b.out"
        assert edit.label == "Connect b.out to stop.x"

    def test_a_wire_is_taken_away(self):
        edit = apply(seed(), Disconnect(P("stop.x")))
        assert "stop.x" not in wires(edit.after)
        assert edit.label == "Disconnect stop.x"

    @pytest.mark.parametrize(
        ("source", "target", "reason"),
        [
            ("a.out", "mul.b", None),
            ("a.out", "mul.a", None),
            ("z.out", "mul.b", "There is no block 'z'."),
            ("a.out", "z.x", "There is no block 'z'."),
            ("a.value", "mul.b", "a has no output 'value'."),
            ("mul.a", "stop.x", "mul.a is an input; a wire starts at an output."),
            ("a.out", "mul.c", "mul has no input 'c'."),
            ("a.out", "mul.out", "mul.out is an output; a wire ends at an input."),
            ("loss.out", "stop.x", "That makes a cycle: stop → add → loss → stop."),
            ("mul.out", "mul.b", "That makes a cycle: mul → mul."),
        ],
    )
    def test_what_can_be_connected(self, source, target, reason):
        assert can_connect(seed(), "main", P(source), P(target)) == reason

    def test_terms_of_a_repeating_port_begin_at_0_and_have_no_gaps(self):
        assert can_connect(concat(), "main", P("b.out"), P("cat.parts.4")) is None
        assert can_connect(concat(), "main", P("b.out"), P("cat.parts.1")) is None
        assert can_connect(concat(), "main", P("b.out"), P("cat.parts.5")) == (
            "cat has no input 'parts.5'."
        )

    def test_an_opaque_block_may_have_any_port(self):
        diagram = draw({"odd": Opaque(original_type="Elsewhere"), "stop": make("StopGradient")})
        assert can_connect(diagram, "main", P("odd.any"), P("stop.x")) is None
        assert can_connect(diagram, "main", P("stop.out"), P("odd.other")) is None

    def test_an_input_of_a_page_is_driven_from_outside(self):
        diagram = nested()
        assert can_connect(diagram, "scale", P("mul.out"), P("factor.x")) == (
            "factor is an input of this page and gets its value from outside."
        )

    def test_later_terms_move_up(self):
        diagram = after(concat(), Disconnect(P("cat.parts.0")))
        assert wires(diagram) == {
            "cat.parts.2": "a.out", "stop.x": "cat.out", "cat.parts.1": "b.out",
        }  # fmt: skip
        assert diagram.main.blocks["cat"] == make("Concat", **{"parts.0": 5})
        assert not check(diagram)

    def test_a_literal_keeps_the_place_of_its_wire(self):
        diagram = after(concat(), Connect(P("b.out"), P("cat.parts.1")))
        assert after(diagram, Disconnect(P("cat.parts.1"))) == concat()

    def test_terms_move_up_when_a_block_or_a_literal_goes(self):
        diagram = after(concat(), RemoveBlocks(["a"]))
        assert wires(diagram) == {"stop.x": "cat.out", "cat.parts.1": "b.out"}
        diagram = after(concat(), SetParameters("cat", {"parts.1": None}))
        assert wires(diagram) == {
            "cat.parts.0": "a.out", "cat.parts.2": "a.out",
            "stop.x": "cat.out", "cat.parts.1": "b.out",
        }  # fmt: skip


class TestPages:
    def test_pages_come_and_go(self):
        diagram = after(seed(), InsertPage("inner", scale()))
        assert list(diagram.pages) == ["main", "inner"]
        assert after(diagram, RemovePage("inner")) == seed()

    def test_labels(self):
        assert apply(seed(), InsertPage("inner")).label == "Add page inner"
        diagram = after(seed(), InsertPage("inner"))
        assert apply(diagram, RenamePage("inner", "out")).label == "Rename inner to out"
        assert apply(diagram, RemovePage("inner")).label == "Remove page inner"

    def test_a_page_takes_its_uses_along_to_a_new_name(self):
        diagram = after(nested(), RenamePage("scale", "factor"))
        assert dumps(diagram) == dumps(nested()).replace('"scale"', '"factor"')

    @pytest.mark.parametrize(
        ("change", "message"),
        [
            (InsertPage("scale"), "There is already a page 'scale'."),
            (InsertPage("a/b"), "'a/b' is not a valid page name."),
            (
                InsertPage("p", Page({"a.b": make("Mul")})),
                "p: a.b: 'a.b' is not a valid block name.",
            ),
            (RemovePage("main"), "Page 'main' is the one that runs; it can't be removed."),
            (RemovePage("scale"), "scale: Page 'scale' is in use: main/one, main/two. Remove"),
            (RemovePage("z"), "z: There is no page 'z'."),
            (RenamePage("main", "z"), "Page 'main' is the one that runs; it keeps its name."),
            (RenamePage("scale", "main"), "scale: There is already a page 'main'."),
            (RenamePage("z", "y"), "z: There is no page 'z'."),
        ],
    )
    def test_what_can_not_be_done_is_told(self, change, message):
        with pytest.raises(ChangeError) as caught:
            apply(nested(), change)
        assert message in str(caught.value)

    def test_a_page_that_only_contains_itself_may_go(self):
        inner = page({"again": make("Page", page="inner")})
        assert after(draw({}, inner=inner), RemovePage("inner")) == Diagram()

    def test_a_ports_new_name_keeps_the_wires_and_literals_of_the_uses(self):
        diagram = after(
            nested(), RenameBlock("factor", "k", "scale"), RenameBlock("twice", "out", "scale")
        )
        assert wires(diagram) == {
            "one.x": "a.out", "one.k": "a.out", "two.x": "one.y", "loss.x": "two.out",
        }  # fmt: skip
        assert diagram.main.blocks["two"] == make("Page", page="scale", k=5)
        assert not check(diagram)

    def test_a_port_that_goes_takes_the_wires_and_literals_of_the_uses_along(self):
        diagram = after(nested(), RemoveBlocks(["factor", "twice"], "scale"))
        assert wires(diagram) == {"one.x": "a.out", "two.x": "one.y"}
        assert diagram.main.blocks["two"] == make("Page", page="scale")

    def test_a_use_reads_its_own_output_where_none_depends_on_the_other(self):
        assert can_connect(nested(), "main", P("one.twice"), P("one.factor")) is None
        assert can_connect(nested(), "main", P("one.y"), P("one.factor")) == (
            "That makes a cycle: one → one."
        )

    def test_a_cycle_may_close_on_another_page(self):
        diagram = after(nested(), Connect(P("one.twice"), P("one.factor")))
        reason = can_connect(diagram, "scale", P("factor.out"), P("double.b"))
        assert reason == "That makes a cycle: one → one."

    def test_a_cycle_that_was_there_is_no_reason(self):
        knot = {"s": make("StopGradient"), "t": make("StopGradient")}
        diagram = draw({**knot, "use": make("Page", page="scale")},
                       {"s.x": "t.out", "t.x": "s.out"}, scale=scale())  # fmt: skip
        assert can_connect(diagram, "scale", P("x.out"), P("double.b")) is None
        assert can_connect(diagram, "main", P("s.out"), P("use.x")) is None


class TestWords:
    def test_notes_move_with_blocks(self):
        diagram = after(seed(), SetNote("n", Note("why", Point(5, 5), 300)))
        move = MoveBlocks({"a": Point(1, 2)}, notes={"n": Point(3, 4)})
        edit = apply(diagram, move)
        assert edit.label == "Move a, n"
        assert edit.after.main.notes["n"] == Note("why", Point(3, 4), 300)
        assert edit.after.main.layout["a"] == Point(1, 2)

    def test_notes_are_written_changed_and_removed(self):
        note = Note("Why?", Point(1, 2))
        diagram = after(seed(), SetNote("n", note))
        assert diagram.main.notes == {"n": note}
        assert apply(seed(), SetNote("n", note)).label == "Change note"
        edit = apply(diagram, SetNote("n", None))
        assert edit.after == seed()
        assert edit.label == "Remove note"

    @pytest.mark.parametrize(
        ("change", "message"),
        [
            (SetNote("n", None), "There is no note 'n'."),
            (MoveBlocks({}, notes={"n": Point(0, 0)}), "There is no note 'n'."),
            (SetNote("a/b", Note("x")), "'a/b' is not a valid note name."),
            (SetNote("n", Note("x", Point(0, math.nan))), "A position must be finite."),
            (SetNote("n", Note("x", width=math.inf)), "A position must be finite."),
        ],
    )
    def test_notes_that_can_not_be(self, change, message):
        with pytest.raises(ChangeError) as caught:
            apply(seed(), change)
        assert message in str(caught.value)

    def test_title_and_description(self):
        lines = SetTitle(contracts=("flows(loss -> a)",))
        diagram = after(seed(), SetTitle("Title", "More."), lines, SetTitle("Other"))
        assert diagram.contracts == ("flows(loss -> a)",)
        assert apply(diagram, lines).label == "Change contracts"
        assert (diagram.title, diagram.description) == ("Other", "More.")


class TestTraining:
    def test_a_recipe_is_set_and_removed_as_a_whole(self):
        recipe = Training(optimisers=(OptimiserRule(name="opt", variables=("a",)),), steps=5)
        trained = after(seed(), SetTraining(recipe))
        assert trained.training == recipe
        assert loads(dumps(trained)) == trained
        assert after(trained, SetTraining(None)) == seed()
        labels = [apply(seed(), SetTraining(each)).label for each in (recipe, None)]
        assert labels == ["Change training", "Remove training"]

    def test_other_edits_keep_it(self):
        trained = after(seed(), SetTraining(Training(steps=3)))
        edited = after(trained, SetTitle("New"), RenameBlock("mul", "times"), InsertPage("inner"))
        assert edited.training is trained.training
        assert same_meaning(trained, after(trained, SetTraining(None)))


class TestLessons:
    def test_a_lesson_is_set_and_removed_as_a_whole(self):
        lesson = Lesson(goal="Find the stop.", steps=(ShowStep(text="Look at {grad('a')}."),))
        taught = after(seed(), SetLesson(lesson))
        assert taught.lesson == lesson
        assert loads(dumps(taught)) == taught
        assert after(taught, SetLesson(None)) == seed()
        labels = [apply(seed(), SetLesson(each)).label for each in (lesson, None)]
        assert labels == ["Change lesson", "Remove lesson"]

    def test_other_edits_keep_it(self):
        taught = after(seed(), SetLesson(Lesson(goal="Stay.")))
        edited = after(taught, SetTitle("New"), RenameBlock("mul", "times"), InsertPage("inner"))
        assert edited.lesson is taught.lesson
        assert same_meaning(taught, after(taught, SetLesson(None)))


class TestBookmarks:
    def test_they_follow_the_names_of_pages_and_go_with_them(self):
        one = View("one", "main", Point(1, 2), 1.0)
        two = View("two", "inner", Point(3, 4), 0.5)
        diagram = after(seed(), InsertPage("inner"), SetViews((one, two)))
        assert diagram.views == (one, two)
        renamed = after(diagram, RenamePage("inner", "outer"))
        assert renamed.views == (one, two._replace(page="outer"))
        assert after(renamed, RemovePage("outer")).views == (one,)
        assert loads(dumps(renamed)) == renamed

    def test_they_keep_their_order(self):
        views = tuple(View(name, "main", Point(0, 0), 1.0) for name in "cab")
        assert loads(dumps(after(seed(), SetViews(views)))).views == views

    @pytest.mark.parametrize(
        ("view", "message"),
        [
            (View("a/b", "main", Point(0, 0), 1.0), "'a/b' is not a valid bookmark name."),
            (View("v", "z", Point(0, 0), 1.0), "There is no page 'z'."),
            (View("v", "main", Point(0, math.nan), 1.0), "A position must be finite."),
            (View("v", "main", Point(0, 0), 0.0), "The zoom of a bookmark must be positive."),
            (View("first", "main", Point(0, 0), 1.0), "There is already a bookmark 'first'."),
        ],
    )
    def test_some_can_not_be(self, view, message):
        with pytest.raises(ChangeError) as caught:
            apply(seed(), SetViews((View("first", "main", Point(0, 0), 1.0), view)))
        assert message in str(caught.value)
