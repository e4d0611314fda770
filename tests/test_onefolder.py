"""What a build that is one folder says of those who wrote its parts."""

from __future__ import annotations

import importlib.util
from importlib.metadata import Distribution

import pytest

from tests.test_house import ROOT


@pytest.fixture(scope="module")
def module():
    path = ROOT / ".ci" / "onefolder" / "notices.py"
    spec = importlib.util.spec_from_file_location("notices", path)
    assert spec is not None and spec.loader is not None
    found = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(found)
    return found


@pytest.fixture
def installed(tmp_path, module, monkeypatch):
    """``installed(name, licence=text)`` installs a distribution of one file, the only one there
    is; returns the file.
    """

    def install(name: str, licence: str = ""):
        info = tmp_path / f"{name}-1.0.dist-info"
        info.mkdir()
        about = f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\nLicense: Free\nAuthor: Ada\n"
        (info / "METADATA").write_text(about)
        files = [f"{name}.py", f"{info.name}/METADATA"]
        if licence:
            (info / "licenses").mkdir()
            (info / "licenses" / "LICENSE").write_text(licence)
            files.append(f"{info.name}/licenses/LICENSE")
        (info / "RECORD").write_text("".join(f"{file},,\n" for file in files))
        monkeypatch.setattr(module, "distributions", lambda: [Distribution.at(info)])
        file = tmp_path / f"{name}.py"
        file.write_text("")
        return file

    return install


def test_each_part_is_named_with_its_licence_and_the_text(module, installed):
    text = module.notices([installed("cube", licence="Do what you like.")])
    assert "cube 1.0: Free" in text and "Do what you like." in text
    assert "Python " in text and "PYTHON SOFTWARE FOUNDATION LICENSE" in text


def test_a_part_that_is_not_in_the_build_is_not_named(module, installed):
    installed("cube", licence="Do what you like.")
    assert "cube" not in module.notices([])


def test_a_part_without_a_licence_text_fails(module, installed):
    file = installed("cube")
    with pytest.raises(module.NoticeError, match=r"cube 1\.0 \(Free\) has no licence text"):
        module.notices([file])


@pytest.mark.night
def test_a_file_that_nobody_brought_fails(module, installed, tmp_path):
    installed("cube", licence="Do what you like.")
    (tmp_path / "stray.so").write_text("")
    with pytest.raises(module.NoticeError, match=r"stray\.so"):
        module.notices([tmp_path / "stray.so"])


@pytest.mark.night
@pytest.mark.parametrize("name", ["latex2mathml", "pyside6_essentials", "shiboken6"])
def test_the_text_of_a_licence_that_is_only_named_is_the_standard_one(module, installed, name):
    file = installed(name)
    assert name in module.WITHOUT_TEXT and len(module.notices([file])) > 1000
    text = module.notices([file])
    for licence in module.WITHOUT_TEXT[name]:
        assert module._standard(licence) in text
    assert "Copyright (c) Ada" in text


def test_a_text_that_came_later_takes_the_place_of_the_standard_one(module, installed):
    file = installed("latex2mathml", licence="Mine.")
    with pytest.raises(module.NoticeError, match="has a licence text now"):
        module.notices([file])
