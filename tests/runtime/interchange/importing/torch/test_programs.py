"""Exported models as people write them: the numbers and Nones of PyTorch, modules and places."""

from __future__ import annotations

import pytest

import gradwire as gw
from gradwire.runtime.interchange.importing.options import ImportOptions
from gradwire.runtime.interchange.importing.torch.exported.program import import_pt2

torch = pytest.importorskip("torch")
import torch.nn.functional as F  # noqa: E402
from torch import nn  # noqa: E402
from torch.utils.checkpoint import checkpoint  # noqa: E402

from tests.interchange.torch_comparing import compared, exported, from_file  # noqa: E402
from tests.interchange.torch_models import NAMES, case  # noqa: E402

pytestmark = pytest.mark.filterwarnings("ignore")  # torch.export warns of what it will change
X = torch.tensor([[1.0, -2.0, 0.5, 3.0], [0.3, 1.5, -1.0, 2.0]])


@pytest.fixture(autouse=True)
def seeded():
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        yield


@pytest.mark.sampled(one_in=7)
@pytest.mark.parametrize("name", NAMES)
def test_a_file_computes_what_the_model_does(name, tmp_path):
    apart = compared(from_file(*case(name), tmp_path / "model.pt2"), *case(name))
    assert apart.agrees, apart


class Model(nn.Module):
    def __init__(self, way):
        super().__init__()
        self.a, self.b = nn.Linear(4, 4), nn.Linear(4, 4)
        self.register_buffer("scale", torch.full((4,), 2.0), persistent=False)
        self.register_buffer("mean", torch.ones(1, 4))
        self.way = way

    def forward(self, x):
        return self.way(self, x)


def changed_in_place(model, x):
    y = model.a(x).clone()
    y[0] = 1.0
    y[:, 1] *= 2
    y.view(-1)[3:5].add_(1)
    return (y * model.scale).sum()


def buffer_updated(model, x):
    model.mean.add_(x.mean())
    return (model.a(x) * model.mean).sum()


def nested_regions(model, x):
    with torch.no_grad():
        y = model.a(x)
        with torch.enable_grad():
            y = model.b(y)
    return y.sum()


WAYS = {
    "changed in place": changed_in_place,
    "a buffer that is updated": buffer_updated,
    "gradient turned on again": nested_regions,
    "checkpoint": lambda m, x: checkpoint(
        lambda a: m.b(m.a(a).tanh()), x, use_reentrant=False
    ).sum(),
    "constants": lambda m, x: (m.a(x) * torch.tensor([1.0, 2, 3, 4])).sum(),
    "a view that is detached": lambda m, x: (m.a(x).detach()[0] * m.b(x)[0]).sum(),
    "indices": lambda m, x: (m.a(x)[:, [0, 2]] * m.b(x)[torch.tensor([1, 0])][:, 1:3]).sum(),
    "order": lambda m, x: (m.a(x).topk(2)[0] * m.b(x).sort(1)[0][:, :2]).sum(),
    "distances": lambda m, x: F.pairwise_distance(m.a(x), m.b(x)).sum() + m.a(x).std(1).sum(),
}


@pytest.mark.parametrize("name", WAYS)
def test_a_way_to_compute_agrees_with_pytorch(name, tmp_path):
    model = Model(WAYS[name])
    imported = from_file(model, (X,), tmp_path / "model.pt2")
    model.mean.fill_(1.0)
    apart = compared(imported, model, (X,))
    assert apart.agrees, apart


def test_lengths_that_are_open_are_those_of_the_export_or_as_the_user_says(tmp_path):
    class Reshaped(nn.Module):
        def __init__(self):
            super().__init__()
            self.a = nn.Linear(4, 4)

        def forward(self, x):
            y = self.a(x).reshape(x.shape[0] * 2, 2)
            return y.sum() / (x.shape[0] * 1.0), y

    lengths = {"x": {0: torch.export.Dim("batch", min=2, max=64)}}
    path = tmp_path / "model.pt2"
    torch.export.save(torch.export.export(Reshaped(), (X,), dynamic_shapes=lengths), path)
    imported = import_pt2(path)
    assert imported.diagram.main.blocks["x"].value.array.shape == (2, 4)
    imported = import_pt2(path, ImportOptions(shapes={"x": (5, 4)}))
    values = gw.Session(imported.diagram).backward().values
    assert [values[port].shape for port in imported.outputs.values()] == [(), (10, 2)]


def test_a_branch_is_that_of_the_example(tmp_path):
    model = Model(lambda m, x: torch.cond(x.sum() > 0, m.a, m.b, (x,)).sum())
    imported = import_pt2(exported(model, (X,), tmp_path / "model.pt2"), examples={"x": X.numpy()})
    (remark,) = imported.remarks
    assert remark.kind == "specialised" and "torch.cond" in remark.text
    gradients = gw.Session(imported.diagram).backward().gradients
    taken, other = (imported.parameters[name] for name in ("a.weight", "b.weight"))
    assert gradients[taken] is not None and gradients[other] is None


def test_integers_that_pick_something_are_drawn_within_it(tmp_path):
    model, args = case("GPT")
    imported = import_pt2(exported(model, args, tmp_path / "model.pt2"))
    words = imported.diagram.main.blocks["words"].value.array
    assert 0 <= words.min() < words.max() < 11
    assert gw.Session(imported.diagram).backward()


def test_an_operator_without_blocks_is_named_with_its_line(tmp_path):
    path = exported(Model(lambda m, x: torch.special.i0(m.a(x)).sum()), (X,), tmp_path / "m.pt2")
    with pytest.raises(gw.UnsupportedError, match=r"i0.*test_programs\.py:\d+"):
        import_pt2(path)


def test_modes_are_those_of_the_export_and_another_wish_is_answered(tmp_path):
    path = tmp_path / "net.pt2"
    model = nn.Sequential(nn.Linear(4, 2), nn.BatchNorm1d(2)).eval()
    torch.export.save(torch.export.export(model, (X,)), path)
    said = [str(remark) for remark in import_pt2(path, ImportOptions(training=True)).remarks]
    assert any("as the module was when it was exported" in text for text in said)
    said = [str(remark) for remark in import_pt2(path).remarks]
    assert not any("exported" in text for text in said)
