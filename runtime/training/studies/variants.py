"""The variants of a study: one diagram with other parameters and another recipe."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from gradwire.blocks.errors import FileError, Location, ParameterError
from gradwire.blocks.nearest import did_you_mean
from gradwire.runtime.diagram import MAIN, Diagram, load
from gradwire.runtime.diagram.files.models import TRAINING
from gradwire.runtime.diagram.paths import InstancePath

if TYPE_CHECKING:
    from gradwire.runtime.training.studies.files import Study, Variant


def diagram_of(study: Study, path: Path) -> Diagram:
    """The diagram of a study that lies at ``path``; raises FileError."""
    if Path(study.diagram).is_absolute():
        raise FileError(
            "The diagram's path is not relative.",
            path=str(path),
            expected="a path from the folder of the study",
            got=study.diagram[:80],
        )
    return load(path.parent / study.diagram)


def with_variant(diagram: Diagram, variant: Variant) -> Diagram:
    """The diagram with the parameters and the recipe of a variant.

    Raises ParameterError where a block or one of its parameters is not there, BuildError for a
    recipe that can't be one.
    """
    for place, values in variant.set.items():
        path = InstancePath(place)
        diagram = _with_block(diagram, str(path.use) or MAIN, path.name, values)
    if not variant.training:
        return diagram
    record = diagram.training.to_record() if diagram.training is not None else {}
    return replace(diagram, training=TRAINING.given(record | dict(variant.training)))


def _with_block(diagram: Diagram, page: str, name: str, values: Mapping[str, object]) -> Diagram:
    blocks = diagram.pages[page].blocks if page in diagram.pages else {}
    if name not in blocks:
        places = [
            block if known == MAIN else InstancePath.of(known, block)
            for known, content in diagram.pages.items()
            for block in content.blocks
        ]
        place = name if page == MAIN else InstancePath.of(page, name)
        raise ParameterError(
            f"A variant sets parameters of {place!r}, and there is no such block.",
            expected="BLOCK, or PAGE/BLOCK for one that is not on the main page",
            next_step=did_you_mean(place, places),
        )
    try:
        changed = blocks[name].with_parameters(**values)
    except ParameterError as error:
        raise error.at(Location(block=name, page=page)) from None
    content = diagram.pages[page]
    return diagram.with_page(page, replace(content, blocks={**content.blocks, name: changed}))
