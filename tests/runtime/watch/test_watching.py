"""Trainings of PyTorch that are watched: what is wrong is told, with its line; nothing changes."""

from __future__ import annotations

import gc
import json
import linecache
import weakref

import numpy as np
import pytest

import gradwire as gw
from gradwire.runtime.watch import NotFiniteError
from tests.together import together

torch = pytest.importorskip("torch")
nn, F = torch.nn, torch.nn.functional
listening = pytest.importorskip("gradwire.runtime.watch.torch.listening")
watching = pytest.importorskip("gradwire.runtime.watch.torch.watching")
checkpoint = pytest.importorskip("torch.utils.checkpoint").checkpoint


class Net(nn.Module):
    """Two hidden layers and a head."""

    def __init__(self):
        super().__init__()
        self.enc, self.mid, self.head = nn.Linear(6, 8), nn.Linear(8, 8), nn.Linear(8, 3)

    def hidden(self, x):
        return torch.relu(self.enc(x))

    def forward(self, x):
        return self.head(torch.relu(self.mid(self.hidden(x))))


class NoGrad(Net):
    def hidden(self, x):
        with torch.no_grad():  # BUG
            h = self.enc(x)
            return torch.relu(h)


class NewTensor(Net):
    def hidden(self, x):
        return torch.tensor(self.enc(x).tolist())  # BUG


class NumPy(Net):
    def hidden(self, x):
        h = self.enc(x).detach().numpy()  # BUG
        return torch.from_numpy(np.tanh(h))


class Item(Net):
    def hidden(self, x):
        scale = self.enc(x).norm().item()  # BUG
        return torch.ones(5, 8) * scale


class Data(Net):
    def hidden(self, x):
        return self.enc(x).data.clamp(min=0)  # BUG


class Argmax(Net):
    def __init__(self):
        super().__init__()
        self.table = nn.Embedding(8, 8)

    def hidden(self, x):
        return self.table(self.enc(x).argmax(-1))  # BUG


class Reentrant(Net):
    def hidden(self, x):
        return checkpoint(super().hidden, x, use_reentrant=True)  # BUG


class Half(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, w):
        return x * w

    @staticmethod
    def backward(ctx, g):
        return g, None


class GivesNone(Net):
    def __init__(self):
        super().__init__()
        self.w = nn.Parameter(torch.ones(8))

    def hidden(self, x):
        return Half.apply(super().hidden(x), self.w)  # BUG


class Forgotten(Net):
    def __init__(self):
        super().__init__()
        self.aux = nn.Linear(8, 3)

    def hidden(self, x):
        h = super().hidden(x)
        self.aux(h).exp()  # BUG
        return h


class PlainList(Net):
    def __init__(self):
        super().__init__()
        self.layers = [nn.Linear(8, 8)]

    def hidden(self, x):
        return torch.relu(self.layers[0](super().hidden(x)))  # BUG


class MadeInForward(Net):
    def hidden(self, x):
        scale = nn.Parameter(torch.ones(8))
        return super().hidden(x) * scale  # BUG


class RootOfZero(Net):
    def hidden(self, x):
        h = super().hidden(x)
        return h + (h[:, None] - h[None]).pow(2).sum(-1).sqrt().mean()  # BUG


class LogOfNegative(Net):
    def hidden(self, x):
        return torch.log(super().hidden(x) - 0.1)  # BUG


class InPlace(Net):
    def hidden(self, x):
        h = torch.sigmoid(self.enc(x))
        h += 1  # BUG
        return h


class Dead(Net):
    def __init__(self):
        super().__init__()
        nn.init.constant_(self.enc.bias, -100)

    def hidden(self, x):
        return torch.relu(self.enc(x))  # BUG


BUGS = {
    NoGrad: ("enc.weight and enc.bias", "no_grad", "outside of no_grad"),
    NewTensor: ("enc.weight", "tolist", "torch's own functions"),
    NumPy: ("enc.weight", "detach", "freeze what is before it"),
    Item: ("enc.weight", "item", "use the tensor itself"),
    Data: ("enc.weight", "data", "apart from autograd"),
    Argmax: ("enc.weight", "argmax", "no floating-point numbers"),
    Reentrant: ("enc.weight", "checkpoint", "use_reentrant=False"),
    GivesNone: ("w:", "Half_backward", "one for each input"),
    Forgotten: ("aux.weight and aux.bias", "ends at exp"),
    PlainList: ("layers.0.weight", "ModuleList"),
    MadeInForward: ("made in the step", "in __init__"),
    RootOfZero: ("not finite", "sqrt", "in backward"),
    LogOfNegative: ("not finite", "log", "is the first call"),
    InPlace: ("add_", "out of place"),
    Dead: ("enc.weight", "exactly 0 for 5 steps", "relu", "turns all gradient into 0"),
}


def line_of_bug(cls):
    """Where the class has its bug, as sentences say it."""
    lines = linecache.getlines(__file__)
    first = next(n for n, line in enumerate(lines) if line.startswith(f"class {cls.__name__}("))
    return (
        f"test_watching.py:{next(n for n in range(first, len(lines)) if '# BUG' in lines[n]) + 1}"
    )


def batch():
    generator = torch.Generator().manual_seed(1)
    x = torch.randn(5, 6, generator=generator)
    return x, torch.randint(0, 3, (5,), generator=generator)


def train(model, optimizer, steps=7, **options):
    """Watch some steps of a classification."""
    x, y = batch()
    with gw.watch(model, optimizer, quiet=True, **options) as watched:
        for _ in range(steps):
            optimizer.zero_grad()
            try:
                F.cross_entropy(model(x), y).backward()
            except RuntimeError:
                break
            optimizer.step()
    assert watched.failure is None
    return watched


def sgd(model):
    return torch.optim.SGD(model.parameters(), 0.01)


def seeded(cls):
    torch.manual_seed(0)
    return cls()


@pytest.mark.filterwarnings("ignore:None of the inputs have requires_grad")  # PyTorch's own remark
@together("cls", BUGS, ids=lambda cls: cls.__name__)
def test_a_bug_is_named_with_its_line_and_its_cure(cls):
    model = seeded(cls)
    said = "\n".join(map(str, train(model, sgd(model), capture=False).found))
    for part in (*BUGS[cls], line_of_bug(cls)):
        assert part in said, said


# ---- what is healthy ----


class Experts(Net):
    """Every step leaves one of the experts out."""

    def __init__(self):
        super().__init__()
        self.experts, self.turn = nn.ModuleList(nn.Linear(8, 8) for _ in range(2)), 0

    def hidden(self, x):
        self.turn += 1
        return torch.relu(self.experts[self.turn % 2](super().hidden(x)))


class Adapted(Net):
    """A low-rank adapter whose second factor starts at 0, on a frozen layer."""

    def __init__(self):
        super().__init__()
        self.enc.requires_grad_(False)
        self.a, self.b = nn.Linear(6, 2, bias=False), nn.Linear(2, 8, bias=False)
        nn.init.zeros_(self.b.weight)

    def hidden(self, x):
        return torch.relu(self.enc(x) + self.b(self.a(x)))


class Normed(Net):
    def __init__(self):
        super().__init__()
        self.norm, self.drop = nn.BatchNorm1d(8), nn.Dropout(0.5)

    def hidden(self, x):
        return self.drop(self.norm(checkpoint(super().hidden, x, use_reentrant=False)))


class Recurrent(nn.Module):
    def __init__(self):
        super().__init__()
        self.rnn, self.head = nn.LSTM(2, 8, batch_first=True), nn.Linear(8, 3)

    def forward(self, x):
        return self.head(self.rnn(x.reshape(5, 3, 2))[0][:, -1])


HEALTHY = [Net, Experts, Adapted, Normed, Recurrent]


@together("cls", HEALTHY, ids=lambda cls: cls.__name__)
def test_nothing_is_told_of_a_healthy_training(cls):
    model = seeded(cls)
    watched = train(model, torch.optim.Adam(model.parameters(), 1e-3), steps=25, every=4)
    assert [str(found) for found in watched.found] == []
    assert "Nothing was found" in str(watched.report())


def test_either_player_of_an_adversarial_training_is_healthy():
    g, d = seeded(lambda: nn.Linear(2, 2)), nn.Linear(2, 1)
    of_g, of_d = torch.optim.Adam(g.parameters(), 1e-3), torch.optim.Adam(d.parameters(), 1e-3)
    with gw.watch(g, of_g, quiet=True) as first, gw.watch(d, of_d, quiet=True) as second:
        for _ in range(7):
            of_d.zero_grad()
            noise = torch.randn(4, 2)
            (F.softplus(d(g(noise).detach())) + F.softplus(-d(noise))).mean().backward()
            of_d.step()
            of_g.zero_grad()
            F.softplus(-d(g(noise))).mean().backward()
            of_g.step()
    assert [str(found) for found in (*first.found, *second.found)] == []


def test_players_that_are_frozen_in_turn_are_healthy():
    players = nn.ModuleDict({"g": nn.Linear(2, 2), "d": nn.Linear(2, 1)})
    g, d = players["g"], players["d"]
    optimizers = [torch.optim.Adam(each.parameters(), 1e-3) for each in (g, d)]
    with gw.watch(players, optimizers, quiet=True) as watched:
        for _ in range(7):
            d.requires_grad_(False)
            optimizers[0].zero_grad()
            F.softplus(-d(g(torch.randn(4, 2)))).mean().backward()
            optimizers[0].step()
            d.requires_grad_(True)
            g.requires_grad_(False)
            optimizers[1].zero_grad()
            (
                F.softplus(d(g(torch.randn(4, 2)))) + F.softplus(-d(torch.randn(4, 2)))
            ).mean().backward()
            optimizers[1].step()
            g.requires_grad_(True)
    assert [str(found) for found in watched.found] == []


def test_a_teacher_without_gradient_is_healthy():
    student, teacher = seeded(Net), Net()
    both = nn.ModuleDict({"student": student, "teacher": teacher})
    optimizer, (x, _) = sgd(student), batch()
    with gw.watch(both, optimizer, quiet=True) as watched:
        for _ in range(7):
            optimizer.zero_grad()
            with torch.no_grad():
                target = teacher(x)
            F.mse_loss(student(x), target).backward()
            optimizer.step()
    assert [str(found) for found in watched.found] == []


def test_accumulated_gradients_and_skipped_updates_are_healthy():
    model = seeded(Net)
    optimizer, (x, y) = sgd(model), batch()
    scaler = torch.amp.GradScaler("cpu")
    with gw.watch(model, optimizer, quiet=True) as watched:
        for step in range(8):
            with torch.autocast("cpu", torch.bfloat16):
                loss = F.cross_entropy(model(x), y)
            loss = loss * float("inf") if step == 4 else loss
            scaler.scale(loss).backward()
            if step % 2:
                scaler.step(optimizer)
                scaler.update()
                optimizer.zero_grad()
    assert [str(found) for found in watched.found] == []
    assert watched.steps == 3


# ---- nothing changes ----


def trained(cls, is_watched):
    model = seeded(cls)
    optimizer, (x, y) = torch.optim.Adam(model.parameters(), 1e-2), batch()
    watched = gw.watch(model, optimizer, quiet=True, every=3) if is_watched else None
    losses = []
    for _ in range(9):
        optimizer.zero_grad()
        loss = F.cross_entropy(model(x), y)
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    if watched is not None:
        watched.close()
    return losses, [x.tolist() for x in model.state_dict().values()], torch.rand(3).tolist()


@together("cls", [*HEALTHY, Dead, NoGrad], ids=lambda cls: cls.__name__)
def test_numbers_are_the_same_bit_for_bit(cls):
    assert trained(cls, True) == trained(cls, False)


def test_a_replay_leaves_buffers_gradients_and_random_numbers_as_they_were():
    model = seeded(Normed)
    model.enc.weight.data[0, 0] = float("nan")
    optimizer, (x, y) = sgd(model), batch()
    with gw.watch(model, optimizer, quiet=True, capture=False) as watched:
        F.cross_entropy(model(x), y).backward()
        buffers = [b.clone() for b in model.buffers()]
        gradients = [p.grad.clone() for p in model.parameters()]
        state = torch.get_rng_state()
        watched._look()
        assert "had numbers that are not finite before this step" in str(watched.found[0])
        assert torch.equal(torch.get_rng_state(), state)
        for now, before in zip(model.buffers(), buffers, strict=True):
            assert torch.equal(now, before) or now.isnan().any()
        for p, before in zip(model.parameters(), gradients, strict=True):
            assert torch.equal(p.grad.nan_to_num(), before.nan_to_num())


class Drawing(Net):
    """Draws from NumPy from one step on, and takes the logarithm of what it drew there."""

    def __init__(self):
        super().__init__()
        self.calls, self.begins = 0, 0

    def hidden(self, x):
        self.calls += 1
        if self.calls <= self.begins:
            return super().hidden(x)
        drawn = float(np.random.rand())
        self.draws.append(drawn)
        return super().hidden(x) * (drawn if self.calls < 4 else np.nan)


@pytest.mark.parametrize("begins", [0, 2], ids=["always", "later"])
def test_a_replay_draws_the_same_numbers_from_numpy_or_says_that_it_cannot(begins):
    model = seeded(Drawing)
    model.begins, model.draws = begins, []
    optimizer = sgd(model)
    with gw.watch(model, optimizer, quiet=True, capture=False) as watched:
        for _ in range(4):
            x, y = batch()
            F.cross_entropy(model(x), y).backward()
            before = list(model.draws)
            optimizer.step()
            optimizer.zero_grad()
    (found,) = watched.found
    assert (model.draws[len(before) :] == before[-1:]) == (begins == 0)
    assert ("it draws random numbers from NumPy" in str(found)) == (begins != 0)


def test_no_tensor_outlives_its_step():
    model = seeded(Net)
    optimizer, kept = sgd(model), []
    with gw.watch(model, optimizer, quiet=True, every=2):
        for _ in range(6):
            x, y = batch()
            loss = F.cross_entropy(model(x), y)
            loss.backward()
            optimizer.step()
            optimizer.zero_grad()
            kept += [weakref.ref(x), weakref.ref(loss)]
            del x, y, loss
            gc.collect()
            # The first step is looked at once the second has begun.
            before = kept if len(kept) > 2 else []
            assert [each for each in before if each() is not None] == []


@pytest.mark.night
def test_nothing_grows_in_ten_thousand_steps():
    def alive():
        gc.collect()
        objects = gc.get_objects()
        return len(objects), sum(issubclass(type(x), torch.Tensor) for x in objects)

    model = seeded(Net)
    optimizer, (x, y) = torch.optim.Adam(model.parameters()), batch()
    with gw.watch(model, optimizer, quiet=True) as watched:
        for step in range(10_001):
            optimizer.zero_grad()
            F.cross_entropy(model(x), y).backward()
            optimizer.step()
            if step == 100:
                before = alive()
        after = alive()
    assert watched.steps == 10_001 and watched.failure is None
    assert after[1] == before[1]
    assert after[0] - before[0] < 1000


def test_closing_takes_everything_back():
    model = seeded(Net)
    optimizer, real, applied = sgd(model), torch.autograd.backward, torch.from_numpy
    first, second = gw.watch(model, optimizer), gw.watch(model, optimizer)
    first.close()
    assert torch.autograd.backward is not real
    second.close()
    second.close()
    assert (torch.autograd.backward, torch.from_numpy) == (real, applied)
    assert not model._forward_pre_hooks and not model._forward_hooks
    assert not optimizer._optimizer_step_pre_hooks and not optimizer._optimizer_step_post_hooks
    assert not listening.watching()


def test_an_error_of_its_own_ends_the_watching_and_not_the_training(monkeypatch):
    model = seeded(Net)
    optimizer, (x, y) = sgd(model), batch()
    with gw.watch(model, optimizer) as watched:
        monkeypatch.setattr(watching, "norms", lambda _: 1 / 0)
        F.cross_entropy(model(x), y).backward()
        with pytest.warns(RuntimeWarning, match="Watching ended by an error of its own"):
            optimizer.step()
        optimizer.step()
    assert isinstance(watched.failure, ZeroDivisionError)


# ---- manners ----


def test_findings_go_to_standard_error_once_and_to_whoever_asks(capsys):
    model = seeded(NoGrad)
    optimizer, (x, y) = sgd(model), batch()
    told = []
    with gw.watch(model, optimizer, every=2, on_finding=told.append) as watched:
        for _ in range(7):
            optimizer.zero_grad()
            F.cross_entropy(model(x), y).backward()
            optimizer.step()
    printed = capsys.readouterr()
    assert printed.out == ""
    assert printed.err.splitlines() == [f"gradwire: {found}" for found in watched.found]
    assert told == watched.found
    assert len(told) == 1


def test_only_the_first_process_speaks(capsys, monkeypatch):
    monkeypatch.setenv("RANK", "1")
    model = seeded(NoGrad)
    optimizer, (x, y) = sgd(model), batch()
    with gw.watch(model, optimizer) as watched:
        F.cross_entropy(model(x), y).backward()
        optimizer.step()
    assert watched.found
    assert capsys.readouterr().err == ""


def test_a_guard_raises_before_the_update():
    model = seeded(RootOfZero)
    optimizer, (x, y) = sgd(model), batch()
    before = model.head.weight.detach().clone()
    with gw.watch(model, optimizer, quiet=True, guard=True):
        F.cross_entropy(model(x), y).backward()
        with pytest.raises(NotFiniteError, match=r"Step 0 was not taken.*sqrt"):
            optimizer.step()
    assert torch.equal(model.head.weight, before)


def test_a_function_can_not_be_watched():
    with pytest.raises(gw.RunError, match="Only a module or trained tensors of PyTorch can be"):
        gw.watch(lambda x: x)


def test_without_an_optimizer_a_step_is_told_by_hand():
    model = seeded(NoGrad)
    x, y = batch()
    with gw.watch(model, quiet=True) as watched:
        F.cross_entropy(model(x), y).backward()
        watched.step()
    assert "no_grad" in str(watched.found[0])


def test_a_compiled_module_is_recorded_uncompiled():
    model = seeded(NoGrad)
    compiled = torch.compile(model, backend="eager")
    optimizer, (x, y) = sgd(model), batch()
    with gw.watch(compiled, optimizer, quiet=True) as watched:
        for _ in range(3):
            F.cross_entropy(compiled(x), y).backward()
            optimizer.step()
    assert watched.failure is None
    assert "no_grad" in str(watched.found[0])


# ---- reports, questions, diagrams ----


def test_a_report_has_a_row_for_each_parameter_as_text_data_and_a_page(tmp_path):
    model = seeded(NoGrad)
    model.head.requires_grad_(False)
    report = train(model, sgd(model)).report()
    states = {row.name: row.state for row in report.rows}
    assert states["enc.weight"] == "no gradient"
    assert states["mid.weight"] == "carries"
    assert states["head.bias"] == "frozen"
    assert json.loads(json.dumps(report.as_json()))["findings"][0]["written"] == [
        line_of_bug(NoGrad)
    ]
    report.html(tmp_path / "report.html")
    page = (tmp_path / "report.html").read_text("utf-8")
    assert page.count("<tr>") == 1 + len(report.rows)
    assert line_of_bug(NoGrad) in page


def test_a_parameter_a_loss_and_a_stranger_can_be_asked_for():
    model = seeded(NoGrad)
    optimizer, (x, y) = sgd(model), batch()
    loss = F.cross_entropy(model(x), y)
    loss.backward()
    assert gw.why(model.enc.weight).startswith("No gradient has come to it, or it was cleared.")
    assert gw.why(model.mid.weight).startswith("Gradient has come to it: rms ")
    assert gw.why(loss) == "Its gradient reaches 4 trained tensors."
    assert "requires_grad is False" in gw.why(x)
    with gw.watch(model, optimizer, quiet=True) as watched:
        loss = F.cross_entropy(model(x), y)
        loss.backward()
        optimizer.step()
        assert f"no_grad ({line_of_bug(NoGrad).removesuffix(')')}" in gw.why(model.enc.weight)
        assert gw.why(loss).startswith("Its gradient reaches 4 of 6 trained parameters; not enc")
        with pytest.raises(gw.RunError, match=r"'enc.weigth' is no parameter"):
            watched.why("enc.weigth")
    with pytest.raises(gw.RunError, match="Only a tensor of PyTorch"):
        gw.why(3)


def test_the_diagram_of_a_step_is_one_of_the_product_without_numbers():
    model = seeded(NoGrad)
    diagram = train(model, sgd(model)).diagram()
    again = gw.loads(gw.dumps(diagram))
    verdict = gw.analyse(again).variable("enc/weight")
    assert verdict.state is gw.State.STOPPED
    assert gw.analyse(again).variable("head/weight").state is gw.State.CARRIES
    assert not gw.check(again)
    with pytest.raises(gw.RunError, match="was recorded without numbers"):
        gw.Session(again).backward()
