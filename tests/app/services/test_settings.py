from PySide6.QtCore import QByteArray, QSettings

from gradwire.app.services.settings import Settings


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
    settings._store.sync()
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
    settings._store.setValue("rate", "fast")
    settings._store.setValue("geometry", "wide")
    assert settings.rate == 0.1
    assert settings.arrangement[0] == QByteArray()
