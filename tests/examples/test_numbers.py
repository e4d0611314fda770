"""The numbers of the examples: those of the golden files, the derivatives, and what notes claim."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
import pytest

from gradwire.blocks.library.containers import Pack, Unpack
from gradwire.blocks.library.gradient import StopGradient
from gradwire.blocks.library.sources import Constant
from gradwire.blocks.library.views import Display
from gradwire.blocks.paths import matches, parse_path
from gradwire.runtime.diagram import PortName
from gradwire.runtime.engine import Session
from gradwire.runtime.flow import WhatIf
from gradwire.runtime.lessons.notes import with_numbers
from gradwire.runtime.lessons.texts import parse_text
from gradwire.runtime.training.optimisers import SGD
from tests.examples.gallery import NAMES, TRAINING, TWINS, diagram
from tests.golden.cases import DATA
from tests.together import together

if TYPE_CHECKING:
    from gradwire.runtime.diagram import Diagram

USE_CASES = {
    case["id"]: case for case in json.loads((DATA / "usecases.json").read_text("utf-8"))["cases"]
}
ALL = "all losses"


@dataclass(frozen=True)
class Golden:
    """The golden case an example is drawn from: its heads and variables under their names there.

    A name that ends with ``.T`` is transposed: Linear has its weight as (units, features).
    """

    case: str
    backwards: Mapping[str, str]
    variables: Mapping[str, str]
    scale: Mapping[str, float]

    def gradient(self, loss: str, variable: str) -> np.ndarray | None:
        grads = USE_CASES[self.case]["expect"]["backward"][self.backwards[loss]]["grads"]
        theirs = self.variables[variable]
        found = grads[theirs.removesuffix(".T")]
        if found is None:
            return None
        array = np.array(found) * self.scale.get(loss, 1.0)
        return array.T if theirs.endswith(".T") else array


def golden(case, backwards, variables, **scale):
    return Golden(case, backwards, variables, scale)


EM = {"mu": "mu", "log_sigma": "log_sigma", "logits": "logits"}
RBM = {"weight": "W.T", "visible_bias": "bv", "hidden_bias": "ch"}
SIMSIAM = {"branch_1/layer/weight": "Wf.T", "branch_1/predicted/weight": "Wh.T"}
CRITIC = {"policy_weight": "Wp.T", "value_weight": "Wv"}
POLICY = {"policy_loss": "policy", "value_loss": "value", ALL: "total"}
GOLDEN = {
    "em_stopped": golden("em_estep_stopped", {"loss": "loss"}, EM),
    "em_unstopped": golden("em_estep_not_stopped", {"loss": "loss"}, EM),
    "contrastive_divergence_stopped": golden("cd1_meanfield_stop", {"loss": "loss"}, RBM),
    "contrastive_divergence_unstopped": golden("cd1_meanfield_nostop", {"loss": "loss"}, RBM),
    "simsiam_stopped": golden("simsiam_stop", {"loss": "loss"}, SIMSIAM),
    "simsiam_unstopped": golden("simsiam_nostop", {"loss": "loss"}, SIMSIAM),
    "dqn_target_stopped": golden("dqn_semi", {"loss": "loss"}, {"weight": "W.T", "bias": "b"}),
    "reinforce_baseline_stopped": golden("reinforce_baseline_stop", POLICY, CRITIC, value_loss=0.5),
    "reinforce_baseline_unstopped": golden(
        "reinforce_baseline_nostop", POLICY, CRITIC, value_loss=0.5
    ),
    "vq_vae": golden(
        "vqvae_ste",
        {"recon_loss": "recon", "codebook_loss": "codebook", "commit_loss": "commit", ALL: "total"},
        {"encoder_weight": "We.T", "decoder_weight": "Wd.T", "codebook": "code"},
    ),
    "gan": golden(
        "gan_stop",
        {"D_loss": "d_loss", "G_loss": "g_loss", ALL: "both"},
        {"G_weight": "Gw.T", "G_bias": "Gb", "D_weight": "Dw.T", "D_bias": "Db"},
    ),
}
GOLDEN_LOSSES = [(name, loss) for name, case in GOLDEN.items() for loss in case.backwards]
SURROGATE = {"straight_through", "vq_vae"}


@together(("name", "loss"), GOLDEN_LOSSES)
def test_every_gradient_is_the_golden_one(name, loss):
    case = GOLDEN[name]
    session = Session(diagram(name))
    gradients = session.backward(None if loss == ALL else [loss]).gradients
    assert gradients.keys() == case.variables.keys()
    for variable, gradient in gradients.items():
        expected = case.gradient(loss, variable)
        assert (gradient is None) == (expected is None)
        if expected is not None:
            wanted = expected.reshape(gradient.shape)
            np.testing.assert_allclose(gradient, wanted, rtol=1e-9, atol=1e-9)


@pytest.mark.sampled(one_in=3)
@pytest.mark.parametrize("name", [n for n in NAMES if n not in SURROGATE and n not in TRAINING])
def test_a_gradient_is_the_derivative_with_what_is_stopped_held_fixed(name):
    session = Session(diagram(name))
    run = session.backward()
    held = Session(without_stops(diagram(name), run.values))
    for variable, gradient in run.gradients.items():
        value = session.values[variable]
        step, close = (1e-6, 1e-7) if value.dtype == np.float64 else (1e-2, 1e-4)
        for index in np.ndindex(value.shape):
            found = 0.0 if gradient is None else gradient[index]
            assert found == pytest.approx(slope(held, variable, index, step), abs=close)


def without_stops(document: Diagram, values) -> Diagram:
    """The diagram with the value of each stop in its place."""
    blocks = dict(document.main.blocks)
    wires = dict(document.main.wires)
    for name, block in document.main.blocks.items():
        if isinstance(block, StopGradient):
            before = wires.pop(PortName(name, "x"))
            leaves = [port.partition(":")[2] for port in values if port.startswith(f"{name}.out:")]
            if not leaves:
                blocks[name] = constant(values[f"{name}.out"])
                continue
            blocks[name] = Pack(keys=leaves)
            blocks["parts of " + name] = Unpack(paths=leaves)
            wires[PortName("parts of " + name, "x")] = before
            for i, leaf in enumerate(leaves):
                source = PortName("parts of " + name, leaf)
                if any(matches(pattern, parse_path(leaf)) for pattern in block.only):
                    blocks[leaf.replace("/", " ")] = constant(values[f"{name}.out:{leaf}"])
                    source = PortName(leaf.replace("/", " "), "out")
                wires[PortName(name, f"items.{i}")] = source
    return document.with_page("main", replace(document.main, blocks=blocks, wires=wires))


def constant(value: np.ndarray) -> Constant:
    return Constant(value=value.tolist(), dtype=str(value.dtype))


def slope(session: Session, variable: str, index: tuple[int, ...], step: float) -> float:
    """Central difference of the sum of all losses."""
    values = session.values[variable]
    ends = []
    for sign in (1, -1):
        moved = values.copy()
        moved[index] += sign * step
        run = session.run({variable: moved}, session.losses)
        ends.append(sum(float(value.sum()) for value in run.values.values()))
    return (ends[0] - ends[1]) / (2 * step)


def test_the_seed():
    run = Session(diagram("mxnet_seed")).backward(adjoints="stops")
    assert Session(diagram("mxnet_seed")).arguments() == ["b", "a"]
    assert run.values["loss.out"].tolist() == [[1, 5]]
    assert run.gradients["a"].tolist() == [[1, 1]]
    assert run.gradients["b"] is None
    assert run.adjoints["stop.out"].tolist() == [[1, 1]]


def test_a_frozen_encoder_gets_no_gradient_and_its_leaves_are_opened_one_by_one():
    session = Session(diagram("freeze_encoder"))
    gradients = session.backward().gradients
    assert gradients["encoder_weight"] is gradients["encoder_bias"] is None
    told = shown("freeze_encoder")
    assert written(gradients["head_weight"][0], 4) in told
    assert written(gradients["head_bias"][0], 4) in told
    opened = WhatIf(session).open("freeze:encoder/bias").compare().variables()
    assert written(opened["encoder_bias"].after, 4) in told
    assert opened["encoder_weight"].after is None


def test_fan_out_adds_what_its_wires_bring():
    run = Session(diagram("fan_out")).backward()
    wires = ["product.a", "product.b", "triple.b"]
    assert [float(run.contributions[wire]) for wire in wires] == [2, 2, 3]
    assert run.contributions["copy.x"] is None
    assert run.values["loss.out"] == 20
    assert run.gradients["w"] == 7


def test_three_ways_past_a_rounding():
    run = Session(diagram("straight_through")).backward()
    assert [run.values[f"loss_{row}.out"] for row in ("plain", "stop", "block")] == [4, 4, 4]
    assert [run.gradients[f"x_{row}"] for row in ("plain", "stop", "block")] == [0, -4, -4]


def test_em_with_the_stop_follows_the_marginal_likelihood():
    run = Session(diagram("em_stopped")).backward()
    np.testing.assert_allclose(run.gradients["mu"], run.values["goal.out"], rtol=1e-12)
    run = Session(diagram("em_unstopped")).backward()
    assert abs(run.gradients["mu"] - run.values["goal.out"]).max() > 0.1


def test_open_the_gan_teaches_its_generator_to_be_found_out():
    stopped = diagram("gan")
    opened = {**stopped.main.blocks, "fake": Display()}
    document = stopped.with_page("main", replace(stopped.main, blocks=opened))
    closed, free = (Session(d).backward(["D_loss"]).gradients for d in (stopped, document))
    assert closed["D_weight"].tolist() == free["D_weight"].tolist()
    assert closed["D_bias"].tolist() == free["D_bias"].tolist()
    assert closed["G_bias"] is None
    np.testing.assert_allclose(free["G_bias"], [0.006, -0.382, -0.009], atol=5e-4)


@pytest.mark.parametrize(
    ("how", "loss", "share"), [("stopped", -0.773, 0.68), ("unstopped", -0.996, 0.985)]
)
def test_simsiam_collapses_without_its_stops(how, loss, share):
    session = Session(diagram(f"simsiam_{how}"))
    for _ in range(40):
        session.step(SGD(lr=0.5))
    run = session.run()
    assert run.values["loss.out"] == pytest.approx(loss, abs=5e-4)
    z = np.concatenate([run.values[f"branch_{i}/z.out"] for i in (1, 2)])
    z /= np.linalg.norm(z, axis=1, keepdims=True)
    along = np.linalg.svd(z, compute_uv=False) ** 2
    assert along[0] / along.sum() == pytest.approx(share, abs=5e-3)


CLAIMS = {
    "em": (lambda run: run.gradients["mu"], 4),
    "contrastive_divergence": (lambda run: run.gradients["visible_bias"][0], 4),
    "adversarial_training": (lambda run: run.gradients["clean/layer/weight"][0, 0], 5),
    "dqn_target": (lambda run: run.gradients["bias"], 3),
    "reinforce_baseline": (lambda run: run.gradients["value_weight"], 3),
}


@pytest.mark.parametrize("pair", CLAIMS)
def test_the_notes_of_a_pair_tell_the_numbers_of_both(pair):
    number_of, places = CLAIMS[pair]
    for told_by in ("stopped", "unstopped"):
        text = shown(f"{pair}_{told_by}")
        for how in ("stopped", "unstopped"):
            run = Session(diagram(f"{pair}_{how}")).backward()
            assert written(number_of(run), places) in text


def test_what_other_notes_claim():
    gan = Session(diagram("gan")).backward(["G_loss"]).gradients
    assert written(gan["G_bias"], 3) in shown("gan")
    gan = Session(diagram("gan")).backward(["D_loss"]).gradients
    assert written(gan["D_bias"][0], 3) in shown("gan")
    vq_vae = Session(diagram("vq_vae")).backward(["codebook_loss"]).gradients
    assert written(vq_vae["codebook"][0], 4) in shown("vq_vae")
    leak = Session(diagram("reinforce_baseline_unstopped")).backward(["policy_loss"])
    assert written(leak.gradients["value_weight"], 3) in shown("reinforce_baseline_unstopped")
    for pair, places in {"em": 3, "dqn_target": 3, "simsiam": 4}.items():
        loss = Session(diagram(f"{pair}_unstopped")).run().values["loss.out"]
        assert written(loss, places) in shown(f"{pair}_unstopped")


@pytest.mark.parametrize("pair", [pair for pair in CLAIMS if pair != "reinforce_baseline"])
def test_the_notes_follow_the_stops(pair):
    """With its stop open, the note of a pair's stopped diagram says what its twin's says."""
    number_of, places = CLAIMS[pair]
    closed, twin = (
        Session(diagram(f"{pair}_{how}")).backward() for how in ("stopped", "unstopped")
    )
    before, after = (written(number_of(run), places) for run in (closed, twin))
    document = diagram(f"{pair}_stopped")
    blocks = dict(document.main.blocks)
    for name in TWINS[pair]:
        blocks[name] = blocks[name].with_parameters(open=True)
    opened = document.with_page("main", replace(document.main, blocks=blocks))
    fixed = " ".join(note.text for note in document.main.notes.values())
    told = " ".join(note.text for note in with_numbers(opened).main.notes.values())
    assert before not in fixed + told and after not in fixed
    assert told.count(after) == 2  # what mu gets, and what it would get without the stop


def shown(name: str) -> str:
    """The notes of an example with their numbers."""
    return " ".join(note.text for note in with_numbers(diagram(name)).main.notes.values())


DIGITS = re.compile(r"\d[.]\d|−\d")


@pytest.mark.parametrize("name", [n for n in NAMES if n not in TRAINING and "simsiam" not in n])
def test_no_note_states_a_number_that_is_stored(name):
    """But for what is given, such as a value to round; all others follow edits and switches."""
    given = {"straight_through": ["1.4"], "adversarial_training_stopped": ["0.1"] * 2,
             "adversarial_training_unstopped": ["0.1"] * 2}  # fmt: skip
    notes = [note.text for page in diagram(name).pages.values() for note in page.notes.values()]
    parts = [part for text in notes for part in parse_text(text).parts if isinstance(part, str)]
    plain = " ".join(parts)
    for number in given.get(name, ()):
        assert number in plain
        plain = plain.replace(number, "", 1)
    assert not DIGITS.search(plain)


def written(number, places: int) -> str:
    """A number, or a list of them, as the notes write it."""
    if np.ndim(number):
        return f"[{', '.join(written(item, places) for item in number)}]"
    assert math.isfinite(number)
    return f"{float(number):.{places}f}".replace("-", "−")


def test_every_pair_is_told_in_numbers():
    assert CLAIMS.keys() | {"simsiam"} == TWINS.keys()
