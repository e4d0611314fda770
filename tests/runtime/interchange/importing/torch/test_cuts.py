"""Every way in which a PyTorch program loses gradient: found where it happens, by name."""

from __future__ import annotations

import copy

import numpy as np
import pytest

import gradwire as gw
from gradwire.runtime.flow.tools.causes import causes

torch = pytest.importorskip("torch")
from torch.utils.checkpoint import checkpoint  # noqa: E402

from tests.interchange.torch_comparing import exported  # noqa: E402
from tests.interchange.torch_cuts import CUTS, Model, X, without  # noqa: E402 - it imports torch


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


@pytest.mark.filterwarnings("ignore:To copy construct", "ignore:Converting a tensor")
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


def detached(y):
    return y.detach()


def unwrapped(y):
    return y.data * 1


def again(y):
    y = y.detach()
    y = 2 * y
    return y.detach()


def inside(y):
    with torch.no_grad():
        z = y * 2
        return z.detach() + 1


def as_parameter(y):
    y = without(y)
    return torch.nn.Parameter(y)


NESTED = {
    "no_grad after detach": (lambda y: without(detached(y)), 2, {"detach", "no_grad"}),
    "no_grad after data": (lambda y: without(unwrapped(y)), 2, {"data", "no_grad"}),
    "detach after no_grad": (lambda y: detached(without(y)), 2, {"detach", "no_grad"}),
    "detach after detach": (again, 2, {"detach", "detach_2"}),
    "detach in no_grad": (inside, 2, {"detach", "no_grad"}),
    "no_grad after no_grad": (lambda y: without(2 * without(y)), 8, {"no_grad", "no_grad_2"}),
    "no_grad as a parameter": (as_parameter, 2, {"no_grad", "Parameter"}),
}
"""Ways with cuts one behind the other, by what they multiply with, and the cuts."""


@pytest.mark.parametrize("name", NESTED)
def test_of_cuts_in_a_row_all_are_to_be_taken_out(name):
    way, factor, cuts = NESTED[name]
    imported = captured(way)
    assert {r.block for r in imported.remarks if r.kind == "cut"} == cuts
    (finding, *others) = gw.diagnose(gw.Session(imported.diagram))
    assert finding.key == "w" and set(finding.fix.opened) == cuts
    assert not [other for other in others if other.complaint.name == "idle_stop"]
    assert np.allclose(finding.fix.gradient, factor * X.numpy() * Model(way).v.detach().numpy())


def test_what_is_cut_twice_in_one_line_is_one_stop():
    imported = captured(lambda y: y.detach().data)
    (cut,) = [remark for remark in imported.remarks if remark.kind == "cut"]
    assert cut.block == "detach"


@pytest.mark.parametrize("name", ["detach", "detach_", "no_grad", "no_grad as a decorator"])
def test_a_file_keeps_what_torch_export_does(name, tmp_path):
    from gradwire.runtime.interchange.importing.torch.exported.program import import_pt2

    imported = import_pt2(exported(Model(CUTS[name]), (X,), tmp_path / "model.pt2"))
    (cut,) = [remark for remark in imported.remarks if remark.kind == "cut"]
    assert cut.block in (name.partition(" ")[0], "detach")
    assert cut.written.startswith("torch_cuts.py:")
    gradients = gw.Session(imported.diagram).backward().gradients
    assert gradients["w"] is None and gradients["v"] is not None


@pytest.mark.parametrize("name", [n for n in CUTS if n.startswith(("tensor", "as", "new", "item"))])
@pytest.mark.filterwarnings("ignore:To copy construct", "ignore:Converting a tensor")
def test_who_copies_numbers_is_told_to_join_tensors(name):
    imported = captured(CUTS[name])
    (cut,) = [remark for remark in imported.remarks if remark.kind == "cut"]
    (finding,) = gw.diagnose(gw.Session(imported.diagram))
    assert finding.key == "w" and finding.written == cut.written
    for sentence in (cut.text, finding.sentence, causes([finding])[0].sentence):
        assert "use the tensor itself, and torch.stack to join several." in sentence


@pytest.mark.filterwarnings("ignore:torch.asarray")  # it warns of its own next version
@pytest.mark.parametrize("make", [torch.as_tensor, torch.asarray])
def test_a_tensor_that_stays_what_it_is_keeps_its_gradient(make):
    for way in (make, lambda y: make(y, dtype=torch.float64)):
        imported = captured(way)
        assert not [remark for remark in imported.remarks if remark.kind == "cut"]
        assert gw.Session(imported.diagram).backward().gradients["w"] is not None


def test_arrays_that_numpy_joins_are_followed():
    imported = captured(lambda y: torch.from_numpy(np.stack([z.detach().numpy() for z in y])))
    cuts = [remark.block for remark in imported.remarks if remark.kind == "cut"]
    assert cuts == ["detach", "detach_2", "detach_3"]
    assert not [remark for remark in imported.remarks if remark.kind == "lost"]


@pytest.mark.parametrize("name", [n for n in CUTS if n.startswith(("Parameter", "Buffer", "data"))])
def test_who_makes_a_new_leaf_is_told_to_use_the_tensor(name):
    imported = captured(CUTS[name])
    (cut,) = [remark for remark in imported.remarks if remark.kind == "cut"]
    findings = gw.diagnose(gw.Session(imported.diagram))
    finding = next(finding for finding in findings if finding.key == "w")
    for sentence in (cut.text, finding.sentence):
        assert "use the tensor itself, in a layer by torch.func.functional_call." in sentence


def test_a_parameter_of_numbers_from_elsewhere_is_trained():
    imported = gw.capture(Model(lambda y: y * torch.nn.Parameter(X)), X)
    assert list(imported.parameters) == ["w", "v", "parameter1"]
    assert not [remark for remark in imported.remarks if remark.kind == "cut"]


def test_a_copy_of_a_layer_has_the_line_that_copies_it():
    layer, before = torch.nn.Linear(3, 3), torch.nn.Linear(3, 3)
    imported = gw.capture(lambda x: copy.deepcopy(layer)(before(x)).sum(), X)
    cuts = [remark.written for remark in imported.remarks if remark.kind == "cut"]
    assert len(cuts) == 2 and all("copy.deepcopy(layer)" in written for written in cuts)
    assert len(imported.parameters) == 4


def test_numbers_through_numpy_are_cut_at_the_detach():
    imported = captured(by_numpy)
    assert [remark.block for remark in imported.remarks if remark.kind == "cut"] == ["detach"]


def test_what_numpy_computes_is_a_constant_of_the_run_and_said_to_be_lost():
    imported = captured(lambda y: torch.from_numpy(np.maximum(y.detach().numpy(), 0)))
    (lost,) = [remark for remark in imported.remarks if remark.kind == "lost"]
    assert "numpy" in lost.text and lost.written.startswith("test_cuts.py:")
    assert gw.Session(imported.diagram).backward().gradients["w"] is None


def test_what_numpy_makes_of_another_shape_still_leads_back_to_what_it_was_made_of():
    layer = torch.nn.Linear(3, 3)

    def loss(x):
        return torch.from_numpy(np.convolve(layer(x).detach().numpy(), [0.5, 0.5])).sum()

    imported = gw.capture(loss, X)
    (lost,) = [remark for remark in imported.remarks if remark.kind == "lost"]
    assert "numpy" in lost.text
    (first, second, _) = gw.diagnose(gw.Session(imported.diagram))
    assert {first.key, second.key} == {"layer/weight", "layer/bias"}
    assert "numpy (test_cuts.py:" in first.sentence


def test_a_loss_that_nothing_trained_comes_into_is_captured():
    layer = torch.nn.Linear(3, 1)
    imported = gw.capture(lambda x: layer(x).sum() * 0 + 1 if x.sum() > 1e9 else x.new_ones(()), X)
    assert imported.remarks[-1].text.endswith("its loss is a constant of this run.")


def test_what_is_decided_by_numbers_is_said_to_train_nothing():
    scorer, rows = torch.nn.Linear(3, 2), torch.eye(3)

    def by_mask(x):
        return rows[scorer(rows)[:, 0] > -9.0].sum()

    def by_index(x):
        return rows[scorer(x).argmax()].sum()

    for loss in (by_mask, by_index):
        texts = [r.text for r in gw.capture(loss, X).remarks if r.kind == "specialised"]
        assert len(texts) == 1 and "No gradient comes through it to what decides it" in texts[0]
    (plain,) = [r for r in gw.capture(lambda x: scorer(x[x > -9.0]).sum(), X).remarks
                if r.kind == "specialised"]  # fmt: skip
    assert "No gradient" not in plain.text


def test_a_sample_without_gradient_has_its_name_its_cure_and_its_numbers():
    policy = torch.nn.Linear(3, 1)

    def loss(x):
        return torch.distributions.Normal(policy(x), 0.5).sample().square().mean()

    imported = gw.capture(loss, X)
    assert imported.remarks[-1].text.startswith("Agrees with PyTorch"), imported.remarks
    (cut,) = [remark for remark in imported.remarks if remark.kind == "cut"]
    assert cut.block == "sample" and "use rsample()" in cut.text
    sentences = [finding.sentence for finding in gw.diagnose(gw.Session(imported.diagram))]
    assert all(s.startswith("No gradient: sample (test_cuts.py:") for s in sentences), sentences


def test_a_drawing_under_no_grad_of_ones_own_is_no_sample():
    def way(y):
        with torch.no_grad():
            return torch.distributions.Normal(y, 1.0).sample()

    (cut,) = [remark for remark in captured(way).remarks if remark.kind == "cut"]
    assert cut.block == "no_grad"


class Backwards(torch.nn.Module):
    def forward(self, x):
        return x

    def backward(self, gradient):
        return -gradient


def test_what_has_no_effect_in_pytorch_is_said():
    model = torch.nn.Sequential(torch.nn.Linear(3, 2), Backwards(), torch.nn.Linear(2, 1))
    model[0].requires_grad = False
    model[2].weight.require_grad = False

    def loss(x):
        y = model(x)
        y.detach()
        torch.tanh(y)
        return y.sum()

    texts = [remark.text for remark in gw.capture(loss, X).remarks if remark.kind == "note"]
    assert texts[0].startswith("model.0.requires_grad = False has no effect")
    assert texts[1].startswith("backward() of Backwards is not called by autograd")
    assert texts[2].startswith("model.2.weight.require_grad = False has no effect")
    assert texts[3].startswith("detach() returns another tensor and leaves this one as it was")
    assert texts[4].startswith("tanh() returns another tensor and leaves this one as it was")
    assert len(texts) == 5


def test_a_result_that_is_used_is_not_said_to_be_dropped():
    model, kept = torch.nn.Linear(3, 2), []

    def loss(x):
        y = model(x)
        kept.append(y.detach())
        print(y.detach().abs().sum(), end="")
        return (y - y.detach()).sum() + y.clamp(0.0).sum()

    assert [r for r in gw.capture(loss, X).remarks if "is not used" in r.text] == []


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


@pytest.mark.parametrize("is_written", [False, True])
def test_a_parameter_that_is_unfrozen_again_has_gradient_from_there(is_written):
    model = Model(lambda y: y)

    def loss(x):
        model.w.requires_grad_(False)
        first = model(x)
        if is_written:
            model.w.mul_(2)
        model.w.requires_grad_(True)
        return first + model(x)

    imported = gw.capture(loss, X)
    (checked,) = [remark.text for remark in imported.remarks if remark.kind == "checked"]
    assert checked.startswith("Agrees with PyTorch") is not is_written


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


def test_a_rule_that_no_block_has_is_that_of_the_run():
    imported = captured(Squared.apply)
    block = imported.diagram.main.blocks["Squared"]
    assert (block.type_name(), block.keeps_value) == ("Recorded", True)
    assert imported.remarks[-1].text.startswith("Agrees with PyTorch")


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
def test_other_hooks_have_the_gradient_of_the_run():
    def way(y):
        y.register_hook(lambda gradient: gradient.clamp(-0.1, 0.1))
        return y

    model = Model(way)
    model.register_full_backward_hook(lambda *_: None)
    imported = gw.capture(model, X)
    kinds = {name: b.type_name() for name, b in imported.diagram.main.blocks.items()}
    assert kinds["hook"] == "Recorded" and list(kinds.values()).count("Recorded") == 1
    assert imported.remarks[-1].text.startswith("Agrees with PyTorch")


def test_what_a_hook_makes_of_gradient_that_no_grad_keeps_away_is_unknown():
    layer, x = torch.nn.Linear(3, 2), torch.randn(4, 3)
    layer.register_full_backward_pre_hook(lambda module, gradients: [2 * g for g in gradients])

    def step():
        with torch.no_grad():
            y = layer(x)
        return y.pow(2).mean()

    imported = gw.capture(step)
    assert any("what it makes of one is unknown" in str(each) for each in imported.remarks)
    found = gw.diagnose(gw.Session(imported.diagram))
    assert {each.complaint.name for each in found} == {"no_gradient"}
    for each in found:
        assert each.fix is not None and each.fix.rms is None
        assert "what it sends on is unknown" in each.sentence


@pytest.mark.parametrize("reentrant", [True, False])
def test_a_checkpoint_passes_gradient(reentrant):
    imported = captured(lambda y: checkpoint(torch.exp, y, use_reentrant=reentrant))
    assert gw.Session(imported.diagram).backward().gradients["w"] is not None


class Adapted(torch.nn.Module):
    """Trains a small part of a layer, over an embedding that is frozen."""

    def __init__(self):
        super().__init__()
        self.embedding = torch.nn.Embedding(5, 4).requires_grad_(False)
        self.base = torch.nn.Linear(4, 4).requires_grad_(False)
        self.down, self.up = torch.nn.Linear(4, 2), torch.nn.Linear(2, 4)

    def adapted(self, x):
        return self.base(x) + self.up(self.down(x))

    def forward(self, tokens, **how):
        x = self.embedding(tokens)
        x = checkpoint(self.adapted, x, **how)
        return checkpoint(self.adapted, x, **how).pow(2).mean()


@pytest.mark.filterwarnings("ignore:None of the inputs have requires_grad")
def test_a_reentrant_checkpoint_over_frozen_inputs_is_named_with_its_cure():
    model, tokens = Adapted(), torch.tensor([0, 3, 1])
    imported = gw.capture(model, tokens, use_reentrant=True)
    assert imported.remarks[-1].text.startswith("Agrees with PyTorch"), imported.remarks
    cuts = [remark for remark in imported.remarks if remark.kind == "cut"]
    assert [cut.block for cut in cuts] == ["checkpoint", "checkpoint_2"]
    assert all("test_cuts.py:" in cut.written and "checkpoint(" in cut.written for cut in cuts)
    findings = gw.diagnose(gw.Session(imported.diagram))
    lost = [finding for finding in findings if finding.complaint.name == "no_gradient"]
    assert {finding.key for finding in lost} == {
        "down/weight", "down/bias", "up/weight", "up/bias"
    }  # fmt: skip
    for finding in lost:
        assert "use_reentrant=False" in finding.sentence and "test_cuts.py:" in finding.sentence
        assert "enable_input_require_grads()" in finding.sentence


def test_the_cures_of_a_reentrant_checkpoint_cure_it():
    model, tokens = Adapted(), torch.tensor([0, 3, 1])
    for how in (True, False):
        if how:
            model.embedding.register_forward_hook(lambda _, __, out: out.requires_grad_())
        imported = gw.capture(model, tokens, use_reentrant=how)
        assert imported.remarks[-1].text.startswith("Agrees with PyTorch"), imported.remarks
        assert not gw.diagnose(gw.Session(imported.diagram))
        model.embedding._forward_hooks.clear()


class Chosen(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        chosen = x * 2
        ctx.mark_non_differentiable(chosen)
        return chosen


def test_a_function_without_gradient_is_a_stop_of_its_name():
    (cut,) = [r for r in captured(Chosen.apply).remarks if r.kind == "cut"]
    assert cut.block == "Chosen" and cut.written.startswith("torch_cuts.py:")


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
