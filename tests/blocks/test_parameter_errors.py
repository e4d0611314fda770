"""A wrong parameter is explained without the words of the validator."""

import re

import pytest

from gradwire.blocks.errors import ParameterError
from gradwire.blocks.library.sources import Variable
from gradwire.blocks.registry import registry

FOREIGN = re.compile(
    r"pydantic|validat|Input should|Value error|valid \w+,|instance of|Field req", re.IGNORECASE
)
"""Words of the validator."""
WRONG = [
    "junk",
    -1,
    None,
    [1, 2, "x"],
    {"a": 1},
    1e99,
    float("nan"),
    [],
    True,
    3.5,
    [[1]],
    "\ud800",
]


def refusals():
    """The message for each wrong value of each parameter of each block, but for the name that it
    begins with, which may itself be a word of the validator.
    """
    for cls in registry().classes.values():
        for name in cls.parameter_names():
            for value in WRONG:
                try:
                    cls.from_record({name: value})
                except ParameterError as error:
                    yield str(error).removeprefix(f"Parameter '{name}'")


def test_no_message_has_the_words_of_the_validator():
    messages = [*refusals()]
    assert len(messages) > 300
    assert [message for message in messages if FOREIGN.search(message)] == []
    assert [message for message in messages if "another value" in message] == []


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"valu": 3}, "no parameter or input 'valu'.* Did you mean value?"),
        ({"value": "abc"}, "'abc' is not a number"),
        ({"shape": [1, "x"]}, "Expected a whole number, got 'x'"),
        ({"dtype": "f99"}, "'float64', got 'f99'"),
    ],
)
def test_a_block_made_in_python_explains_itself_too(parameters, message):
    with pytest.raises(ParameterError, match=message) as caught:
        Variable(**parameters)
    assert caught.value.__cause__ is None
    assert caught.value.__suppress_context__
