"""A seed decides everything random in a training."""

from __future__ import annotations

import numpy as np

import gradwire as gw
from gradwire.runtime.training.studies.task import seeded


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
