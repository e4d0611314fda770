"""A module for PyTorch: pages with variables are modules, whose parameters they are; autograd
differentiates, torch.optim trains.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import field
from typing import TYPE_CHECKING

from gradwire.blocks.classes.dataclass import dataclass
from gradwire.runtime.diagram.paths import ROOT, InstancePath
from gradwire.runtime.interchange.export import module
from gradwire.runtime.interchange.export.code import (
    INDENT,
    WIDTH,
    Names,
    deeper,
    identifier,
    indented,
    listed,
    remark,
)
from gradwire.runtime.interchange.export.graph import ExportGraph
from gradwire.runtime.interchange.export.regions import ExportLoop, ExportRegion
from gradwire.runtime.interchange.export.systems.torch_rows import TORCH, dtype_text
from gradwire.runtime.interchange.export.systems.torch_training import TorchRecipe
from gradwire.runtime.interchange.export.writing import FunctionCall, SourceWriter

if TYPE_CHECKING:
    from gradwire.blocks.values import Array
    from gradwire.runtime.calculus import Value
    from gradwire.runtime.interchange.export.content import ExportContent
    from gradwire.runtime.interchange.export.naming import Naming


TAKEN = frozenset({
    "T_destination", "add_module", "apply", "bfloat16", "buffers", "call_super_init", "children",
    "compile", "cpu", "cuda", "double", "dump_patches", "eval", "extra_repr", "float", "forward",
    "get_buffer", "get_extra_state", "get_parameter", "get_submodule", "half", "ipu",
    "load_state_dict", "modules", "mtia", "named_buffers", "named_children", "named_modules",
    "named_parameters", "parameters", "register_backward_hook", "register_buffer",
    "register_forward_hook", "register_forward_pre_hook", "register_full_backward_hook",
    "register_full_backward_pre_hook", "register_load_state_dict_post_hook",
    "register_load_state_dict_pre_hook", "register_module", "register_parameter",
    "register_state_dict_post_hook", "register_state_dict_pre_hook", "requires_grad_",
    "set_extra_state", "set_submodule", "share_memory", "state_dict", "to", "to_empty", "train",
    "training", "type", "xpu", "zero_grad",
})  # fmt: skip
"""Names that attributes of modules have already."""


@dataclass
class Module:
    """The attributes of one module: its parameters, and the modules of pages inside."""

    parameters: dict[Value, str] = field(default_factory=dict)
    inner: dict[InstancePath, str] = field(default_factory=dict)
    names: Names = field(default_factory=lambda: Names(set(TAKEN)))


@dataclass(eq=False)
class ModuleWriter(SourceWriter):
    """Writes the uses of pages that have variables as modules, others as functions.

    A use whose variables are all those of another use calls the module of that use again.
    """

    variables: Mapping[Value, InstancePath] = field(default_factory=dict)
    """The canonical path of each variable."""
    trainable: frozenset[str] = frozenset()
    modules: dict[InstancePath, Module] = field(default_factory=dict)
    """The module of each use that has variables, that of the root first."""
    _regions: dict[InstancePath, ExportRegion] = field(default_factory=dict)
    _outside: dict[InstancePath, InstancePath] = field(default_factory=dict)
    """The use that each use is called in."""
    _homes: dict[Value, InstancePath] = field(default_factory=dict)
    """The use whose module has a variable."""
    _wanted: dict[InstancePath, frozenset[Value]] = field(default_factory=dict)
    _classes: dict[InstancePath, FunctionCall] = field(default_factory=dict)
    _use: InstancePath | None = ROOT
    """The use whose module is ``self`` in what is being written; None in functions."""

    def prepare(self, root: ExportRegion, outputs: frozenset[Value]) -> Mapping[Value, str]:
        """Decide which uses are modules, and what each of them gives."""
        self.modules[ROOT] = Module()
        self._want(root, outputs)
        self._give_alike()
        for variable, path in self.variables.items():
            home = path.use
            while home and (home not in self._regions or self.page_of(home) is None):
                home = home.use
            self._homes[variable] = home
            module = self._module(home)
            name = module.names.fresh(path.relative_to(home))
            module.parameters[variable] = name
        return self._attributes(ROOT)

    def _module(self, use: InstancePath) -> Module:
        """The module of a use, as an attribute of the module of the use around it."""
        if use not in self.modules:
            around = self._outside[use]
            outer = self._module(around)
            outer.inner[use] = outer.names.fresh(use.relative_to(around))
            self.modules[use] = Module()
        return self.modules[use]

    def _want(self, region: ExportRegion, outputs: frozenset[Value]) -> None:
        """Note what each region inside must give: what is read outside it, and outputs."""
        inner = [item for item in region.items if isinstance(item, ExportRegion)]
        for item in inner:
            self._regions[item.use] = item
            self._outside[item.use] = region.use
            self._wanted[item.use] = region.wanted(item, outputs, self.graph)
        for item in inner:
            self._want(item, self._wanted[item.use])
        for loop in region.items:
            if isinstance(loop, ExportLoop):
                self._want(loop.step, frozenset(map(self.graph.real, loop.ends)))

    def _give_alike(self) -> None:
        """Let uses of a page that compute the same give the same, so that they are one class."""
        groups: dict[object, list[list[Value]]] = {}
        for use, region in self._regions.items():
            values = region.values()
            kinds = tuple((value.primitive, value.shape, value.dtype) for value in values)
            groups.setdefault((self.page_of(use) or use, kinds), []).append(values)
        wanted = {value for values in self._wanted.values() for value in values}
        alike = {
            values[place]
            for group in groups.values()
            for place in range(len(group[0]))
            if any(values[place] in wanted for values in group)
            for values in group
        }
        for use, region in self._regions.items():
            self._wanted[use] = frozenset(alike.intersection(region.values()))

    def _attributes(self, use: InstancePath) -> dict[Value, str]:
        """The variables that the module of a use can reach, and how."""
        return {
            variable: f"{self.reached(use, home)}.{self.modules[home].parameters[variable]}"
            for variable, home in self._homes.items()
            if home == use or home.is_inside(use)
        }

    def reached(self, use: InstancePath, inner: InstancePath, name: str = "self") -> str:
        """The module of ``inner``, from that of a use around it, which is called ``name``."""
        if inner == use:
            return name
        around = self._outside[inner]
        return f"{self.reached(use, around, name)}.{self.modules[around].inner[inner]}"

    def function(
        self, region: ExportRegion, naming: Naming, wanted: frozenset[Value]
    ) -> FunctionCall:
        """What computes a region: a module where it has variables, else a function."""
        outer = self._use
        wanted = self._wanted[region.use]
        try:
            if region.use in self.modules and outer is not None:
                return self._call(self._class(region, naming), outer, region.use)
            twin = None if outer is None else self._twin(region, outer)
            if twin is not None and outer is not None:
                first = self._class(self._regions[twin], naming)
                again = self._text(region, twin, naming, wanted)
                if again.name == first.name:
                    return self._call(again, outer, twin)
            self._use = None
            return super().function(region, naming, wanted)
        finally:
            self._use = outer

    def _call(self, found: FunctionCall, outer: InstancePath, use: InstancePath) -> FunctionCall:
        return FunctionCall(self.reached(outer, use), found.arguments, found.outputs)

    def _class(self, region: ExportRegion, naming: Naming) -> FunctionCall:
        """The class of the module of a use."""
        use = region.use
        if use not in self._classes:
            self._classes[use] = self._text(region, use, naming, self._wanted[use])
        return self._classes[use]

    def _text(
        self, region: ExportRegion, use: InstancePath, naming: Naming, wanted: frozenset[Value]
    ) -> FunctionCall:
        """The class of what a region computes with the variables of the module of a use."""
        attributes = self._attributes(use)
        arguments, outputs = region.ends(self.graph, wanted, attributes)
        before, self._use = self._use, use
        given, lines = self.definition(region, naming, arguments, outputs, attributes)
        self._use = before
        page = self.page_of(region.use) or ""
        forward = listed("def forward(", ["self", *given], "):", WIDTH - 30)
        parts = [
            f'"""The page {remark(page)}."""\n',
            *self.constructor(use),
            "",
            *forward.split("\n"),
            *deeper(lines),
        ]
        stem = "".join(word[:1].upper() + word[1:] for word in identifier(page).split("_"))
        name = self.written(f"(nn.Module):\n{indented(parts)}", "class", stem)
        return FunctionCall(name, arguments, outputs)

    def constructor(self, use: InstancePath) -> list[str]:
        """The statements that make the parameters and inner modules of a module."""
        module = self.modules[use]
        lines = ["super().__init__()"]
        lines += (
            f"self.{name} = {self._classes[inner].name}()" for inner, name in module.inner.items()
        )
        lines += (
            f"self.{name} = {self._parameter(value)}" for value, name in module.parameters.items()
        )
        return ["def __init__(self):", *(INDENT + line for line in lines)]

    def _parameter(self, value: Value) -> str:
        """A parameter without its number, which the state of the model has."""
        dtype = "" if value.dtype == "float32" else f", dtype={dtype_text(value.dtype)}"
        frozen = "" if self.variables[value] in self.trainable else ", requires_grad=False"
        lengths = ", ".join(map(str, value.shape)) or "()"
        return f"nn.Parameter(torch.empty({lengths}{dtype}){frozen})"

    def _twin(self, region: ExportRegion, outer: InstancePath) -> InstancePath | None:
        """The use of the same page whose module has all variables that a region reads."""
        read = {x for value in region.values() for x in self.graph.inputs(value)}
        variables = [x for x in read if x in self._homes]
        page = self.page_of(region.use)
        for use in self.modules if variables and page is not None else ():
            if use and use.is_inside(outer) and self.page_of(use) == page:
                if all(self._is_shared(x, region.use, use) for x in variables):
                    return use
        return None

    def _is_shared(self, variable: Value, use: InstancePath, twin: InstancePath) -> bool:
        """Whether a variable has the same place in two uses of a page."""
        path = self.variables[variable]
        if not path.is_inside(twin):
            return False
        place = path.relative_to(twin).within(use)
        return self.graph.program.flat.shared.get(place) == path

    def states(self) -> Iterator[tuple[Value, str]]:
        """Each variable with its key in the state of the model."""
        for variable, home in self._homes.items():
            path = f"{self.reached(ROOT, home, '')}.{self.modules[home].parameters[variable]}"
            yield variable, path.removeprefix(".")


_MODULE_NAMES = ("ARRAYS", "PARAMETERS", "INPUTS", "Model", "Training", "nn", "self", "inputs")
_IMPORTS = {
    "": "import torch",
    "F.": "import torch.nn.functional as F",
    "load_file": "from safetensors.torch import load_file",
    "nn.Module": "from torch import nn",
}


def torch_module(content: ExportContent, arrays_file: str) -> tuple[str, dict[str, Array]]:
    """The source, and its large arrays."""
    writer = ModuleWriter(
        TORCH,
        ExportGraph(content.program, content.known, reads_all=True),
        variables={
            content.program.leaves[path].value: InstancePath(path) for path in content.parameters
        },
        trainable=frozenset(content.trainable),
    )
    writer.reserve(_MODULE_NAMES)
    inputs = module.inputs(content, writer)
    model = _model(content, writer)
    names = {str(writer.variables[value]): name for value, name in writer.states()}
    values = {names[path]: writer.stored(a, path) for path, a in content.parameters.items()}
    data = f"{module.parameters(values)}\n{inputs}"
    parts = [model]
    if content.heads and content.recipe is not None:
        parts += TorchRecipe(content, content.recipe, names, writer.fresh).source()
    return module.assembled(content, writer, arrays_file, _IMPORTS, data, parts), writer.arrays


def _model(content: ExportContent, writer: ModuleWriter) -> str:
    """The class of the whole."""
    step, leaves = module.read(content, module.data_texts(content, writer), "torch.tensor(step)")
    lines = module.forward(content, writer, leaves)
    parts = [
        '"""The diagram."""',
        "",
        *writer.constructor(ROOT),
        f"{INDENT}self.load_state_dict(PARAMETERS)",
        "",
        f"def forward(self, inputs=INPUTS{step}):",
        *deeper(lines),
    ]
    return f"class Model(nn.Module):\n{indented(parts)}"
