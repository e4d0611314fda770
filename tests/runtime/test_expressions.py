"""What users of numpy, PyTorch and JAX type: it works as there, or says what to write."""

import math

import numpy as np
import pytest

from gradwire.blocks.errors import BuildError, GradwireError
from gradwire.runtime import build as builder
from gradwire.runtime.build import Expression, build, variable
from gradwire.runtime.engine import Session

X = np.array([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])
SAME = [
    lambda x: x > 2,
    lambda x: 3 >= x,
    lambda x: x < X.T.copy().reshape(2, 3),
    lambda x: X <= x,
    lambda x: x == 2,
    lambda x: 2 == x,
    lambda x: X == x,
    lambda x: x != X.T.copy().reshape(2, 3),
    lambda x: +x,
    lambda x: abs(-x),
    lambda x: x**0.5,
    lambda x: 2**x,
    lambda x: X * x + X,
    lambda x: np.float32(2) * x,
    lambda x: x + X.tolist(),
    lambda x: np.exp(x),
    lambda x: np.add(X, x),
    lambda x: np.add(x, 1),
    lambda x: np.maximum(x, 2.0),
    lambda x: np.absolute(-x),
    lambda x: np.sum(x),
    lambda x: np.sum(x, 0),
    lambda x: np.mean(x, axis=0),
    lambda x: np.max(x, 1, keepdims=True),
    lambda x: np.reshape(x, (3, 2)),
    lambda x: np.expand_dims(x, 0),
    lambda x: np.transpose(x, (1, 0)),
    lambda x: np.flip(x, 1),
    lambda x: np.cumsum(x, 1),
    lambda x: np.pad(x, ((1, 0), (0, 2))),
    lambda x: np.clip(x, 2.0, 4.0),
    lambda x: np.where(x > 2, x, 0.0),
    lambda x: np.all(x == 2),
    lambda x: np.concatenate([x, x]),
    lambda x: np.concatenate([x, X], 1),
    lambda x: np.stack([x, X], axis=1),
    lambda x: x.sum(),
    lambda x: x.mean(0),
    lambda x: x.mean(axis=0),
    lambda x: x.reshape(3, 2),
    lambda x: x.clip(2.0, 4.0),
    lambda x: x.T,
    lambda x: x[1],
    lambda x: x[0, 1:],
    lambda x: x[:, 2],
    lambda x: x[1:2, 0:2],
]
"""What gives the numbers of numpy."""

INSTEAD = [
    (lambda x: x + None, "Add needs two operands, and one is None."),
    (lambda x: None * x, "return the expression there"),
    (lambda x: x @ None, "MatMul needs two operands"),
    (lambda x: x == None, "Write `x is None`"),  # noqa: E711  # as users write it
    (lambda x: x == "a", "is neither an expression nor numbers"),
    (lambda x: x in [1.0, x], "`a is b`"),
    (lambda x: 1 in x, "Write any_true(x == 1)"),
    (lambda x: bool(x), "Use where(condition, a, b)"),
    (lambda x: x if x > 0 else 0, "Use where(condition, a, b)"),
    (lambda x: 0 < x < 1, "(0 < x) & (x < 1)"),
    (lambda x: [*x], "Its elements are x[0], x[1], …; x.sum() adds them up."),
    (lambda x: sum(x), "x.sum() adds them up"),
    (lambda x: len(x), "has no length yet"),
    (lambda x: float(x), "Session(build(x)).run() gives the numbers"),
    (lambda x: int(x), 'cast(x, dtype="int64")'),
    (lambda x: math.exp(x), "instead of a function of math use a block: exp(x)"),
    (lambda x: math.trunc(x), "has no number yet"),
    (lambda x: [1, 2][x], "Write gather(values, x)"),
    (lambda x: f"{x:.2f}", "has no number to format yet"),
    (lambda x: np.asarray(x), "has no array yet"),
    (lambda x: np.ones(3)[x], "has no array yet"),
    (lambda x: x * [x, x], "stack(a, b) or concat(a, b)"),
    (lambda x: x // 2, "Write floor(a / b)"),
    (lambda x: 2 // x, "Write floor(a / b)"),
    (lambda x: divmod(x, 2), "Write floor(a / b) and a % b."),
    (lambda x: round(x, 2), "Write round(100 * x) / 100."),
    (lambda x: x.round(2), "Too many parameters for Round. Expected none, got 1."),
    (lambda x: x.sum(0, True, 3), "Too many parameters for Sum."),
    (lambda x: x.__setitem__(0, 1), "can't be changed in place. Write where(mask, value, x)"),
    (lambda x: setattr(x, "requires_grad", False), "trainable=False"),
    (lambda x: x[-3:2], "Write gather(x, indices) for other indices."),
    (lambda x: x[0.5], "indices such as x[-1], x[1:-1, 0] or x[..., ::2], got 0.5."),
    (lambda x: x[True], "x.out can't be indexed like this."),
    (lambda x: x[::0], "Write gather(x, indices)"),
    (lambda x: x[..., ...], "x.out can't be indexed like this."),
    (lambda x: x.smu(), "no attribute 'smu'. Did you mean sum"),
    (lambda x: x.shape, "An expression has no shape yet"),
    (lambda x: x.item(), "Session(build(x)).run() computes it."),
    (lambda x: x.numpy(), "Session(build(x)).run() computes it."),
    (lambda x: x.detach(), "Write stop_gradient(x)."),
    (lambda x: x.backward(), "Write Session(build(loss(x))).backward()."),
    (lambda x: x.grad, "gradients has those of all variables"),
    (lambda x: x.requires_grad, "trainable=False"),
    (lambda x: x.requires_grad_(), "trainable=False"),
    (lambda x: x.add_(1), "can't be changed in place, as 'add_' does. Write x = x.add(...)."),
    (lambda x: x.view(2), "Write x.reshape(...)."),
    (lambda x: x.dot(x), "Write x @ y for products of matrices"),
    (lambda x: np.dot(x, x), "Write np.matmul(a, b) for products of matrices"),
    (lambda x: np.gradient(x), "x[1:] - x[:-1] for differences"),
    (lambda x: np.floor_divide(x, 2), "Write floor(a / b)."),
    (lambda x: np.add.reduce(x), "There is no block for np.add.reduce."),
    (lambda x: np.sinc(x), "There is no block for np.sinc. Did you mean sin"),
    (lambda x: np.linalg.norm(x, 1), "Norm has no parameter or input 'ord'."),
    (lambda x: builder.einsum("ij->i", x), "Pass texts by the names of their parameters."),
    (lambda x: builder.sofmax(x), "Did you mean softmax"),
]
"""What has no meaning before a diagram runs, or another one here, and part of what is said."""


def x():
    return variable("x", X)


@pytest.mark.sampled(one_in=5)
@pytest.mark.parametrize("write", SAME)
def test_gives_the_numbers_of_numpy(write):
    made = write(x())
    y = made if made.node.name else made.named("y")
    value = Session(build(y)).run(ports=[repr(y)]).values[repr(y)]
    assert np.allclose(value, np.asarray(write(X)), rtol=1e-6)
    assert value.shape == np.shape(write(X))


@pytest.mark.sampled(one_in=5)
@pytest.mark.parametrize(("write", "message"), INSTEAD)
def test_else_is_told_what_to_write(write, message):
    with pytest.raises((GradwireError, AttributeError)) as caught:
        write(x())
    assert message in str(caught.value)


@pytest.mark.parametrize("write", [round, math.floor, math.ceil])
def test_rounds_like_python(write):
    y = write(x() / 4).named("y")
    value = Session(build(y)).run(ports=["y"]).values["y.out"]
    assert np.array_equal(value, [[write(item / 4) for item in row] for row in X])


def test_takes_the_names_that_pytorch_has_for_axes_and_joins_lists_of_expressions():
    assert x().mean(dim=0, keepdim=True).node.block == x().mean(axis=0, keepdims=True).node.block
    assert (
        builder.concat([x(), x()], dim=1).node.block == builder.concat(x(), x(), axis=1).node.block
    )


def test_expressions_themselves_are_compared_by_identity():
    a, b = x(), x()
    assert {a: 1, b: 2}[b] == 2
    assert len({a, b, a}) == 2
    assert a in [a, b]
    assert hash(a) != hash(b)


def test_a_tensor_of_pytorch_that_takes_gradients_is_told_what_to_do():
    class Tracked:
        def __array__(self, *_, **__):
            raise RuntimeError("Can't call numpy() on Tensor that requires grad. Use detach().")

    for write in (lambda: x() + Tracked(), lambda: variable("w", Tracked())):
        with pytest.raises(GradwireError, match="Use detach"):
            write()


def test_what_is_refused_is_an_error_of_building():
    with pytest.raises(BuildError):
        len(x())
    assert isinstance(x() == 1, Expression)
