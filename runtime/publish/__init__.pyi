from gradwire.runtime.publish.contents import included as included
from gradwire.runtime.publish.diff import (
    DiffReport as DiffReport,
    diff_report as diff_report,
    short as short,
)
from gradwire.runtime.publish.exercises import (
    MOST_PAGES as MOST_PAGES,
    exercise_files as exercise_files,
    names_in as names_in,
    read_names as read_names,
    write_together as write_together,
)
from gradwire.runtime.publish.living.lesson import Exercise as Exercise
from gradwire.runtime.publish.living.publishing import (
    ExercisePages as ExercisePages,
    Published as Published,
    published as published,
)
from gradwire.runtime.publish.printable import visible as visible, xml_text as xml_text
from gradwire.runtime.publish.text import (
    bytes_text as bytes_text,
    plain as plain,
    time_text as time_text,
)
