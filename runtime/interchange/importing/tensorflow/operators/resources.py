"""Variables and checkpoints, and nodes that pass on what they get."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gradwire.runtime.interchange.importing.meanings.elementwise import stopped
from gradwire.runtime.interchange.importing.tensorflow.items import ChangedVariable, Handle, Strings
from gradwire.runtime.interchange.importing.tensorflow.operators.slices import gathered

if TYPE_CHECKING:
    from gradwire.runtime.interchange.importing.staged import Staged
    from gradwire.runtime.interchange.importing.tensorflow.call import Operator, TensorFlowCall
    from gradwire.runtime.interchange.importing.tensorflow.items import Item


def _handle(call: TensorFlowCall) -> Item:
    return call.variables.handle(call.attributes.text("shared_name") or call.node.name)


def _variable(call: TensorFlowCall) -> Item:
    return call.variables.handle(call.node.name)


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


def _gather(call: TensorFlowCall) -> Staged:
    return gathered(call, call.x(), call.x(1), 0, call.attributes.whole("batch_dims"))


def _restore(call: TensorFlowCall) -> tuple[Item, ...]:
    names, slices = call.item(1), call.item(2)
    if not isinstance(names, Strings) or not isinstance(slices, Strings):
        raise call.unsupported("the names of its tensors are not constant")
    if any(slices.texts):
        raise call.unsupported("it restores slices")
    keys = [name.decode("utf-8", "replace") for name in names.texts]
    return tuple(_restored(call, key) for key in keys)


def _restored(call: TensorFlowCall, key: str) -> Item:
    if key.startswith("_"):
        return None  # text that says how the checkpoint was made
    return call.stage.constant(call.variables.restored(key))


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


def _nothing(call: TensorFlowCall) -> tuple[Item, ...]:
    return ()


OPERATORS: dict[str, Operator] = {
    "VarHandleOp": _handle, "VariableV2": _variable, "Variable": _variable,
    "ReadVariableOp": _read, "AssignVariableOp": _assign, "Assign": _assign,
    "ResourceGather": _gather, "RestoreV2": _restore,
    "Identity": _identity, "Snapshot": _identity, "EnsureShape": _identity,
    "CheckNumerics": _identity, "PlaceholderWithDefault": _identity, "IdentityN": _identities,
    **dict.fromkeys(
        ("StopGradient", "PreventGradient"), lambda call: stopped(call.x(), call.node.name)
    ),
    "NoOp": _nothing, "Assert": _nothing, "DisableCopyOnRead": _nothing,
}  # fmt: skip
