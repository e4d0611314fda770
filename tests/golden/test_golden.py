"""The golden numbers, and proof that the runner sees what is wrong with a number, null or case."""

from __future__ import annotations

import copy
import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.golden import gradients, mxnet_executor
from tests.golden.__main__ import main
from tests.golden.cases import DATA, Case, choices
from tests.golden.runner import GOLDEN, cases, check, documents, find_case, run

COUNTS = {
    "basics": 44,
    "edge_cases": 19,
    "ivy_containers": 44,
    "mxnet_executor": 31,
    "optimisers": 89,
    "random_1": 100,
    "tf_behaviour": 49,
    "training": 9,
    "usecases": 24,
}
LEFT_OUT = {
    "ivy_containers": {"misc out_container", "misc out_int_dtype"},
    "mxnet_executor": {"naming NameManager", "naming Prefix('page1_')"},
    "tf_behaviour": {
        "dtype_bfloat16",
        "dtype_complex64",
        "dtype_complex128",
        "dtype_string",
        "dict_fails",
        "forward_mode",
        "names",
        "nonpersistent_twice",
        "prevent_gradient",
        "ragged",
    },
}
CHOICES = {
    "edge_cases": ["cases"],
    "ivy_containers": ["misc", "left_out"],
    "mxnet_executor": ["gradients", "left_out"],
    "tf_behaviour": ["programs", "left_out"],
}
FILES = {path.stem: list(cases(path)) for path in sorted(DATA.glob("*.json"))}
RUN = [
    pytest.param(case, id=f"{stem}-{case}")
    for stem, found in FILES.items()
    for case in found
    if case.check is not None
]


@pytest.mark.parametrize("case", RUN)
def test_case(case: Case) -> None:
    assert [str(difference) for difference in check(case)] == []


def test_no_case_is_missing() -> None:
    counts = {stem: sum(c.check is not None for c in found) for stem, found in FILES.items()}
    left_out = {stem: {str(c) for c in found if c.left_out} for stem, found in FILES.items()}
    assert counts == COUNTS
    assert {stem: names for stem, names in left_out.items() if names} == LEFT_OUT


def test_choices_speak_of_cases_that_there_are() -> None:
    for stem, keys in CHOICES.items():
        told = choices(stem)
        found = {str(case).removeprefix("misc ") for case in FILES[stem]} | {"naming"}
        assert {identity for key in keys for identity in told[key]} <= found
    edges = choices("edge_cases")["cases"]
    assert set(edges) == {str(case) for case in FILES["edge_cases"]}
    assert all(choice["reason"] for choice in edges.values())


# ---- what is wrong is seen --------------------------------------------------------------------


def document(stem: str) -> dict[str, Any]:
    return dict(next(documents(DATA / f"{stem}.json")))


def one(stem: str, identity: str) -> dict[str, Any]:
    """The document with one of its cases alone, to be changed at will."""
    read = copy.deepcopy(document(stem))
    (case,) = [case for case in read["cases"] if case["id"] == identity]
    return {"schema": read["schema"], "x": read.get("x"), "y": read.get("y"), "cases": [case]}


def written(folder: Path, *contents: Any) -> Path:
    path = folder / "case.json"
    path.write_text(json.dumps(contents[0] if len(contents) == 1 else contents))
    return path


def leaves(tree: Any, place: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """The places of all numbers and nulls."""
    if isinstance(tree, dict | list):
        for key in tree if isinstance(tree, dict) else range(len(tree)):
            yield from leaves(tree[key], (*place, key))
    elif tree is None or isinstance(tree, int | float):
        yield place


def corrupted(tree: Any, place: tuple[Any, ...]) -> None:
    for key in place[:-1]:
        tree = tree[key]
    value = tree[place[-1]]
    if isinstance(value, bool):
        tree[place[-1]] = not value
    else:
        tree[place[-1]] = 0.0 if value is None else value + 1e-3


EXPECTATIONS = [
    ("basics", "two_losses_one_stopped", ("expect", "forward")),
    ("basics", "two_losses_one_stopped", ("expect", "backward")),
    ("basics", "where_condition", ("expect", "forward")),
    ("basics", "gumbel_hard", ("expect", "backward")),
    ("basics", "second_order_stop_grad", ("expect", "backward")),
    ("usecases", "gan_stop", ("expect", "backward", "d_step", "grads")),
    ("training", "enuspace_gd_single", ("final_variables",)),
    ("training", "mx_seed", ("history",)),
    ("mxnet_executor", "grad_req_list", ("log", 0, "outputs")),
    ("mxnet_executor", "grad_req_list", ("log", 3, "grad_dict")),
    ("mxnet_executor", "stopped_add_prefilled", ("log", 1, "grad_dict")),
    ("mxnet_executor", "stop_after_makeloss_does_not_stop", ("log", 1, "grad_dict")),
    ("mxnet_executor", "grad_req_dict_missing", ("log", 1, "grad_dict")),
    ("ivy_containers", "kc_a_apply_True_prune_False", ("intended_path_aware", "grads")),
    ("ivy_containers", "deep_enc_l1_apply_True_prune_True", ("loss",)),
    ("tf_behaviour", "unconnected_none", ("result",)),
    ("tf_behaviour", "graph_seed", ("result",)),
    ("tf_behaviour", "wrt_stop_output", ("result",)),
    ("tf_behaviour", "shape_empty", ("result",)),
]


@pytest.mark.sampled(one_in=3)
@pytest.mark.parametrize(("stem", "identity", "within"), EXPECTATIONS, ids=str)
def test_every_corrupted_number_and_null_fails(
    stem: str, identity: str, within: tuple[Any, ...], tmp_path: Path
) -> None:
    read = one(stem, identity)
    assert not run(written(tmp_path, read)).failed
    expected = read["cases"][0]
    for key in within:
        expected = expected[key]
    places = list(leaves(expected))
    assert places
    for place in places:
        wrong = copy.deepcopy(read)
        corrupted(wrong, ("cases", 0, *within, *place))
        result = run(written(tmp_path, wrong))
        assert [identity for identity, _ in result.failed] == [identity], place


def differences(case: dict[str, Any]) -> list[str]:
    found = check(Case("case", lambda: gradients.check(case)))
    return [str(difference) for difference in found]


def basic(identity: str) -> Any:
    return copy.deepcopy(find_case(identity, DATA))


def test_the_tolerance_is_relative_to_one_or_more() -> None:
    case = basic("x_times_stop_x")
    number = case["expect"]["backward"]["loss"]["grads"]["x"]
    exact = number[0]
    number[0] = exact + 0.9e-9 * max(1.0, abs(exact))
    assert differences(case) == []
    number[0] = exact + 1.1e-9 * max(1.0, abs(exact))
    assert len(differences(case)) == 1


def test_a_zero_is_not_a_null() -> None:
    case = basic("zero_vs_null")
    case["expect"]["backward"]["loss"]["grads"]["y"] = None
    assert differences(case) == [
        "loss: gradient of y: expected null, got [0.0, 0.0, 0.0]",
        "loss: whether y carries: expected False, got True",
    ]


def test_a_null_is_not_a_zero() -> None:
    case = basic("unused_variable")
    case["expect"]["backward"]["loss"]["grads"]["y"] = [0.0, 0.0, 0.0]
    assert differences(case) == [
        "loss: gradient of y: expected [0.0, 0.0, 0.0], got null",
        "loss: whether y carries: expected True, got False",
    ]


def test_a_wrong_adjoint_fails() -> None:
    case = basic("fanout_one_stopped")
    adjoints = case["expect"]["backward"]["loss"]["adjoints"]
    assert next(iter(case["stops"])) in adjoints
    adjoints[case["stops"][0]] = None
    (found,) = differences(case)
    assert found.startswith(f"loss: adjoint of {case['stops'][0]}: expected null, got [")


def test_shapes_dtypes_and_argument_order_count() -> None:
    case = basic("where_condition")
    case["expect"]["dtypes"] = {"greater0": "float64"}
    case["expect"]["forward"]["w"] = [case["expect"]["forward"]["w"]]
    case["checks"] = {"a system": {"list_arguments": ["y", "x"]}}
    found = differences(case)
    assert len(found) == 3
    assert "shape (1, " in found[0]
    assert found[1] == "dtype of greater0: expected float64, got bool"
    assert found[2] == "arguments as in a system: expected ['y', 'x'], got ['x', 'y']"


def test_non_finite_numbers_are_compared(tmp_path: Path) -> None:
    read = one("edge_cases", "sqrt0")
    case = read["cases"][0]
    case["id"] = "sqrt_at_zero"  # not among the choices: held against the reference
    torch = case["results"]["torch 2.13.0+cpu"]
    assert not run(written(tmp_path, read)).failed
    for wrong in ("-inf", "nan", 1e300):
        torch["grad"][0] = wrong
        assert run(written(tmp_path, read)).failed, wrong


def test_our_choice_stands_against_the_systems(tmp_path: Path) -> None:
    read = one("edge_cases", "maximum_tie")
    for found in read["cases"][0]["results"].values():
        found["grad"] = [0.0, 1.0, 1.0]
    assert not run(written(tmp_path, read)).failed


def test_a_stopped_loss_is_stopped_and_mxnet_is_explained() -> None:
    (case,) = one("mxnet_executor", "stop_after_makeloss_does_not_stop")["cases"]
    case["id"] = "another id"  # for which no numbers of our own are written down
    assert mxnet_executor.check(case).differences == []
    case["log"][1]["grad_dict"] = {"a": [1.0, 1.0]}  # ours, which isn't MXNet's
    assert len(mxnet_executor.check(case).differences) == 1


def test_an_error_that_does_not_come_fails() -> None:
    (case,) = one("mxnet_executor", "no_loss_needs_out_grads")["cases"]
    case["log"][1]["out_grads"] = [[1.0, 1.0]]
    (found,) = mxnet_executor.check(case).differences
    assert str(found).startswith("log 1, backward: expected HeadError")


# ---- cases of the same kinds, written otherwise -----------------------------------------------


def case_of(op: str, params: Any, x: Any, forward: Any, gradient: Any) -> dict[str, Any]:
    """One op of x, differentiated; keys that may be missing are."""
    node = {"name": "y", "op": op, "inputs": ["x"]}
    return {
        "id": op,
        "variables": {"x": {"value": x}},
        "nodes": [node if params is ... else node | {"params": params}],
        "backwards": [{"id": "b", "heads": [{"node": "y"}]}],
        "expect": {"forward": {"y": forward}, "backward": {"b": {"grads": {"x": gradient}}}},
    }


MATRIX = [[1.0, 2.0], [3.0, 5.0]]
ONES = [[1.0, 1.0], [1.0, 1.0]]
VARIATIONS = [
    case_of("sum", ..., MATRIX, 11.0, ONES),
    case_of("sum", None, MATRIX, 11.0, ONES),
    case_of("sum", {"axis": None}, MATRIX, 11.0, ONES),
    case_of("sum", {"axis": [0, 1], "keepdims": True}, MATRIX, [[11.0]], ONES),
    case_of("sum", {"axis": [-1]}, MATRIX, [3.0, 8.0], ONES),
    case_of("sum", {"keepdims": None}, 3.0, 3.0, 1.0),
    case_of("mean", {"axis": -2, "keepdims": False}, MATRIX, [2.0, 3.5], [[0.5, 0.5]] * 2),
    case_of("max", {"axis": [0, 1]}, MATRIX, 5.0, [[0.0, 0.0], [0.0, 1.0]]),
    case_of("max", ..., -2.0, -2.0, 1.0),
    case_of("logsumexp", {"axis": [0], "keepdims": True}, [0.0], [0.0], [1.0]),
    case_of("softmax", ..., [0.0], [1.0], [0.0]),
    case_of("log_softmax", {"axis": None}, [7.0], [0.0], [0.0]),
    case_of("transpose", ..., [[1.0, 2.0]], [[1.0], [2.0]], [[1.0, 1.0]]),
    case_of("reshape", {"shape": []}, [4.0], 4.0, [1.0]),
    case_of("reshape", {"shape": [-1]}, MATRIX, [1.0, 2.0, 3.0, 5.0], ONES),
    case_of("slice", {"begin": [1, 0], "size": [1, 2]}, MATRIX, [[3.0, 5.0]], [[0, 0], [1, 1]]),
    case_of("clip", {"min": None, "max": 2.0}, [1.0, 2.0, 3.0], [1.0, 2.0, 2.0], [1, 1, 0]),
    case_of("clip", {"min": 2}, [1.0, 2.0, 3.0], [2.0, 2.0, 3.0], [0, 1, 1]),
    case_of("make_loss", {"grad_scale": None, "normalization": None}, [1.0, 3.0], [1, 3], [1, 1]),
    case_of(
        "make_loss", {"normalization": "batch", "grad_scale": 3}, [1.0, 3.0], [1, 3], [1.5] * 2
    ),
    case_of("sqrt", ..., [0.0, "inf"], [0.0, "inf"], ["inf", 0.0]),
    case_of("exp", {}, [], [], []),
]


@pytest.mark.sampled(one_in=3)
@pytest.mark.parametrize("case", VARIATIONS, ids=lambda case: str(case["id"]))
def test_variations_of_parameters(case: dict[str, Any]) -> None:
    assert differences(case) == []


def test_heads_given_twice_seeds_and_constants_of_all_kinds() -> None:
    case = {
        "id": "mixed",
        "variables": {"x": {"value": [2, 3]}, "s": {"value": 2}},
        "constants": {
            "rows": {"value": [1, 1, 0]},
            "mask": {"value": [True, False, True]},
            "zero": {"value": 0},
        },
        "nodes": [
            {"name": "taken", "op": "gather", "inputs": ["x", "rows"], "params": {}},
            {"name": "kept", "op": "where", "inputs": ["mask", "taken", "zero"]},
            {"name": "y", "op": "mul", "inputs": ["kept", "s"]},
            {"name": "best", "op": "argmax", "inputs": ["y"]},
        ],
        "backwards": [
            {
                "id": "twice",
                "heads": [{"node": "y", "seed": None}, {"node": "y", "seed": [1.0, 2.0, 3.0]}],
                "wrt": ["x"],
            },
            {"id": "variable", "heads": [{"node": "s", "seed": 5.0}]},
        ],
        "expect": {
            "forward": {"kept": [3.0, 0.0, 2.0], "best": 0},
            "dtypes": {"best": "int64", "mask": "bool", "x": "float64"},
            "backward": {
                "twice": {
                    "grads": {"x": [8.0, 4.0]},
                    "adjoints": {"y": [2.0, 3.0, 4.0], "rows": None, "mask": None, "best": None},
                },
                "variable": {"grads": {"x": None, "s": 5.0}},
            },
        },
    }
    assert differences(case) == []


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"op": "sine"}, "there is no op 'sine'"),
        ({"inputs": ["z"]}, "reads 'z', which does not come before it"),
        ({"inputs": ["x", "x"]}, "Too many inputs"),
        ({"params": {"axes": 0}}, "has no parameter or input 'axes'"),
        ({"params": {"axis": 4}}, "axis"),
        ({"name": "x"}, "two nodes are called 'x'"),
    ],
)
def test_a_bad_case_is_a_failure_with_its_message(change: dict[str, Any], message: str) -> None:
    case = case_of("sum", {}, MATRIX, 11.0, ONES)
    case["nodes"][0] |= change
    (found,) = differences(case)
    assert found.startswith("run: expected no error, got ") and message in found


def test_a_case_that_compares_nothing_fails() -> None:
    case = case_of("sum", {}, MATRIX, 11.0, ONES) | {"expect": {}}
    assert differences(case) == ["case: expected something to compare, got nothing"]


def test_training_by_a_named_diagram_of_the_same_folder_and_with_seeds(tmp_path: Path) -> None:
    diagram = case_of("square", ..., [3.0, 1.0], [9.0, 1.0], [6.0, 2.0]) | {"id": "own"}
    diagram["backwards"][0]["heads"][0]["seed"] = [1.0, 0.0]
    training = {
        "schema": "gradwire-training/1",
        "id": "own_training",
        "diagram": "own",
        "lr": 0.25,
        "steps": 2,
        "history": [{"step": 1, "backward": "b", "head": [[2.25, 1.0]]}],
        "final_variables": {"x": [0.75, 1.0]},
    }
    written(tmp_path, {"schema": GOLDEN, "cases": [diagram]}).rename(tmp_path / "own.json")
    path = written(tmp_path, training)
    assert run(path).passed == ["own_training"]
    assert run(written(tmp_path, training | {"diagram": "nobody's"})).failed


# ---- the command ------------------------------------------------------------------------------


@pytest.mark.night
def test_the_command_counts_and_passes() -> None:
    command = [sys.executable, "-m", "tests.golden", "tests/golden/data/training.json"]
    ended = subprocess.run(command, capture_output=True, text=True, cwd=DATA.parents[2])
    assert (ended.returncode, ended.stderr) == (0, "")
    assert ended.stdout == "tests/golden/data/training.json: 9 passed, 0 failed\n"


def test_failures_are_named_and_do_not_stop_the_rest(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    wrong = case_of("sum", {}, MATRIX, 12.0, ONES) | {"id": "wrong"}
    right = case_of("sum", {}, MATRIX, 11.0, ONES) | {"id": "right"}
    bad: list[Any] = [{}, None, {"id": "bare"}]
    path = written(tmp_path, {"schema": GOLDEN, "cases": [wrong, *bad, right]})
    assert main([str(tmp_path)]) == 1
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == f"{path}: 1 passed, 4 failed"
    assert lines[1] == "  wrong: forward y: expected 12.0, got 11.0"
    assert [line.partition(":")[0] for line in lines[2:]] == ["  case 1", "  case 2", "  bare"]


def test_one_case_and_a_list_of_cases_are_files_too(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    case = case_of("sum", {}, MATRIX, 11.0, ONES) | {"schema": GOLDEN}
    path = written(tmp_path, case)
    assert main([str(path)]) == 0
    written(tmp_path, case, one("mxnet_executor", "seed_bind_2"))
    assert main([str(path)]) == 0
    assert capsys.readouterr().out == f"{path}: 1 passed, 0 failed\n{path}: 2 passed, 0 failed\n"


def test_many_differences_are_shortened(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    case = basic("wgan_gp")
    case["expect"] = {"forward": dict.fromkeys(case["expect"]["forward"], "nan")}
    count = len(case["expect"]["forward"])
    path = written(tmp_path, case | {"schema": GOLDEN})
    assert main([str(path)]) == 1
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 1 + 5 + 1
    assert lines[-1] == f"  wgan_gp: and {count - 5} more differences"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('{"schema": "gradwire-golden/9", "cases": []}', "unknown schema 'gradwire-golden/9'"),
        ('{"cases": []}', "unknown schema 'none'"),
        ("[1]", "expected objects with a schema"),
        ("{", "can't be read"),
        ('"\ud800"', "can't be read"),
    ],
)
def test_an_unreadable_file_is_an_error(
    text: str, message: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "file.json"
    path.write_bytes(text.encode("utf-8", "surrogatepass"))
    assert main([str(path), str(DATA / "edge_cases.json")]) == 2
    printed = capsys.readouterr()
    assert message in printed.err and str(path) in printed.err
    assert "19 passed, 0 failed" in printed.out


def test_a_path_that_leads_nowhere_is_an_error(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([str(tmp_path), str(tmp_path / "none.json")]) == 2
    folder, file = capsys.readouterr().err.splitlines()
    assert folder.endswith("no JSON file in this folder") and file.endswith("no such file")


@pytest.mark.parametrize("key", ["applied_paths", "output_paths"])
def test_a_leaf_stopped_or_pruned_that_should_not_be_fails(key: str, tmp_path: Path) -> None:
    read = one("ivy_containers", "kc_multi_apply_True_prune_True")
    assert not run(written(tmp_path, read)).failed
    paths = read["cases"][0]["intended_path_aware"][key]
    paths.append("b/c")
    assert run(written(tmp_path, read)).failed
    paths[:] = ["a"]
    assert run(written(tmp_path, read)).failed
