"""What is imported keeps PyTorch's rule where a formula has none: at 0, at 1, of nothing."""

from __future__ import annotations

import numpy as np
import pytest

import gradwire as gw

torch = pytest.importorskip("torch")
nn, F = torch.nn, torch.nn.functional

EDGES = [0.0, 1.0, 0.0, 1.0, 1e-20, 1e-12, 1e-9, 1 - 6e-8, 0.3]
TARGETS = [1.0, 0.0, 0.0, 1.0, 1.0, 0.5, 1.0, 0.25, 0.75]
LOSSES = {
    "mean": F.binary_cross_entropy,
    "sum": lambda p, t: F.binary_cross_entropy(p, t, reduction="sum"),
    "weighted": lambda p, t: F.binary_cross_entropy(p, t, weight=torch.arange(9.0).to(p.dtype)),
    "module": nn.BCELoss(),
}


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64], ids=str)
@pytest.mark.parametrize("loss", LOSSES.values(), ids=LOSSES)
def test_a_binary_cross_entropy_has_pytorchs_value_and_gradient_at_the_edges(loss, dtype):
    p = nn.Parameter(torch.tensor(EDGES, dtype=dtype))
    t = torch.tensor(TARGETS, dtype=dtype)
    expected = loss(p * 1, t)
    (slope,) = torch.autograd.grad(expected, p)
    imported = gw.capture(lambda t: loss(p * 1, t), t)
    assert any("Agrees with PyTorch" in str(remark) for remark in imported.remarks)
    session = gw.Session(imported.diagram)
    np.testing.assert_allclose(session.run().values["loss.out"], expected.item(), 1e-5)
    np.testing.assert_allclose(session.backward().gradients["p"], slope.numpy(), 1e-5)


def test_a_saturated_sigmoid_has_pytorchs_gradient_of_0_behind_it():
    scale = nn.Parameter(torch.tensor([200.0, 0.1]))
    t = torch.tensor([0.0, 1.0])
    imported = gw.capture(lambda t: F.binary_cross_entropy(torch.sigmoid(scale), t), t)
    assert any("Agrees with PyTorch" in str(remark) for remark in imported.remarks)


IGNORING = {
    "default": {},
    "a class": {"ignore_index": 1},
    "weighted": {"weight": torch.tensor([1.0, 2.0, 3.0])},
    "smoothed": {"label_smoothing": 0.1},
}


@pytest.mark.parametrize("options", IGNORING.values(), ids=IGNORING)
def test_a_cross_entropy_of_ignored_labels_alone_is_nan_with_a_gradient_of_0(options):
    model, y = nn.Linear(4, 3), torch.full((5,), options.get("ignore_index", -100))

    def loss(x, y):
        return F.cross_entropy(model(x), y, **options)

    imported = gw.capture(loss, torch.randn(5, 4), y)
    assert any("Agrees with PyTorch" in str(remark) for remark in imported.remarks)
    run = gw.Session(imported.diagram).backward()
    assert np.isnan(run.values["loss.out"])
    assert [np.any(gradient) for gradient in run.gradients.values()] == [False, False]
    said = [finding.sentence for finding in gw.diagnose(gw.Session(imported.diagram))]
    assert "is NaN: 0 ÷ 0" in said[0]


SPREADS = {
    "std": torch.std,
    "biased std": lambda x: x.std(correction=0),
    "std along an axis": lambda x: x.std(1),
    "std of columns, kept": lambda x: x.std(0, keepdim=True),
    "std and mean": lambda x: sum(torch.std_mean(x, 1)),
    "var": torch.var,
    "biased var": lambda x: x.var(1, unbiased=False),
    "root of a var": lambda x: x.var(1).sqrt(),
}


@pytest.mark.filterwarnings("ignore:.*degrees of freedom")
@pytest.mark.parametrize("shape", [(3, 4), (3, 1), (1, 4), (1, 1)], ids=str)
@pytest.mark.parametrize("spread", SPREADS.values(), ids=SPREADS)
def test_a_spread_of_equal_elements_or_of_one_has_pytorchs_gradient(spread, shape):
    x = nn.Parameter(torch.ones(shape))
    (slope,) = torch.autograd.grad(spread(x).sum(), x)
    imported = gw.capture(lambda: spread(x).sum())
    assert any("Agrees with PyTorch" in str(remark) for remark in imported.remarks)
    (gradient,) = gw.Session(imported.diagram).backward().gradients.values()
    np.testing.assert_allclose(gradient, slope.numpy(), 1e-5)


@pytest.mark.filterwarnings("ignore:.*degrees of freedom")
@pytest.mark.parametrize("correction", [0, 1])
def test_a_std_of_a_single_number_has_pytorchs_gradient(correction):
    x = nn.Parameter(torch.tensor(2.0))
    (slope,) = torch.autograd.grad(x.std(correction=correction), x)
    imported = gw.capture(lambda: x.std(correction=correction))
    (gradient,) = gw.Session(imported.diagram).backward().gradients.values()
    np.testing.assert_array_equal(gradient, slope.numpy())
