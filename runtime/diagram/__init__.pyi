from gradwire.blocks.names import (
    NAME_RULE as NAME_RULE,
    fresh_names as fresh_names,
    is_name as is_name,
)
from gradwire.runtime.diagram.bypass import passing_input as passing_input
from gradwire.runtime.diagram.checks.checks import check as check
from gradwire.runtime.diagram.checks.diagnostics import (
    Diagnostic as Diagnostic,
    Severity as Severity,
)
from gradwire.runtime.diagram.diff import (
    DiagramChanges as DiagramChanges,
    PageChanges as PageChanges,
)
from gradwire.runtime.diagram.edits.applying import (
    Edit as Edit,
    apply as apply,
    can_connect as can_connect,
)
from gradwire.runtime.diagram.edits.changes import (
    AddBlock as AddBlock,
    Arrange as Arrange,
    Batch as Batch,
    BendWire as BendWire,
    Change as Change,
    Connect as Connect,
    Disconnect as Disconnect,
    InsertPage as InsertPage,
    MoveBlocks as MoveBlocks,
    RemoveBlocks as RemoveBlocks,
    RemovePage as RemovePage,
    RenameBlock as RenameBlock,
    RenamePage as RenamePage,
    SetLesson as SetLesson,
    SetNote as SetNote,
    SetParameters as SetParameters,
    SetTitle as SetTitle,
    SetTraining as SetTraining,
    SetViews as SetViews,
    StyleBlocks as StyleBlocks,
)
from gradwire.runtime.diagram.edits.clipboard import (
    STEP as STEP,
    Paste as Paste,
    copied as copied,
    differs as differs,
    inserted as inserted,
    page_offered as page_offered,
    pasted as pasted,
    shared_page as shared_page,
    updated as updated,
)
from gradwire.runtime.diagram.edits.grouping import (
    FIRST_PORTS as FIRST_PORTS,
    copied_page as copied_page,
    group as group,
    new_page as new_page,
    own_page as own_page,
    page_of as page_of,
    uses as uses,
)
from gradwire.runtime.diagram.edits.owning import (
    move_out as move_out,
    own_variables as own_variables,
    ownable_inputs as ownable_inputs,
    owned_inputs as owned_inputs,
)
from gradwire.runtime.diagram.edits.ungrouping import unfold as unfold, ungroup as ungroup
from gradwire.runtime.diagram.files.data_paths import at_home as at_home, home_of as home_of
from gradwire.runtime.diagram.files.locks import locked as locked
from gradwire.runtime.diagram.files.parsing import MAX_CHARACTERS as MAX_CHARACTERS
from gradwire.runtime.diagram.files.presets import (
    PresetName as PresetName,
    Presets as Presets,
    preset_type as preset_type,
    preset_values as preset_values,
    with_preset as with_preset,
)
from gradwire.runtime.diagram.files.records import changed_block as changed_block
from gradwire.runtime.diagram.files.regular import (
    PROMPT as PROMPT,
    answered as answered,
    open_regular as open_regular,
    read_regular as read_regular,
    resolved as resolved,
)
from gradwire.runtime.diagram.files.schema import json_schema as json_schema
from gradwire.runtime.diagram.files.storage import (
    SUFFIX as SUFFIX,
    Pulse as Pulse,
    dumps as dumps,
    load as load,
    loads as loads,
    replace_file as replace_file,
    save as save,
    tensors_named as tensors_named,
)
from gradwire.runtime.diagram.layout.arranging import arrange as arrange
from gradwire.runtime.diagram.layout.graph import ShownSizes as ShownSizes
from gradwire.runtime.diagram.layout.making_room import (
    nearest_vacancy as nearest_vacancy,
    push_aside as push_aside,
)
from gradwire.runtime.diagram.layout.measures import (
    FOOT as FOOT,
    HEADER as HEADER,
    LANE_PITCH as LANE_PITCH,
    ROW as ROW,
    WIDTH as WIDTH,
    block_height as block_height,
    collapsed_offset as collapsed_offset,
    port_offset as port_offset,
    view_size as view_size,
)
from gradwire.runtime.diagram.lesson import (
    LANGUAGE as LANGUAGE,
    MAX_TEXT as MAX_TEXT,
    BuildStep as BuildStep,
    ChangeStep as ChangeStep,
    CheckStep as CheckStep,
    Lesson as Lesson,
    PaintStep as PaintStep,
    PredictStep as PredictStep,
    ShowStep as ShowStep,
)
from gradwire.runtime.diagram.merging import (
    SIDES as SIDES,
    Conflict as Conflict,
    Side as Side,
    Three as Three,
    merge as merge,
    with_names as with_names,
)
from gradwire.runtime.diagram.model import (
    LEAST_SIZE as LEAST_SIZE,
    MAIN as MAIN,
    MOST_SIZE as MOST_SIZE,
    PLAIN as PLAIN,
    Diagram as Diagram,
    Note as Note,
    Page as Page,
    Point as Point,
    Ports as Ports,
    Route as Route,
    Size as Size,
    Style as Style,
    View as View,
    Wire as Wire,
    page_ports as page_ports,
    ports as ports,
    same_meaning as same_meaning,
)
from gradwire.runtime.diagram.names import (
    OLDER_STATES as OLDER_STATES,
    fresh_name as fresh_name,
)
from gradwire.runtime.diagram.optimisers import METHODS as METHODS, SGDMethod as SGDMethod
from gradwire.runtime.diagram.pages import (
    Address as Address,
    all_blocks as all_blocks,
    first_use as first_use,
    page_at as page_at,
    resolve as resolve,
    used_by as used_by,
    uses_of as uses_of,
)
from gradwire.runtime.diagram.paths import (
    ROOT as ROOT,
    InstancePath as InstancePath,
    PortName as PortName,
    PortPath as PortPath,
    WirePath as WirePath,
)
from gradwire.runtime.diagram.training import (
    SCHEDULES as SCHEDULES,
    AnySchedule as AnySchedule,
    Average as Average,
    Group as Group,
    OptimiserRule as OptimiserRule,
    Training as Training,
)
