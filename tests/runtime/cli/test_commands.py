"""The other commands, and the entry point itself."""

from __future__ import annotations

import jsonschema
import pytest
import typer

from gradwire.blocks.registry import registry
from gradwire.runtime.cli.entry import COMMANDS, application, main
from gradwire.runtime.version import __version__


def test_help_names_every_command(gradwire):
    for flag in ("--help", "-h"):
        done = gradwire(flag)
        assert done.code == 0
        for command in COMMANDS:
            assert f"  {command} " in done.out


def test_help_knows_commands_that_are_not_loaded(capsys):
    texts = []
    for loaded in (COMMANDS, ()):
        typer.main.get_command(application(loaded)).main(
            ["--help"], "gradwire", standalone_mode=False
        )
        texts.append(capsys.readouterr().out)
    assert texts[0] == texts[1]


@pytest.mark.sampled(one_in=3)
@pytest.mark.parametrize("command", COMMANDS)
def test_its_summary_begins_its_help(command):
    found = typer.main.get_command(application([command])).commands[command]
    assert found.help.partition("\n\n")[0].replace("\n", " ") == COMMANDS[command]


@pytest.mark.sampled(one_in=3)
@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_has_help_in_plain_text(gradwire, command):
    done = gradwire(command, "--help")
    assert done.code == 0 and "Usage: gradwire" in done.out
    assert not set("│╭─") & set(done.out)


def test_version(gradwire):
    name, version = gradwire("--version").out.split()
    assert (name, version) == ("gradwire", __version__)


def test_unknown_options_are_bad_usage(gradwire):
    assert gradwire("--nope").code == 2
    assert gradwire("run", "--nope").code == 2


def test_blocks_lists_all_by_family(gradwire):
    out = gradwire("blocks").out
    for family, classes in registry().families().items():
        assert f"{family}\n" in out
        for cls in classes:
            assert f"\n{cls.type_name()} " in out


def test_one_block(gradwire):
    out = gradwire("blocks", "StopGradient").out
    assert "stops the gradient" in out and "Formula" in out
    report = gradwire("blocks", "Huber", "--json").json
    (delta,) = [p for p in report["blocks"][0]["parameters"] if p["name"] == "delta"]
    assert delta["type"] == "number > 0" and delta["default"] == 1.0 and delta["doc"]


@pytest.mark.night
def test_all_blocks_as_json(gradwire):
    report = gradwire("blocks", "--json").json
    assert [b["type"] for b in report["blocks"]] == list(registry().classes)


def test_an_unknown_block_names_the_nearest(gradwire):
    done = gradwire("blocks", "StopGradent")
    assert done.code == 2 and "StopGradient" in done.err and done.out == ""


def test_a_plugin_that_failed_is_told(gradwire, monkeypatch):
    monkeypatch.setattr(registry(), "problems", ["Plug-in 'x' failed."])
    done = gradwire("blocks", "Mul")
    assert done.code == 0 and "warning: Plug-in 'x' failed." in done.err


@pytest.mark.night
def test_the_schema_accepts_what_can_be_read(gradwire, seed):
    import json

    schema = gradwire("schema").json
    jsonschema.Draft202012Validator.check_schema(schema)
    jsonschema.validate(json.loads(seed.read_text(encoding="utf-8")), schema)


def test_the_demo_reports_and_says_why_there_is_no_window(gradwire, monkeypatch):
    monkeypatch.setenv("QT_QPA_PLATFORM", "offscreen")
    done = gradwire("demo")
    assert done.code == 0 and "[[1, 5]]" in done.out
    assert "Not shown in the editor" in done.err
    assert gradwire("demo", "--no-window").err == ""


@pytest.fixture
def windows(monkeypatch):
    """The files that the editor was opened with, in place of opening it."""
    opened: list[object] = []

    def run(path: object) -> int:
        opened.append(path)
        return 0

    monkeypatch.setattr("gradwire.app.shell.application.run", run)
    monkeypatch.setenv("QT_QPA_PLATFORM", "offscreen")
    return opened


def test_a_file_alone_opens_the_editor(gradwire, windows, seed):
    assert gradwire(seed).code == 0
    assert gradwire("edit", seed).code == 0
    assert gradwire().code == 0
    assert windows == [seed, seed, None]


def test_the_demo_opens_the_editor_where_there_is_a_display(gradwire, windows, monkeypatch):
    monkeypatch.setattr("gradwire.runtime.cli.commands.demo.why_no_window", lambda: None)
    assert gradwire("demo").code == 0
    assert [getattr(path, "name", None) for path in windows] == ["mxnet_seed.gradwire.json"]


def test_without_a_display_the_editor_points_to_run(gradwire, monkeypatch, seed):
    for name in ("QT_QPA_PLATFORM", "DISPLAY", "WAYLAND_DISPLAY"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr("sys.platform", "linux")
    done = gradwire(seed)
    assert done.code == 3 and done.out == ""
    assert "no display" in done.err and f"gradwire run {seed}" in done.err


def test_without_qt_the_editor_says_how_to_install_it(gradwire, monkeypatch):
    monkeypatch.setattr("gradwire.runtime.extras.find_spec", lambda name: None)
    done = gradwire()
    assert done.code == 3 and 'pip install "gradwire[app]"' in done.err


def test_neither_a_command_nor_a_file(gradwire):
    done = gradwire("chekc")
    assert done.code == 2 and "gradwire check" in done.err


def test_a_fault_of_gradwire_itself_is_told_without_a_traceback(gradwire, monkeypatch, seed):
    def fail(*arguments: object) -> None:
        raise ZeroDivisionError("oops")

    monkeypatch.setattr("gradwire.runtime.cli.commands.run.open_session", fail)
    monkeypatch.delenv("GRADWIRE_TRACEBACK", raising=False)
    done = gradwire("run", seed)
    assert done.code == 3 and "ZeroDivisionError: oops" in done.err
    monkeypatch.setenv("GRADWIRE_TRACEBACK", "1")
    with pytest.raises(ZeroDivisionError):
        main(["run", str(seed)])
