"""Studies are judged by what their trainings give, and a seed decides everything random."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

import gradwire as gw
from blocks.errors import BuildError, FileError, GradwireError, ParameterError
from runtime.diagram import save
from runtime.training.studies import (
    Outcome,
    diagram_of,
    judged,
    run_study,
    seeded,
    with_variant,
)
from runtime.training.study import Claim, Measure, Study, Variant

NAN = math.nan


def line(*, rate=1.0):
    """w is drawn, and moves to 3; with the stop closed it stays where it was drawn."""
    w = gw.variable("w", shape=(4,), initialiser="normal")
    distance = gw.sub(gw.stop_gradient(w, name="stop", open=True), 3.0, name="distance")
    head = gw.loss(gw.mean(gw.square(distance)), name="loss")
    recipe = {"optimisers": [{"name": "opt", "method": {"kind": "sgd", "lr": rate}}], "steps": 60}
    return gw.build(head, gw.loss(gw.sum(gw.square(gw.variable("v", 1.0)))), training=recipe)


CLOSED = Variant(set={"stop": {"open": False}})


def study(*claims, **changes):
    given = {
        "diagram": "line.gradwire.json",
        "measure": Measure(port="loss.out"),
        "variants": {"open": Variant(), "closed": CLOSED},
        "claims": claims,
        "seeds": 3,
    }
    return Study(**(given | changes))


def test_a_study_trains_every_variant_and_judges_the_claims():
    asked = []
    claims = (
        Claim(variant="open", below=0.01),
        Claim(variant="closed", more_than="open"),
        Claim(variant="open", above=0.01),
    )
    result = run_study(study(*claims), line(), progress=lambda *what: asked.append(what))
    assert asked == [(name, seed) for name in ("open", "closed") for seed in range(3)]
    assert [v.fulfilled for v in result.verdicts] == [3, 3, 0]
    assert [v.holds for v in result.verdicts] == [True, True, False]
    assert not result.holds
    closed = result.outcomes["closed"]
    assert len(set(closed.values)) == 3
    assert closed.mean == pytest.approx(np.mean(closed.values))
    assert closed.deviation == pytest.approx(np.std(closed.values, ddof=1))


def test_variants_of_a_seed_start_from_the_same_values():
    result = run_study(study(), line(), seeds=2, steps=1)
    still = [float(seeded(line(), seed).run().values["loss.out"]) for seed in range(2)]
    assert result.outcomes["closed"].values == pytest.approx(still)


@pytest.mark.filterwarnings("ignore:overflow")
def test_a_training_that_diverged_has_no_number_and_fulfils_no_claim():
    wild = Variant(training={"optimisers": [{"name": "o", "method": {"kind": "sgd", "lr": 1e30}}]})
    claims = (Claim(variant="wild", above=-1e9), Claim(variant="wild", below=1e9))
    result = run_study(study(*claims, variants={"wild": wild}), line(), seeds=1)
    (outcome,) = result.outcomes.values()
    assert math.isnan(outcome.values[0]) and outcome.finite == ()
    assert outcome.mean is outcome.deviation is None
    assert [v.fulfilled for v in result.verdicts] == [0, 0]


@pytest.mark.parametrize(
    ("claim", "fulfilled"),
    [
        (Claim(variant="a", above=2), 1),
        (Claim(variant="a", below=2), 1),
        (Claim(variant="a", above=0, below=10), 3),
        (Claim(variant="a", more_than="b"), 2),
        (Claim(variant="a", less_than="b"), 0),
    ],
)
def test_claims_are_counted_seed_by_seed(claim, fulfilled):
    outcomes = {"a": Outcome("a", (1.0, 2.0, 3.0, NAN)), "b": Outcome("b", (0.0, NAN, 2.0, 0.0))}
    verdict = judged(claim, outcomes)
    assert (verdict.fulfilled, verdict.of) == (fulfilled, 4)


@pytest.mark.parametrize(("count", "holds"), [(8, False), (9, True), (10, True)])
def test_a_claim_holds_for_its_share_of_the_seeds(count, holds):
    values = tuple(1.0 if seed < count else 0.0 for seed in range(10))
    assert judged(Claim(variant="a", above=0.5), {"a": Outcome("a", values)}).holds is holds


def test_a_seed_decides_what_is_drawn_and_0_is_the_diagram_as_it_is():
    noise = gw.random_normal(shape=(3,), name="noise")
    points = gw.block("Dataset", source="moons", count=20, name="points")["x"]
    w = gw.variable("w", shape=(2, 3), initialiser="normal", seed=5)
    given = gw.variable("given", [1.0, 2.0, 3.0])
    diagram = gw.build(gw.loss(gw.sum(gw.matmul(points, w) + noise + given)))
    ports = ["w.out", "noise.out", "points.x", "given.out"]

    def drawn(seed):
        values = seeded(diagram, seed).run(ports=ports).values
        return [values[port].tolist() for port in ports]

    plain = gw.Session(diagram).run(ports=ports).values
    assert drawn(0) == [plain[port].tolist() for port in ports]
    assert drawn(1) == drawn(1)
    for one, other, third in list(zip(drawn(0), drawn(1), drawn(2), strict=True))[:3]:
        assert one != other != third != one
    assert drawn(0)[3] == drawn(1)[3]


def test_independent_uses_of_a_page_are_drawn_apart():
    @gw.page
    def layer(x):
        return gw.linear(x, gw.own(), units=2)

    x = gw.input("x", np.ones((1, 2)))
    both = layer(x, name="one"), layer(x, name="two", independent=True)
    session = seeded(gw.build(*map(gw.loss, both)), 1)
    one, two = (value for path, value in session.values.items() if path.endswith("weight"))
    assert one.tolist() != two.tolist()


def test_a_variant_sets_blocks_of_other_pages_and_the_recipe():
    @gw.page("inside")
    def inside(x):
        return gw.stop_gradient(x, name="stop")

    diagram = gw.build(gw.loss(inside(gw.variable("w", 1.0))), training={"steps": 7})
    opened = with_variant(
        diagram, Variant(set={"inside/stop": {"open": True}}, training={"steps": 9})
    )
    assert opened.pages["inside"].blocks["stop"].open
    assert opened.training is not None and opened.training.steps == 9
    assert not diagram.pages["inside"].blocks["stop"].open


@pytest.mark.parametrize(
    ("variant", "kind", "told"),
    [
        (Variant(set={"stpo": {}}), ParameterError, "Did you mean stop"),
        (Variant(set={"page/stop": {}}), ParameterError, "there is no such block"),
        (Variant(set={"stop": {"opne": True}}), ParameterError, "no parameter or input 'opne'"),
        (Variant(training={"speed": 1}), BuildError, "no field 'speed'"),
    ],
)
def test_a_variant_that_does_not_fit_is_refused(variant, kind, told):
    with pytest.raises(kind, match=told):
        with_variant(line(), variant)


def test_a_port_that_is_not_there_is_refused():
    with pytest.raises(GradwireError, match="los"):
        run_study(study(measure=Measure(port="los.out")), line(), seeds=1, steps=1)


def test_the_diagram_lies_beside_its_study(tmp_path):
    save(line(), tmp_path / "line.gradwire.json")
    path = tmp_path / "line.study.json"
    assert diagram_of(study(), path).main.blocks.keys() == line().main.blocks.keys()
    absolute = replace_diagram(str(tmp_path / "line.gradwire.json"))
    with pytest.raises(FileError, match="not relative"):
        diagram_of(absolute, path)
    with pytest.raises(FileError, match="Can't read"):
        diagram_of(replace_diagram("../nowhere.json"), path)


def replace_diagram(place):
    return study(diagram=place)


def test_a_measure_is_the_mean_over_passes_with_new_numbers():
    noise = gw.random_normal(shape=(), name="noise")
    w = gw.variable("w", 0.0)
    diagram = gw.build(gw.loss(gw.square(w)), gw.square(noise, name="seen"))
    one, many = (
        run_study(
            study(measure=Measure(port="seen.out", passes=n), variants={"it": Variant()}),
            replace(diagram, training=None),
            steps=1,
        ).outcomes["it"]
        for n in (1, 4000)
    )
    assert np.std(one.values) > 0.2 > np.std(many.values)
