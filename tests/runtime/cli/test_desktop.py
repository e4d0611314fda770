"""``gradwire desktop``: what it writes for a desktop, and that it takes back exactly that."""

from __future__ import annotations

import configparser
import os
import shlex
import shutil
import subprocess
import sys
from xml.etree import ElementTree

import pytest

from gradwire.app.services.examples import ASSETS
from gradwire.runtime.cli.desktop.desktop import INDEXES, RECORD, SOURCES, quoted

pytestmark = pytest.mark.skipif(
    sys.platform in ("darwin", "win32"), reason="desktop entries are of Linux alone"
)
ENTRY = "applications/gradwire.desktop"


@pytest.fixture
def home(tmp_path, monkeypatch):
    """A data home that is not there yet, and no program that indexes it."""
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    monkeypatch.setenv("PATH", str(tmp_path))
    return tmp_path / "data"


def tree(folder):
    return {
        str(path.relative_to(folder)): path.read_bytes() if path.is_file() else None
        for path in folder.rglob("*")
    }


def test_it_writes_what_a_desktop_looks_for(gradwire, home):
    done = gradwire("desktop", "--install")
    assert done.code == 0 and not done.err
    assert done.out.splitlines() == [f"wrote {home / name}" for name in SOURCES]
    icon = home / "icons" / "hicolor" / "scalable" / "apps" / "gradwire.svg"
    assert icon.read_bytes() == (ASSETS / "icons" / "gradwire.svg").read_bytes()


def test_the_entry_starts_this_gradwire(gradwire, home):
    gradwire("desktop", "--install")
    parser = configparser.RawConfigParser(interpolation=None)
    parser.optionxform = str
    parser.read(home / ENTRY, encoding="utf-8")
    entry = parser["Desktop Entry"]
    assert entry["TryExec"] == sys.executable
    *command, field = shlex.split(entry["Exec"])
    assert field == "%f"
    path = os.pathsep.join(path for path in sys.path if path)
    ended = subprocess.run(
        [*command, "--help"],
        env=os.environ | {"PYTHONPATH": path},
        capture_output=True,
        text=True,
    )
    assert ended.returncode == 0 and "Open the editor" in ended.stdout


def test_the_entry_of_a_build_starts_the_program_itself(gradwire, home, monkeypatch):
    monkeypatch.setattr(sys, "frozen", True, raising=False)
    gradwire("desktop", "--install")
    assert f"\nExec={quoted(sys.executable)} edit %f\n" in (home / ENTRY).read_text()


@pytest.mark.parametrize(
    ("argument", "written"),
    [
        ("/usr/bin/python3", "/usr/bin/python3"),
        ("/my env/python", '"/my env/python"'),
        ('/a"b', r'"/a\\"b"'),
        ("/a$b`", r'"/a\\$b\\`"'),
        ("/a\\b", r'"/a\\\\b"'),
        ("/100%", "/100%%"),
    ],
)
def test_an_argument_is_quoted_and_then_escaped(argument, written):
    assert quoted(argument) == written


def test_its_type_is_that_of_its_files(gradwire, home):
    gradwire("desktop", "--install")
    names = {"": "http://www.freedesktop.org/standards/shared-mime-info"}
    kind = ElementTree.parse(home / "mime/packages/gradwire.xml").find("mime-type", names)
    assert kind.find("glob", names).get("pattern") == "*.gradwire.json"
    assert f"MimeType={kind.get('type')};" in (home / ENTRY).read_text().splitlines()
    (described,) = (home / "metainfo").iterdir()
    said = ElementTree.parse(described)
    assert said.findtext("provides/mediatype") == kind.get("type")
    assert said.findtext("launchable") == "gradwire.desktop"


@pytest.mark.parametrize(
    ("program", "arguments", "name"),
    [
        ("desktop-file-validate", [], "applications/gradwire.desktop"),
        ("appstreamcli", ["validate", "--no-net"], "metainfo/org.example.gradwire.metainfo.xml"),
    ],
)
def test_it_is_valid(gradwire, tmp_path, monkeypatch, program, arguments, name):
    if not (found := shutil.which(program)):
        pytest.skip(f"{program} is not installed")
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    gradwire("desktop", "--install")
    ended = subprocess.run([found, *arguments, tmp_path / name], capture_output=True, text=True)
    assert ended.returncode == 0 and "hint" not in ended.stdout, ended.stdout


def test_a_second_time_changes_nothing(gradwire, home):
    gradwire("desktop", "--install")
    before = tree(home)
    assert gradwire("desktop", "--install").out == "nothing to do\n"
    assert tree(home) == before


def test_another_version_is_written_anew(gradwire, home, monkeypatch):
    gradwire("desktop", "--install")
    before = tree(home)
    with monkeypatch.context() as patch:
        patch.setattr(sys, "executable", "/another/python")
        assert gradwire("desktop", "--install").out == f"wrote {home / ENTRY}\n"
    gradwire("desktop", "--install")
    assert tree(home) == before


def test_what_it_wrote_is_gone_and_nothing_else(gradwire, home):
    (home / "applications").mkdir(parents=True)
    (home / "applications" / "other.desktop").write_text("[Desktop Entry]\n")
    before = tree(home)
    gradwire("desktop", "--install")
    done = gradwire("desktop", "--remove")
    assert done.code == 0 and len(done.out.splitlines()) == len(SOURCES)
    assert tree(home) == before
    assert gradwire("desktop", "--remove").out == "nothing to do\n"


@pytest.mark.parametrize("program", [program for program, _ in INDEXES.values()])
def test_a_data_home_that_was_not_there_is_gone_with_its_indexes(
    gradwire, tmp_path, monkeypatch, program
):
    if not shutil.which(program):
        pytest.skip(f"{program} is not installed")
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    gradwire("desktop", "--install")
    indexed = {name for name in tree(tmp_path / "data") if name not in (*SOURCES, RECORD)}
    folder = next(folder for folder, (name, _) in INDEXES.items() if name == program)
    assert any(name.startswith(f"{folder}/") and name.endswith("cache") for name in indexed)
    gradwire("desktop", "--remove")
    assert not (tmp_path / "data").exists()


def test_what_comes_later_beside_its_files_stays(gradwire, home):
    gradwire("desktop", "--install")
    later = home / "mime" / "packages" / "other.xml"
    later.write_text("<mime-info/>")
    gradwire("desktop", "--remove")
    assert [name for name, content in tree(home).items() if content] == ["mime/packages/other.xml"]


def test_a_file_that_was_there_before_stays(gradwire, home):
    (home / ENTRY).parent.mkdir(parents=True)
    (home / ENTRY).write_text("[Desktop Entry]\n")
    before = tree(home)
    done = gradwire("desktop", "--install")
    assert done.code == 1 and str(home / ENTRY) in done.err
    assert (home / "mime" / "packages" / "gradwire.xml").is_file()
    assert gradwire("desktop", "--remove").code == 0
    assert tree(home) == before


def test_a_file_that_was_changed_stays(gradwire, home):
    gradwire("desktop", "--install")
    (home / ENTRY).write_text("[Desktop Entry]\n")
    assert gradwire("desktop", "--install").code == 1
    done = gradwire("desktop", "--remove")
    assert done.code == 1 and str(home / ENTRY) in done.err
    assert [name for name, content in tree(home).items() if content] == [ENTRY]


def test_a_relative_data_home_counts_as_none(gradwire, tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_DATA_HOME", "data")
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("PATH", str(tmp_path))
    gradwire("desktop", "--install")
    assert (tmp_path / ".local" / "share" / ENTRY).is_file()


@pytest.mark.parametrize("options", [(), ("--install", "--remove")])
def test_it_is_told_one_thing(gradwire, home, options):
    assert gradwire("desktop", *options).code == 2
    assert not home.exists()


@pytest.mark.parametrize(("system", "way"), [("darwin", "Finder"), ("win32", "Open with")])
def test_other_systems_are_told_how_it_is_done_there(gradwire, home, monkeypatch, system, way):
    monkeypatch.setattr(sys, "platform", system)
    done = gradwire("desktop", "--install")
    assert done.code == 2 and way in done.err
    assert not home.exists()
