"""Networks with parameters beside them: losses and gradients are those of PyTorch."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from gradwire.runtime.diagram import check
from gradwire.runtime.engine import Session
from gradwire.runtime.interchange.importing.mxnet.importer import import_mxnet
from gradwire.runtime.interchange.importing.options import ImportOptions
from tests.runtime.interchange.importing.mxnet.symbols import (
    SymbolWriter,
    parameter_bytes,
)

torch = pytest.importorskip("torch")
F = torch.nn.functional
Arrays = dict[str, np.ndarray]


def draw(**shapes: tuple[int, ...]) -> Arrays:
    rng = np.random.default_rng(3)
    return {name: rng.standard_normal(s).astype(np.float32) / 2 for name, s in shapes.items()}


def compare(made: Any, loss: Any, parameters: dict[str, Any], at: str) -> None:
    """The value at a loss, and the gradients of all parameters, None included."""
    assert not check(made.diagram)
    done = Session(made.diagram).backward()
    np.testing.assert_allclose(done.values[made.outputs[at]], loss.detach().numpy(), rtol=1e-5)
    loss.backward()
    for name, tensor in parameters.items():
        if name not in made.parameters:  # a statistic that nothing reads is left out
            assert tensor.grad is None
            continue
        gradient = done.gradients.get(made.parameters[name])
        if tensor.grad is None:
            assert gradient is None
        else:
            np.testing.assert_allclose(gradient, tensor.grad.numpy(), rtol=1e-4, atol=1e-6)


def tensors(arrays: Arrays, *frozen: str) -> dict[str, Any]:
    return {name: torch.tensor(a, requires_grad=name not in frozen) for name, a in arrays.items()}


def convolutional(folder: Path) -> tuple[Path, Arrays]:
    arrays = draw(
        conv1_weight=(4, 2, 3, 3), conv1_bias=(4,), bn1_gamma=(4,), bn1_beta=(4,),
        bn1_moving_mean=(4,), bn1_moving_var=(4,), fc1_weight=(3, 36), fc1_bias=(3,),
    )  # fmt: skip
    arrays["bn1_moving_var"] = np.abs(arrays["bn1_moving_var"]) + 1
    net = SymbolWriter()
    x = net.layer(
        "Convolution", "conv1", net.argument("data"), kernel="(3, 3)", num_filter=4, pad="(1, 1)"
    )
    states = [net.argument(f"bn1_{end}") for end in ("gamma", "beta", "moving_mean", "moving_var")]
    x = net.node("BatchNorm", "bn1", [x, *states], {"fix_gamma": "False", "eps": "1e-05"})
    x = net.node("Activation", "relu1", [x], {"act_type": "relu"})
    x = net.node(
        "Pooling", "pool1", [x], {"kernel": "(2, 2)", "stride": "(2, 2)", "pool_type": "max"}
    )
    x = net.layer("FullyConnected", "fc1", net.node("Flatten", "flat", [x]), num_hidden=3)
    head = net.node("SoftmaxOutput", "softmax", [x, net.argument("softmax_label")])
    (folder / "net-0003.params").write_bytes(parameter_bytes(arrays))
    return net.save(folder, head), arrays


@pytest.mark.parametrize("training", [False, True])
def test_a_convolutional_network(tmp_path: Path, training: bool):
    path, arrays = convolutional(tmp_path)
    data, label = draw(data=(2, 2, 6, 6))["data"], np.array([2, 0], np.float32)
    made = import_mxnet(
        path, ImportOptions(training=training), {"data": data, "softmax_label": label}
    )
    p = tensors(arrays, "bn1_moving_mean", "bn1_moving_var")
    x = F.conv2d(torch.tensor(data), p["conv1_weight"], p["conv1_bias"], padding=1)
    running = [p[f"bn1_moving_{end}"].clone() for end in ("mean", "var")]
    x = F.batch_norm(x, *running, p["bn1_gamma"], p["bn1_beta"], training=training, eps=1e-5)
    x = F.max_pool2d(F.relu(x), 2).flatten(1)
    scores = F.linear(x, p["fc1_weight"], p["fc1_bias"])
    loss = F.cross_entropy(scores, torch.tensor([2, 0]), reduction="sum")
    compare(made, loss, p, "softmax_loss")
    probabilities = Session(made.diagram).run().values[made.outputs["softmax_output"]]
    np.testing.assert_allclose(probabilities, scores.softmax(1).detach().numpy(), rtol=1e-5)


def test_layers_are_blocks_that_own_their_parameters(tmp_path: Path):
    path, _ = convolutional(tmp_path)
    made = import_mxnet(path, ImportOptions(shapes={"data": (2, 2, 6, 6)}))
    assert made.parameters["fc1_weight"] == "fc1/weight"
    blocks = made.diagram.main.blocks
    assert blocks["fc1"].type_name() == "Linear" and blocks["conv1"].type_name() == "Conv2D"
    assert blocks["bn1"].type_name() == "BatchNorm"
    assert not blocks["bn1"].owned["mean"].trainable


def test_prefixes_that_several_nodes_share_are_pages(tmp_path: Path):
    net = SymbolWriter()
    x = net.argument("data")
    for unit in (1, 2):
        x = net.layer("FullyConnected", f"stage1_unit{unit}_fc1", x, num_hidden=3)
        x = net.node("Activation", f"stage1_unit{unit}_relu1", [x], {"act_type": "tanh"})
    made = import_mxnet(net.save(tmp_path, x), ImportOptions(shapes={"data": (2, 3)}))
    assert made.parameters["stage1_unit2_fc1_weight"] == "stage1/unit2/fc1/weight"
    assert any("drawn" in remark.text for remark in made.remarks)
    Session(made.diagram).run()


def test_regressions_bring_their_gradients(tmp_path: Path):
    arrays = draw(fc_weight=(2, 3), fc_bias=(2,))
    data, label = draw(data=(4, 3), label=(4, 2)).values()
    losses = {
        "LinearRegressionOutput": lambda y, t: F.mse_loss(y, t, reduction="sum") / 2,
        "MAERegressionOutput": lambda y, t: F.l1_loss(y, t, reduction="sum"),
        "LogisticRegressionOutput": lambda y, t: F.binary_cross_entropy_with_logits(
            y, t, reduction="sum"
        ),
    }
    for operator, loss in losses.items():
        net = SymbolWriter()
        x = net.layer("FullyConnected", "fc", net.argument("data"), num_hidden=2)
        head = net.node(operator, "out", [x, net.argument("out_label")], {"grad_scale": "3"})
        given = {**arrays, "data": data, "out_label": label}
        done = Session(import_mxnet(net.save(tmp_path, head), arrays=given).diagram).backward()
        p = tensors(arrays)
        y = F.linear(torch.tensor(data), p["fc_weight"], p["fc_bias"])
        (loss(y, torch.tensor(label)) * 3 / 2).backward()  # by outputs of a sample
        np.testing.assert_allclose(done.gradients["fc/weight"], p["fc_weight"].grad, rtol=1e-4)


def test_ignored_labels_send_nothing(tmp_path: Path):
    arrays = draw(fc_weight=(3, 4), fc_bias=(3,))
    data, label = draw(data=(4, 4))["data"], np.array([1, -1, 2, -1], np.float32)
    net = SymbolWriter()
    x = net.layer("FullyConnected", "fc", net.argument("data"), num_hidden=3)
    given = {"use_ignore": "True", "ignore_label": "-1", "normalization": "valid"}
    head = net.node("SoftmaxOutput", "softmax", [x, net.argument("label")], given)
    made = import_mxnet(net.save(tmp_path, head), arrays={**arrays, "data": data, "label": label})
    p = tensors(arrays)
    y = F.linear(torch.tensor(data), p["fc_weight"], p["fc_bias"])
    loss = F.cross_entropy(y, torch.tensor(label).long(), ignore_index=-1)
    compare(made, loss, p, "softmax_loss")


def test_a_parameter_with_no_learning_rate_is_frozen(tmp_path: Path):
    net = SymbolWriter()
    weight = net.argument("fc_weight", __lr_mult__="0.0", __shape__="(2, 3)")
    x = net.node(
        "FullyConnected", "fc", [net.argument("data"), weight], {"num_hidden": 2, "no_bias": "True"}
    )
    made = import_mxnet(net.save(tmp_path, x), ImportOptions(shapes={"data": (4, 3)}))
    assert not made.diagram.main.blocks["fc"].owned["weight"].trainable
