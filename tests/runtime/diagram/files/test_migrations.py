import pytest

from blocks.errors import FileError
from runtime.diagram import dumps, loads
from runtime.diagram.files import migrations
from tests.runtime.diagram.drawing import seed


def test_an_older_file_takes_every_step(monkeypatch):
    """Pretend that a version 0 had a list of wires, and a version -1 had no pages."""

    def from_minus_1(document):
        blocks, wires = document.pop("blocks"), document.pop("wires")
        return document | {"pages": {"main": {"blocks": blocks, "wires": wires}}}

    def from_0(document):
        for page in document["pages"].values():
            page["wires"] = {target: source for source, target in page["wires"]}
        return document

    monkeypatch.setattr(migrations, "STEPS", {-1: from_minus_1, 0: from_0})
    text = '{"gradwire": -1, "title": "Old", "blocks": {"a": {"type": "Variable"}, ' \
        '"stop": {"type": "StopGradient"}}, "wires": [["a.out", "stop.x"]]}'  # fmt: skip
    diagram = loads(text)
    assert diagram.title == "Old"
    assert '"gradwire": 1' in dumps(diagram)
    assert '"stop.x": "a.out"' in dumps(diagram)


def test_what_is_wrong_after_a_step_is_told_at_the_nearest_place(monkeypatch):
    monkeypatch.setattr(migrations, "STEPS", {0: lambda old: {"pages": {"main": old["page"]}}})
    with pytest.raises(FileError, match=r"^1:1: There is no field 'colour' here"):
        loads('{"gradwire": 0, "page": {"colour": 1}}')


@pytest.mark.parametrize(
    ("version", "message"),
    [
        ("2", "of version 2, newer than this Gradwire. Expected version 1 or older. Update"),
        ("0", "There never was a version 0."),
        ('"1"', "it names no version. Expected \"gradwire\": 1, got '1'."),
        ("true", "it names no version."),
        ("1.0", "it names no version."),
    ],
)
def test_versions_that_can_not_be_read(version, message):
    with pytest.raises(FileError) as caught:
        loads(f'{{"pages": {{}},\n"gradwire": {version}}}')
    assert message in str(caught.value)
    assert (caught.value.line, caught.value.column) == (2, 1)


def test_the_version_that_is_written_is_the_newest():
    assert f'"gradwire": {migrations.VERSION}' in dumps(seed())
    assert all(step < migrations.VERSION for step in migrations.STEPS)
