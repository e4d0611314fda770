"""The cheapest repair is the smallest one, and its number is that of the repaired diagram."""

from __future__ import annotations

import re
from itertools import combinations

import numpy as np
import pytest

import gradwire.runtime.build as b
from gradwire.blocks.errors import ChangeError
from gradwire.blocks.library.gradient import StopGradient
from gradwire.runtime.build import (
    add_n,
    arg_max,
    build,
    cast,
    ceil,
    constant,
    equal,
    floor,
    greater,
    is_finite,
    loss,
    mul,
    one_hot,
    round,
    sign,
    softmax,
    stop_gradient,
    straight_through,
    sum,
    variable,
    where,
)
from gradwire.runtime.diagram import apply, arrange, dumps
from gradwire.runtime.engine import Session
from gradwire.runtime.engine.plan.numpy_engine import NumpyEngine
from gradwire.runtime.flow import State, WhatIf, diagnose, fix, fixes, observe, with_fix
from gradwire.runtime.flow.analyse import analyse
from gradwire.runtime.flow.tools import repairs
from gradwire.runtime.flow.tools.interventions import OpenStop, change_of
from gradwire.runtime.flow.tools.repairs import REPAIRABLE, trial
from gradwire.runtime.flow.words.formatting import number
from tests.runtime.flow.specimens import blocks_of, specimen

CUT = (State.STOPPED, State.NO_RULE)


def test_a_trial_computes_as_the_session_that_it_is_made_of():
    x = variable("x", 2.0)
    session = Session(build(loss(stop_gradient(x, name="stop") * x)), engine=NumpyEngine(()))
    assert trial(session, (OpenStop("stop"),))[0].engine is session.engine


def jumps():
    """Diagrams with blocks that have no derivative, which a StraightThrough gets past."""
    x, w = variable("x", [1.0, 3.0, 2.0]), variable("w", [1.0, 2.0, 3.0])
    above, best = greater(x, 1.5), one_hot(arg_max(x), depth=3)
    masks = [cast(above, dtype="float32"), cast(equal(x, 3.0), dtype="float32"), best,
             cast(is_finite(x), dtype="float32"),
             cast(cast(x, dtype="int32"), dtype="float32")]  # fmt: skip
    made = [*(mul(mask, w) for mask in masks), where(above, w, 0.0)]
    return [build(loss(sum(value))) for value in made]


def opened(diagram, names):
    return apply(diagram, change_of(diagram, [OpenStop(name) for name in names])).after


def stops(diagram):
    return [name for name, block in blocks_of(diagram).items() if isinstance(block, StopGradient)]


@pytest.mark.night
def test_the_repair_opens_the_fewest_stops_that_let_gradient_pass() -> None:
    tried = 0
    for seed in range(1200):
        diagram = specimen(seed)
        program = Session(diagram).program
        names = stops(diagram)
        if len(diagram.pages) > 1 or not 0 < len(names) <= 6:
            continue
        flow = analyse(program)
        floats = [n for n in names if program.ports[f"{n}.out"].dtype.startswith("float")]
        reopened = {
            chosen: analyse(Session(opened(diagram, chosen)).program)
            for count in range(len(floats) + 1)
            for chosen in combinations(floats, count)
        }
        for head in flow.losses:
            for wire, state in flow.states(head).items():
                verdict = flow.verdict(wire, head)
                if state is not State.STOPPED or verdict.frozen:
                    continue
                carrying = [
                    len(chosen)
                    for chosen, after in reopened.items()
                    if after.state(wire, head) is State.CARRIES
                ]
                repair = tuple(sorted({c.block for c in verdict.repair}, key=floats.index))
                assert reopened[repair].state(wire, head) is State.CARRIES, (seed, wire)
                assert len(repair) == len(verdict.repair) == min(carrying), (seed, wire)
                tried += 1
    assert tried > 200


@pytest.mark.night
def test_the_promised_gradient_is_that_of_the_repaired_diagram() -> None:
    tried = bridged = 0
    for diagram in [*map(specimen, range(120)), *jumps()]:
        session = Session(diagram)
        flow = analyse(session.program)
        keys = [*session.program.wire_sources, *session.program.sources("variable")]
        for key in keys:
            found = fix(session, key, flow=flow)
            if found is None or found.change is None:
                continue
            after = Session(apply(session.diagram, found.change).after)
            head = flow.explain(key).loss
            run = after.backward([head])
            promised = run.contributions if key in run.contributions else run.gradients
            if promised[key] is None:  # the wire itself is led past
                (key,) = (w for w in run.contributions if w not in session.program.wires
                          and run.contributions[w] is not None)  # fmt: skip
                assert found.straight_through and "straight_through" in key
            np.testing.assert_array_equal(found.gradient, promised[key])
            if found.gradient is not None:
                assert after.program.wires.keys() >= session.program.wires.keys()
            tried += 1
            bridged += bool(found.straight_through)
    assert tried > 300 and bridged > 20


@pytest.mark.night
def test_a_repair_that_can_be_made_gives_a_gradient_always() -> None:
    """To wires and variables, frozen ones too, for each loss; and no more is needed."""
    tried = trained = bridged = 0
    for seed, diagram in enumerate([*map(specimen, range(120)), *jumps()]):
        session = Session(diagram)
        flow = analyse(session.program)
        keys = [*session.program.wire_sources, *session.program.sources("variable")]
        for head in flow.losses:
            for key in keys:
                found = fix(session, key, head, flow=flow)
                state = flow.explain(key, head).state
                whole = key in session.program.leaves and flow.variable(key).sentence.endswith(
                    "only floats have gradients."
                )
                steep = flow.step_bypasses(flow.explain(key, head))
                wanted = (state in REPAIRABLE and not whole) or bool(steep)
                assert (found is not None) == wanted, (seed, key)
                if found is None or found.obstacle:
                    continue
                assert found.gradient is not None, (seed, key)
                tried += 1
                trained += bool(found.trained)
                bridged += bool(found.straight_through)
    assert tried > 350 and trained > 50 and bridged > 20


def test_fixes_of_several_variables_are_those_of_each() -> None:
    shared = 0
    for seed in range(80):
        session = Session(specimen(seed))
        flow = analyse(session.program)
        names = list(session.program.sources("variable"))
        found = fixes(session, names, flow=flow)
        for name in names:
            alone = fix(session, name, flow=flow)
            assert (alone is None) == (name not in found), (seed, name)
            if alone is not None:
                assert found[name].sentence == alone.sentence
                assert found[name].steps == alone.steps
                np.testing.assert_array_equal(found[name].gradient, alone.gradient)
        shared += len(found)
    assert shared > 30


def test_variables_behind_one_stop_share_a_run(monkeypatch):
    made = []
    monkeypatch.setattr(repairs, "trial", lambda *given: made.append(given) or trial(*given))
    total = add_n(*(variable(f"v{i}", 1.0) for i in range(30)))
    session = Session(build(loss(stop_gradient(total, name="sg"))))
    found = diagnose(session)
    assert len(found) == 30 and all(f.fix.gradient == 1.0 for f in found)
    assert len(made) == 1


def test_no_more_than_the_most_runs_are_made():
    parts = [stop_gradient(variable(f"v{i}", 1.0), name=f"s{i}") for i in range(5)]
    session = Session(build(loss(add_n(*parts))))
    assert list(fixes(session, [f"v{i}" for i in range(5)], most=2)) == ["v0", "v1"]


def test_repairs_of_all_wires_are_those_of_each() -> None:
    for seed in range(60):
        flow = analyse(Session(specimen(seed)).program)
        found = flow.repairs()
        for wire, state in flow.states().items():
            assert (wire in found) >= (state in CUT), (seed, wire)
            assert (wire in found) <= (state in (*CUT, State.FROZEN)), (seed, wire)
            assert found.get(wire, ()) == flow.verdict(wire).repair


def chain(values=True):
    x = variable("x", 2.0)
    first = stop_gradient(mul(x, 3, name="triple"), name="sg1")
    return build(loss(stop_gradient(mul(first, 5, name="five"), name="sg2")))


def test_where_two_stops_follow_each_other_both_are_in_the_repair():
    session = Session(chain())
    verdict = with_fix(session, analyse(session.program).variable("x"))
    assert [str(c) for c in verdict.cutters] == ["sg2", "sg1"]
    assert [str(c) for c in verdict.repair] == ["sg2", "sg1"]
    assert verdict.sentence == (
        "sg2 stops every route to loss. With that open, sg1 stops the gradient. "
        "Without sg2 and sg1: 15."
    )


def test_a_repair_on_both_sides_of_a_wire_is_listed_from_the_loss_on():
    session = Session(chain())
    found = fix(session, "five.a")
    assert found.opened == ("sg2", "sg1") and found.gradient == 5.0
    assert fix(session, "five.a").sentence == "Without sg2 and sg1: 5."


def test_an_opened_stop_keeps_its_name_and_its_place_among_the_terms():
    x, y = variable("x", 1.0), variable("y", 2.0)
    diagram = arrange(build(loss(add_n(stop_gradient(x, name="sg"), y, name="all"))))
    after = opened(diagram, ["sg"])
    assert after.main.wires == diagram.main.wires
    assert after.main.layout["sg"] == diagram.main.layout["sg"]
    session = Session(after)
    assert session.backward().gradients["x"] == 1.0
    reading = observe(session)
    assert "sg" not in reading.surrogates and reading.idle_stops() == {}
    assert diagnose(session) == []


def test_an_opened_stop_is_written_as_one_and_is_closed_again():
    diagram = build(loss(stop_gradient(variable("x", 1.0), name="sg")))
    after = opened(diagram, ["sg"])
    assert '"sg": {"type": "StopGradient", "open": true}' in dumps(after)
    assert WhatIf(after).close("sg").diagram.main.blocks == diagram.main.blocks
    assert WhatIf(after).close("sg").as_change().label == "Close sg"
    with pytest.raises(ChangeError, match="only a StopGradient can be closed"):
        WhatIf(after).close("loss").compare()


def test_past_a_choice_the_number_is_that_of_the_straight_through_repair():
    x, w = variable("x", [1.0, 3.0, 2.0]), constant("w", [1.0, 2.0, 3.0])
    hard = one_hot(arg_max(x, name="choice"), depth=3, name="hot")
    session = Session(build(loss(sum(mul(hard, w)))))
    verdict = with_fix(session, analyse(session.program).variable("x"))
    assert verdict.state is State.NO_RULE
    assert verdict.sentence == (
        "choice cuts every route to loss: it is piecewise constant. Move the loss before it, "
        "soften it with a Softmax, or use a StraightThrough block. Straight through choice: "
        "rms 2.16."
    )
    found = fix(session, "x")
    assert found.straight_through == ("choice",)
    assert found.gradient.tolist() == [1, 2, 3]


@pytest.mark.night
def test_no_sentence_advises_a_bypass_that_another_calls_impossible():
    seen = 0
    for diagram in [*map(specimen, range(150)), *jumps()]:
        session = Session(diagram)
        flow = analyse(session.program)
        for key in [*session.program.wires, *session.program.sources("variable")]:
            text = with_fix(session, flow.explain(key), flow=flow).sentence
            impossible = re.findall(r"cannot bypass (\S+) alone: the shape", text)
            seen += bool(impossible)
            alone = [name for name in impossible if f"{name} cuts every route" in text]
            assert not (alone and "or use a StraightThrough block" in text), text
    assert seen >= 4


def test_where_nothing_can_stand_in_the_reason_is_said():
    x = variable("x", [1.0, 3.0])
    session = Session(build(loss(cast(arg_max(x, name="choice"), dtype="float32"))))
    found = fix(session, "x")
    assert found.gradient is None and found.change is None
    assert found.sentence == (
        "A StraightThrough block cannot bypass choice alone: the shape is (2,) before it and () "
        "after it. It can take a OneHot of choice as its hard side, and a Softmax as its soft one."
    )
    hard = one_hot(arg_max(x), depth=2, name="hot")
    session = Session(build(loss(sum(mul(straight_through(hard, softmax(x)), [1.0, 2.0])))))
    assert diagnose(session) == []


def test_a_wire_that_the_repair_leads_past_is_told_so():
    x = variable("x", [1.0, 3.0])
    mask = cast(greater(x, 2.0, name="above"), dtype="float32", name="mask")
    session = Session(build(loss(sum(mul(mask, constant("w", [1.0, 2.0]))))))
    found = fix(session, "mask.x")
    assert found.past and found.gradient is not None
    assert found.sentence == "Straight through above, past this wire: rms 1.581."
    assert fix(session, "x").sentence == "Straight through above: rms 1.581."


@pytest.mark.parametrize("step", [round, floor, ceil, sign])
def test_past_rounding_a_straight_through_gives_a_number(step):
    x = variable("x", [1.2, 3.7])
    hard = step(mul(x, 2.0, name="twice"), name="hard")
    session = Session(build(loss(sum(mul(hard, constant("w", [1.0, 3.0]))))))
    assert not np.any(session.backward().gradients["x"])
    found = fix(session, "x")
    assert found.straight_through == ("hard",) and found.gradient.tolist() == [2.0, 6.0]
    assert found.sentence == "Straight through hard: rms 4.472."
    assert fix(session, "hard.x").sentence == "Straight through hard, past this wire: rms 2.236."
    verdict = with_fix(session, observe(session).variable("x"))
    assert verdict.state is State.ZERO and verdict.sentence.endswith(found.sentence)


def mask_of(x):
    return cast(greater(x, 1.0), dtype="float32")


@pytest.mark.parametrize("hard", [round, floor, mask_of, lambda x: b.clip(x, min=5.0, max=6.0)])
@pytest.mark.parametrize(
    "reads",
    [
        lambda r, _: mul(r, r),
        lambda r, x: add_n(r, mul(r, 3.0), b.square(r)),
        lambda r, x: mul(b.sub(r, [1.0, 2.0, 3.0]), b.exp(r)),
        lambda r, x: add_n(b.display(r), mul(r, stop_gradient(r))),
        lambda r, x: mul(b.reshape(r, shape=[3, 1]), b.reshape(r, shape=[1, 3])),
    ],
    ids=["both factors", "three", "two blocks", "a view and a stop", "behind shapes"],
)
def test_a_number_past_a_block_is_that_with_all_that_reads_it(hard, reads):
    def gradient(is_straight):
        x = variable("x", [0.6, 1.7, -2.2])
        made = hard(x)
        read = straight_through(made, x) if is_straight else made
        return Session(build(loss(sum(reads(read, x)), name="loss")))

    wanted = gradient(is_straight=True).backward().gradients["x"]
    said = diagnose(gradient(is_straight=False))[0].sentence
    promised = re.search(r"Straight through \S+: rms (\S+)\.(?: |$)", said)
    assert promised is not None, said
    assert float(promised[1]) == pytest.approx(float(np.sqrt(np.mean(wanted**2))), rel=1e-3)


def gradients_of(diagram, name, losses):
    """Of the sum of losses, then of each."""
    session = Session(diagram)
    return [
        session.backward(each).gradients[name] for each in (losses, *([loss] for loss in losses))
    ]


def two_losses(cut):
    """Of which one pulls against the other."""
    w = variable("w", [1.0, 2.0])
    read = cut(w)
    return build(
        loss(sum(b.square(read)), name="L0"),
        loss(b.sub(mul(sum(read), 0.5), sum(b.square(read))), name="L1"),
    )


@pytest.mark.parametrize(
    ("cut", "made"),
    [
        (lambda w: stop_gradient(w, name="cut"), "Without cut"),
        (lambda w: round(w, name="cut"), "Straight through cut"),
        (lambda w: cast(greater(w, 1.5, name="cut"), dtype="float32"), "Straight through cut"),
    ],
)
def test_a_repair_that_several_losses_gain_from_has_the_number_of_each_and_of_their_sum(cut, made):
    session = Session(two_losses(cut))
    said = next(found.sentence for found in diagnose(session) if found.key == "w")
    found = fix(session, "w")
    total, first, second = gradients_of(
        apply(session.diagram, found.change).after, "w", ["L0", "L1"]
    )
    np.testing.assert_array_equal(found.total, total)
    np.testing.assert_array_equal(found.by_loss["L0"], first)
    np.testing.assert_array_equal(found.by_loss["L1"], second)
    sizes = [number(np.sqrt(np.mean(array**2))) for array in (first, second, total)]
    promise = "{}: rms {} for L0, rms {} for L1 and rms {} for the sum of losses".format(
        made, *sizes
    )
    angle = float(first @ second / np.sqrt((first @ first) * (second @ second)))
    assert f"{promise}; L0 and L1 pull against each other (cosine {number(angle)})." in said
    wire = next(iter(name for name in session.program.wire_sources if name.startswith("cut.")))
    assert "for L0" in fix(session, wire).sentence and "for L1" in fix(session, wire).sentence


def test_a_loss_that_a_repair_changes_nothing_for_is_not_told():
    w, v = variable("w", [1.0, 2.0]), variable("v", 1.0)
    first = loss(sum(stop_gradient(w, name="stop") * 3.0), name="L0")
    session = Session(build(first, loss(b.square(v), name="L1")))
    assert fix(session, "w").sentence == "Without stop: rms 3."
    both = build(first, loss(sum(b.square(w)), name="L1"))
    assert fix(Session(both), "w", "L0").sentence == "Without stop: rms 3."


def test_a_repair_after_which_losses_cancel_says_so():
    w = stop_gradient(variable("w", [1.0, 2.0]), name="stop")
    session = Session(build(loss(sum(w), name="up"), loss(-sum(w), name="down")))
    found = fix(session, "w")
    assert not found.helps
    assert "rms 1 for up, rms 1 for down and rms 0 for the sum of losses" in found.sentence
    assert found.sentence.endswith("up and down pull against each other (cosine −1).")


def test_a_wire_into_a_block_is_told_what_comes_past_it_from_all_readers():
    x = variable("x", [0.6, 1.7, -2.2])
    hard = round(mul(x, 1.0, name="same"), name="hard")
    session = Session(build(loss(sum(mul(hard, hard)))))
    found = fix(session, "hard.x")
    assert found.past and found.gradient.tolist() == [2.0, 4.0, -4.0]
    assert found.sentence == "Straight through hard, past this wire: rms 3.464."
    after = apply(session.diagram, found.change).after
    added = [
        name for name, made in blocks_of(after).items() if name not in blocks_of(session.diagram)
    ]
    assert len(added) == 1


def test_where_another_way_leads_round_a_step_there_is_nothing_to_repair():
    x = variable("x", 1.2)
    session = Session(build(loss(add_n(round(x, name="hard"), x))))
    assert fix(session, "x") is None
    assert fix(session, "hard.x").straight_through == ("hard",)


def test_what_a_repair_takes_from_others_is_told():
    w = variable("w", [1.0, 2.0])
    chosen = where(greater(variable("x", [1.0, 3.0]), 2.0, name="above"), w, 0.0, name="pick")
    session = Session(build(loss(sum(chosen))))
    found = fix(session, "x")
    assert found.sentence == "Straight through above: rms 1, but w would get none."
    after = Session(apply(session.diagram, found.change).after).backward().gradients
    assert found.cost == ("w",) and after["w"] is None and after["x"] is not None


def test_no_second_straight_through_takes_the_gradient_of_the_first():
    hard, soft = variable("hard", 1.0), variable("soft", 2.0)
    session = Session(build(loss(straight_through(hard, soft, name="st"))))
    found = fix(session, "hard")
    assert found.change is None and found.gradient is None
    assert found.sentence == "For a gradient here, add a loss that reads this before st."


@pytest.mark.parametrize(
    ("hard", "advice"),
    [
        (lambda x: greater(x, 0.5, name="hard"), "soften it with a Sigmoid, or use"),
        (lambda x: equal(x, 0.5, name="hard"), "soften it, or use"),
        (lambda x: cast(x, dtype="int32", name="hard"), "keep floats there, or use"),
        (lambda x: is_finite(x, name="hard"), "Move the loss before it, or use"),
        (lambda x: arg_max(x, keepdims=True, name="hard"), ", or soften it with a Softmax."),
    ],
)
def test_what_would_help_depends_on_the_block(hard, advice):
    x = variable("x", [1.0, 3.0])
    session = Session(build(loss(sum(cast(hard(x), dtype="float32")))))
    assert advice in analyse(session.program).variable("x").sentence
    for key in ("x", *session.program.wire_sources):
        assert "None" not in fix(session, key).sentence


def test_a_frozen_variable_is_fixed_by_training_it():
    x = variable("x", [1.0, 3.0], trainable=False)
    session = Session(build(loss(sum(mul(x, 2.0)))))
    found = fix(session, "x")
    assert found.trained == ("x",) and found.gradient.tolist() == [2, 2]
    assert found.sentence == "With x trained: rms 2."


@pytest.mark.parametrize("key", ["a", "data", "plain"])
def test_nothing_to_repair(key):
    a, data = variable("a", 1.0), constant("data", 2.0)
    plain = mul(data, greater(data, 1.0), name="plain")
    session = Session(build(loss(mul(a, plain))))
    key = {"data": "plain.a", "plain": "mul1.b"}.get(key, key)
    assert fix(session, key) is None


def estimator():
    """``q = e + stop(cb − e)``, squared."""
    e, cb = b.variable("e", [1.0, 2.0]), b.variable("cb", [1.2, 1.9])
    q = b.add(e, b.stop_gradient(b.sub(cb, e), name="sg"), name="q")
    return Session(b.build(b.loss(b.sum(b.square(q)))))


def test_a_repair_says_whose_gradient_it_would_turn_into_0():
    found = fix(estimator(), "cb")
    assert found.zeroed == ("e",)
    assert found.sentence == (
        "Without sg: rms 3.178, but the gradient of e would be exactly 0. e + sg(cb − e) is a "
        "straight-through estimator: leave the stop closed, or use a StraightThrough block "
        "(hard: cb, soft: e). For a gradient of cb, add a loss that reads it before sg."
    )


def hardened(hard, soft, stop):
    return b.add(b.sub(hard, stop), soft)


def shifted(hard, soft, stop):
    return b.add(hard, b.sub(soft, stop))


@pytest.mark.parametrize("written", [hardened, shifted])
def test_an_estimator_may_stop_its_soft_side_alone(written):
    soft = b.sigmoid(b.variable("x", 0.3), name="soft")
    hard = b.round(soft, name="hard")
    q = written(hard, soft, b.stop_gradient(soft, name="sg"))
    found = fix(Session(b.build(b.loss(b.mul(q, 3.0)))), "sg.x")
    assert found.zeroed == ("x",)
    assert "hard − sg(soft) + soft is a straight-through estimator" in found.sentence


@pytest.mark.parametrize("written", [hardened, shifted])
def test_no_estimator_has_a_hard_side_that_brings_gradient(written):
    soft = b.sigmoid(b.variable("x", 0.3), name="soft")
    q = written(b.tanh(soft, name="hard"), soft, b.stop_gradient(soft, name="sg"))
    assert fix(Session(b.build(b.loss(b.mul(q, 3.0)))), "sg.x").surrogates == ()


def test_a_stop_that_is_no_estimator_costs_nothing():
    e, cb = b.variable("e", [1.0, 2.0]), b.variable("cb", [1.2, 1.9])
    q = b.add(e, b.stop_gradient(b.sub(e, cb), name="sg"))
    found = fix(Session(b.build(b.loss(b.sum(b.square(q))))), "cb")
    assert found.zeroed == () and found.surrogates == ()
    assert found.sentence.startswith("Without sg: rms ") and found.sentence.count(".") == 2


def test_a_repair_that_brings_nothing_is_not_offered():
    v, w = variable("v", [0.7, 1.9, -0.3], trainable=False), variable("w", [1.7, -1.3, 1.2])
    chosen = where(greater(v, w, name="above"), v, 0.5)
    session = Session(build(loss(one_hot(arg_max(chosen, name="best"), depth=3))))
    found = fix(session, "w")
    assert found.change is None
    assert found.sentence == "No gradient comes back even past best and above."


def test_a_repair_names_the_leaves_that_it_reaches():
    u, v = variable("u", [0.3, 0.1]), variable("v", [0.2, 0.4])
    stopped = stop_gradient(b.pack(u, v, keys=["u", "v"]), only=[], name="stop")
    above = greater(b.sin(b.pick(stopped, path="u")), b.pick(stopped, path="v"), name="above")
    found = fix(Session(build(loss(cast(above, dtype="float32")))), "stop.x")
    reached = [path for path, gradient in found.leaves.items() if gradient is not None]
    assert len(reached) == 1
    assert found.sentence == f"Straight through above: {reached[0]} rms 1."
