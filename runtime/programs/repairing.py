"""Repairs of a user's program, each tried before it is offered.

A patch is applied to what a new process reads of the program's files, and nowhere else; the model
is captured again there, and the patch offered only if that shows what was promised: the finding is
gone, and there is none that was not there before.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import NamedTuple, TypeAlias

from gradwire.blocks.errors import FileError
from gradwire.runtime.diagram.files.regular import read_regular
from gradwire.runtime.diagram.files.storage import replace_file, system_errors
from gradwire.runtime.flow import State, diagnose
from gradwire.runtime.flow.tools.findings import UNREGISTERED
from gradwire.runtime.interchange.importing.process import ask, error_of
from gradwire.runtime.programs.answers import Subject
from gradwire.runtime.programs.patches import Patch, at_line, called_at, of_attributes, of_functions
from gradwire.runtime.programs.references import CHILD, parse_reference
from gradwire.runtime.programs.reviews import FilePlace, written_place
from gradwire.runtime.progress_bars import bar
from gradwire.runtime.watch import Trouble

_MOST_BYTES = 8 << 20
"""Size of a file of a program, at most."""
STEPS = 20
"""Updates that a script is watched for."""
_BAD = (State.ZERO, State.NONFINITE)
_NUMBER = re.compile(r"\d+")


class PatchOffer(NamedTuple):
    """A patch that helps: against what, and what was seen with it."""

    patch: Patch
    against: str
    shown: str


class Attempt(NamedTuple):
    """All that was found wrong and tried."""

    wrong: int
    """How many findings there were."""
    tried: int
    """How many patches were tried."""
    offers: Sequence[PatchOffer]

    @property
    def json(self) -> dict[str, object]:
        """The same as numbers, texts, lists and dicts."""
        patches = [
            {
                "file": offer.patch.file,
                "what": offer.patch.what,
                "against": offer.against,
                "shown": offer.shown,
                "diff": offer.patch.diff,
            }
            for offer in self.offers
        ]
        return {"wrong": self.wrong, "tried": self.tried, "patches": patches}


class _Trouble(NamedTuple):
    """What is to be repaired: where it is, which parameters it is about, and the sentence."""

    key: tuple[str, ...]
    place: FilePlace | None
    parameters: tuple[str, ...]
    sentence: str
    is_unregistered: bool = False


class _Look(NamedTuple):
    """What is wrong with a program, and which of its parameters get gradient."""

    troubles: Sequence[_Trouble]
    passes: Mapping[str, bool]
    files: Mapping[str, str]
    certainty: str = ""
    subject: Subject | None = None


Looking: TypeAlias = Callable[[Mapping[str, str]], _Look]
"""Looks at a program with other contents of some files, by their absolute paths."""


def _never() -> bool:
    return False


def attempted(
    program: str,
    parameter: str = "",
    arguments: Sequence[str] = (),
    *,
    steps: int = STEPS,
    cancelled: Callable[[], bool] = _never,
) -> Attempt:
    """Patches of a program, against each thing that is wrong, or for one parameter of a model.

    It is a reference to what makes a model, or a script that trains, which gets ``arguments`` and
    is watched for some ``steps``. Raises FileError where it can't be run, RunError for a parameter
    that isn't there, Interrupted once cancelled.
    """
    if parse_reference(program) is not None:
        looking = partial(_look_at_model, program, cancelled)
        return _Repairing(looking, parameter).attempt()
    script = Path(program)
    if parameter or script.suffix == ".json":
        raise FileError(
            "Only a program can be patched, and for one parameter only a model of one.",
            path=program,
            expected="a function, as model.py:make",
        )
    request = {"script": program, "arguments": list(arguments), "steps": steps}
    return _Repairing(partial(_look_at_script, script, request, cancelled)).attempt()


def apply_patches(found: Sequence[PatchOffer]) -> Iterator[PatchOffer]:
    """Write patches into the program's files; those that no longer fit another's are left out.

    Gives those that were written. Raises FileError.
    """
    done: set[str] = set()
    for offer in found:
        file = offer.patch.file
        if file not in done and _text(Path(file)) == offer.patch.before:
            with system_errors(Path(file), "write"):
                replace_file(Path(file), offer.patch.after.encode())
            done.add(file)
            yield offer


class _Repairing:
    def __init__(self, look: Looking, parameter: str = "") -> None:
        self._look, self._parameter = look, parameter
        self._before = look({})
        self._tried: dict[str, _Look | None] = {}

    def attempt(self) -> Attempt:
        troubles = [self._asked()] if self._parameter else self._before.troubles
        found: dict[str, PatchOffer] = {}
        with bar("Trying patches") as progress:
            for trouble in troubles:
                for patch in self._candidates(trouble):
                    progress.move(len(self._tried))
                    if patch.after in found:
                        break
                    if shown := self._shown(patch, trouble):
                        found[patch.after] = PatchOffer(patch, trouble.sentence, shown)
                        break
        return Attempt(len(troubles), len(self._tried), tuple(found.values()))

    def _asked(self) -> _Trouble:
        """That one parameter gets no gradient."""
        subject = self._before.subject
        assert subject is not None  # only a model is asked for a parameter
        path = subject.path(self._parameter)
        verdict = subject.observed.variable(path)
        written = next((c.written for c in verdict.cutters if c.written), "")
        place = written_place(written, self._before.files)
        return _Trouble(("", path), place, (subject.called(path),), verdict.sentence)

    def _candidates(self, trouble: _Trouble) -> Iterator[Patch]:
        files = self._before.files.values()
        if trouble.is_unregistered:
            names = {part for name in trouble.parameters for part in re.split("[./]", name)}
            for file in files:
                yield from of_attributes(file, _text(Path(file)), names)
        elif trouble.place is not None:
            file, line = trouble.place
            text = _text(Path(file))
            yield from at_line(file, text, line)
            called = called_at(text, line)
            for other in files:
                yield from of_functions(other, _text(Path(other)), called)

    def _shown(self, patch: Patch, trouble: _Trouble) -> str:
        """What the patched program does better; empty where it doesn't."""
        after = self._patched(patch)
        if after is None:
            return ""
        known = {each.key for each in self._before.troubles}
        found = {each.key for each in after.troubles}
        if trouble.key in found or not found <= known:
            return ""
        if not all(after.passes.get(name, False) for name in trouble.parameters):
            return ""
        count = len(trouble.parameters)
        what = f"{', '.join(trouble.parameters[:4])}{' and others' if count > 4 else ''}"
        gets = f"{what} {'gets' if count == 1 else 'get'} gradient; " if count else ""
        left = f"{len(self._before.troubles)} → {len(after.troubles)} findings"
        return f"{gets}{left}. {after.certainty}".rstrip()

    def _patched(self, patch: Patch) -> _Look | None:
        """The patched program; None where it raises."""
        if patch.after not in self._tried:
            try:
                look = self._look({str(Path(patch.file).absolute()): patch.after})
            except FileError:
                look = None
            self._tried[patch.after] = look
        return self._tried[patch.after]


def _look_at_model(model: str, cancelled: Callable[[], bool], replaced: Mapping[str, str]) -> _Look:
    subject = Subject(model, cancelled, replaced)
    found = diagnose(subject.session) if subject.flow.losses else []
    trained = subject.flow.program.trainable
    troubles = [
        _Trouble(
            (finding.complaint.name, _NUMBER.sub("", finding.key)),
            written_place(finding.written, subject.files),
            tuple(
                subject.called(name)
                for name in finding.affected or (finding.key,)
                if name in trained
            ),
            finding.sentence,
            finding.complaint is UNREGISTERED,
        )
        for finding in found
    ]
    passes = {}
    for name in trained:
        state = subject.observed.variable(name).state
        passes[subject.called(name)] = state.row.passes and state not in _BAD
    return _Look(troubles, passes, subject.files, subject.certainty, subject)


def _look_at_script(
    script: Path,
    request: Mapping[str, object],
    cancelled: Callable[[], bool],
    replaced: Mapping[str, str],
) -> _Look:
    asked = {**request, "replaced": dict(replaced)}
    answer = ask(CHILD, asked, what="The program", threads=None, cancelled=cancelled)
    if "error" in answer:
        raise error_of(answer["error"], script)
    if answer["exit_code"]:
        raise FileError(f"It ended with exit code {answer['exit_code']}.", path=str(script))
    files, models = answer["files"], answer["models"]
    troubles, passes = [], {}
    for number, model in enumerate(models):
        prefix = "" if len(models) == 1 else f"{model['model']}{number + 1}."
        for row in model["parameters"]:
            passes[prefix + row["name"]] = row["state"] == "carries"
        for found in model["findings"]:
            named = tuple(prefix + name for name in found["parameters"])
            places = (written_place(written, files) for written in found["written"])
            troubles.append(
                _Trouble(
                    (found["trouble"], *named),
                    next((place for place in places if place), None),
                    named,
                    found["sentence"],
                    found["trouble"] == Trouble.UNREGISTERED.value,
                )
            )
    return _Look(troubles, passes, files, f"Seen in {request['steps']} steps.")


def _text(file: Path) -> str:
    try:
        return read_regular(file, _MOST_BYTES).decode("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is not UTF-8 text"
        raise FileError(f"The program can't be read: {reason}.", path=str(file)) from None
