"""What has no rules is live where PyTorch is at hand, which is asked for other inputs."""

from __future__ import annotations

import copy
import subprocess
import sys

import numpy as np
import pytest

import gradwire as gw
from gradwire.blocks.errors import GradwireError, RunError
from gradwire.runtime.flow import diagnose, fix
from gradwire.runtime.interchange.export.source import export_source

torch = pytest.importorskip("torch")
nn = torch.nn


@pytest.fixture(autouse=True)
def seeded():
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        yield


class Sine(torch.autograd.Function):
    """Its gradient is not linear in the one that comes, and its values are no known blocks'."""

    @staticmethod
    def forward(ctx, x, power):
        ctx.save_for_backward(x)
        ctx.power = power
        return torch.special.i0e(x) ** power

    @staticmethod
    def backward(ctx, gradient):
        (x,) = ctx.saved_tensors
        return gradient.clamp(-0.01, 0.01) * x.cos() * ctx.power, None


class Halving(torch.autograd.Function):
    """Its backward is not the derivative of its forward, whose value blocks compute."""

    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * x

    @staticmethod
    def backward(ctx, gradient):
        (x,) = ctx.saved_tensors
        return gradient * x.abs() / 2


class Two(torch.autograd.Function):
    """Two outputs of gradient, one without, and an input that gets none."""

    @staticmethod
    def forward(ctx, x, w):
        ctx.save_for_backward(x, w)
        return x * w, torch.special.i0e(x) + w, x > 0

    @staticmethod
    def backward(ctx, product, total, _):
        x, w = ctx.saved_tensors
        return 2 * product * w + total * x, None


def two(y, w):
    product, total, positive = Two.apply(y, w)
    return product.where(positive, 2 * product) + total.sin()


def vectors(y):
    u, s, v = torch.linalg.svd(y, full_matrices=False)
    return (u * u) @ (s[:, None] * v.abs())


def squared(z):
    return z * z


PROGRAMS = {
    "singular values": lambda y, w: torch.linalg.svd(y)[1],
    "singular vectors": lambda y, w: vectors(y),
    "fft": lambda y, w: torch.fft.irfft(torch.fft.rfft(y) * torch.complex(w[:3], w[1:])),
    "real part": lambda y, w: torch.fft.fft(y).real * w,
    "quantile": lambda y, w: torch.special.i0e(torch.quantile(y, torch.tensor([0.2, 0.7]), dim=1)),
    "as_strided": lambda y, w: torch.fft.rfft(y).as_strided((3, 3), (1, 2)).abs() * w[:3],
    "several tensors": lambda y, w: torch.hypot(y, torch.igammac(y.detach() ** 2, w * w)),
    "the same tensor twice": lambda y, w: squared(torch.fft.rfft(y)).real,
    "in bfloat16": lambda y, w: torch.erfinv(0.5 * torch.tanh(y).bfloat16()).float(),
    "nobody differentiates it": lambda y, w: y * torch.special.i0e(y).detach(),
    "custom function": lambda y, w: Sine.apply(y, 2) * w,
    "custom function with known values": lambda y, w: Halving.apply(y) * w,
    "custom function with several outputs": two,
}


def blocks_of(diagram):
    blocks = [block for page in diagram.pages.values() for block in page.blocks.values()]
    return [block for block in blocks if block.type_name() == "Recorded"]


def captured(program):
    """A program of a layer, its parameters by their paths, and the diagram."""
    layer, w = nn.Linear(3, 4), nn.Parameter(torch.linspace(0.5, 1.5, 4))

    def loss(x):
        return program(layer(x), w).pow(2).mean()

    imported = gw.capture(loss, torch.randn(5, 3))
    assert imported.remarks[-1].text.startswith("Agrees with PyTorch"), imported.remarks[-1]
    known = {"layer.weight": layer.weight, "layer.bias": layer.bias, "w": w}
    parameters = {imported.parameters[n]: p for n, p in known.items() if n in imported.parameters}
    return loss, parameters, imported.diagram


def assert_same(session, loss, parameters, x):
    """A session has the gradients that PyTorch has for these inputs."""
    run = session.backward(feeds={"x": x.numpy()})
    wanted = torch.autograd.grad(loss(x), list(parameters.values()), allow_unused=True)
    for name, gradient in zip(parameters, wanted, strict=True):
        found = run.gradients[name]
        assert (found is None) == (gradient is None), name
        if gradient is not None:
            assert found == pytest.approx(gradient.numpy(), rel=1e-3, abs=1e-5), name


@pytest.mark.parametrize("program", PROGRAMS.values(), ids=PROGRAMS)
def test_for_other_feeds_it_has_pytorchs_own_gradients(program):
    loss, parameters, diagram = captured(program)
    assert blocks_of(diagram) and {b.standing for b in blocks_of(diagram)} == {"live"}
    session = gw.Session(diagram)
    for x in (torch.randn(5, 3), torch.randn(5, 3) * 3):
        assert_same(session, loss, parameters, x)


@pytest.mark.parametrize("program", PROGRAMS.values(), ids=PROGRAMS)
def test_from_a_file_it_is_recorded(program):
    _, _, diagram = captured(program)
    loaded = gw.loads(gw.dumps(diagram))
    assert {b.standing for b in blocks_of(loaded)} == {"recorded"}
    of_run, again = (gw.Session(x).backward().gradients for x in (diagram, loaded))
    for name, gradient in of_run.items():
        assert np.array_equal(gradient, again[name]), name
    with pytest.raises(RunError, match=r"\(test_live\.py:\d+\) is known for the run that was"):
        gw.Session(loaded).backward(feeds={"x": np.ones((5, 3), np.float32)})


def test_its_face_says_what_it_is():
    _, _, diagram = captured(PROGRAMS["real part"])
    assert [b.label() for b in blocks_of(diagram)] == ["_fft_r2c, live", "real, live"]
    (fft, *_) = blocks_of(gw.loads(gw.dumps(diagram)))
    assert fft.label() == "_fft_r2c, recorded"
    x = torch.randn(5, 3)
    for options in ({"data": False}, {"structure": True}):
        diagram = gw.capture(lambda x: torch.special.i0e(x).sum(), x, **options).diagram
        assert blocks_of(diagram)[0].label() == "special_i0e, unknown"


@pytest.mark.parametrize("name", ["singular values", "custom function"])
def test_training_goes_through_it(name):
    loss, parameters, diagram = captured(PROGRAMS[name])
    session = gw.Session(diagram)
    x = torch.from_numpy(diagram.main.blocks["x"].value.array.copy())
    optimizer = torch.optim.SGD(parameters.values(), 0.1)
    trainer = gw.Trainer(session)
    for _ in range(5):
        optimizer.zero_grad()
        loss(x).backward()
        optimizer.step()
        trainer.step()
    for path, parameter in parameters.items():
        found = session.values[path]
        assert found == pytest.approx(parameter.detach().numpy(), rel=1e-3, abs=1e-5)


def test_a_finite_difference_agrees_with_its_rule():
    matrix = nn.Parameter(torch.randn(3, 3, dtype=torch.float64))
    diagram = gw.capture(lambda: torch.linalg.svd(matrix)[1].pow(3).sum()).diagram
    checks = {check.block: check for check in gw.check_gradients(gw.Session(diagram))}
    assert checks["_linalg_svd"].agrees, checks


def test_a_stop_in_front_of_it_can_be_opened():
    layer = nn.Linear(3, 4)
    x = torch.randn(5, 3)

    def loss(y):
        return (torch.hypot(y, torch.ones(4)).exp() * torch.lgamma(2 + y * y)).sum()

    imported = gw.capture(lambda x: loss(layer(x).detach()), x)
    session = gw.Session(imported.diagram)
    (finding, *_) = gw.diagnose(session)
    assert "Without detach" in finding.sentence
    after = gw.WhatIf(session).open("detach").compare().after
    found = next(iter(after.runs.values())).gradients[imported.parameters["layer.weight"]]
    loss(layer(x)).backward()
    assert found == pytest.approx(layer.weight.grad.numpy(), rel=1e-4)


@pytest.mark.parametrize("off", [torch.no_grad, torch.inference_mode])
def test_where_gradient_was_off_it_is_live_as_well(off):
    layer = nn.Linear(3, 4)

    def program(x):
        with off():
            return torch.special.i0e(torch.fft.fft(layer(x)).conj().real).sum()

    session = gw.Session(gw.capture(program, torch.randn(5, 3)).diagram)
    for block in blocks_of(session.diagram):
        assert block.standing == "live" and block.run.passes(0, 0)
    x = torch.randn(5, 3)
    (loss,) = (v for n, v in session.run(feeds={"x": x.numpy()}).values.items() if n == "loss.out")
    assert loss == pytest.approx(float(program(x)), rel=1e-4)


def test_another_gradient_is_asked_for():
    _, _, diagram = captured(PROGRAMS["custom function"])
    session = gw.Session(diagram)
    heads = [name for name, b in diagram.main.blocks.items() if b.type_name() == "Recorded"]
    (y,) = (
        torch.from_numpy(x.copy())
        for n, x in session.run().values.items()
        if "layer" in n and x.shape == (5, 4)
    )
    y.requires_grad_()
    for factor in (1e-3, 1.0):  # it is not linear: that of one is no multiple of the other
        gradient = torch.full((5, 4), factor)
        run = session.backward(heads, out_gradients={heads[0]: gradient.numpy()})
        (wanted,) = torch.autograd.grad(Sine.apply(y, 2), y, gradient)
        assert run.gradients["layer/bias"] == pytest.approx(wanted.sum(0).numpy(), rel=1e-3)


def test_several_losses_send_back_what_they_did_one_after_the_other():
    """The function clips what comes to it: of each loss, and not of their sum."""
    layer, x = nn.Linear(3, 4), torch.randn(5, 3)

    def step():
        y = Sine.apply(layer(x), 2)
        for loss in (y.sum(), y[:2].sum(), y.mean()):
            loss.backward(retain_graph=True)

    imported = gw.capture(step)
    session = gw.Session(imported.diagram)
    first, second, third = session.losses
    own = {}
    for losses in (None, [first], [second, third], [first, third]):
        own[str(losses)] = session.backward(losses).gradients["layer/weight"]
    step()
    assert own["None"] == pytest.approx(layer.weight.grad.numpy(), rel=1e-4)
    alone = session.backward([second]).gradients["layer/weight"]
    assert own["None"] == pytest.approx(own[str([first, third])] + alone, rel=1e-4)
    assert own["None"] == pytest.approx(own[str([second, third])] + own[str([first])], rel=1e-4)


def test_a_loss_that_is_far_larger_than_another_does_not_hide_it():
    layer, x = nn.Linear(3, 4), torch.randn(5, 3)

    def step():
        y = Halving.apply(layer(x))
        for loss in (1e4 * y.sum(), y.pow(2).sum()):
            loss.backward(retain_graph=True)

    session = gw.Session(gw.capture(step).diagram)
    step()
    found = session.backward().gradients["layer/weight"]
    assert found == pytest.approx(layer.weight.grad.numpy(), rel=1e-6)
    assert found != pytest.approx(
        session.backward([session.losses[0]]).gradients["layer/weight"], rel=1e-6
    )


class Counting(torch.autograd.Function):
    calls = 0

    @staticmethod
    def forward(ctx, x):
        Counting.calls += 1
        return torch.special.i0e(x)

    @staticmethod
    def backward(ctx, gradient):
        return gradient


def test_a_custom_function_is_asked_when_something_else_is_wanted_and_not_before():
    Counting.calls = 0
    before = torch.random.get_rng_state()
    _, _, diagram = captured(lambda y, w: Counting.apply(y) * torch.special.i0e(w))
    drawn = torch.random.get_rng_state()
    session = gw.Session(diagram)
    session.backward()
    assert Counting.calls == 1
    session.backward(feeds={"x": np.ones((5, 3), np.float32)})
    assert Counting.calls == 3  # for the inputs of the run, to compare, and for these
    assert torch.equal(torch.random.get_rng_state(), drawn) and not torch.equal(before, drawn)


class Noisy(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x + torch.special.i0e(torch.rand(4))

    @staticmethod
    def backward(ctx, gradient):
        return gradient * 2


class OtherNoise(Noisy):
    @staticmethod
    def forward(ctx, x):
        return torch.special.i0e(x) * float(np.random.default_rng().standard_normal())


class NoisyBackward(Sine):
    @staticmethod
    def backward(ctx, gradient):
        return gradient * torch.rand(4), None


class Writing(Noisy):
    @staticmethod
    def forward(ctx, x):
        ctx.mark_dirty(x)
        return x.erfinv_()


class Remembering(Noisy):
    total = torch.zeros(())

    @staticmethod
    def forward(ctx, x):
        Remembering.total.add_(1.0)
        return torch.special.i0e(x)


class ByNumPy(Noisy):
    @staticmethod
    def forward(ctx, x):
        return torch.from_numpy(np.sinh(x.detach().numpy()))


class Reading(Noisy):
    """Reads a parameter that nobody gives it."""

    @staticmethod
    def forward(ctx, x):
        return torch.special.i0e(x) * Reading.weight


class ReadingBack(Noisy):
    """Its backward alone does."""

    @staticmethod
    def forward(ctx, x):
        return torch.special.i0e(x)

    @staticmethod
    def backward(ctx, gradient):
        return gradient * Reading.weight


class Failing(Noisy):
    is_first = True

    @staticmethod
    def forward(ctx, x):
        if not Failing.is_first:
            raise OSError("the connection is closed\nfor good")
        Failing.is_first = False
        return torch.special.i0e(x)


class Growing(Noisy):
    """Does something else each time."""

    calls = 0
    grows = ""

    @staticmethod
    def forward(ctx, x):
        Growing.calls += 1
        found = torch.special.i0e(x)
        return torch.stack([found] * Growing.calls) if Growing.grows == "forward" else found

    @staticmethod
    def backward(ctx, gradient):
        return gradient.sum(0) if Growing.grows == "forward" else gradient * Growing.calls


def growing(what):
    def program(y, w):
        Growing.calls, Growing.grows = 0, what
        return Growing.apply(y) * w

    return program


def under_autocast(y, w):
    with torch.autocast("cpu", torch.bfloat16):
        return torch.special.i0e(y)


class Listed(Noisy):
    @staticmethod
    def forward(ctx, x, others):
        return torch.special.i0e(x) + others[0]

    @staticmethod
    def backward(ctx, gradient):
        return gradient, None


def with_a_parameter(function):
    def program(y, w):
        Reading.weight = w
        return function.apply(y) * w

    return program


def with_numbers(y, w):
    Reading.weight = y.detach().sin()
    return Reading.apply(y) * w


REFUSED = {
    "random": (lambda y, w: torch.poisson(y.abs()) + y, "it draws random numbers"),
    "random function": (lambda y, w: Noisy.apply(y), "it draws random numbers"),
    "random backward": (lambda y, w: NoisyBackward.apply(y, 1), "it draws random numbers"),
    "numbers of NumPy": (
        lambda y, w: OtherNoise.apply(y),
        "asked for the inputs of the run, PyTorch gives other values than in the run",
    ),
    "in place": (lambda y, w: (0.5 * torch.tanh(y)).erfinv_() + y, "it writes in place"),
    "function in place": (lambda y, w: Writing.apply(0.5 * torch.tanh(y)), "it writes in place"),
    "function that remembers": (
        lambda y, w: Remembering.apply(y),
        "it writes to a tensor that its operators have not made",
    ),
    "through NumPy": (
        lambda y, w: ByNumPy.apply(y),
        "numbers leave PyTorch inside of it and come back",
    ),
    "hidden parameter": (
        with_a_parameter(Reading),
        "it reads a tensor that is not among its arguments",
    ),
    "hidden numbers": (with_numbers, "it reads a tensor that is not among its arguments"),
    "hidden parameter of a backward": (
        with_a_parameter(ReadingBack),
        "it reads a tensor that is not among its arguments",
    ),
    "fails": (
        lambda y, w: Failing.apply(y),
        "asked for the inputs of the run, PyTorch fails: the connection is closed",
    ),
    "nested": (
        lambda y, w: Listed.apply(y, [torch.ones(4)]),
        "a tensor among its arguments is inside of a container",
    ),
    "another shape": (growing("forward"), "asked .* gives another kind of values than in the run"),
    "another gradient": (growing("backward"), "asked .* gives other gradients than in the run"),
    "autocast": (under_autocast, "it ran under autocast"),
    "sparse": (
        lambda y, w: torch.sparse.mm(torch.eye(5).to_sparse(), y),
        "a tensor among its arguments has no plain numbers",
    ),
    "memory elsewhere": (
        lambda y, w: y[1:].as_strided((3, 3), (1, 2), 0),
        "it reads memory from where its argument does not begin",
    ),
}


@pytest.mark.parametrize(("program", "why"), REFUSED.values(), ids=REFUSED)
def test_what_can_not_be_asked_is_recorded_and_says_why(program, why):
    Failing.is_first = True
    _, _, diagram = captured(program)
    session = gw.Session(diagram)
    session.backward()
    text = rf"\(test_live\.py:\d+\) is known for the run .* It can't be asked again: {why}\."
    with pytest.raises(RunError, match=text):
        session.backward(feeds={"x": np.full((5, 3), 0.1, np.float32)})
    assert {block.standing for block in blocks_of(diagram)} == {"recorded"}
    gw.Session(diagram).backward()  # that of the run is known as before


def test_what_depends_on_more_than_it_is_given_is_recorded():
    _, _, diagram = captured(lambda y, w: torch.special.i0e(torch.vmap(torch.sin)(y)))
    (transformed, behind) = blocks_of(diagram)
    assert (transformed.standing, behind.standing) == ("recorded", "recorded")
    assert "not all that its gradients depend on" in behind.run.why_not


def test_an_operator_that_needs_other_inputs_says_so():
    _, _, diagram = captured(PROGRAMS["singular values"])
    text = r"_linalg_svd \(test_live\.py:\d+\) fails for these inputs: .*non-finite"
    with pytest.raises(RunError, match=text):
        gw.Session(diagram).run(feeds={"x": np.full((5, 3), np.nan, np.float32)})


def test_an_operator_without_a_derivative_says_so_when_it_is_asked():
    q = nn.Parameter(torch.ones(3))
    x = nn.Parameter(torch.full((3,), 2.0))
    diagram = gw.capture(lambda: torch.special.zeta(x.detach(), 1 + q).sum()).diagram
    session = gw.Session(diagram)
    (wanted,) = torch.autograd.grad(torch.special.zeta(x.detach(), 1 + q).sum(), q)
    assert session.backward().gradients["q"] == pytest.approx(wanted.numpy())
    with pytest.raises(RunError, match="the derivative for 'zeta' is not implemented"):
        gw.WhatIf(session).open("detach").compare()


class Positive(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return torch.special.i0e(x[x > 0])

    @staticmethod
    def backward(ctx, gradient):
        return gradient.sum().expand(3)


def test_an_output_of_another_shape_is_refused():
    w = nn.Parameter(torch.tensor([1.0, -2.0, 2.0]))
    session = gw.Session(gw.capture(lambda: Positive.apply(w).sum()).diagram)
    session.set("w", np.ones(3, np.float32))
    with pytest.raises(RunError, match=r"an output of another shape .* \[3\] in place of \[2\]"):
        session.run()


def in_part(y):
    z = torch.complex(y, y.sin()) * 1j
    z[:2].mul_(2)
    return z.abs()


def by_a_view_of_no_block(y):
    z = torch.special.entr(y.abs()) * 0.5
    z.as_strided((2, 3), (1, 2)).erfinv_()
    return z


@pytest.mark.parametrize("program", [in_part, by_a_view_of_no_block])
def test_what_is_written_to_behind_a_live_block_is_known_again_as_a_whole(program):
    _, _, diagram = captured(lambda y, w: program(y) * w)
    assert {block.standing for block in blocks_of(diagram)} == {"live", "recorded"}
    feed = diagram.main.blocks["x"].value.array.copy()
    gw.Session(diagram).backward(feeds={"x": feed})
    feed[4] += 1  # what is written to is the same
    with pytest.raises(
        RunError, match=r"_ \(test_live\.py:\d+\) is known for the run .* input [01] is"
    ):
        gw.Session(diagram).backward(feeds={"x": feed})


def test_nothing_is_asked_in_front_of_what_knows_its_inputs_no_more():
    def program(y, w):
        z = torch.special.entr(y.abs())
        doubled = torch.vmap(lambda row: 2 * row)(z)
        z.add_(1)  # what was doubled is gone
        return doubled * w

    _, _, diagram = captured(program)
    assert {block.standing for block in blocks_of(diagram)} == {"recorded"}
    text = "another recorded block of this diagram can't tell other inputs from those of the run"
    with pytest.raises(RunError, match=text):
        gw.Session(diagram).run(feeds={"x": np.ones((5, 3), np.float32)})


def test_what_a_function_sends_no_gradient_is_not_promised_0():
    class First(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x, w):
            ctx.save_for_backward(x)
            return x * w

        @staticmethod
        def backward(ctx, gradient):
            return None, (gradient * ctx.saved_tensors[0]).sum(0)

    layer, w = nn.Linear(3, 4), nn.Parameter(torch.linspace(0.5, 1.5, 4))

    def loss(x):
        y = First.apply(layer(x), w)
        with torch.no_grad():
            features = torch.tanh(y)
        return features.pow(2).mean()

    session = gw.Session(gw.capture(loss, torch.randn(5, 3)).diagram)
    found = {finding.key: finding for finding in diagnose(session)}
    assert found["w"].fix.helps
    for key in ("layer/weight", "layer/bias"):
        assert "No gradient comes back even past no_grad" in found[key].sentence
    sources = session.program.wire_sources.items()
    wires = {path.block: wire for wire, path in sources}
    assert fix(session, wires["w"]).helps
    assert fix(session, wires["layer/weight"]).obstacle


def test_a_copy_for_another_process_is_recorded():
    _, _, diagram = captured(PROGRAMS["singular values"])
    (block,) = blocks_of(diagram)
    assert copy.deepcopy(block).standing == "recorded"
    assert block.model_copy(update={"written": "model.py:1"}).standing == "live"


def test_no_export_has_it():
    _, _, diagram = captured(PROGRAMS["singular values"])
    for target in ("numpy", "torch", "jax"):
        with pytest.raises(GradwireError, match="_linalg_svd"):
            export_source(gw.Session(diagram), target)


def test_a_file_of_it_needs_no_torch(tmp_path):
    _, _, diagram = captured(PROGRAMS["custom function"])
    gw.save(diagram, tmp_path / "m.gradwire.json")
    code = f"""
import sys
sys.modules["torch"] = None
import numpy as np, gradwire as gw
diagram = gw.load({str(tmp_path / "m.gradwire.json")!r})
(block,) = (b for b in diagram.main.blocks.values() if b.type_name() == "Recorded")
session = gw.Session(diagram)
print(block.label(), np.any(session.backward().gradients["layer/weight"]))
try:
    session.run(feeds={{"x": np.ones((5, 3), np.float32)}})
except gw.RunError as error:
    print(error)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    first, second, *_ = done.stdout.splitlines()
    assert first == "Sine, recorded True"
    assert "is known for the run that was captured alone" in second
