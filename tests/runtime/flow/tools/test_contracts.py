"""Contracts and the doctor."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import gradwire.runtime.build as b
from gradwire.blocks.errors import FileError
from gradwire.runtime.diagram import SetTitle, apply, load, save
from gradwire.runtime.diagram.training import OptimiserRule, Training
from gradwire.runtime.engine import Session
from gradwire.runtime.flow import (
    State,
    check_contracts,
    contracts_of,
    diagnose,
    needs_run,
    observe,
    parse_contracts,
    unowned,
)
from gradwire.runtime.flow.analyse import analyse
from gradwire.runtime.flow.badges import BadgeKind, badges
from gradwire.runtime.flow.tools.findings import CONSTANT, CONTRACT, IDLE_STOP, UNOWNED
from gradwire.runtime.flow.tools.patterns import matches
from gradwire.runtime.flow.words.states import NO_GRADIENT
from gradwire.runtime.training.optimisers import SGD
from tests.runtime.flow.specimens import specimen


def two():
    """L1 trains x, L2 trains y with x stopped; z is zero for L1."""
    x, y, z = (b.variable(name, 2.0) for name in "xyz")
    one = b.loss(b.add(b.mul(x, 3, name="m"), b.mul(z, 0, name="nought")), name="L1")
    other = b.loss(b.mul(b.stop_gradient(x, name="sg"), y), name="L2")
    return b.build(one, other)


def broken(diagram, text, run=True):
    session = Session(diagram)
    outcomes = check_contracts(
        parse_contracts(text), observe(session) if run else None, analyse(session.program)
    )
    return [(str(o.contract), [(c.subject, c.sentence) for c in o.breaches])
            for o in outcomes if not o.kept]  # fmt: skip


def test_contracts_that_are_kept():
    text = """
    # what each loss is for
    flows(L1 -> x)   # trailing
    flows(L2 → y)
    blocked(L2 -> x)
    blocked(L1 -> y)
    nonzero(L1 -> x)
    finite(* -> *)
    flows(L1.out -> m.a)
    """
    assert broken(two(), text) == []


def test_broken_contracts_say_why_with_names():
    assert broken(two(), "flows(L2 -> x)") == [
        ("flows(L2 -> x)", [("x", "sg stops every route to L2.")])
    ]
    assert broken(two(), "blocked(L1 -> *)") == [
        (
            "blocked(L1 -> *)",
            [
                ("x", "Carries the gradient of L1 to x. Route: L1 ← add1 ← m ← x."),
                ("z", "Carries the gradient of L1 to z. Route: L1 ← add1 ← nought ← z."),
            ],
        )
    ]
    assert broken(two(), "nonzero(L1 -> z)") == [
        ("nonzero(L1 -> z)", [("z", "Connected, but nought multiplies by 0.")])
    ]


def test_finite():
    q = b.variable("q", [0.0, 4.0])
    diagram = b.build(b.loss(b.sum(b.where(b.greater(q, 0.0), b.sqrt(q, name="root"), 0.0))))
    ((_, ((subject, sentence),)),) = broken(diagram, "finite(loss -> q)")
    assert subject == "q" and sentence.startswith("First NaN made in root (0·∞).")


def test_a_pattern_that_names_nothing_breaks_its_contract():
    assert broken(two(), "flows(L3 -> x)")[0][1] == [("", "L3 matches no loss. There are L1, L2.")]
    assert broken(two(), "blocked(L1 -> encoder/*)")[0][1] == [
        ("", "encoder/* matches no variable or wire. There are x, y, z.")
    ]


def test_without_a_run_numbers_are_not_promised():
    assert broken(two(), "nonzero(L1 -> x)", run=False)[0][1] == [
        ("x", "The diagram could not be run.")
    ]
    assert broken(two(), "flows(L1 -> x)", run=False) == []
    assert needs_run(parse_contracts("finite(a -> b)"))
    assert not needs_run(parse_contracts("flows(a -> b)"))


@pytest.mark.parametrize(
    "text", ["flow(a -> b)", "flows a -> b", "flows(a b)", "flows(a -> b) and", "flows(->)"]
)
def test_what_is_no_contract(text):
    with pytest.raises(FileError) as error:
        parse_contracts(f"# one\n{text}", "m.contracts")
    assert error.value.line == 2 and error.value.path == "m.contracts"


@pytest.mark.parametrize(
    ("pattern", "path", "named"),
    [
        ("W", "W", True),
        ("W", "W1", False),
        ("W*", "W1", True),
        ("encoder/*", "encoder/W", True),
        ("encoder/*", "encoder/layer/W", True),
        ("encoder/*", "decoder/W", False),
        ("encoder/*", "encoder", False),
        ("*/W", "encoder/W", True),
        ("*/W", "encoder/layer/W", False),
        ("*", "encoder/W", True),
        ("enc", "enc/W", False),
    ],
)
def test_patterns(pattern, path, named):
    assert matches(pattern, path) is named


def test_what_optimisers_update():
    assert broken(two(), "updates(sgd -> x)\nupdates(sgd -> [yz])") == []
    assert broken(two(), "updates(opt_G -> x)\nupdates(opt_D -> [xy])") == [
        ("updates(opt_G -> x)", [("x", "opt_D updates x, too.")]),
        ("updates(opt_D -> [xy])", [("x", "opt_G updates x, too.")]),
    ]
    frozen = b.build(b.loss(b.mul(b.variable("w", 1.0, trainable=False), b.variable("x", 1.0))))
    assert broken(frozen, "updates(sgd -> *)\nupdates(sgd -> v)") == [
        ("updates(sgd -> *)", [("w", "w is not trained, so sgd can't update it.")]),
        ("updates(sgd -> v)", [("", "v matches no variable. There are w, x.")]),
    ]


def test_what_optimisers_update_is_held_against_the_recipe():
    rules = (
        OptimiserRule(name="opt_G", variables=("x", "y")),
        OptimiserRule(name="opt_D", variables=("[yz]",)),
    )
    diagram = replace(two(), training=Training(optimisers=rules))
    session = Session(diagram)

    def breaches(text):
        outcomes = check_contracts(
            parse_contracts(text), None, analyse(session.program), diagram.training
        )
        return [breach.sentence for outcome in outcomes for breach in outcome.breaches]

    assert breaches("updates(opt_G -> x)\nupdates(opt_D -> z)") == []
    assert breaches("updates(opt_G -> [xz])") == [
        "z is none of the variables of opt_G: x, y.",
        "opt_D updates z, too.",
    ]
    assert breaches("updates(opt_D -> y)") == ["opt_G updates y, too."]
    assert breaches("updates(opt_g -> x)") == ["opt_G updates x, too."]
    assert broken(diagram, "updates(opt_G -> z)") == []  # no recipe was given
    stated = apply(diagram, SetTitle(contracts=("updates(opt_G -> z)",))).after
    found = [f.sentence for f in diagnose(Session(stated)) if f.complaint is CONTRACT]
    assert found == [
        "updates(opt_G -> z) is broken. z is none of the variables of opt_G: x, y.",
        "updates(opt_G -> z) is broken. opt_D updates z, too.",
    ]


def test_who_is_not_updated_is_unowned():
    program = Session(two()).program
    assert unowned(program, []) == []
    assert unowned(program, parse_contracts("flows(L1 -> x)")) == []
    assert unowned(program, parse_contracts("updates(sgd -> x)")) == ["y", "z"]


def test_a_recipe_says_what_is_updated_without_lines():
    rule = OptimiserRule(name="opt", variables=("x",))
    program = Session(two()).program
    assert unowned(program, [], (), Training(optimisers=(rule,))) == ["y", "z"]
    assert unowned(program, parse_contracts("updates(o -> y)"), (), Training(optimisers=(rule,)))
    everything = OptimiserRule(name="opt")
    assert unowned(program, [], (), Training(optimisers=(everything,))) == []
    session = Session(replace(two(), training=Training(optimisers=(rule,))))
    assert [f.key for f in diagnose(session) if f.complaint is UNOWNED] == ["y", "z"]
    marked = [badge.key for badge in badges(observe(session)) if badge.mark is BadgeKind.UNOWNED]
    assert marked == ["y", "z"]


def test_a_variable_that_every_step_has_left_out_is_unowned():
    session = Session(two())
    assert diagnose(session)[0].complaint is State.ZERO.row.complaint
    session.step(SGD(), ["L1"], wrt=["x"])
    assert unowned(session.program, (), session.updated) == ["y", "z"]
    session.step(SGD(), ["L2"], wrt=["y"])
    left = [f.key for f in diagnose(session) if f.complaint is UNOWNED]
    assert left == ["z"]
    assert unowned(session.program, parse_contracts("updates(adam -> z)"), session.updated) == []


def test_a_diagram_states_contracts_of_its_own_and_its_file_has_more_beside_it(tmp_path):
    diagram = apply(two(), SetTitle(contracts=("flows(L1 -> x)", "# that is all"))).after
    assert [str(c) for c in contracts_of(diagram)] == ["flows(L1 -> x)"]
    file = tmp_path / "two.gradwire.json"
    save(diagram, file)
    assert [str(c) for c in contracts_of(load(file), file)] == ["flows(L1 -> x)"]
    (tmp_path / "two.contracts").write_text("blocked(L2 -> x)", encoding="utf-8")
    assert [str(c) for c in contracts_of(load(file), file)] == [
        "flows(L1 -> x)",
        "blocked(L2 -> x)",
    ]
    wrong = apply(diagram, SetTitle(contracts=("# one", "flow(L1 -> " + "x" * 100_000))).after
    with pytest.raises(FileError, match=r"^Line 2 of the diagram's contracts is not") as caught:
        contracts_of(wrong)
    assert len(str(caught.value)) < 500
    with pytest.raises(FileError, match=r"two\.gradwire\.json: Line 2 of the diagram's contracts"):
        contracts_of(wrong, file)


# ---- the doctor -----------------------------------------------------------------------------


def findings(*losses, contracts=""):
    session = Session(b.build(*losses))
    found = diagnose(session, contracts=parse_contracts(contracts))
    return [(f.complaint, f.key, f.sentence) for f in found]


def test_a_healthy_diagram_has_no_findings():
    assert findings(b.loss(b.mul(b.variable("x", 1.0), 2))) == []


def test_findings_are_ranked():
    x, y, z = b.variable("x", 1.0), b.variable("y", -1.0), b.variable("z", [0.0, 1.0])
    root = b.where(b.greater(z, 0.0), b.sqrt(z, name="root"), 0.0, name="choose")
    total = b.add_n(b.stop_gradient(b.mul(x, 3), name="sg"), b.relu(y, name="relu1"), b.sum(root))
    assert findings(b.loss(total), contracts="flows(loss -> x)") == [
        (
            State.NONFINITE.row.complaint,
            "root.x",
            "First NaN made in root (0·∞). choose does not take this branch, yet 0·∞ is NaN (0 "
            "in TensorFlow, but not under XLA): put a Where before root too, so that it never "
            "sees such values.",
        ),
        (CONTRACT, "x", "flows(loss -> x) is broken. sg stops every route to loss."),
        (
            NO_GRADIENT,
            "x",
            "No gradient: sg stops every route to loss. Without sg: 3.",
        ),
        (
            State.ZERO.row.complaint,
            "y",
            "Connected, but relu1 is off (−1). "
            "Use LeakyRelu, start with other weights, or add a loss that is not flat here.",
        ),
    ]


def test_the_doctor_holds_a_diagram_to_what_it_states():
    leaks = b.build(b.loss(b.mul(b.variable("x", 1.0), b.variable("y", 1.0), name="m")))
    stated = SetTitle(contracts=("blocked(loss -> x)", "updates(sgd -> x)"))
    found = diagnose(Session(apply(leaks, stated).after))
    assert [(f.complaint, f.key, f.sentence) for f in found] == [
        (
            CONTRACT,
            "x",
            "blocked(loss -> x) is broken. Carries the gradient of loss to x. Route: loss ← m ← x. "
            "A StopGradient on m.a would block it. All others keep one.",
        ),
        (UNOWNED, "y", "UNOWNED: y is trained, and no optimiser updates it."),
    ]
    assert diagnose(Session(leaks)) == []


def test_what_contracts_ask_for_is_nothing_to_complain_of():
    x, y = b.variable("x", 1.0), b.variable("y", 1.0)
    lost = b.loss(b.mul(b.stop_gradient(x, name="sg"), y), name="L1"), b.loss(y, name="L2")
    assert [f[1] for f in findings(*lost)] == ["x"]
    assert [f[1] for f in findings(*lost, contracts="blocked(L1 -> x)")] == ["x"]
    assert findings(*lost, contracts="blocked(L1 -> x)\nblocked(L2 -> *)")[0][1] == "y"
    assert findings(*lost, contracts="blocked(* -> x)") == []


def test_a_stop_that_cuts_nothing_is_found_by_opening_it():
    x = b.variable("x", 1.5)
    kept = b.stop_gradient(b.round(x, name="round1"), name="sg")
    assert findings(b.loss(b.add(x, kept))) == [
        (
            IDLE_STOP,
            "sg",
            "This stop cuts nothing: opening it changes no gradient.",
        )
    ]


def test_a_stop_before_what_is_flat_brings_only_zeros_when_opened():
    x, y = b.variable("x", 1.5), b.variable("y", 1.0)
    kept = b.stop_gradient(b.round(x, name="round1"), name="sg")
    assert findings(b.loss(b.add(y, kept)))[-1] == (
        IDLE_STOP,
        "sg",
        "This stop cuts nothing: opening it brings only zeros.",
    )


def test_a_variable_that_one_loss_reaches_is_no_finding():
    assert [c for c, _, _ in findings(*_losses())] == []


def _losses():
    x = b.variable("x", 2.0)
    return b.loss(b.mul(x, 3), name="L1"), b.loss(
        b.mul(b.stop_gradient(x, name="sg"), b.variable("y", 1.0)), name="L2"
    )


def test_a_finding_brings_its_fix():
    x = b.variable("x", 2.0)
    session = Session(b.build(b.loss(b.stop_gradient(b.mul(x, 3), name="sg"))))
    (found,) = diagnose(session)
    assert found.fix.opened == ("sg",) and found.fix.gradient == 3.0
    assert found.fix.change.label == "Open sg"


@pytest.mark.night
def test_the_doctor_names_exactly_the_variables_without_gradient_or_with_zero():
    for seed in range(150):
        session = Session(specimen(seed, gradients=seed % 3 == 0))
        found = diagnose(session)
        gradients = session.backward().gradients
        named = {f.key for f in found if f.complaint is NO_GRADIENT}
        assert named == {name for name, g in gradients.items() if g is None}, seed
        zero = {f.key for f in found if f.complaint is State.ZERO.row.complaint}
        flat = {n for n, g in gradients.items() if g is not None and not np.any(g)}
        constant = {n for n in flat - zero if observe(session).invariance(n)}
        assert zero | constant == flat, seed
        assert not constant or CONSTANT in [f.complaint for f in found], seed
        assert [f.complaint.gravity for f in found] == sorted(f.complaint.gravity for f in found)
        assert all(f.sentence for f in found)


@pytest.mark.parametrize(
    "line", ["flows(a" + " " * 200_000, "flows(" + "->" * 100_000, "flows(a ->" + " " * 200_000]
)
def test_a_hostile_line_is_refused_in_the_time_it_takes_to_read_it(line):
    with pytest.raises(FileError, match="not a contract"):
        parse_contracts(line)


def test_a_hostile_pattern_is_compared_in_the_time_it_takes_to_read_it():
    assert not matches("*a" * 2_000 + "b", "a" * 10_000)
