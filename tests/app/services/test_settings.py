import threading

import pytest
from PySide6.QtCore import QByteArray, QSettings

from gradwire.app.services import settings as module
from gradwire.app.services.settings import Setting, Settings
from gradwire.app.services.theme import THEMES
from gradwire.app.shell.windows import OpenWindows

PROPERTIES = [name for name, kind in vars(Settings).items() if isinstance(kind, property | Setting)]
KEYS = (
    "recent", "starred", "used", "commands", "library", "shortcuts", "learner", "engine", "theme",
    "text", "rate", "still", "wire_numbers", "numbered_wires", "toolbar", "tour_taken", "geometry",
    "state", "panels", "curves_height",
)  # fmt: skip
GROUPED = {
    "thresholds": ("exploding", "partial", "vanishing"),
    "picture": ("kind", "theme", "width"),
}


def filled(path, value, *extra):
    """Settings from a file in which every key has this value, as an INI file of Qt spells it."""
    lines = ["[General]", *(f"{key}={value}" for key in KEYS), *extra]
    for group, keys in GROUPED.items():
        lines += [f"[{group}]", *(f"{key}={value}" for key in keys)]
    path.write_text("\n".join(lines) + "\n")
    return Settings(QSettings(str(path), QSettings.Format.IniFormat))


@pytest.fixture
def defaults(tmp_path):
    fresh = Settings(QSettings(str(tmp_path / "none.ini"), QSettings.Format.IniFormat))
    return {name: getattr(fresh, name) for name in PROPERTIES}


@pytest.mark.parametrize(
    "value",
    ["@Size(1 1)", "@Rect(1 2 3 4)", "@Point(1 2)", "a\\0b", "@Size(1 1), @Size(2 2)",
     "x" * 300_000],
)  # fmt: skip
def test_a_value_of_another_kind_is_the_default_and_said_once(tmp_path, defaults, value):
    settings = filled(tmp_path / "s.ini", value)
    found = {name: getattr(settings, name) for name in PROPERTIES}
    assert found == defaults
    said = settings.newly_damaged()
    assert {"recent", "library", "shortcuts", "theme", "rate", "thresholds/vanishing"} <= {*said}
    assert settings.newly_damaged() == ()


@pytest.mark.parametrize(
    "value",
    ["@Invalid()", "@ByteArray(\\xff\\x00)", "nan", "1e999", "-1", "x" * 10_000, "", "[]", "true",
     "a, b, c", "9" * 5000, '{"a":1}', "/dev/zero", "[" * 100_000, "@PointF(1 2)",
     "@DateTime(\\0\\0)", "@Variant(\\0\\0\\0\\x8\\0)"],
)  # fmt: skip
def test_no_value_keeps_a_setting_from_being_read(tmp_path, value):
    settings = filled(tmp_path / "s.ini", value)
    for name in PROPERTIES:
        getattr(settings, name)
    assert settings.theme in ("system", *THEMES)
    assert 0 < settings.rate < float("inf")


@pytest.mark.sampled(one_in=3)
@pytest.mark.parametrize("value", ["@Size(1 1)", "[" * 100_000, "a\\0b", "@ByteArray(x)"])
def test_the_editor_starts_with_damaged_settings_and_says_so_once(
    tmp_path, value, qtbot, monkeypatch
):
    windows = OpenWindows(filled(tmp_path / "s.ini", value))
    first = windows.new()
    assert "Some settings can't be read" in first.notice.text()
    assert "shortcuts" in first.notice.text()
    second = windows.new()
    assert not second.notice.text()
    assert windows.close_all()


def test_what_was_chosen_is_there_the_next_time(tmp_path):
    def open_settings():
        return Settings(QSettings(str(tmp_path / "s.ini"), QSettings.Format.IniFormat))

    settings = open_settings()
    assert (settings.theme, settings.rate, settings.recent) == ("system", 0.1, [])
    assert settings.arrangement == (QByteArray(), QByteArray(), QByteArray())
    settings.theme = "dark"
    settings.rate = 0.25
    kept = (QByteArray(b"g"), QByteArray(b"s"), QByteArray(b"p"))
    settings.arrangement = kept
    settings.store.sync()
    again = open_settings()
    assert (again.theme, again.rate) == ("dark", 0.25)
    assert again.arrangement == kept


def test_recent_files_are_few_fresh_and_there(settings, tmp_path):
    files = [tmp_path / f"{number}.gradwire.json" for number in range(10)]
    for path in files:
        path.touch()
        settings.remember(path)
    assert settings.recent == files[:1:-1]
    settings.remember(files[5])
    assert settings.recent[0] == files[5]
    assert len(settings.recent) == 8
    files[5].unlink()
    assert files[5] not in settings.recent


def test_one_recent_file_is_a_list_too(settings, tmp_path):
    path = tmp_path / "one.gradwire.json"
    path.touch()
    settings.remember(path)
    assert settings.recent == [path]


def test_nonsense_in_the_store_is_the_default(settings):
    settings.store.setValue("rate", "fast")
    settings.store.setValue("geometry", "wide")
    assert settings.rate == 0.1
    assert settings.arrangement[0] == QByteArray()


def test_recent_files_on_a_drive_that_does_not_answer_are_not_waited_for(
    settings, tmp_path, monkeypatch
):
    (tmp_path / "a").touch()
    settings.remember(tmp_path / "a")
    gone = threading.Event()
    monkeypatch.setattr(module, "PROMPT", 0.01)
    monkeypatch.setattr(module.os.path, "exists", lambda path: gone.wait(20))
    assert settings.recent == []
    gone.set()
    assert settings.remembered == [tmp_path / "a"]
