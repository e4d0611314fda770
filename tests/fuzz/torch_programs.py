"""Random small PyTorch programs with hooks, custom functions, unknown operators and writes."""

from __future__ import annotations

import linecache
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
import torch.utils.checkpoint

if TYPE_CHECKING:
    from random import Random

SET: list[bool] = []
"""Which hooks of a program were set while it ran: without a cut they may be others."""
FILE = "step.py"
"""What the file of a drawn program is called."""
HEAD = """\
class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.a, self.b = torch.nn.Linear(4, 4), torch.nn.Linear(4, 4, bias=False)
        self.w = torch.nn.Parameter(torch.linspace(0.5, 1.5, 4))
        self.m = torch.nn.Parameter(torch.randn(3, 4))


torch.manual_seed({seed})
net, x = Net(), torch.randn(3, 4)
"""
KNOWN = (
    "torch.tanh({0})", "{0}.sin()", "0.5 * {0}", "F.relu({0})", "F.softmax({0}, -1)",
    "F.layer_norm({0}, (4,))", "net.a({0})", "net.b({0})", "{0} + {1}", "{0} * {1}", "{0} - {1}",
    "{0} * net.w", "{0} + net.m", "torch.where({0} > 0, {0}, {1})", "torch.maximum({0}, {1})",
    "torch.cat([{0}[:1], {1}[1:]])", "{0}.round()", "({0} > 0).float()", "{0}.clone()",
    "torch.stack([{0}, {1}]).mean(0)", "{0}.flip(0)",
    "torch.utils.checkpoint.checkpoint(torch.tanh, {0}, use_reentrant=False)",
)  # fmt: skip
UNKNOWN = (
    "torch.erfinv(0.5 * torch.tanh({0}))", "torch.lgamma(2 + {0} ** 2)", "torch.special.i0e({0})",
    "torch.fft.irfft(torch.fft.rfft({0}) * torch.complex(net.w, net.w)[:3], n=4)",
    "torch.linalg.svd({0})[1][:, None] * {1}", "torch.linalg.qr({0})[1]",
    "torch.hypot({0}, {1} + 2)", "torch.digamma(2 + {0} ** 2)", "svd({0})", "frexp({0})",
    "torch.vmap(lambda row: (row * net.w).sin())({0})",
    "torch.vmap(torch.func.grad(lambda r: (r * net.w).sin().sum()))({0})",
)  # fmt: skip
CUSTOM = (
    "Spike.apply({0})", "Clip.apply({0})", "Times.apply({0}, -2.0)", "Times.apply({0}, 1.0)",
    "Nothing.apply({0})", "First.apply({0}, net.w)", "Straight.apply({0})", "two({0}, {1})",
    "Two.apply({0}, {1})[0]", "Two.apply({0}, {1})[1]", "ByNumPy.apply({0})",
    "Dirty.apply({0} * 1.0)",
)  # fmt: skip
CUTS = ("{0}.detach()", "{0}.data", "torch.tensor({0}.tolist())", "without({0})")
CUTTING = ("detach", ".data", "tolist", "without(", "no_grad")
WRITES = (
    "{0}.mul_(0.5)", "{0}[:1] = {1}[1:2]", "{0}[:, :2].mul_(2.0)", "{0}.add_({1})",
    "{0}.view(-1).tanh_()", "{0}.t()[0].neg_()", "{0}[{1} > 0] = 0.5", "{0}.erfinv_()",
    "torch.special.i0e({0}, out={0}.data)", "{0}.detach().mul_(1.5)", "{0}.clamp_(-1.0, 1.0)",
)  # fmt: skip
HOOKS = ("doubled", "clipped", "masked", "zeroed", "looked", "flipped", "squared", "same")
MODULE_HOOKS = ("inputs_doubled", "inputs_clipped", "inputs_looked")
PRE_HOOKS = ("outputs_doubled", "outputs_clipped")
LAST_HOOKS = ("halved", "seen", "limited")
LOSSES = ("{0}.mean()", "{0}.pow(2).sum()", "F.mse_loss({0}, {1})", "{0}[:2].sum()",
          "{0}.std()", "F.cross_entropy({0}, torch.tensor([0, 1, 2]))")  # fmt: skip


@dataclass(frozen=True)
class Drawn:
    """A program by its source."""

    source: str

    def made(self) -> dict[str, Any]:
        """Its names: ``net``, ``x``, and ``step``, which returns the loss or calls backward."""
        names = {**globals(), "F": torch.nn.functional}
        lines = self.source.splitlines(keepends=True)
        linecache.cache[FILE] = (len(self.source), None, lines, FILE)
        exec(compile(self.source, FILE, "exec"), names)
        return names

    def gradients(self, exact: bool = False) -> dict[str, Any]:
        """The gradients of its parameters in PyTorch, exact in float64. Raises what it raises."""
        as_double = replace(self, source=self.source.replace(".float()", ".double()"))
        made = (as_double if exact else self).made()
        SET.clear()
        net, x = made["net"], made["x"]
        if exact:
            net, x = net.double(), x.double()
        loss = made["step"](net, x)
        if loss is not None and loss.requires_grad:
            loss.backward()
        return {
            name: None if p.grad is None else p.grad.detach().numpy().copy()
            for name, p in net.named_parameters()
        }

    @property
    def cuts(self) -> set[int]:
        """The lines that cut gradient off."""
        lines = enumerate(self.source.split("\n"), 1)
        return {n for n, text in lines if any(cut in text for cut in CUTTING)}

    def without_cuts(self, lines: set[int]) -> Drawn:
        """The program without what cuts gradient off on these lines."""
        source = self.source.split("\n")
        for line in lines:
            text = source[line - 1].replace(".detach()", "").replace(".data", "")
            text = text.replace("without(", "(").replace("torch.no_grad()", "torch.enable_grad()")
            source[line - 1] = text
        return Drawn("\n".join(source))


def drawn(rng: Random) -> Drawn:
    """A program; not every one runs."""
    names, lines = ["x", "net.a(x)", "(net.m * 1.0)"], []
    for number in range(rng.randint(2, 9)):
        lines += _line(rng, f"v{number}", names)
    before = [
        line
        for line in (
            f"net.w.register_hook({rng.choice(HOOKS)})",
            f"net.m.register_hook({rng.choice(HOOKS)})",
            f"net.a.register_full_backward_hook({rng.choice(MODULE_HOOKS)})",
            f"net.b.register_full_backward_pre_hook({rng.choice(PRE_HOOKS)})",
            f"net.w.register_post_accumulate_grad_hook({rng.choice(LAST_HOOKS)})",
            "net.m.requires_grad_(False)",
            f"net.b.weight.register_hook({rng.choice(HOOKS)})",
            "net.double()",
        )
        if rng.random() < 0.12
    ]
    if "net.double()" in before:
        before.append("x = x.double()")
    body = "\n    ".join([*lines, *_end(rng, names)])
    head = HEAD.format(seed=rng.randrange(1000))
    setup = "\n".join(before)
    return Drawn(f"{head}{setup}\n\n\ndef step(net, x):\n    {body}\n")


def _line(rng: Random, name: str, names: list[str]) -> list[str]:
    """A statement, or two, that may add a name."""
    given = [rng.choice(names[-4:]), rng.choice(names)]
    kind = rng.choices((KNOWN, UNKNOWN, CUSTOM, CUTS, WRITES, HOOKS), weights=(9, 4, 4, 2, 2, 3))[0]
    if kind is WRITES:
        own = [n for n in names if n.startswith("v")]
        if not own:
            return []
        return [rng.choice(kind).format(rng.choice(own), given[1])]
    if kind is HOOKS:
        hooked = rng.choice([n for n in names if n != "x"])
        if not hooked.startswith("v"):
            return [f"net.{rng.choice(('w', 'm'))}.register_hook({rng.choice(kind)})"]
        return [f"hook({hooked}, {rng.choice(kind)})"]
    names.append(name)
    if kind is KNOWN and rng.random() < 0.08:
        return ["with torch.no_grad():", f"    {name} = {rng.choice(kind).format(*given)}"]
    return [f"{name} = {rng.choice(kind).format(*given)}"]


def _end(rng: Random, names: list[str]) -> list[str]:
    """The losses, and what is done with them."""
    last = [n for n in names if n.startswith("v")] or names
    count = rng.choice((1, 1, 1, 2, 3))
    losses = [
        rng.choice(LOSSES).format(rng.choice(last[-3:]), rng.choice(names)) for _ in range(count)
    ]
    lines = [f"loss{i} = {loss}" for i, loss in enumerate(losses)]
    if rng.random() < 0.5:
        return [*lines, f"return {' + '.join(f'loss{i}' for i in range(count))}"]
    keep = "retain_graph=True"
    return [
        *lines,
        *(f"loss{i}.backward({keep if i < count - 1 else ''})" for i in range(count)),
    ]


def hook(x: Any, function: Any) -> None:
    """Set a hook where one can be."""
    SET.append(x.requires_grad)
    if x.requires_grad:
        x.register_hook(function)


def svd(x: Any) -> Any:
    u, s, v = torch.linalg.svd(x, full_matrices=False)
    return (u * s.sin()) @ v


def frexp(x: Any) -> Any:
    mantissa, exponent = torch.frexp(x)
    return mantissa * exponent


def two(x: Any, y: Any) -> Any:
    product, total = Two.apply(x, y)
    return product + total.sin()


@torch.no_grad()
def without(x: Any) -> Any:
    return x * 1.0


class Spike(torch.autograd.Function):
    """A step with a smooth surrogate for its derivative."""

    @staticmethod
    def forward(ctx: Any, x: Any) -> Any:
        ctx.save_for_backward(x)
        return (x > 0).to(x.dtype)

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        return g / (1 + 25 * ctx.saved_tensors[0].abs()) ** 2


class Clip(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Any) -> Any:
        return x * 1.0

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        return g.clamp(-0.01, 0.01)


class Times(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Any, factor: float) -> Any:
        ctx.factor = factor
        return x.view_as(x)

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        return g * ctx.factor, None


class Nothing(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Any) -> Any:
        return x * 1.0

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        return None


class First(torch.autograd.Function):
    """Its second input gets the gradient, its first none."""

    @staticmethod
    def forward(ctx: Any, x: Any, w: Any) -> Any:
        ctx.save_for_backward(x)
        return x * w

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        return None, (g * ctx.saved_tensors[0]).sum(0)


class Straight(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Any) -> Any:
        return x.round()

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        return g


class Two(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Any, y: Any) -> Any:
        ctx.save_for_backward(x, y)
        return x * y, x + y

    @staticmethod
    def backward(ctx: Any, product: Any, total: Any) -> Any:
        x, y = ctx.saved_tensors
        return 2 * product * y + total, product * x - total


class ByNumPy(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Any) -> Any:
        ctx.save_for_backward(x)
        return torch.from_numpy(np.arctan(x.detach().numpy()))

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        return g / (1 + ctx.saved_tensors[0] ** 2)


class Dirty(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Any) -> Any:
        ctx.mark_dirty(x)
        return x.mul_(3.0)

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        return g.abs()


def doubled(g: Any) -> Any:
    return 2 * g


def clipped(g: Any) -> Any:
    return g.clamp(-0.05, 0.05)


def masked(g: Any) -> Any:
    return g * torch.linspace(0.0, 1.0, g.shape[-1], dtype=g.dtype)


def zeroed(g: Any) -> Any:
    return torch.zeros_like(g)


def looked(g: Any) -> None:
    return None


def flipped(g: Any) -> Any:
    return -g


def squared(g: Any) -> Any:
    return g * g


def same(g: Any) -> Any:
    return g * 1.0


def inputs_doubled(module: Any, inputs: Any, outputs: Any) -> Any:
    return tuple(None if g is None else 2 * g for g in inputs)


def inputs_clipped(module: Any, inputs: Any, outputs: Any) -> Any:
    return tuple(None if g is None else g.clamp(-0.05, 0.05) for g in inputs)


def inputs_looked(module: Any, inputs: Any, outputs: Any) -> None:
    return None


def outputs_doubled(module: Any, outputs: Any) -> Any:
    return tuple(None if g is None else 2 * g for g in outputs)


def outputs_clipped(module: Any, outputs: Any) -> Any:
    return tuple(None if g is None else g.clamp(-0.05, 0.05) for g in outputs)


def halved(p: Any) -> None:
    p.grad.mul_(0.5)


def limited(p: Any) -> None:
    p.grad.clamp_(-0.05, 0.05)


def seen(p: Any) -> None:
    assert p.grad is not None
