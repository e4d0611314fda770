"""The lesson of a diagram as data of its page: texts and conditions as trees, which are never code.

A text is a list of plain parts, and of lists with the tree of an expression, and with the digits
behind the point of its numbers where the text asks for some. A tree is a number, a text, true or
false, or a list ``[operation, *trees]``: ``["==", ["grad", "w"], 8]``. Operations are those of
``gradwire.runtime.lessons.conditions``; a chain of comparisons is ``["chain", a, "<", b, "<", c]``,
the tree of None is null. Contracts become the same trees. ``["published", text]`` stands for a
what-if that only the runtime can try.
"""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any, TypeAlias

from gradwire.blocks.classes.dataclass import dataclass
from gradwire.blocks.errors import RunError
from gradwire.runtime.flow.analyse import analyse
from gradwire.runtime.flow.tools.contracts import Contract, meant_by
from gradwire.runtime.flow.words.states import PASSING
from gradwire.runtime.lessons.answers import lesson_digest
from gradwire.runtime.lessons.conditions import Condition, parse_condition, parse_goal
from gradwire.runtime.lessons.expressions.goals import asked_about
from gradwire.runtime.lessons.setting import MAX_SEED
from gradwire.runtime.lessons.texts import parse_text

if TYPE_CHECKING:
    from gradwire.runtime.diagram import Diagram
    from gradwire.runtime.diagram.lesson import LessonStep
    from gradwire.runtime.diagram.paths import PortPath
    from gradwire.runtime.engine.program import Program
    from gradwire.runtime.lessons.texts import TextSlot

Tree: TypeAlias = "list[Tree] | str | float | bool | None"

_OPERATORS: Mapping[type[ast.AST], str] = {
    ast.Add: "+", ast.Sub: "-", ast.Mult: "*", ast.Div: "/", ast.Pow: "**",
    ast.And: "and", ast.Or: "or", ast.Not: "not", ast.USub: "negative",
    ast.Eq: "==", ast.NotEq: "!=", ast.Lt: "<", ast.LtE: "<=", ast.Gt: ">", ast.GtE: ">=",
    ast.Is: "is", ast.IsNot: "is not",
}  # fmt: skip
_TEXTS = ("text", "after")
_HUGE = 1.7e308
MOST_LETTERS = 200
"""Of a learner's name, as in files of answers."""


@dataclass(frozen=True, slots=True)
class Exercise:
    """Whose exercise a page is: ``seed`` chooses its numbers, and 0 leaves that to the reader.

    With ``learners`` the reader chooses a name, of which each has a seed: 1 for the first.
    """

    seed: int = 0
    learners: tuple[str, ...] = ()

    def require(self, diagram: Diagram) -> None:
        """Raise RunError unless the diagram has a lesson whose numbers vary, and this fits it."""
        if self == FOR_ANYONE:
            return
        if diagram.lesson is None or not diagram.lesson.vary:
            raise RunError(
                "The numbers of this diagram don't vary by a seed.",
                next_step="Give its lesson the field vary, with numbers to choose from.",
            )
        if not 0 <= self.seed <= MAX_SEED:
            raise RunError(
                "The seed is out of range.", expected=f"0 to {MAX_SEED}", got=str(self.seed)
            )
        names = Counter(self.learners)
        twice = next((name for name, count in names.items() if count > 1), None)
        if twice is not None:
            raise RunError(f"{twice!r} is in the list twice.", next_step="Give each name once.")
        if long := next((name for name in names if not 0 < len(name) <= MOST_LETTERS), None):
            raise RunError(f"The name {long[:40]!r}… has more than {MOST_LETTERS} characters.")

    def to_record(self) -> dict[str, object]:
        """What a page knows about it."""
        return {"seed": self.seed, "learners": list(self.learners)}


FOR_ANYONE = Exercise()


def lesson_data(
    diagram: Diagram, program: Program, exercise: Exercise = FOR_ANYONE
) -> dict[str, object]:
    """The field ``lesson``; none without a lesson. Raises ConditionError for what is no condition.

    Feedback, hints and options are texts as well; goals are words that don't give them away.
    """
    if diagram.lesson is None or not diagram.lesson.steps:
        return {}
    writer = _Writer(program)
    record = diagram.lesson.to_record()
    return {
        "lesson": {
            **record,
            "goal": text_parts(diagram.lesson.goal),
            "digest": lesson_digest(diagram),
            "vary": [[path, values] for path, values in diagram.lesson.vary.items()],
            **exercise.to_record(),
            "steps": list(map(writer.step, diagram.lesson.steps, record["steps"])),
        }
    }


def text_parts(
    text: str, published: Callable[[TextSlot], str | None] = lambda slot: None
) -> list[Tree]:
    """The parts of a text; ``published`` is what an expression is worth that a page can't compute,
    None for the others.
    """
    parts = parse_text(text).parts
    return [part if isinstance(part, str) else _slot(part, published(part)) for part in parts]


def _slot(slot: TextSlot, published: str | None = None) -> Tree:
    if published is not None:
        return [["published", published]]
    tree = tree_of(slot.condition.tree)
    return [tree] if slot.places is None else [tree, float(slot.places)]


def tree_of(node: ast.expr) -> Tree:
    """The tree of an expression, whose grammar has been checked."""
    match node:
        case ast.Constant(value=bool() | str() | None as value):
            return value
        case ast.Constant(value=int() | float() as value):
            return float(value)
        case ast.BoolOp(op=op, values=values):
            return [_OPERATORS[type(op)], *map(tree_of, values)]
        case ast.UnaryOp(op=op, operand=operand):
            return [_OPERATORS[type(op)], tree_of(operand)]
        case ast.BinOp(left=left, op=op, right=right):
            return [_OPERATORS[type(op)], tree_of(left), tree_of(right)]
        case ast.Compare(left=left, ops=[op], comparators=[right]):
            return [_OPERATORS[type(op)], tree_of(left), tree_of(right)]
        case ast.Compare(left=left, ops=ops, comparators=others):
            links = zip(ops, others, strict=True)
            return ["chain", tree_of(left), *(x for op, y in links for x in _link(op, y))]
        case ast.Call(func=ast.Name(id=name), args=args):
            return [name, *map(tree_of, args)]
        case ast.Subscript(value=value, slice=index):
            return ["item", tree_of(value), float(ast.literal_eval(index))]
    raise AssertionError(ast.dump(node))  # the grammar has nothing else


def _link(op: ast.cmpop, right: ast.expr) -> list[Tree]:
    return [_OPERATORS[type(op)], tree_of(right)]


class _Writer:
    """Writes the steps of a lesson for one diagram."""

    def __init__(self, program: Program) -> None:
        self._program = program

    def step(self, step: LessonStep, record: Mapping[str, Any]) -> dict[str, object]:
        """A step, with texts in parts and conditions as trees."""
        found = dict(record)
        found |= {name: text_parts(found[name]) for name in _TEXTS if name in found}
        if "hints" in found:
            found["hints"] = [text_parts(hint) for hint in found["hints"]]
        if "feedback" in found:
            found["feedback"] = {k: text_parts(text) for k, text in found["feedback"].items()}
        if "wrong" in found:
            found["wrong"] = [_belief(each) for each in found["wrong"]]
        if "goals" in found:
            losses = found.get("losses", ())
            found["goals"] = [self._goal(text, losses) for text in found["goals"]]
        if "options" in found:
            found["options"] = [_option(option) for option in found["options"]]
            found["withheld"] = sorted(asked_about(step))
        return found

    def _goal(self, text: str, losses: Iterable[str]) -> dict[str, Tree]:
        goal = parse_goal(text)
        tree = (
            tree_of(goal.tree)
            if isinstance(goal, Condition)
            else self._contract(goal.contract, list(losses))
        )
        return {"text": goal.words, "tree": tree}

    def _contract(self, contract: Contract, losses: list[str]) -> Tree:
        """All that a contract requires; false where it names nothing."""
        flow = analyse(self._program, losses or None)
        heads, subjects = meant_by(contract, flow)
        if not heads or not subjects or contract.kind == "updates":
            return False
        pairs = [(subject, head) for head in heads for subject in subjects]
        return ["and", *(self._required(contract.kind, *pair) for pair in pairs)]

    def _required(self, kind: str, subject: str, head: PortPath) -> Tree:
        is_wire = subject in self._program.wire_sources
        gradient: Tree = ["contribution" if is_wire else "grad", subject, head]
        passes: Tree = ["is not", gradient, None]
        if is_wire:
            state: Tree = ["state", subject, head]
            passes = ["or", *(["==", state, str(each)] for each in sorted(PASSING))]
        if kind == "flows":
            return passes
        if kind == "blocked":
            return ["not", passes]
        largest: Tree = ["max", ["abs", gradient]]
        if kind == "nonzero":
            return ["and", passes, ["!=", ["sum", ["abs", gradient]], 0.0]]
        return ["or", ["not", passes], ["<=", largest, _HUGE]]


def _belief(record: Mapping[str, str]) -> dict[str, object]:
    text = record["answer"]
    answer = None if text.strip() == "None" else tree_of(parse_condition(text).tree)
    return {**record, "answer": answer, "feedback": text_parts(record["feedback"])}


def _option(record: Mapping[str, str]) -> dict[str, object]:
    return {
        "text": text_parts(record["text"]),
        "holds": tree_of(parse_condition(record["holds"]).tree),
        "feedback": text_parts(record.get("feedback", "")),
    }
