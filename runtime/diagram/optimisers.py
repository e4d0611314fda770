"""The optimisers: a class each, which says everything that there is to know of it.

Its fields are the options, with their bounds and defaults; ``move`` is the arithmetic, as source,
which trainers read (``gradwire.runtime.training.optimisers``) and exports write; the rest says what
other systems make of it. To add one, write a class here, or anywhere before a recipe is read.

Options and their defaults are PyTorch's, but for the rate of SGD, which is 0.1.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Final, Literal, TypeAlias, Union

from pydantic import Field

from gradwire.blocks.errors import RunError
from gradwire.runtime.diagram.document_types import (
    Decay,
    Flag,
    NotNegative,
    Number,
    Share,
    TaggedRecord,
)

if TYPE_CHECKING:
    import numpy as np
    from pydantic import GetCoreSchemaHandler
    from pydantic_core import CoreSchema

_Keras: TypeAlias = Mapping[str, tuple[str, Any]]

METHODS: Final[list[type[Method]]] = []
"""All optimisers, in order of definition."""


class Method(TaggedRecord):
    """What all optimisers have."""

    weight_decay: NotNegative = 0.0
    """Pulls towards 0: added to the gradient times the value, or decoupled from it."""
    maximize: Flag = False
    """Whether to climb the loss instead."""

    if TYPE_CHECKING:  # each has its own default
        kind: str
        lr: NotNegative

    kinds: ClassVar[list[type[Method]]] = METHODS
    """What a field for a method may have."""
    ignores_scale: ClassVar[bool] = False
    """Whether steps don't depend on the scale of gradients, if eps is small against them."""
    decouples_in_torch: ClassVar[bool] = False
    """Whether that of torch.optim decouples weight decay itself."""
    keras: ClassVar[_Keras] = {}
    """The field of each of Keras's options, and Keras's default; none is not imported."""

    @classmethod
    def __pydantic_init_subclass__(cls, **more: object) -> None:
        super().__pydantic_init_subclass__(**more)
        if "kind" in cls.model_fields:
            METHODS.append(cls)

    @classmethod
    def title(cls) -> str:
        """What it is called, also in torch.optim."""
        return cls.__name__.removesuffix("Method")

    @property
    def is_decoupled(self) -> bool:
        """Whether the value shrinks by lr * weight_decay, apart from the gradient."""
        return bool(getattr(self, "decoupled_weight_decay", True))

    def require_consistent(self) -> None:
        """Raise RunError for options that exclude each other, which a file may have."""

    def why_not_torch(self, dtypes: set[str]) -> str:
        """Why torch.optim can't be used for variables of these dtypes; empty if it can."""
        return ""

    def rests(self, dtype: np.dtype[np.generic]) -> bool:
        """Whether ``move`` changes no bit of value and memory where the gradient is 0, whatever
        they are.
        """
        return False

    def before(self, decay: str) -> list[str]:
        """The lines before those of ``move``; ``decay`` is the source of the weight decay, if
        there is any.
        """
        lines = ["g = -g"] if self.maximize else []
        if decay:
            apart = f"v = v * (1 - lr * {decay})"
            lines.append(apart if self.is_decoupled else f"g = g + {decay} * v")
        return lines

    def update(self, xp: str, decay: str) -> list[str]:
        """All lines of an update."""
        return self.before(decay) + self.move(xp)

    @abstractmethod
    def move(self, xp: str) -> list[str]:
        """The lines by which the value ``v`` moves, given its gradient ``g``, the rate ``lr``, the
        number ``t`` of the update, from 1 on, and the ``memory`` of the value, a dictionary.

        ``xp`` is the module of the arithmetic: elementwise operations that have a primitive. What
        memory gets before the first update is written like ``v``, ``0.0 * v``; ``0 * s`` stands
        for the number 0. Lines may branch by ``t``, on one level.
        """


class CoupledMethod(Method):
    """A method whose weight decay is part of the gradient, unless it is decoupled."""

    decoupled_weight_decay: Flag = False
    """Whether the value shrinks by lr * weight_decay, apart from the gradient, as in AdamW."""


class _AnyMethod:
    """The schema of a field for any optimiser, of those that there are when it is first used."""

    def __get_pydantic_core_schema__(
        self, source: object, handler: GetCoreSchemaHandler
    ) -> CoreSchema:
        # Which classes there are is known only now, so ``A | B`` can't name them.
        return handler.generate_schema(
            Annotated[Union[tuple(METHODS)], Field(discriminator="kind")]  # noqa: UP007 - see above
        )


ANY_METHOD = _AnyMethod()


def _kept(slot: str, start: str = "0.0 * v") -> str:
    return f'memory.get("{slot}", {start})'


def _keep(slot: str, value: str) -> str:
    return f'memory["{slot}"] = {value}'


class SGDMethod(CoupledMethod):
    """Gradient descent, with momentum and Nesterov's look ahead."""

    # Robbins & Monro 1951, A Stochastic Approximation Method; Polyak 1964, Some Methods of
    # Speeding up the Convergence of Iteration Methods; Nesterov's momentum as in Sutskever,
    # Martens, Dahl & Hinton 2013, On the Importance of Initialization and Momentum in Deep
    # Learning.
    kind: Literal["sgd"] = "sgd"
    lr: NotNegative = 0.1
    momentum: NotNegative = 0.0
    dampening: Number = 0.0
    nesterov: Flag = False

    keras: ClassVar[_Keras] = {
        "learning_rate": ("lr", 0.01),
        "momentum": ("momentum", 0.0),
        "nesterov": ("nesterov", False),
    }

    def require_consistent(self) -> None:
        """Nesterov's look ahead goes without dampening."""
        if self.nesterov and (self.momentum == 0 or self.dampening != 0):
            raise RunError(
                "Nesterov's look ahead needs momentum, and no dampening.",
                expected="momentum above 0 and dampening 0",
                got=f"momentum {self.momentum:g} and dampening {self.dampening:g}",
            )

    def rests(self, dtype: np.dtype[np.generic]) -> bool:
        """Unless momentum goes on."""
        return not self.momentum

    def move(self, xp: str) -> list[str]:
        """``b = momentum b + (1 - dampening) g`` from the second update on, first ``b = g``;
        ``v -= lr b``, with Nesterov ``v -= lr (g + momentum b)``.
        """
        if not self.momentum:
            return ["v = v - lr * g"]
        buffer = f"{self.momentum!r} * {_kept('momentum_buffer')}"
        step = f"g + {self.momentum!r} * b" if self.nesterov else "b"
        return [
            f"b = g if t == 1 else {buffer} + (1 - {self.dampening!r}) * g",
            _keep("momentum_buffer", "b"),
            f"v = v - lr * ({step})",
        ]


class _AdamMethod(Method):
    # Kingma & Ba 2015, Adam: A Method for Stochastic Optimization; Loshchilov & Hutter 2019,
    # Decoupled Weight Decay Regularization (AdamW); Reddi, Kale & Kumar 2018, On the Convergence
    # of Adam and Beyond (AMSGrad).
    lr: NotNegative = 1e-3
    betas: tuple[Decay, Decay] = (0.9, 0.999)
    eps: NotNegative = 1e-8

    ignores_scale: ClassVar[bool] = True
    keras: ClassVar[_Keras] = {
        "learning_rate": ("lr", 1e-3),
        "beta_1": ("betas", 0.9),
        "beta_2": ("betas", 0.999),
        "epsilon": ("eps", 1e-7),
    }

    def _means(self) -> list[str]:
        """The means of gradients and of their squares."""
        first, second = self.betas
        return [
            f"m = {first!r} * {_kept('exp_avg')} + (1 - {first!r}) * g",
            f"s = {second!r} * {_kept('exp_avg_sq')} + (1 - {second!r}) * (g * g)",
            _keep("exp_avg", "m"),
            _keep("exp_avg_sq", "s"),
        ]

    def move(self, xp: str) -> list[str]:
        """``m = β₁ m + (1 - β₁) g``, ``s = β₂ s + (1 - β₂) g²``;
        ``v -= lr / (1 - β₁ᵗ) · m / (√s / √(1 - β₂ᵗ) + eps)``. AMSGrad takes the largest s so far.
        """
        first, second = self.betas
        lines = self._means()
        if getattr(self, "amsgrad", False):
            lines += [
                f"s = {xp}.maximum({_kept('max_exp_avg_sq')}, s)",
                _keep("max_exp_avg_sq", "s"),
            ]
        return [
            *lines,
            f"root = math.sqrt(1 - {second!r} ** t)  # both means begin at 0, which this corrects",
            f"factor = lr * root / (1 - {first!r} ** t)",
            f"v = v - factor * (m / ({xp}.sqrt(s) + {self.eps!r} * root))",
        ]


class AdamMethod(_AdamMethod, CoupledMethod):
    """Steps of about the size of the rate, by means of gradients and of their squares."""

    kind: Literal["adam"] = "adam"
    amsgrad: Flag = False
    """Whether to divide by the largest mean of squares so far."""

    keras: ClassVar[_Keras] = {
        **_AdamMethod.keras,
        "amsgrad": ("amsgrad", False),
        "weight_decay": ("weight_decay", 0.0),
    }


class AdamWMethod(_AdamMethod):
    """Adam with weight decay apart from the gradient."""

    kind: Literal["adamw"] = "adamw"
    weight_decay: NotNegative = 1e-2
    amsgrad: Flag = False
    """Whether to divide by the largest mean of squares so far."""

    decouples_in_torch: ClassVar[bool] = True
    keras: ClassVar[_Keras] = {**_AdamMethod.keras, "weight_decay": ("weight_decay", 4e-3)}


class RMSpropMethod(CoupledMethod):
    """Divides a gradient by the root of the mean of its squares."""

    # Tieleman & Hinton 2012, Lecture 6.5 of Neural Networks for Machine Learning; centered as in
    # Graves 2013, Generating Sequences with Recurrent Neural Networks.
    kind: Literal["rmsprop"] = "rmsprop"
    lr: NotNegative = 1e-2
    alpha: Share = 0.99
    eps: NotNegative = 1e-8
    momentum: NotNegative = 0.0
    centered: Flag = False
    """Whether to divide by the standard deviation instead."""

    ignores_scale: ClassVar[bool] = True
    keras: ClassVar[_Keras] = {
        "learning_rate": ("lr", 1e-3),
        "rho": ("alpha", 0.9),
        "epsilon": ("eps", 1e-7),
        "momentum": ("momentum", 0.0),
        "centered": ("centered", False),
    }

    def why_not_torch(self, dtypes: set[str]) -> str:
        """Where it is centered."""
        text = "that of torch.optim gives NaN where rounding makes a variance negative"
        return text if self.centered else ""

    def move(self, xp: str) -> list[str]:
        """``s = α s + (1 - α) g²``; ``v -= lr g / (√s + eps)``. With momentum,
        ``b = momentum b + g / (√s + eps)``; ``v -= lr b``. Centered, s is less the square of the
        mean.
        """
        alpha = self.alpha
        lines = [
            f"s = {alpha!r} * {_kept('square_avg')} + (1 - {alpha!r}) * (g * g)",
            _keep("square_avg", "s"),
        ]
        if self.centered:
            lines += [
                f"m = {alpha!r} * {_kept('grad_avg')} + (1 - {alpha!r}) * g",
                _keep("grad_avg", "m"),
                "s = s - m * m",
                f"s = {xp}.maximum(s, 0 * s)  # rounding may have made it negative",
            ]
        step = f"g / ({xp}.sqrt(s) + {self.eps!r})"
        if not self.momentum:
            return [*lines, f"v = v - lr * ({step})"]
        return [
            *lines,
            f"b = {self.momentum!r} * {_kept('momentum_buffer')} + {step}",
            _keep("momentum_buffer", "b"),
            "v = v - lr * b",
        ]


class AdagradMethod(CoupledMethod):
    """Divides a gradient by the root of the sum of its squares."""

    # Duchi, Hazan & Singer 2011, Adaptive Subgradient Methods for Online Learning and Stochastic
    # Optimization.
    kind: Literal["adagrad"] = "adagrad"
    lr: NotNegative = 1e-2
    lr_decay: NotNegative = 0.0
    initial_accumulator_value: NotNegative = 0.0
    eps: NotNegative = 1e-10

    ignores_scale: ClassVar[bool] = True
    keras: ClassVar[_Keras] = {
        "learning_rate": ("lr", 1e-3),
        "initial_accumulator_value": ("initial_accumulator_value", 0.1),
        "epsilon": ("eps", 1e-7),
    }

    def rests(self, dtype: np.dtype[Any]) -> bool:
        """Unless eps is lost in the dtype: then an element without any gradient becomes 0 / 0."""
        return bool(dtype.type(self.eps) > 0)

    def move(self, xp: str) -> list[str]:
        """``s += g²``; ``v -= lr / (1 + (t - 1) lr_decay) · g / (√s + eps)``."""
        start = f"{self.initial_accumulator_value!r} + 0.0 * v"
        return [
            f"s = {_kept('sum', start)} + g * g",
            _keep("sum", "s"),
            f"rate = lr / (1 + (t - 1) * {self.lr_decay!r})",
            f"v = v - rate * (g / ({xp}.sqrt(s) + {self.eps!r}))",
        ]


class AdadeltaMethod(CoupledMethod):
    """Scales a gradient by the root of the mean of squared changes over that of its squares."""

    # Zeiler 2012, ADADELTA: An Adaptive Learning Rate Method.
    kind: Literal["adadelta"] = "adadelta"
    lr: NotNegative = 1.0
    rho: Share = 0.9
    eps: NotNegative = 1e-6

    def move(self, xp: str) -> list[str]:
        """``s = ρ s + (1 - ρ) g²``; ``d = √(e + eps) / √(s + eps) · g``;
        ``e = ρ e + (1 - ρ) d²``; ``v -= lr d``.
        """
        rho, eps = self.rho, self.eps
        return [
            f"s = {rho!r} * {_kept('square_avg')} + (1 - {rho!r}) * (g * g)",
            f"e = {_kept('acc_delta')}",
            f"d = {xp}.sqrt(e + {eps!r}) / {xp}.sqrt(s + {eps!r}) * g",
            _keep("square_avg", "s"),
            _keep("acc_delta", f"{rho!r} * e + (1 - {rho!r}) * (d * d)"),
            "v = v - lr * d",
        ]


class LionMethod(Method):
    """Steps by the sign of a mean of gradients. Weight decay is decoupled."""

    # Chen et al. 2023, Symbolic Discovery of Optimization Algorithms.
    kind: Literal["lion"] = "lion"
    lr: NotNegative = 1e-4
    betas: tuple[Decay, Decay] = (0.9, 0.99)

    ignores_scale: ClassVar[bool] = True

    def why_not_torch(self, dtypes: set[str]) -> str:
        """It isn't there."""
        return "torch.optim has no Lion"

    def move(self, xp: str) -> list[str]:
        """``v -= lr sign(β₁ m + (1 - β₁) g)``, then ``m = β₂ m + (1 - β₂) g``."""
        first, second = self.betas
        return [
            f"m = {_kept('exp_avg')}",
            _keep("exp_avg", f"{second!r} * m + (1 - {second!r}) * g"),
            f"v = v - lr * {xp}.sign({first!r} * m + (1 - {first!r}) * g)",
        ]


class NAdamMethod(_AdamMethod, CoupledMethod):
    """Adam with Nesterov's look ahead."""

    # Dozat 2016, Incorporating Nesterov Momentum into Adam.
    kind: Literal["nadam"] = "nadam"
    lr: NotNegative = 2e-3
    momentum_decay: NotNegative = 4e-3

    decouples_in_torch: ClassVar[bool] = True

    def why_not_torch(self, dtypes: set[str]) -> str:
        """Where float64 is needed."""
        text = "that of torch.optim multiplies its momenta in float32"
        return text if "float64" in dtypes else ""

    def move(self, xp: str) -> list[str]:
        """``μₜ = β₁ (1 - 0.96^(t momentum_decay) / 2)``, P is their product;
        ``D = √(s / (1 - β₂ᵗ)) + eps``;
        ``v -= lr (1 - μₜ) / (1 - P) · g / D + lr μₜ₊₁ / (1 - P μₜ₊₁) · m / D``.
        """
        first, second = self.betas
        fading = f"0.96 ** ({{}} * {self.momentum_decay!r})"
        now, after = (f"{first!r} * (1 - 0.5 * {fading.format(n)})" for n in ("t", "(t + 1)"))
        return [
            *self._means(),
            f"now, after = {now}, {after}",
            f"product = {_kept('mu_product', '1.0')} * now",
            _keep("mu_product", "product"),
            f"root = {xp}.sqrt(s / (1 - {second!r} ** t)) + {self.eps!r}",
            "v = v - lr * (1 - now) / (1 - product) * (g / root)",
            "v = v - lr * after / (1 - product * after) * (m / root)",
        ]


class RAdamMethod(_AdamMethod, CoupledMethod):
    """Adam that waits with dividing until the mean of squares is reliable."""

    # Liu et al. 2020, On the Variance of the Adaptive Learning Rate and Beyond.
    kind: Literal["radam"] = "radam"

    decouples_in_torch: ClassVar[bool] = True
    ignores_scale: ClassVar[bool] = False
    keras: ClassVar[_Keras] = {}

    def move(self, xp: str) -> list[str]:
        """Adam times ``√((r - 4)(r - 2)R / ((R - 4)(R - 2)r))``, and ``v -= lr m / (1 - β₁ᵗ)``
        while ``r ≤ 5``, where ``R = 2 / (1 - β₂) - 1`` and ``r = R - 2 t β₂ᵗ / (1 - β₂ᵗ)``.

        As in PyTorch, eps is added to √s before its bias is corrected.
        """
        first, second = self.betas
        most = 2 / (1 - second) - 1
        return [
            *self._means(),
            f"power, most = {second!r} ** t, {most!r}",
            "length = most - 2 * t * power / (1 - power)",
            f"factor = lr / (1 - {first!r} ** t)",
            "if length > 5:",
            "    top = (length - 4) * (length - 2) * most",
            "    bottom = (most - 4) * (most - 2) * length",
            "    factor = factor * (math.sqrt(top / bottom) * math.sqrt(1 - power))",
            f"    v = v - factor * (m / ({xp}.sqrt(s) + {self.eps!r}))",
            "else:",
            "    v = v - factor * m",
        ]


class AdamaxMethod(_AdamMethod, CoupledMethod):
    """Adam with the largest gradient so far, fading, in place of the mean of squares."""

    # Kingma & Ba 2015, Adam: A Method for Stochastic Optimization, section 7.1.
    kind: Literal["adamax"] = "adamax"
    lr: NotNegative = 2e-3

    def move(self, xp: str) -> list[str]:
        """``n = max(β₂ n, |g| + eps)``; ``v -= lr / (1 - β₁ᵗ) · m / n``."""
        first, second = self.betas
        return [
            f"m = {first!r} * {_kept('exp_avg')} + (1 - {first!r}) * g",
            f"n = {xp}.maximum({second!r} * {_kept('exp_inf')}, {xp}.abs(g) + {self.eps!r})",
            _keep("exp_avg", "m"),
            _keep("exp_inf", "n"),
            f"v = v - lr / (1 - {first!r} ** t) * (m / n)",
        ]
