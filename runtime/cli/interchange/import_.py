"""``gradwire import FILE``: a model of another system as a diagram."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from gradwire.runtime.briefly import counted
from gradwire.runtime.cli.arguments import Json, output_option, path_argument
from gradwire.runtime.cli.output import UsageError, print_json
from gradwire.runtime.cli.reading import shown_reading
from gradwire.runtime.data.progress import report
from gradwire.runtime.diagram import save
from gradwire.runtime.interchange.importing.formats import FORMATS
from gradwire.runtime.interchange.importing.options import ImportOptions, parse_shape
from gradwire.runtime.interchange.importing.process import import_apart
from gradwire.runtime.publish.printable import visible
from gradwire.runtime.publish.text import Part, TextTable, show

if TYPE_CHECKING:
    from gradwire.blocks.block import Shape
    from gradwire.runtime.interchange.importing.imported import Imported

ENDING = ".gradwire.json"
_MOST = 40
"""At most so many remarks are printed."""


def import_(
    file: Annotated[
        Path,
        path_argument("FILE", f"A model: {', '.join(known.title for known in FORMATS)}."),
    ],
    output: Annotated[
        Path | None,
        output_option(
            "The diagram to write; its ending is .gradwire.json. Without it, a new file in "
            "the current folder that is named like the model."
        ),
    ] = None,
    shapes: Annotated[
        list[str] | None,
        typer.Option(
            "--shape",
            metavar="NAME=2,3",
            help="The shape of an input where the model leaves lengths open. May be repeated.",
            show_default=False,
        ),
    ] = None,
    loss: Annotated[
        str,
        typer.Option(
            "--loss",
            metavar="NAME",
            help="The output to minimise; without it the only output, if that is one number.",
            show_default=False,
        ),
    ] = "",
    training: Annotated[
        bool,
        typer.Option("--training", help="Import BatchNorm, Dropout and the like as in training."),
    ] = False,
    seed: Annotated[
        int, typer.Option("--seed", metavar="N", help="Seed of inputs that have no numbers.", min=0)
    ] = 0,
    json: Json = False,
) -> None:
    """Import a model of another system as a diagram.

    The format is recognised by the content of the file. Large arrays go into a safetensors file
    beside the diagram. Nothing of the model is executed.
    """
    target = _target(file, output)
    options = ImportOptions(dict(map(_shape, shapes or ())), loss, training, seed)
    with shown_reading():
        found = import_apart(file, options, progress=report)
    save(found.diagram, target)
    if json:
        print_json(_to_json(found, target))
    else:
        show(_parts(found, target))


def _target(file: Path, output: Path | None) -> Path:
    if output is not None:
        if not output.name.lower().endswith(ENDING):
            raise UsageError(f"{output}: a diagram has another ending.", expected=ENDING)
        return output
    target = Path(f"{file.absolute().name.partition('.')[0] or 'model'}{ENDING}")
    if target.exists():
        raise UsageError(f"{target} is there already.", next_step="Say where to write with -o.")
    return target


def _shape(text: str) -> tuple[str, Shape]:
    try:
        return parse_shape(text)
    except ValueError:
        raise UsageError(f"--shape {text}: this is no shape.", expected="NAME=2,3") from None


def _parts(found: Imported, target: Path) -> list[Part]:
    pages = found.diagram.pages.values()
    kinds = Counter(block.type_name() for page in pages for block in page.blocks.values())
    losses = [name for name, block in found.diagram.main.blocks.items() if block.head]
    parts: list[Part] = [
        str(target),
        f"{counted(sum(kinds.values()), 'block')} on {counted(len(pages), 'page')}, "
        f"{counted(len(found.parameters), 'parameter')}; loss: {', '.join(losses) or 'none'}",
    ]
    rows: list[tuple[str, ...]] = [
        (remark.kind, remark.block, remark.written, remark.text) for remark in found.remarks[:_MOST]
    ]
    if len(found.remarks) > _MOST:
        rows.append(("", "", "", f"and {len(found.remarks) - _MOST:,} more"))
    if rows:
        parts.append(TextTable("Remarks", ("about", "block", "written at", "what"), tuple(rows)))
    return parts


def _to_json(found: Imported, target: Path) -> dict[str, object]:
    """``{"report": "import", "version": 1, …}``."""
    remarks = [
        {name: getattr(remark, name) for name in ("kind", "text", "block", "written")}
        for remark in found.remarks
    ]
    return {
        "report": "import",
        "version": 1,
        "file": visible(str(target)),
        "parameters": dict(found.parameters),
        "inputs": dict(found.inputs),
        "outputs": dict(found.outputs),
        "remarks": remarks,
    }
