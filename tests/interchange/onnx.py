"""ONNX: the backend's node cases, converted and hand-written models, and graphs that onnx ships.

A case passes where the imported diagram, run by a session, gives the values, dtypes and shapes of
the reference.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from gradwire.blocks.errors import GradwireError
from gradwire.runtime.engine import Session
from gradwire.runtime.interchange.importing.onnx.importing import import_model
from gradwire.runtime.interchange.importing.onnx.reading import parsed
from tests.interchange.rows import Row

if TYPE_CHECKING:
    from onnx import ModelProto

    from gradwire.runtime.interchange.importing.imported import Imported

KINDS = ("pytorch-converted", "pytorch-operator")


@dataclass
class Case:
    """A model, with numbers for its inputs and those that its outputs must have."""

    name: str
    model: ModelProto
    inputs: Sequence[Any]
    outputs: Sequence[Any]
    rtol: float = 1e-3
    atol: float = 1e-7


@dataclass
class Tally:
    """How cases ended: passed, of them specialised, refused by operator, drawn, and wrong.

    What draws random numbers is only imported: the reference has those of another generator.
    """

    total: int = 0
    passed: int = 0
    specialised: int = 0
    refused: Counter[str] = field(default_factory=Counter)
    drawn: int = 0
    wrong: list[str] = field(default_factory=list)
    unrolled: int = 0

    def add(self, case: Case) -> None:
        """Import a case and compare."""
        self.total += 1
        try:
            imported = imported_case(case)
        except GradwireError as error:
            self.refused[f"{operators(case.model)}: {error}"] += 1
            return
        kinds = {remark.kind for remark in imported.remarks}
        if "lost" in kinds:
            self.drawn += 1
            return
        try:
            compare(case, imported)
        except (AssertionError, GradwireError) as error:
            self.wrong.append(f"{case.name}: {' '.join(str(error).split())[:200]}")
            return
        self.passed += 1
        self.specialised += "specialised" in kinds
        self.unrolled += "unrolled" in kinds

    def __str__(self) -> str:
        return (
            f"{self.passed} of {self.total}, {self.specialised} of them specialised to numbers of "
            f"an input; {self.refused.total()} refused, {self.drawn} with random numbers, "
            f"{len(self.wrong)} wrong"
        )


def operators(model: ModelProto) -> str:
    return ", ".join(sorted({node.op_type for node in model.graph.node}))


def imported_case(case: Case) -> Imported:
    names = [value.name for value in case.model.graph.input]
    return import_model(case.model, examples=dict(zip(names, case.inputs, strict=False)))


def compare(case: Case, imported: Imported) -> None:
    """Raise AssertionError unless a run gives the outputs of the case."""
    wanted: dict[str, Any] = {}
    for value, output in zip(case.model.graph.output, case.outputs, strict=True):
        if isinstance(output, list):
            wanted |= {f"{value.name}_{i}": x for i, x in enumerate(output)}
        else:
            wanted[value.name] = output
    assert imported.outputs.keys() == wanted.keys(), f"{list(imported.outputs)} {list(wanted)}"
    ports = list(imported.outputs.values())
    values = Session(imported.diagram, fast=False).run(ports=ports).values
    for name, want in wanted.items():
        got, want = values[imported.outputs[name]], np.asarray(want)
        assert (got.dtype, got.shape) == (want.dtype, want.shape), (
            f"{name}: {got.dtype}{got.shape} for {want.dtype}{want.shape}"
        )
        np.testing.assert_allclose(got, want, case.rtol, max(case.atol, rounding(want)))


def rounding(array: np.ndarray) -> float:
    """How far the reference itself is off: two units in the last place of its largest number."""
    largest = np.abs(array[np.isfinite(array)]).max(initial=0) if array.dtype.kind == "f" else 0
    return float(2 * np.finfo(array.dtype).eps * largest) if largest else 0.0


def arrays(given: Sequence[Any]) -> list[Any]:
    from onnx import TensorProto, numpy_helper

    made = [numpy_helper.to_array(x) if isinstance(x, TensorProto) else x for x in given]
    return [x if isinstance(x, list) or x is None else np.asarray(x) for x in made]


def node_cases() -> Iterator[Case]:
    """The cases of single operators, without those that expand them."""
    import warnings

    from onnx.backend.test.case.node import collect_testcases

    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        found = collect_testcases(None)
    for case in found:
        if "_expanded" not in case.name:
            inputs, outputs = case.data_sets[0]
            yield Case(case.name, case.model, arrays(inputs), arrays(outputs), case.rtol, case.atol)


def model_cases(kind: str) -> Iterator[Case]:
    """The cases of a kind that onnx keeps in files."""
    from onnx.backend.test.loader import load_model_tests

    for case in load_model_tests(kind=kind):
        folder = Path(case.model_dir)
        model = parsed((folder / "model.onnx").read_bytes())
        data = folder / "test_data_set_0"
        given = [
            stored_item(data / f"input_{i}.pb", value)
            for i, value in enumerate(model.graph.input)
            if (data / f"input_{i}.pb").exists()
        ]
        outputs = [
            stored_item(data / f"output_{i}.pb", value)
            for i, value in enumerate(model.graph.output)
        ]
        yield Case(case.name, model, given, outputs, case.rtol, case.atol)


def stored_item(path: Path, value: Any) -> Any:
    from onnx import SequenceProto, TensorProto, numpy_helper

    if value.type.WhichOneof("value") == "tensor_type":
        return numpy_helper.to_array(TensorProto.FromString(path.read_bytes()))
    return numpy_helper.to_list(SequenceProto.FromString(path.read_bytes()))


def light_cases() -> Iterator[Case]:
    """Networks of known names whose weights are made by the graph; onnx has their outputs."""
    import onnx
    from onnx import TensorProto, numpy_helper

    folder = Path(onnx.__file__).parent / "backend/test/data/light"
    for path in sorted(folder.glob("light_*.onnx")):
        model = parsed(path.read_bytes())
        stored = {tensor.name for tensor in model.graph.initializer}
        (value,) = [value for value in model.graph.input if value.name not in stored]
        shape = [d.dim_value for d in value.type.tensor_type.shape.dim]
        x = (np.arange(np.prod(shape)) / np.prod(shape)).reshape(shape).astype(np.float32)
        data = path.with_name(f"{path.stem}_output_0.pb").read_bytes()
        output = numpy_helper.to_array(TensorProto.FromString(data))
        order = [x if v.name == value.name else None for v in model.graph.input]
        yield Case(path.stem, model, order, [output], 1e-3, 1e-5)


def refusals(tally: Tally) -> str:
    """What was refused: the dtypes that no value has, then the operators, by number of cases."""
    dtypes: Counter[str] = Counter()
    others: Counter[str] = Counter()
    for text, count in tally.refused.items():
        operator, _, reason = text.partition(": ")
        _, dtype, name = reason.partition("there are no values of dtype ")
        (dtypes if dtype else others)[name.split(".")[0] if dtype else operator] += count
    return "; ".join(
        ", ".join(f"{name} {count}" for name, count in found.most_common())
        for found in (dtypes, others)
        if found
    )


def trained_rows() -> Iterator[Row]:
    """A row for each model that PyTorch trained."""
    if find_spec("torch") is None:
        return
    from tests.interchange.onnx_models import MODELS, differences, trained_and_imported

    for name in MODELS:
        loss, gradients = differences(*trained_and_imported(name))
        detail = f"loss {loss:.0e}, gradients {gradients:.0e} from PyTorch's"
        yield Row(f"ONNX trained {name}", loss < 1e-5 and gradients < 1e-4, detail)


def rows() -> Iterator[Row]:
    """A row for each group of cases, and for each model with weights of its own."""
    for name, cases, least in (
        ("node cases", node_cases(), 1150),
        *((kind, model_cases(kind), 1) for kind in KINDS),
        ("light graphs", light_cases(), 9),
    ):
        tally = Tally()
        for case in cases:
            tally.add(case)
        whole = name == "node cases" or tally.passed == tally.total
        well = whole and tally.passed >= least and not tally.wrong
        refused = refusals(tally)
        yield Row(f"ONNX {name}", well, f"{tally}{f' ({refused})' if refused else ''}")
    yield from trained_rows()
