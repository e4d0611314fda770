"""Changes of source, each of one place and of nothing else."""

from __future__ import annotations

import ast

import pytest

pytest.importorskip("libcst")

from gradwire.runtime.programs.patches import (
    at_line,
    called_at,
    of_attributes,
    of_functions,
)


def changed(patches) -> list[str]:
    """The lines after each change that were not there before."""
    found = []
    for patch in patches:
        ast.parse(patch.after)
        old = patch.before.splitlines()
        found += [line for line in patch.after.splitlines() if line not in old]
    return found


@pytest.mark.parametrize(
    ("line", "after"),
    [
        ("y = f(x.detach())", "y = f(x)"),
        ("y = torch.detach(x) + 1", "y = x + 1"),
        ("y = (a + b).detach() * 2", "y = (a + b) * 2"),
        ("y = f(x.data)", "y = f(x)"),
        ("y = torch.tensor([a, b], dtype=d)", "y = torch.stack([a, b])"),
        (
            "y = torch.as_tensor([f(a) for a in b]).sum()",
            "y = torch.stack([f(a) for a in b]).sum()",
        ),
        ("y = torch.tensor(a)", "y = a"),
        ("y = checkpoint(f, x)", "y = checkpoint(f, x, use_reentrant=False)"),
        (
            "y = cp.checkpoint(f, x, use_reentrant=True)",
            "y = cp.checkpoint(f, x, use_reentrant=False)",
        ),
        ("y = torch.log(p)", "y = torch.log(p.clamp(min=1e-8))"),
        ("y = (p + q).log()", "y = (p + q).clamp(min=1e-8).log()"),
        ("y = torch.sqrt(p - q)", "y = torch.sqrt((p - q).clamp(min=1e-8))"),
    ],
)
def test_a_line(line, after):
    assert changed(at_line("m.py", f"# first\n{line}\n", 2)) == [after]


@pytest.mark.parametrize(
    "line",
    ["w.requires_grad_(True)", "y = x.detach_()", "y = detached(x)", "y = x + 1", "y = logs(x)"],
)
def test_what_is_something_else_stays(line):
    assert changed(at_line("m.py", f"{line}\n", 1)) == []
    assert changed(at_line("m.py", f"\n{line}\nz = w.detach()\n", 2)) == []


@pytest.mark.parametrize(
    "line",
    ["x = x.detach()", "self.w.requires_grad_(False)", "w.requires_grad_(requires_grad=False)"],
)
def test_a_statement_that_does_nothing_else_goes(line):
    source = f"def f(x):\n    a = 1\n    {line}\n    return x\n"
    (patch,) = at_line("m.py", source, 3)
    assert patch.after == source.replace(f"    {line}\n", "")


def test_the_only_statement_of_a_block_leaves_pass():
    (patch,) = at_line("m.py", "if a:\n    x = x.detach()\n", 2)
    assert patch.after == "if a:\n    pass\n"


def test_each_of_several_on_a_line():
    found = changed(at_line("m.py", "y = f(a.detach(), b.detach())\n", 1))
    assert sorted(found) == ["y = f(a, b.detach())", "y = f(a.detach(), b)"]


def test_a_block_without_gradient_is_dissolved_with_its_comments():
    source = (
        "def f(x):\n    # why\n    with torch.no_grad():\n"
        "        a = g(x)  # one\n\n        b = a\n    return b\n"
    )
    (patch,) = at_line("m.py", source, 3)
    assert patch.after == ("def f(x):\n    # why\n    a = g(x)  # one\n\n    b = a\n    return b\n")
    (patch,) = at_line("m.py", "with torch.no_grad(), scope() as s:\n    y = 1\n", 1)
    assert patch.after == "with scope() as s:\n    y = 1\n"
    (patch,) = at_line("m.py", "with torch.inference_mode(): y = 1\n", 1)
    assert patch.after == "y = 1\n"
    assert list(at_line("m.py", "with open(p) as f:\n    y = 1\n", 1)) == []


def test_a_decorated_function():
    source = (
        "class A:\n    @once\n    @torch.no_grad()\n    def f(self): return 1\n"
        "    def g(self): return 2\n"
    )
    (patch,) = of_functions("m.py", source, {"f", "g"})
    assert patch.after == source.replace("    @torch.no_grad()\n", "")
    assert called_at("y = a.f(g(x))\n", 1) == {"f", "g"}


@pytest.mark.parametrize(
    ("imports", "called"),
    [
        ("import torch", "torch.nn"),
        ("from torch import nn", "nn"),
        ("import torch.nn as tn", "tn"),
        ("from torch import nn as layers", "layers"),
    ],
)
def test_a_list_of_modules(imports, called):
    source = (
        f"{imports}\nclass A:\n    def __init__(self):\n"
        "        self.parts = [f(i) for i in y]\n        self.other = []\n"
    )
    assert changed(of_attributes("m.py", source, {"parts"})) == [
        f"        self.parts = {called}.ModuleList([f(i) for i in y])"
    ]
    assert changed(
        of_attributes("m.py", source.replace("[f(i) for i in y]", "{'a': f(1)}"), {"parts"})
    ) == [f"        self.parts = {called}.ModuleDict({{'a': f(1)}})"]


def test_a_list_that_was_made_before():
    source = "import torch.nn as nn\nself.layers = layers\n"
    found = [patch.after.splitlines()[-1] for patch in of_attributes("m.py", source, {"layers"})]
    assert found == ["self.layers = nn.ModuleList(layers)", "self.layers = nn.ModuleDict(layers)"]


def test_what_is_no_python_has_no_patches():
    assert list(at_line("m.py", "def (", 1)) == []
    assert called_at("def (", 1) == frozenset()


def test_the_diff_applies():
    (patch,) = at_line("m.py", "a = 1\ny = x.detach()", 2)
    assert (
        patch.diff == "--- a/m.py\n+++ b/m.py\n@@ -1,2 +1,2 @@\n a = 1\n-y = x.detach()\n+y = x\n"
    )
