"""Trajectories of optimisers, schedules, clipping, groups, averages, missing gradients, and games.

Every problem is a diagram. What a recipe can say runs through the Trainer; missing gradients and
the steps within a round run through ``Session.step``.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

import gradwire.runtime.build as b
from gradwire.runtime.diagram.optimisers import METHODS
from gradwire.runtime.diagram.training import SCHEDULES, Clip, Training
from gradwire.runtime.engine import Session
from gradwire.runtime.training.iterations.in_place import clip_gradients
from gradwire.runtime.training.optimisers import MethodOptimiser, rate
from gradwire.runtime.training.optimisers.arithmetic import Arithmetic
from gradwire.runtime.training.trainer import Trainer
from tests.golden.cases import Case, identified
from tests.golden.comparison import Comparison

Array = NDArray[Any]
Record = Mapping[str, Any]
_KINDS = {method.model_fields["kind"].default: method for method in METHODS}
_SCHEDULES = {each.model_fields["kind"].default: each for each in SCHEDULES}
_CLASSES = {
    each.method_type.model_fields["kind"].default: each for each in MethodOptimiser.__subclasses__()
}
_OPTIONS = {"T_max": "t_max"}


def cases(document: Record) -> Iterator[Case]:
    """All cases, defaults, schedules and games of a file."""
    problems, steps = document["problems"], document["steps"]
    for identity, case in identified(document):
        check = _check_missing if case.get("missing") else _check_case
        yield Case(identity, partial(check, case, problems, steps))
    for case in document["library_defaults"]:
        yield Case(case["id"], partial(_check_case, case, problems, steps, by_default=True))
    for case in document["schedules"]:
        yield Case(f"schedule {case['id']}", partial(_check_schedule, case))
    for case in document["alternating"]:
        yield Case(case["id"], partial(_check_game, case, problems["gan"]))


def _method(optimizer: Record, by_default: bool = False) -> dict[str, Any]:
    """The method of a recipe: what is not given is neutral, or with ``by_default`` our default."""
    options = {key: value for key, value in optimizer.items() if key != "name"}
    kind = optimizer["name"]
    if not by_default:
        options.setdefault("weight_decay", 0.0)
    if kind in ("adamw", "lion"):
        options.pop("decoupled_weight_decay", None)  # it always is
    return {"kind": kind, **options}


def _schedule(schedule: Record | None) -> dict[str, Any]:
    record = dict(schedule or {"name": "constant"})
    kind = record.pop("name")
    return {"kind": kind, **{_OPTIONS.get(key, key): value for key, value in record.items()}}


def _clip(record: Record | None) -> Clip | None:
    if record is None:
        return None
    return Clip(by="norm" if record["by"] == "global_norm" else "value", limit=record["limit"])


def _expected(runs: Record) -> Record:
    """PyTorch's numbers, or else Optax's with a count that does not round rates to float32."""
    for name in ("torch", "optax_float64_count", "optax"):
        found: Record = runs.get(name) or {}
        if "loss" in found or "history" in found:
            return found
    raise ValueError("no system has numbers for this case")


def _rows(columns: Mapping[str, Any], batch: int, folder: Path) -> dict[str, Any]:
    """Ports of a data set that has these rows, one batch after another."""
    file = folder / "rows.npz"
    np.savez(file, **{name: np.asarray(rows, np.float64) for name, rows in columns.items()})
    rows = b.block(
        "Dataset",
        name="rows",
        source="npz",
        path=str(file),
        columns={name: {"dtype": "float64"} for name in columns},
        batch=batch,
        shuffle=False,
    )
    return dict(zip(columns, rows, strict=True))


def _variables(init: Mapping[str, Any]) -> dict[str, Any]:
    return {name: b.variable(name, value, dtype="float64") for name, value in init.items()}


def _averages(init: Mapping[str, Any], ema: Record | None) -> tuple[list[Any], list[Any]]:
    """Frozen variables for averages, in outputs of their own, and the rules."""
    if ema is None:
        return [], []
    blocks = [
        b.variable(f"{name}_average", value, dtype="float64", trainable=False)
        for name, value in init.items()
    ]
    rules = [{"name": f"ema_{name}", "of": name, "into": f"{name}_average", **ema} for name in init]
    return blocks, rules


def _quad(problem: Record, v: Mapping[str, Any], c: Any, d: Any, e: Any) -> tuple[Any, Any]:
    """The loss without the term of z, and that term."""
    half = np.float64(0.5)
    r = v["x"] - c
    s = v["y"] - b.matmul(v["x"], np.array(problem["B"]).T) - d
    q = v["z"] - b.sum(v["y"]) - e
    first = half * b.sum(r * b.matmul(r, np.array(problem["A"]))) + half * b.sum(s * s)
    return first, half * b.sum(q * q)


def _mlp(v: Mapping[str, Any], x: Any, t: Any) -> Any:
    hidden = b.tanh(b.matmul(x, v["W1"]) + v["b1"])
    return b.mean(b.square(b.matmul(hidden, v["W2"]) + v["b2"] - t))


def _check_case(case: Record, problems: Record, steps: int, by_default: bool = False) -> Comparison:
    comparison, expected = Comparison(), _expected(case["runs"])
    problem = problems[case["problem"]]
    accumulate = case.get("accumulate") or {"batches": 1, "reduce": "mean"}
    rule = {
        "name": "opt",
        "method": _method(case["optimizer"], by_default),
        "schedule": _schedule(case.get("schedule")),
        "clip": _clip(case.get("clip")),
        "accumulate": accumulate["batches"],
        "reduce": accumulate["reduce"],
        "groups": [
            {"variables": group["params"], "lr": group["lr"], "weight_decay": group["weight_decay"]}
            for group in case.get("groups") or ()
        ],
    }
    v = _variables(problem["init"])
    held, averages = _averages(problem["init"], case.get("ema"))
    training = Training.model_validate({"optimisers": [rule], "averages": averages})
    quad, times = case["problem"] == "quad", accumulate["batches"]
    columns = (
        {k: [batch[k] for batch in problem["batches"]] for k in "cde"}
        if quad
        else {"X": problem["X"], "T": problem["T"]}
    )
    with tempfile.TemporaryDirectory() as folder:
        if times > 1:  # each pass of a round has other rows
            data = _rows(columns, 1 if quad else len(problem["X"]) // times, Path(folder))
        else:
            first = {name: rows[0] if quad else rows for name, rows in columns.items()}
            data = {name: b.constant(name, rows, dtype="float64") for name, rows in first.items()}
        loss = sum(_quad(problem, v, *data.values())) if quad else _mlp(v, *data.values())
        session = Session(b.build(b.loss(loss, name="loss"), *held))
        trainer = Trainer(session, training)
        for step in range(1, steps + 1):
            if quad and times == 1:
                for name, rows in columns.items():
                    session.set(name, rows[(step - 1) % len(rows)])
            _compare(comparison, expected, str(step), case, trainer.step(), session)
    return comparison


def _compare(
    comparison: Comparison, expected: Record, key: str, case: Record, record: Any, session: Session
) -> None:
    if key not in expected["loss"]:
        return
    comparison.close(f"step {key}: loss", expected["loss"][key], sum(record.losses.values()))
    values = session.values
    for name, numbers in expected["params"][key].items():
        comparison.close(f"step {key}: {name}", numbers, values[name])
    for name, numbers in (expected.get("ema") or {}).get(key, {}).items():
        comparison.close(f"step {key}: average of {name}", numbers, values[f"{name}_average"])
    of = record.optimisers["opt"]
    if "grad_norm" in expected:
        comparison.close(f"step {key}: norm", expected["grad_norm"][key], of.grad_norm)
    if "lr" in expected:
        wanted = expected["lr"][key]
        comparison.close(f"step {key}: rate", np.ravel(wanted)[0].item(), of.lr)
        schedule = _SCHEDULES[case["schedule"]["name"]](**_options(case["schedule"]))
        for group, lr in zip(case.get("groups") or (), np.ravel(wanted), strict=False):
            found = rate(schedule, group["lr"], int(key) - 1)
            comparison.close(f"step {key}: rate of {group['params']}", lr.item(), np.array(found))


def _options(schedule: Record) -> dict[str, Any]:
    options = _schedule(schedule)
    del options["kind"]
    return options


def _check_missing(case: Record, problems: Record, steps: int) -> Comparison:
    """Steps of which the odd ones leave a term out; ``as: zero`` makes its gradients zeros."""
    unknown = set(case) & {"schedule", "accumulate", "ema", "groups"}
    if unknown or case["problem"] != "quad":
        raise ValueError(f"missing gradients go with quad alone, not with {unknown}")
    comparison, expected = Comparison(), _expected(case["runs"])
    problem, missing = problems["quad"], case["missing"]
    if (missing["never"], missing["odd"]) != (["u"], ["z"]):
        raise ValueError(f"only u and z can miss gradients, not {missing}")
    v = _variables(problem["init"] | problem["extra_init"])
    batches = problem["batches"]
    data = {k: b.constant(k, batches[0][k], dtype="float64") for k in "cde"}
    first, second = _quad(problem, v, *data.values())
    session = Session(b.build(b.loss(first, name="first"), b.loss(second, name="second"), v["u"]))
    method = _method(case["optimizer"])
    optimiser = _CLASSES[method.pop("kind")](**method)
    unconnected = "none" if missing["as"] == "none" else "zero"
    names = list(v)
    for step in range(1, steps + 1):
        for k in "cde":
            session.set(k, np.asarray(batches[(step - 1) % len(batches)][k], np.float64))
        losses = ["first"] if step % 2 else ["first", "second"]
        run = session.backward(losses, wrt=names, unconnected=unconnected)
        gradients = {
            name: None if gradient is None else np.array(gradient)
            for name, gradient in run.gradients.items()
        }
        flat = [gradient for gradient in gradients.values() if gradient is not None]
        norm = sum(float(np.vdot(gradient, gradient)) for gradient in flat) ** 0.5
        if (limit := _clip(case.get("clip"))) is not None:
            clip_gradients(flat, limit, norm)
        for name, value in optimiser.update(session.values, gradients).items():
            session.set(name, value)
        key = str(step)
        if key not in expected["loss"]:
            continue
        loss = sum(run.values[f"{name}.out"] for name in losses)
        comparison.close(f"step {key}: loss", expected["loss"][key], loss)
        if "grad_norm" in expected:
            comparison.close(f"step {key}: norm", expected["grad_norm"][key], np.array(norm))
        for name, numbers in expected["params"][key].items():
            comparison.close(f"step {key}: {name}", numbers, session.values[name])
        for name, state in (expected.get("state") or {}).get(key, {}).items():
            _compare_state(comparison, f"step {key}: {name}", state, optimiser, name)
    return comparison


def _compare_state(
    comparison: Comparison, what: str, expected: Any, optimiser: MethodOptimiser, name: str
) -> None:
    """Adagrad's state before its first update counts as none: PyTorch makes it beforehand."""
    state = optimiser.state(name)
    if expected is None or expected.get("step") == 0:
        comparison.same(f"{what}: state", {}, state)
        return
    for slot, numbers in expected.items():
        if slot == "mu_product":
            made = Arithmetic(optimiser.method).program(1, 0.0).kept(state["step"])
            comparison.close(f"{what}: {slot}", numbers, np.array(made[slot]))
        else:
            comparison.close(f"{what}: {slot}", numbers, np.asarray(state[slot], np.float64))


def _check_schedule(case: Record) -> Comparison:
    """The rates; past the end of a cosine only PyTorch's, for Optax's stay at their least."""
    comparison = Comparison()
    name = next(
        name
        for name in ("torch", "optax_float64_count", "optax")
        if isinstance(case.get(name), list)
    )
    schedule = _SCHEDULES[case["schedule"]["name"]](**_options(case["schedule"]))
    end = getattr(schedule, "warmup_steps", 0) + getattr(schedule, "t_max", len(case[name]))
    wanted = case[name] if name == "torch" else case[name][: end + 1]
    found = np.array([rate(schedule, case["lr"], n) for n in range(len(wanted))])
    comparison.close("rates", wanted, found)
    return comparison


def _game(case: Record, v: Mapping[str, Any], real: Any, d: Any, g: Any) -> tuple[Any, Any]:
    """The losses of the two players."""
    one, gp = np.float64(1.0), np.float64(0.5 * case["gp"])
    if case["kind"] == "bilinear":
        loss_d = v["theta"] * v["a"] - gp * v["a"] * v["a"] + np.float64(0.0) * v["c"]
        loss_g = v["theta"] * v["a"] + gp * b.square(v["theta"])
        return loss_d, loss_g + np.float64(0.5) * b.square(v["s"])

    def opinion(x: Any) -> Any:
        return v["a"] * x + v["c"]

    def made(noise: Any) -> Any:
        return v["theta"] + v["s"] * noise

    loss_d = b.mean(b.softplus(-opinion(real))) + b.mean(b.softplus(opinion(made(d))))
    if case["kind"] == "nonsaturating":
        loss_g = b.mean(b.softplus(-opinion(made(g))))
    elif case["kind"] == "saturating":
        loss_g = -one * b.mean(b.softplus(opinion(made(g))))
    else:
        raise ValueError(f"there is no game {case['kind']!r} in this schema")
    return loss_d + gp * b.square(v["a"]), loss_g


def _check_game(case: Record, problem: Record) -> Comparison:
    comparison, history = Comparison(), _expected(case["runs"])["history"]
    _play_by_steps(comparison, case, problem, history)
    _play_by_rounds(comparison, case, problem, history)
    return comparison


def _play_by_steps(comparison: Comparison, case: Record, problem: Record, history: Any) -> None:
    """Each update by ``Session.step``, with all that is recorded of it."""
    v = _variables(problem["init"])
    rows = {k: np.asarray(problem[k], np.float64) for k in ("real", "noise_d", "noise_g")}
    data = {name: b.constant(name, array[0], dtype="float64") for name, array in rows.items()}
    loss_d, loss_g = _game(case, v, *data.values())
    session = Session(b.build(b.loss(loss_d, name="D"), b.loss(loss_g, name="G"), *data.values()))
    players = {
        name: _CLASSES[(method := _method(case[f"{name}_optimizer"])).pop("kind")](**method)
        for name in "dg"
    }
    k = 0
    for entry in history:
        turn = (entry["step"] - 1) % len(rows["noise_g"])
        session.set("noise_g", rows["noise_g"][turn])
        before = None
        if case.get("order") == "simultaneous":
            before = session.backward(["G"], wrt=["theta", "s"])
        for i in range(case["d_steps"]):
            for name in ("real", "noise_d"):
                session.set(name, rows[name][k % len(rows[name])])
            run = session.step(players["d"], ["D"], wrt=["a", "c"])
            k += 1
            what = f"step {entry['step']}, update {i + 1} of D"
            comparison.close(f"{what}: loss", entry["loss_d"][i], run.values["D.out"])
            after = np.array([session.values["a"], session.values["c"]])
            comparison.close(f"{what}: a, c", entry["after_d"][i], after)
        if before is None:
            before = session.step(players["g"], ["G"], wrt=["theta", "s"])
        else:
            for name, value in players["g"].update(session.values, before.gradients).items():
                session.set(name, value)
        comparison.close(
            f"step {entry['step']}: loss of G", entry["loss_g"], before.values["G.out"]
        )
        _compare_params(comparison, entry, session)


def _play_by_rounds(comparison: Comparison, case: Record, problem: Record, history: Any) -> None:
    """The same game as a recipe; its rows are in the order of the passes of a round."""
    times, simultaneous = case["d_steps"], case.get("order") == "simultaneous"
    passes: list[tuple[int, int]] = []
    for round_ in range(len(history)):
        of_d = [(round_ * times + i, round_) for i in range(times)]
        of_g = [(round_ * times, round_)]
        passes += [of_d[0], *of_g, *of_d[1:]] if simultaneous else [*of_d, *of_g]
    columns = {
        "real": [problem["real"][k % len(problem["real"])] for k, _ in passes],
        "noise_d": [problem["noise_d"][k % len(problem["noise_d"])] for k, _ in passes],
        "noise_g": [problem["noise_g"][r % len(problem["noise_g"])] for _, r in passes],
    }
    training = {
        "optimisers": [
            {
                "name": name,
                "method": _method(case[f"{name}_optimizer"]),
                "variables": names,
                "losses": [name.upper()],
                "steps": times if name == "d" else 1,
            }
            for name, names in (("d", ["a", "c"]), ("g", ["theta", "s"]))
        ],
        "order": case.get("order", "alternating"),
    }
    with tempfile.TemporaryDirectory() as folder:
        v = _variables(problem["init"])
        data = _rows(columns, 1, Path(folder))
        loss_d, loss_g = _game(case, v, *data.values())
        diagram = b.build(b.loss(loss_d, name="D"), b.loss(loss_g, name="G"), *data.values())
        session = Session(diagram)
        trainer = Trainer(session, Training.model_validate(training))
        for entry, record in zip(history, trainer.run(len(history)), strict=True):
            what = f"round {entry['step']}"
            comparison.close(f"{what}: loss of D", entry["loss_d"][0], record.losses["D.out"])
            comparison.close(f"{what}: loss of G", entry["loss_g"], record.losses["G.out"])
            _compare_params(comparison, entry, session)


def _compare_params(comparison: Comparison, entry: Record, session: Session) -> None:
    values = session.values
    for name, number in entry["params"].items():
        comparison.close(f"step {entry['step']}: {name}", number, values[name])
