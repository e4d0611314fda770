"""The diagram model, and how diagrams are edited, checked, stored and laid out."""

from typing import TYPE_CHECKING

from gradwire.blocks import imported_on_use
from gradwire.blocks.names import NAME_RULE, fresh_names, is_name

if TYPE_CHECKING:
    from gradwire.runtime.diagram.checks.checks import check
    from gradwire.runtime.diagram.checks.diagnostics import Diagnostic, Severity
    from gradwire.runtime.diagram.edits.applying import Edit, apply, can_connect
    from gradwire.runtime.diagram.edits.changes import (
        AddBlock,
        Arrange,
        Batch,
        BendWire,
        Change,
        Connect,
        Disconnect,
        InsertPage,
        MoveBlocks,
        RemoveBlocks,
        RemovePage,
        RenameBlock,
        RenamePage,
        SetLesson,
        SetNote,
        SetParameters,
        SetTitle,
        SetTraining,
        SetViews,
        StyleBlocks,
    )
    from gradwire.runtime.diagram.edits.grouping import (
        copied_page,
        group,
        new_page,
        own_page,
        page_of,
        uses,
    )
    from gradwire.runtime.diagram.edits.ungrouping import unfold, ungroup
    from gradwire.runtime.diagram.files.schema import json_schema
    from gradwire.runtime.diagram.files.storage import Pulse, dumps, load, loads, save
    from gradwire.runtime.diagram.layout.arranging import arrange
    from gradwire.runtime.diagram.model import (
        MAIN,
        Diagram,
        Note,
        Page,
        Point,
        Ports,
        Style,
        View,
        Wire,
        ports,
        same_meaning,
    )
    from gradwire.runtime.diagram.names import fresh_name
    from gradwire.runtime.diagram.paths import ROOT, InstancePath, PortName, PortPath, WirePath

__all__ = [
    "MAIN",
    "NAME_RULE",
    "ROOT",
    "AddBlock",
    "Arrange",
    "Batch",
    "BendWire",
    "Change",
    "Connect",
    "Diagnostic",
    "Diagram",
    "Disconnect",
    "Edit",
    "InsertPage",
    "InstancePath",
    "MoveBlocks",
    "Note",
    "Page",
    "Point",
    "PortName",
    "PortPath",
    "Ports",
    "Pulse",
    "RemoveBlocks",
    "RemovePage",
    "RenameBlock",
    "RenamePage",
    "SetLesson",
    "SetNote",
    "SetParameters",
    "SetTitle",
    "SetTraining",
    "SetViews",
    "Severity",
    "Style",
    "StyleBlocks",
    "View",
    "Wire",
    "WirePath",
    "apply",
    "arrange",
    "can_connect",
    "check",
    "copied_page",
    "dumps",
    "fresh_name",
    "fresh_names",
    "group",
    "is_name",
    "json_schema",
    "load",
    "loads",
    "new_page",
    "own_page",
    "page_of",
    "ports",
    "same_meaning",
    "save",
    "unfold",
    "ungroup",
    "uses",
]

__getattr__ = imported_on_use(
    __name__,
    {
        "checks.checks": "check",
        "checks.diagnostics": "Diagnostic Severity",
        "edits.applying": "Edit apply can_connect",
        "edits.changes": "AddBlock Arrange Batch BendWire Change Connect Disconnect InsertPage "
        "MoveBlocks RemoveBlocks RemovePage RenameBlock RenamePage SetLesson SetNote SetParameters "
        "SetTitle SetTraining SetViews StyleBlocks",
        "edits.grouping": "copied_page group new_page own_page page_of uses",
        "edits.ungrouping": "unfold ungroup",
        "files.schema": "json_schema",
        "files.storage": "Pulse dumps load loads save",
        "layout.arranging": "arrange",
        "model": "MAIN Diagram Note Page Point Ports Style View Wire ports same_meaning",
        "names": "fresh_name",
        "paths": "ROOT InstancePath PortName PortPath WirePath",
    },
)
