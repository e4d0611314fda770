"""What has no rules gets in with the values and the gradients of the run, and for no other run."""

from __future__ import annotations

import numpy as np
import pytest

import gradwire as gw
from gradwire.blocks.errors import RunError

torch = pytest.importorskip("torch")
nn, F = torch.nn, torch.nn.functional


@pytest.fixture(autouse=True)
def seeded():
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        yield


class Spike(torch.autograd.Function):
    """A step with a smooth surrogate for its derivative."""

    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return (x > 0).float()

    @staticmethod
    def backward(ctx, gradient):
        (x,) = ctx.saved_tensors
        return gradient / (1 + 25 * x.abs()) ** 2


class Clipping(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x * 1.0

    @staticmethod
    def backward(ctx, gradient):
        return gradient.clamp(-0.01, 0.01)


class Two(torch.autograd.Function):
    """Two outputs of gradient, one without, and an input that gets none."""

    @staticmethod
    def forward(ctx, x, w):
        ctx.save_for_backward(x, w)
        return x * w, x + w, x > 0

    @staticmethod
    def backward(ctx, product, total, _):
        _, w = ctx.saved_tensors
        return 2 * product * w + total, None


class ByNumPy(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return torch.from_numpy(np.sinh(x.detach().numpy()))

    @staticmethod
    def backward(ctx, gradient):
        (x,) = ctx.saved_tensors
        return gradient * torch.from_numpy(np.cosh(x.numpy()))


class InPlace(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.mark_dirty(x)
        return x.mul_(3.0)

    @staticmethod
    def backward(ctx, gradient):
        return gradient.abs()


def two(y, w):
    product, total, positive = Two.apply(y, w)
    return product.where(positive, 2 * product) + total.sin()


def hooked(y):
    y.register_hook(lambda gradient: gradient * torch.linspace(0.0, 1.0, 4))
    return y


def written(y):
    z = y.sin()
    z.erfinv_()
    return z + y


class Halving(torch.autograd.Function):
    """Its backward is not the derivative of its forward."""

    @staticmethod
    def forward(ctx, x):
        return x * x

    @staticmethod
    def backward(ctx, gradient):
        return gradient / 2


def twice_hooked(y):
    y.register_hook(lambda gradient: gradient * gradient)
    z = y.sin()
    y.register_hook(lambda gradient: gradient.clamp(-1e-3, 1e-3))
    return z


def written_through_a_view(y):
    z = y * 0.1
    z[:2].erfinv_()
    z[3:].mul_(y[:2])
    return z


def written_beside_a_view(y):
    pairs = torch.complex(y, y.sin())
    part = pairs[:2]
    part.mul_(2)
    return (pairs * pairs).abs() + part.abs().sum()


PROGRAMS = {
    "erfinv": lambda y, w: torch.erfinv(0.5 * torch.tanh(y)),
    "svd": lambda y, w: torch.linalg.svd(y)[1],
    "qr": lambda y, w: torch.linalg.qr(y)[1],
    "fft": lambda y, w: torch.fft.irfft(torch.fft.rfft(y) * torch.complex(w[0], w[1])),
    "real part": lambda y, w: torch.fft.fft(y).real * w,
    "turned pairs": lambda y, w: torch.view_as_real(
        torch.view_as_complex(y.reshape(-1, 2)) * torch.polar(torch.ones(2), torch.arange(2.0))
        .repeat(y.numel() // 4)
    ),
    "spike": lambda y, w: Spike.apply(y) * w,
    "clipping": lambda y, w: Clipping.apply(y),
    "two outputs": two,
    "by numpy": lambda y, w: ByNumPy.apply(y),
    "in place": lambda y, w: InPlace.apply(y * 1.0) + y,
    "vmap": lambda y, w: torch.vmap(lambda row: (row * w).sin())(y),
    "gradients of rows": lambda y, w: torch.vmap(torch.func.grad(lambda r: (r * w).exp().sum()))(y),
    "hook": lambda y, w: hooked(y) ** 2,
    "two hooks": lambda y, w: twice_hooked(y),
    "a view of it": lambda y, w: torch.fft.irfft(torch.fft.rfft(y)[:, :2] * w[:2], n=4),
    "written through a view": lambda y, w: written_through_a_view(torch.tanh(y)),
    "written beside a view": lambda y, w: written_beside_a_view(y),
    "written to": lambda y, w: written(0.1 * torch.tanh(y)),
    "behind itself": lambda y, w: torch.lgamma(1 + torch.lgamma(2 + y**2) ** 2),
    "without gradient": lambda y, w: y * torch.special.i0e(y).detach(),
}  # fmt: skip


@pytest.mark.parametrize("program", PROGRAMS.values(), ids=PROGRAMS)
@pytest.mark.parametrize("is_step", [False, True], ids=["function", "step"])
def test_it_has_the_gradients_of_the_run(program, is_step, tmp_path):
    layer, w = nn.Linear(3, 4), nn.Parameter(torch.linspace(0.5, 1.5, 4))

    def loss(x):
        return program(layer(x), w).pow(2).mean()

    def step(x):
        loss(x).backward()

    imported = gw.capture(step if is_step else loss, torch.randn(5, 3))
    assert imported.remarks[-1].text.startswith("Agrees with PyTorch"), imported.remarks[-1]
    blocks = [b for page in imported.diagram.pages.values() for b in page.blocks.values()]
    assert "Recorded" in [block.type_name() for block in blocks]
    before = gw.Session(imported.diagram).backward()
    gw.save(imported.diagram, tmp_path / "m.gradwire.json")
    after = gw.Session(gw.load(tmp_path / "m.gradwire.json")).backward()
    for name, gradient in before.gradients.items():
        again = after.gradients[name]
        assert (gradient is None) == (again is None)
        assert gradient is None or gradient.tobytes() == again.tobytes()


def captured():
    layer = nn.Linear(3, 4)

    def model(x):
        return torch.erfinv(0.5 * torch.tanh(layer(x))).pow(2).mean()

    return of_file(gw.capture(model, torch.randn(5, 3)).diagram)


def of_file(diagram):
    """A diagram without the program that it comes from, which would be asked."""
    return gw.loads(gw.dumps(diagram))


def test_for_other_numbers_it_is_refused_with_its_line():
    session = gw.Session(captured())
    text = (
        r"erfinv \(test_recorded\.py:\d+\) is known for the run that was captured alone, and its "
        "input 0 is another now: its values are unknown"
    )
    with pytest.raises(RunError, match=text):
        session.run(feeds={"x": np.ones((5, 3), np.float32)})
    session.set("layer/weight", np.ones((4, 3), np.float32))
    with pytest.raises(RunError, match=text):
        session.backward()


def test_its_face_says_that_it_is_recorded():
    assert captured().main.blocks["erfinv"].label() == "erfinv, recorded"


def test_multiples_and_sums_of_known_gradients_are_known_and_no_others():
    session = gw.Session(captured())
    once = session.backward().gradients["layer/weight"]
    scaled = session.backward(["mean1"], out_gradients={"mean1": -3.0})
    thrice = scaled.gradients["layer/weight"]
    assert thrice == pytest.approx(-3.0 * once, rel=1e-4)
    with pytest.raises(
        RunError, match="the gradient that comes to it is another now: what it sends on is unknown"
    ):
        session.backward(["erfinv"], out_gradients={"erfinv": np.ones((5, 4), np.float32)})


def test_of_several_losses_each_is_known_and_their_sum():
    layer, other = nn.Linear(3, 4), nn.Linear(3, 4)

    def step(x):
        shared = torch.erfinv(0.5 * torch.tanh(layer(x)))
        (shared * other(x)).mean().backward(retain_graph=True)
        shared.pow(2).sum().backward()

    imported = gw.capture(step, torch.randn(5, 3))
    assert imported.remarks[-1].text.startswith("Agrees with PyTorch: 2 losses")
    session = gw.Session(imported.diagram)
    one, two, both = (
        session.backward(losses).gradients["layer/weight"]
        for losses in (["loss"], ["loss2"], ["loss", "loss2"])
    )
    assert both == pytest.approx(one + two, rel=1e-4)


@pytest.mark.parametrize("call", ["Two", "svd"])
def test_each_output_has_what_it_sends_alone(call):
    layer, w = nn.Linear(3, 4), torch.linspace(0.5, 1.5, 4)

    def outputs(y):
        return Two.apply(y, w)[:2] if call == "Two" else torch.linalg.svd(y)[:2]

    def loss(y, first, second):
        one, two = outputs(y)
        return first * one.sin().sum() + second * two.exp().sum()

    x = torch.randn(5, 3)
    imported = gw.capture(lambda x: loss(layer(x), 1.0, 1.0), x)
    assert imported.remarks[-1].text.startswith("Agrees with PyTorch"), imported.remarks[-1]
    trial = gw.WhatIf(gw.Session(imported.diagram))
    (exp,) = (name for name, b in imported.diagram.main.blocks.items() if b.type_name() == "Exp")
    after = trial.cut(f"{exp}.x").compare().after
    found = next(iter(after.runs.values())).gradients[imported.parameters["layer.weight"]]
    loss(layer(x), 1.0, 0.0).backward()
    assert found == pytest.approx(layer.weight.grad.numpy(), rel=1e-3, abs=1e-5)


def test_what_gets_none_is_none_and_says_so():
    layer, w = nn.Linear(3, 4), nn.Parameter(torch.ones(4))
    imported = gw.capture(lambda x: two(layer(x), w).sum(), torch.randn(5, 3))
    session = gw.Session(imported.diagram)
    assert session.backward().gradients["w"] is None
    (finding,) = gw.diagnose(session)
    assert finding.key == "w" and "no gradient came from it to this input" in finding.sentence
    assert "test_recorded.py:" in finding.sentence


def test_random_numbers_before_it_are_those_of_the_run():
    layer = nn.Linear(3, 4)

    def loss(x):
        return torch.erfinv(0.5 * torch.tanh(F.dropout(layer(x)) + torch.randn(5, 4))).mean()

    imported = gw.capture(loss, torch.randn(5, 3))
    assert imported.remarks[-1].text.startswith("Agrees with PyTorch")
    assert gw.Session(imported.diagram).backward().gradients["layer/weight"] is not None


def test_what_is_written_to_is_known_for_what_it_was():
    layer = nn.Linear(3, 4)
    imported = gw.capture(lambda x: written(0.1 * torch.tanh(layer(x))).sum(), torch.randn(5, 3))
    with pytest.raises(RunError, match="its input 0 is another now"):
        gw.Session(imported.diagram).run(feeds={"x": np.ones((5, 3), np.float32)})


@pytest.mark.parametrize("is_step", [False, True], ids=["function", "step"])
def test_a_hook_after_accumulation_changes_the_gradient_of_its_parameter(is_step):
    layer = nn.Linear(3, 4)
    layer.bias.register_hook(lambda gradient: gradient * gradient)

    def limit(p):
        p.grad.clamp_(-0.01, 0.01)

    layer.bias.register_post_accumulate_grad_hook(limit)

    def program(x):
        loss = layer(x).pow(2).sum()
        return loss.backward() if is_step else loss

    x = torch.randn(5, 3)
    imported = gw.capture(program, x)
    assert layer.bias.grad is None
    layer(x).pow(2).sum().backward()
    gradients = gw.Session(imported.diagram).backward().gradients
    found = gradients[imported.parameters["layer.bias"]]
    assert found == pytest.approx(layer.bias.grad.numpy())
    assert imported.remarks[-1].text.startswith("Agrees with PyTorch"), imported.remarks[-1]


def test_a_hook_that_uses_a_gradient_up_leaves_it():
    layer = nn.Linear(3, 4)

    def step_at_once(p):
        p.data.sub_(0.1 * p.grad)
        p.grad = None

    for p in layer.parameters():
        p.register_post_accumulate_grad_hook(step_at_once)
    imported = gw.capture(lambda x: layer(x).pow(2).sum().backward(), torch.randn(5, 3))
    assert imported.remarks[-1].text.startswith("Agrees with PyTorch"), imported.remarks[-1]
    gradients = gw.Session(imported.diagram).backward().gradients
    assert all(np.any(gradient) for gradient in gradients.values())


@pytest.mark.parametrize(
    "call",
    [
        Halving.apply,
        lambda y: torch.hypot(y, torch.ones(4, requires_grad=True)).exp() * torch.lgamma(2 + y * y),
    ],
    ids=["function", "operator"],
)
def test_a_route_on_which_no_gradient_was_asked_for_is_refused(call):
    layer = nn.Linear(3, 4)
    imported = gw.capture(lambda x: call(layer(x).detach()).sum(), torch.randn(5, 3))
    session = gw.Session(of_file(imported.diagram))
    (finding, *_) = gw.diagnose(session)
    assert "no gradient was asked for at" in finding.sentence, finding
    with pytest.raises(RunError, match=r"test_recorded.py:\d+\) is known for .* no gradient was"):
        gw.WhatIf(session).open("detach").compare()


def test_a_gradient_that_is_rounding_is_that_of_the_run():
    layer, w = nn.Linear(3, 4), nn.Parameter(torch.ones(4))

    def loss(x):
        y = layer(x) * 3
        y.register_hook(lambda gradient: gradient * gradient.sign())
        return torch.softmax(y, -1).mean() + w.sum()

    imported = gw.capture(loss, torch.randn(5, 3))
    assert imported.remarks[-1].text.startswith("Agrees with PyTorch"), imported.remarks[-1]


def test_where_a_run_has_infinities_sums_of_losses_are_known():
    layer = nn.Linear(3, 4)

    def step(x):
        y = torch.erfinv(torch.cat([layer(x)[:1] * 0 + 1, 0.1 * torch.tanh(layer(x))]))
        y[1:].sum().backward(retain_graph=True)
        y.pow(2).mean().backward()

    diagram = gw.capture(step, torch.randn(5, 3)).diagram
    assert not np.isfinite(gw.Session(diagram).backward().gradients["layer/weight"]).all()


@pytest.mark.parametrize("hook", [lambda g: None, lambda g: g * 1], ids=["looks", "same"])
def test_a_hook_that_changes_nothing_is_no_block(hook):
    layer = nn.Linear(3, 4)
    layer.weight.register_hook(hook)
    before = dict(layer.weight._backward_hooks)
    diagram = gw.capture(lambda x: layer(x).sum(), torch.randn(5, 3)).diagram
    assert not any(b.type_name() == "Recorded" for b in diagram.main.blocks.values())
    assert dict(layer.weight._backward_hooks) == before


@pytest.mark.parametrize(
    ("decompose", "what"),
    [(torch.linalg.svd, "singular values"), (torch.linalg.eigh, "eigenvalues")],
)
def test_where_a_decomposition_has_no_finite_gradient_is_said(decompose, what):
    matrix = nn.Parameter(torch.tensor([[2.0, 1.0], [1.0, 3.0]]))
    remarks = gw.capture(lambda: sum(x.sum() for x in decompose(matrix))).remarks
    (text,) = [r.text for r in remarks if "has no rules" in r.text]
    assert f"divided by differences of {what}" in text


def test_gradients_are_recorded_without_the_factor_of_a_scaler():
    layer = nn.Linear(3, 4)

    def shifted(leaf):
        leaf.grad += leaf.grad.sign()

    layer.weight.register_post_accumulate_grad_hook(shifted)
    optimizer = torch.optim.SGD(layer.parameters(), 0.1)
    scaler = torch.amp.GradScaler("cpu", init_scale=1024.0)

    def step(x):
        optimizer.zero_grad()
        scaler.scale(torch.special.erfcx(layer(x)).sum()).backward()
        scaler.step(optimizer)

    imported = gw.capture(step, torch.randn(5, 3))
    assert imported.remarks[-1].text.startswith("Agrees with PyTorch")
    blocks = imported.diagram.main.blocks.values()
    (unknown,) = (b for b in blocks if getattr(b, "operation", "") == "special_erfcx")
    assert (unknown.arrays["arrived 0 0"].array == 1).all()
    assert unknown.arrays["rounding"].array.max() < 1e-4


def test_what_is_written_to_in_inference_mode_is_recorded():
    def program(x):
        with torch.inference_mode():
            return Clipping.apply((x * 0.1).erfinv_()).sum()

    imported = gw.capture(program, torch.randn(5, 3).tanh())
    assert imported.remarks[-1].text.startswith("Agrees with PyTorch")
