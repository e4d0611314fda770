"""Constants, variables and checkpoints, and nodes that pass on what they get."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gradwire.runtime.interchange.importing.meanings.elementwise import stopped
from gradwire.runtime.interchange.importing.tensorflow.items import ChangedVariable, Handle, Strings
from gradwire.runtime.interchange.importing.tensorflow.tensors import STRING

if TYPE_CHECKING:
    from gradwire.runtime.interchange.importing.tensorflow.call import Operator, TensorFlowCall
    from gradwire.runtime.interchange.importing.tensorflow.items import Item


def constant(call: TensorFlowCall) -> Item:
    """The numbers, or strings, of a Const."""
    if call.attributes.tensor_dtype("value") == STRING:
        return Strings(call.attributes.texts("value"))
    return call.stage.constant(call.attributes.array("value"))


def _variable(call: TensorFlowCall) -> Item:
    resource = call.node.operator == "VarHandleOp"
    shared = call.attributes.text("shared_name") if resource else ""
    return call.variables.handle(shared or call.node.name)


def _read(call: TensorFlowCall) -> Item:
    item = _identity(call)
    return item if isinstance(item, ChangedVariable) else call.x()


def _assign(call: TensorFlowCall) -> Item:
    call.variables.assign(call.handle(), call.x(1), call.node)
    return call.item(0)


def change(call: TensorFlowCall) -> Item:
    """Change the variables among the inputs as no diagram does."""
    handles = [item for item in call.items if isinstance(item, Handle)]
    if not handles:
        raise call.unsupported("it is not known which variable it changes")
    for handle in handles:
        call.variables.change(handle, call.node)
    return handles[0]


def _restore(call: TensorFlowCall) -> tuple[Item, ...]:
    """Tensors by their keys; those that begin with ``_`` are text about the checkpoint."""
    names, slices = call.item(1), call.item(2)
    if not isinstance(names, Strings) or not isinstance(slices, Strings):
        raise call.unsupported("the names of its tensors are not constant")
    if any(slices.texts):
        raise call.unsupported("it restores slices")
    keys = [name.decode("utf-8", "replace") for name in names.texts]
    restored = call.variables.restored
    return tuple(None if k.startswith("_") else call.stage.constant(restored(k)) for k in keys)


def _identity(call: TensorFlowCall) -> Item:
    """Of a variable of TensorFlow 1, this reads it."""
    item = call.item(0)
    if isinstance(item, Handle) and item.changed is not None:
        return ChangedVariable(item.changed)
    return item


def _identities(call: TensorFlowCall) -> tuple[Item, ...]:
    if "_gradient_op_type" in call.attributes:
        call.stage.remark(
            "lost",
            f"{call.node.name!r} has a gradient of its own, which the file doesn't say; what it "
            "computes is differentiated instead.",
        )
    return call.items


OPERATORS: dict[str, Operator] = {
    "Const": constant, **dict.fromkeys(("VarHandleOp", "VariableV2", "Variable"), _variable),
    "ReadVariableOp": _read, "AssignVariableOp": _assign, "Assign": _assign, "RestoreV2": _restore,
    **dict.fromkeys(
        ("Identity", "Snapshot", "EnsureShape", "CheckNumerics", "PlaceholderWithDefault"),
        _identity,
    ),
    "IdentityN": _identities,
    **dict.fromkeys(
        ("StopGradient", "PreventGradient"), lambda call: stopped(call.x(), call.node.name)
    ),
    **dict.fromkeys(("NoOp", "Assert", "DisableCopyOnRead"), lambda call: ()),
}  # fmt: skip
