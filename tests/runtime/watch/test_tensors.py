"""Trainings of tensors that belong to no module, and those without an optimiser of PyTorch."""

from __future__ import annotations

import pytest

import gradwire as gw
from gradwire.runtime.watch import Trouble

torch = pytest.importorskip("torch")
everything = pytest.importorskip("gradwire.runtime.watch.torch.everything")
listening = pytest.importorskip("gradwire.runtime.watch.torch.listening")


def data():
    torch.manual_seed(0)
    return torch.randn(16, 4), torch.randn(16, 1)


def leaves():
    return torch.randn(4, 1, requires_grad=True), torch.zeros(1, requires_grad=True)


def updated(*tensors, rate=0.05):
    """The program's own step."""
    with torch.no_grad():
        for x in tensors:
            if x.grad is not None:
                x -= rate * x.grad
                x.grad = None


def states(watched):
    return {row.name: row.state for row in watched.report().rows}


@pytest.mark.parametrize("is_named", [False, True])
def test_tensors_are_watched_by_their_names(is_named):
    (x, y), (w, b) = data(), leaves()
    optimizer = torch.optim.SGD([w, b], 0.1)
    tensors = {"weight": w, "bias": b} if is_named else [w, b]
    with gw.watch(tensors, optimizer, quiet=True) as watched:
        for _ in range(6):
            optimizer.zero_grad()
            ((x @ w).detach() + b - y).pow(2).mean().backward()  # BUG
            optimizer.step()
    [found] = watched.found
    name = "weight" if is_named else "w"
    assert found.parameters == (name,)
    assert "detach (test_tensors.py:" in found.sentence and "stops every route" in found.sentence
    assert states(watched) == {name: "no gradient", "bias" if is_named else "b": "carries"}
    assert watched.steps == 6


def test_one_tensor_is_enough():
    x, y = data()
    w, _ = leaves()
    optimizer = torch.optim.SGD([w], 0.1)
    with gw.watch(w, optimizer, quiet=True) as watched:
        for _ in range(6):
            optimizer.zero_grad()
            (x @ w - y).pow(2).mean().backward()
            optimizer.step()
    assert (states(watched), watched.found, watched.steps) == ({"w": "carries"}, [], 6)
    assert watched.report().well.startswith("Nothing was found")


@pytest.mark.parametrize("given", [[], {}, [1.0], torch.ones(2), torch.nn.Linear, "model"])
def test_other_things_are_refused(given):
    with pytest.raises(gw.RunError, match=r"Only a module or trained tensors.*leaves"):
        gw.watch(given)


def test_what_a_program_updates_itself_counts_as_steps():
    x, y = data()
    model = torch.nn.Linear(4, 1)
    with gw.watch(model, quiet=True) as watched:
        for step in range(12):
            (model(x) - y).pow(2).mean().backward()
            updated(*model.parameters())
            if step == 3:
                assert watched.diagnosis is not None, "the first step is captured, and no other"
    assert watched.steps == 11  # the last update is not seen, as nothing is computed after it
    assert (set(states(watched).values()), watched.found) == ({"carries"}, [])


def test_an_update_of_data_is_a_step_too():
    x, y = data()
    model = torch.nn.Linear(4, 1)
    with gw.watch(model, quiet=True) as watched:
        for _ in range(6):
            (model(x) - y).pow(2).mean().backward()
            for parameter in model.parameters():
                change = parameter.grad * 0.1
                parameter.data.sub_(change)
                parameter.grad.zero_()
    assert watched.diagnosis is not None and watched.steps == 5


def test_the_capture_of_a_step_that_never_is_over_ends():
    x, y = data()
    model = torch.nn.Linear(4, 1)
    stale = torch.optim.SGD(torch.nn.Linear(4, 1).parameters(), 0.1)
    with gw.watch(model, stale, quiet=True) as watched:
        for step in range(40):
            (model(x) - y).pow(2).mean().backward()
            updated(*model.parameters())
            assert (watched.diagnosis is None) == (step < 33)


def test_a_gradient_that_is_removed_after_the_only_step_is_not_missing():
    x, y = data()
    model = torch.nn.Linear(4, 1)
    with gw.watch(model, quiet=True) as watched:
        (model(x) - y).pow(2).mean().backward()
        updated(*model.parameters())
    assert watched.found == []


def test_several_backwards_before_an_update_are_one_step():
    x, y = data()
    model = torch.nn.Linear(4, 1)
    optimizer = torch.optim.SGD(model.parameters(), 0.1)
    with gw.watch(model, optimizer, quiet=True) as watched:
        for _ in range(3):
            optimizer.zero_grad()
            for part in range(4):
                (model(x[part::4]) - y[part::4]).pow(2).mean().backward()
            optimizer.step()
    assert watched.steps == 3


def test_a_program_s_own_tensors_are_found_by_their_optimizer():
    (x, y), (w, b) = data(), leaves()
    held = {"scale": torch.ones(1, requires_grad=True)}
    optimizer = torch.optim.SGD([w, b, held["scale"]], 0.1)
    with everything.watched_everything() as watched:
        for _ in range(6):
            optimizer.zero_grad()
            ((x @ w).detach() * held["scale"] + b - y).pow(2).mean().backward()
            optimizer.step()
    [one] = watched.watches
    assert states(one) == {"w": "no gradient", "b": "carries", "held.scale": "carries"}
    assert [found.parameters for found in one.found] == [("w",)]
    assert "detach (test_tensors.py:" in one.found[0].sentence


def test_they_are_found_when_the_program_updates_them_and_inputs_are_not():
    (x, y), (w, b) = data(), leaves()
    fixed = torch.ones(16, 4, requires_grad=True)
    with everything.watched_everything() as watched:
        for _ in range(8):
            fresh = x.clone().requires_grad_()
            ((fresh * fixed) @ w + b - y).pow(2).mean().backward()
            updated(w, b)
    [one] = watched.watches
    assert states(one) == {"w": "carries", "b": "carries"}
    assert one.found == [] and one.diagnosis is not None


def test_a_module_that_is_called_later_is_watched_as_one():
    x, y = data()
    model = torch.nn.Linear(4, 1)
    optimizer = torch.optim.SGD(model.parameters(), 0.1)
    with everything.watched_everything() as watched:
        for step in range(6):
            optimizer.zero_grad()
            out = model(x) if step > 2 else torch.nn.functional.linear(x, model.weight, model.bias)
            (out - y).pow(2).mean().backward()
            optimizer.step()
    [one] = watched.watches
    assert one.model is model and one.steps == 3


def test_a_training_that_has_ended_well_is_no_complaint():
    x = torch.ones(1)
    w = torch.ones(1, requires_grad=True)
    optimizer = torch.optim.SGD([w], 0.5)
    with gw.watch(w, optimizer, quiet=True) as watched:
        for _ in range(150):
            optimizer.zero_grad()
            ((w * x - 3).pow(2) + 1e-12 * w).sum().backward()
            optimizer.step()
    assert watched.found == []


def test_updates_that_bfloat16_loses_are():
    w = torch.full((4,), 100.0, dtype=torch.bfloat16, requires_grad=True)
    optimizer = torch.optim.SGD([w], 1.0)
    with gw.watch(w, optimizer, quiet=True) as watched:
        for step in range(120):
            optimizer.zero_grad()
            (w * (10.0 if step < 15 else 0.01)).sum().backward()
            optimizer.step()
    assert [found.trouble for found in watched.found] == [Trouble.NOT_UPDATED]


def test_pytorch_is_as_before_afterwards():
    before = torch.autograd.backward, torch.Tensor.backward
    w, _ = leaves()
    with gw.watch(w, quiet=True), everything.watched_everything():
        assert torch.Tensor.backward is not before[1]
        w.sum().backward()
    assert (torch.autograd.backward, torch.Tensor.backward) == before
    assert not listening.watching()


def test_a_step_in_one_line_is_one_step():
    x, y = data()
    model = torch.nn.Linear(4, 1)
    optimizer = torch.optim.SGD(model.parameters(), 0.1)
    with gw.watch(model, optimizer, quiet=True) as watched:
        for step in range(4):
            (model(x) - y).pow(2).mean().backward() or optimizer.step() or optimizer.zero_grad()
            assert (watched.diagnosis is None) == (step < 2)


@pytest.mark.parametrize("kind", ["Rprop", "ASGD", "LBFGS"])
def test_an_optimizer_that_no_recipe_has_is_watched_as_others_are(kind):
    (x, y), (w, b) = data(), leaves()
    optimizer = getattr(torch.optim, kind)([w, b])

    def closure():
        optimizer.zero_grad()
        loss = ((x @ w).detach() + b - y).pow(2).mean()  # BUG
        loss.backward()
        return loss

    with gw.watch([w, b], optimizer, quiet=True) as watched:
        for _ in range(6):
            closure()
            optimizer.step(closure)
    assert watched.failure is None
    assert any(f"the optimiser {kind} can't be" in text for text in watched.diagnosis.remarks)
    assert [found.parameters for found in watched.found] == [("w",)]
