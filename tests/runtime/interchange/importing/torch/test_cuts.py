"""Every way in which a PyTorch program loses gradient: found where it happens, by name."""

from __future__ import annotations

import numpy as np
import pytest

import gradwire as gw

torch = pytest.importorskip("torch")
from torch.utils.checkpoint import checkpoint  # noqa: E402

from tests.interchange.torch_comparing import exported  # noqa: E402
from tests.interchange.torch_cuts import CUTS, Model, X  # noqa: E402


@pytest.fixture(autouse=True)
def seeded():
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        yield


class Straight(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return torch.round(x)

    @staticmethod
    def backward(ctx, gradient):
        return gradient


class Reversed(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, scale):
        ctx.scale = scale
        return x.view_as(x)

    @staticmethod
    def backward(ctx, gradient):
        return -ctx.scale * gradient, None


class Squared(torch.autograd.Function):
    """With a rule that is neither that of its forward nor a multiple."""

    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x**2

    @staticmethod
    def backward(ctx, gradient):
        return gradient * ctx.saved_tensors[0] ** 3


taken_before = Straight.apply


def by_numpy(y):
    return torch.from_numpy(y.detach().numpy().copy())


def captured(way):
    imported = gw.capture(Model(way), X)
    assert imported.remarks[-1].text.startswith("Agrees with PyTorch"), imported.remarks
    return imported


@pytest.mark.filterwarnings("ignore:To copy construct")
@pytest.mark.parametrize("name", CUTS)
def test_a_cut_is_a_stop_with_its_name_and_line(name):
    imported = captured(CUTS[name])
    (cut,) = [remark for remark in imported.remarks if remark.kind == "cut"]
    assert cut.block == name.partition(" ")[0]
    assert cut.written.startswith("torch_cuts.py:")
    block = imported.diagram.main.blocks[cut.block]
    assert block.type_name() == "StopGradient" and block.written == cut.written
    gradients = gw.Session(imported.diagram).backward().gradients
    assert gradients["w"] is None and gradients["v"] is not None


@pytest.mark.parametrize("name", ["detach", "detach_", "no_grad", "no_grad as a decorator"])
def test_a_file_keeps_what_torch_export_does(name, tmp_path):
    from gradwire.runtime.interchange.importing.torch.program import import_pt2

    imported = import_pt2(exported(Model(CUTS[name]), (X,), tmp_path / "model.pt2"))
    (cut,) = [remark for remark in imported.remarks if remark.kind == "cut"]
    assert cut.block in (name.partition(" ")[0], "detach")
    assert cut.written.startswith("torch_cuts.py:")
    gradients = gw.Session(imported.diagram).backward().gradients
    assert gradients["w"] is None and gradients["v"] is not None


def test_numbers_through_numpy_are_cut_at_the_detach():
    imported = captured(by_numpy)
    assert [remark.block for remark in imported.remarks if remark.kind == "cut"] == ["detach"]


def test_what_numpy_computes_is_a_constant_of_the_run_and_said_to_be_lost():
    imported = captured(lambda y: torch.from_numpy(np.maximum(y.detach().numpy(), 0)))
    (lost,) = [remark for remark in imported.remarks if remark.kind == "lost"]
    assert "numpy" in lost.text and lost.written.startswith("test_cuts.py:")
    assert gw.Session(imported.diagram).backward().gradients["w"] is None


def test_a_network_without_gradient_is_cut_once_where_it_is_left():
    inner = torch.nn.Sequential(torch.nn.Linear(3, 3), torch.nn.Tanh(), torch.nn.Linear(3, 3))

    def way(y):
        with torch.no_grad():
            return inner(y)

    imported = gw.capture(Model(way), X)
    assert [r.block for r in imported.remarks if r.kind == "cut"] == ["no_grad"]


def test_a_parameter_that_is_frozen_on_the_way_is_cut_there():
    model = Model(lambda y: y)

    def loss(x):
        model.w.requires_grad_(False)
        return model(x)

    imported = gw.capture(loss, X)
    (cut,) = [remark for remark in imported.remarks if remark.kind == "cut"]
    assert cut.block == "requires_grad_" and cut.written.startswith("test_cuts.py:")


def test_parameters_that_are_frozen_before_are_frozen_variables():
    model = Model(lambda y: y)
    model.w.requires_grad_(False)
    blocks = gw.capture(model, X).diagram.main.blocks
    assert blocks["w"].trainable is False and blocks["v"].trainable is True


@pytest.mark.parametrize("function", [Straight.apply, taken_before], ids=["now", "before"])
def test_a_straight_through_function_is_a_block(function):
    imported = captured(function)
    block = imported.diagram.main.blocks["Straight"]
    assert block.type_name() == "StraightThrough"
    assert gw.Session(imported.diagram).backward().gradients["w"].tolist() == [1.0, 4.0, 9.0]


def test_a_reversal_is_a_block_with_its_scale():
    imported = captured(lambda y: Reversed.apply(y, 0.5))
    block = imported.diagram.main.blocks["Reversed"]
    assert (block.type_name(), block.scale) == ("GradientReversal", 0.5)


def test_a_rule_that_no_block_has_is_said_to_be_lost():
    imported = gw.capture(Model(Squared.apply), X)
    (lost,) = [remark for remark in imported.remarks if remark.kind == "lost"]
    assert "Squared" in lost.text and lost.written.startswith("torch_cuts.py:")
    assert imported.remarks[-1].text.startswith("PyTorch's gradient of w has rms")


def test_a_hook_that_multiplies_is_a_block():
    def way(y):
        y.register_hook(lambda gradient: gradient * -0.5)
        return y

    block = captured(way).diagram.main.blocks["hook"]
    assert (block.type_name(), block.scale) == ("GradientReversal", 0.5)


def test_a_hook_that_only_looks_is_nothing():
    def way(y):
        y.register_hook(lambda gradient: None)
        return y

    assert "hook" not in captured(way).diagram.main.blocks


@pytest.mark.filterwarnings("ignore:Full backward hook")
def test_other_hooks_are_said_to_be_lost():
    def way(y):
        y.register_hook(lambda gradient: gradient.clamp(-0.1, 0.1))
        return y

    model = Model(way)
    model.register_full_backward_hook(lambda *_: None)
    lost = [remark.text for remark in gw.capture(model, X).remarks if remark.kind == "lost"]
    assert any("hook changes this gradient" in text for text in lost)
    assert any("backward hooks of the model" in text for text in lost)


@pytest.mark.parametrize("reentrant", [True, False])
def test_a_checkpoint_passes_gradient(reentrant):
    imported = captured(lambda y: checkpoint(torch.exp, y, use_reentrant=reentrant))
    assert gw.Session(imported.diagram).backward().gradients["w"] is not None


def test_a_gradient_that_the_program_takes_is_a_block():
    def penalty(y):
        (slope,) = torch.autograd.grad(y.tanh().sum(), y, create_graph=True)
        return slope

    blocks = captured(penalty).diagram.main.blocks.values()
    assert "Gradient" in [block.type_name() for block in blocks]


def test_losses_that_the_program_calls_backward_on_are_losses():
    model = Model(lambda y: y)

    def step(x):
        model(x).backward()

    imported = gw.capture(step, X)
    assert imported.outputs == {"loss": "loss.out"}
    assert model.w.grad is None


def test_what_is_unsupported_is_named_with_its_line_only_if_it_is_needed():
    assert captured(lambda y: (y, torch.special.i0(y))[0])
    with pytest.raises(gw.UnsupportedError, match=r"i0.*torch_cuts\.py"):
        gw.capture(Model(torch.special.i0), X)


def test_a_leaf_that_is_changed_without_gradient_keeps_it():
    model = Model(lambda y: y)

    def loss(x):
        with torch.no_grad():
            model.w.mul_(2.0)
        return model(x)

    imported = gw.capture(loss, X)
    assert imported.remarks[-1].text.startswith("Agrees with PyTorch"), imported.remarks
    assert model.w.tolist() == pytest.approx([0.4, 0.7, -0.3])


def test_a_change_through_data_is_said_to_be_lost():
    model = Model(lambda y: y)

    def loss(x):
        model.w.data.view(-1).clamp_(-0.1, 0.1)
        return model(x)

    (lost,) = [remark for remark in gw.capture(loss, X).remarks if remark.kind == "lost"]
    assert ".data" in lost.text and lost.written.endswith("model.w.data.view(-1).clamp_(-0.1, 0.1)")


def test_numbers_that_the_program_goes_by_are_said():
    def way(y):
        return y * (2 if y.sum().item() > 1 else 3) + y[int(y.argmax())]

    said = [remark for remark in captured(way).remarks if remark.kind == "specialised"]
    assert len(said) == 2 and all(remark.written.startswith("test_cuts.py:") for remark in said)


def test_what_torch_func_transforms_is_refused():
    with pytest.raises(gw.UnsupportedError, match=r"torch\.func.*test_cuts\.py"):
        gw.capture(Model(torch.vmap(lambda a: a * 2)), X)
