from gradwire.app.pictures.options import LegendChoice, Lettering, PictureOptions


def test_options_survive_as_texts():
    chosen = PictureOptions(LegendChoice.NONE, "dark", False, 12.5, Lettering.TEXT)
    assert PictureOptions.parse(chosen.texts()) == chosen
    assert PictureOptions.parse(PictureOptions().texts()) == PictureOptions()


def test_what_is_missing_or_invalid_is_the_default():
    assert PictureOptions.parse({}) == PictureOptions()
    stored = {"legend": "most", "theme": "pink", "width": "0.2", "lettering": "", "numbers": "?"}
    assert PictureOptions.parse(stored) == PictureOptions()
    for width in ("nan", "inf", "-3", "1e9", "None"):
        assert PictureOptions.parse({"width": width}).width is None
