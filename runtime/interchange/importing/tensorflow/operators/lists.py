"""Lists of tensors, through which loops read their inputs and write their results."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from gradwire.runtime.interchange.importing.tensorflow.items import ListElement, TensorList
from gradwire.runtime.interchange.importing.tensorflow.tensors import RESOURCE, VARIANT

if TYPE_CHECKING:
    from gradwire.blocks.block import Shape
    from gradwire.runtime.interchange.importing.staged import Staged
    from gradwire.runtime.interchange.importing.tensorflow.call import Operator, TensorFlowCall
    from gradwire.runtime.interchange.importing.tensorflow.items import Item

MAX_LENGTH = 100_000
"""Elements of a list, at most."""


def _reserve(call: TensorFlowCall) -> Item:
    count = call.whole(1)
    if not 0 <= count <= MAX_LENGTH:
        raise call.unsupported(f"it makes a list of {count} tensors")
    return TensorList((None,) * count, _element_shape(call, 0), _dtype(call))


def _empty(call: TensorFlowCall) -> Item:
    return TensorList((), _element_shape(call, 0), _dtype(call))


def _dtype(call: TensorFlowCall) -> str:
    number = call.attributes.dtype_number("element_dtype")
    return "" if number in (RESOURCE, VARIANT) else call.attributes.dtype("element_dtype")


def _element_shape(call: TensorFlowCall, number: int) -> Shape | None:
    lengths = call.wholes(number)
    return None if not lengths or any(n < 0 for n in lengths) else lengths


def _from_tensor(call: TensorFlowCall) -> Item:
    x = call.x()
    if x.shape[0] > MAX_LENGTH:
        raise call.unsupported(f"it makes a list of {x.shape[0]} tensors")
    parts = tuple(call.stage.select(x, 0, i) for i in range(x.shape[0]))
    return TensorList(parts, x.shape[1:], x.dtype, x)


def _index(call: TensorFlowCall, tensors: TensorList) -> int:
    index = call.whole(1)
    if not 0 <= index < len(tensors.elements):
        raise call.unsupported(f"its index {index} is outside a list of {len(tensors.elements)}")
    return index


def _in_step(call: TensorFlowCall, element: ListElement) -> ListElement:
    """The list in the body of a Scan, if the index is the number of the step."""
    if call.item(1) is not element.index:
        raise call.unsupported("its index in the loop is not the number of the step")
    return element


def _get(call: TensorFlowCall) -> Item:
    item = call.item(0)
    if isinstance(item, ListElement):
        found = _in_step(call, item)
        if found.read is None:
            raise call.unsupported("it reads what the loop writes")
        return found.read
    tensors = call.list()
    return _element(call, tensors, tensors.elements[_index(call, tensors)])


def _element(call: TensorFlowCall, tensors: TensorList, element: Staged | None) -> Staged:
    if element is not None:
        return element
    shape = tensors.shape
    if shape is None:
        shape = next((e.shape for e in tensors.elements if e is not None), None)
    if shape is None:
        raise call.unsupported("it reads what was not written")
    return call.stage.constant(np.zeros(shape, tensors.dtype))


def _set(call: TensorFlowCall) -> Item:
    item = call.item(0)
    if isinstance(item, ListElement):
        return ListElement(_in_step(call, item).index, None, call.x(2))
    tensors, x = call.list(), call.x(2)
    index = _index(call, tensors)
    elements = (*tensors.elements[:index], x, *tensors.elements[index + 1 :])
    return TensorList(elements, x.shape, x.dtype)


def _push(call: TensorFlowCall) -> Item:
    if isinstance(call.item(0), ListElement):
        return call.item(0)
    tensors = call.list()
    x = call.item(1)
    if not hasattr(x, "value") or len(tensors.elements) >= MAX_LENGTH:
        return tensors  # what it keeps is for TensorFlow's own backward pass
    return TensorList((*tensors.elements, call.x(1)), tensors.shape, tensors.dtype)


def _stack(call: TensorFlowCall) -> Staged:
    tensors = call.list()
    if not tensors.elements:
        raise call.unsupported("its list is empty")
    if tensors.whole is not None:
        return tensors.whole
    parts = [_element(call, tensors, element) for element in tensors.elements]
    return call.block("Stack", *parts, axis=0)


def _elements(call: TensorFlowCall) -> TensorList:
    item = call.item(0)
    return TensorList(()) if isinstance(item, ListElement) else call.list()


def _length(call: TensorFlowCall) -> Staged:
    return call.stage.constant(np.asarray(len(_elements(call).elements), np.int32))


def _shape(call: TensorFlowCall) -> Staged:
    return call.stage.constant(np.asarray(_elements(call).shape or (), np.int32))


OPERATORS: dict[str, Operator] = {
    "TensorListReserve": _reserve, "EmptyTensorList": _empty, "TensorListFromTensor": _from_tensor,
    "TensorListGetItem": _get, "TensorListSetItem": _set, "TensorListPushBack": _push,
    "TensorListStack": _stack, "TensorListLength": _length, "TensorListElementShape": _shape,
}  # fmt: skip
