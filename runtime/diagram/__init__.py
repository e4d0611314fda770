"""Diagrams: what they are, how they change, how they are checked, stored and laid out."""

from runtime.diagram import layout
from runtime.diagram.changes import (
    AddBlock,
    Arrange,
    Batch,
    BendWire,
    Change,
    Connect,
    Disconnect,
    Edit,
    InsertPage,
    MoveBlocks,
    RemoveBlocks,
    RemovePage,
    RenameBlock,
    RenamePage,
    SetNote,
    SetParameters,
    SetTitle,
    apply,
    can_connect,
)
from runtime.diagram.checks import check
from runtime.diagram.diagnostics import Diagnostic, Severity
from runtime.diagram.files import dumps, load, loads, save
from runtime.diagram.grouping import group, ungroup
from runtime.diagram.layout import arrange
from runtime.diagram.model import (
    MAIN,
    Diagram,
    Note,
    Page,
    Point,
    PortName,
    Ports,
    Wire,
    ports,
)
from runtime.diagram.names import NAME_RULE, fresh_name, fresh_names, is_name
from runtime.diagram.schema import json_schema

__all__ = [
    "MAIN",
    "NAME_RULE",
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
    "MoveBlocks",
    "Note",
    "Page",
    "Point",
    "PortName",
    "Ports",
    "RemoveBlocks",
    "RemovePage",
    "RenameBlock",
    "RenamePage",
    "SetNote",
    "SetParameters",
    "SetTitle",
    "Severity",
    "Wire",
    "apply",
    "arrange",
    "can_connect",
    "check",
    "dumps",
    "fresh_name",
    "fresh_names",
    "group",
    "is_name",
    "json_schema",
    "layout",
    "load",
    "loads",
    "ports",
    "save",
    "ungroup",
]
