"""Whatever stands in an annotation, it is read, or refused in one line with its place."""

import json
import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from annotations.documents import ANY_JSON, GOOD, READERS, spoilt, text_of
from placer_models.annotations.json_parts import MAX_CHARACTERS, AnnotationError

KEYS = sorted(READERS)
OBJECTS = [key for key in KEYS if isinstance(GOOD[key], dict)]
LISTS = [key for key in KEYS if isinstance(GOOD[key], list)]
PATH = r"\$(?:\.[A-Za-z0-9]+|\[[^\n]*?\])*"


def read_or_refuse(key: str, text: str) -> None:
    """Read the text; a refusal is one short line with the annotation's key and a JSON path."""
    refusal: AnnotationError | None = None
    try:
        READERS[key](text)
    except AnnotationError as error:
        refusal = error

    if refusal is not None:
        assert str(refusal).isprintable()
        assert len(str(refusal)) < 800
        assert re.match(rf"{re.escape(key)}: {PATH}: \S", str(refusal))
        assert refusal.key == key


@pytest.mark.parametrize("key", KEYS)
def test_a_good_document_is_read(key: str) -> None:
    """
    Every field at once.
    """
    assert READERS[key](text_of(GOOD[key]))


@settings(max_examples=300)
@given(key=st.sampled_from(KEYS), document=ANY_JSON)
def test_any_json_is_read_or_refused(key: str, document: object) -> None:
    """
    JSON of any shape.
    """
    read_or_refuse(key, text_of(document))


@settings(max_examples=600)
@given(key=st.sampled_from(KEYS), data=st.data())
def test_a_spoilt_document_is_read_or_refused(key: str, data: st.DataObject) -> None:
    """
    A good document in which one part, deep inside, is anything else.
    """
    read_or_refuse(key, text_of(spoilt(GOOD[key], data.draw)))


@settings(max_examples=300)
@given(key=st.sampled_from(KEYS), data=st.data())
def test_a_torn_text_is_read_or_refused(key: str, data: st.DataObject) -> None:
    """
    A good text that was cut, doubled or mixed with other characters, and any text.
    """
    good = text_of(GOOD[key])
    at = data.draw(st.integers(0, len(good)))
    text = data.draw(
        st.sampled_from([good[:at], good[at:], good + good])
        | st.text(max_size=3).map(lambda noise: good[:at] + noise + good[at + 1 :])
        | st.text()
    )

    read_or_refuse(key, text)


@pytest.mark.parametrize("key", OBJECTS)
@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "$: is not JSON"),
        ("{", "$: is not JSON"),
        ('{"a":1,}', "$: is not JSON"),
        ('"x" ', "$: got 'x'; expected an object, in braces"),
        ("[]", "$: got a list; expected an object"),
        ("true", "$: got true; expected an object"),
        ("NaN", "NaN is no number"),
        ("9" * 5000, "a number of 5000 digits"),
        ("[" * 100_000, "brackets are nested too deep"),
        ('{"a":' * 40_000, "brackets are nested too deep"),
        (" " * (MAX_CHARACTERS + 1), f"annotations end at {MAX_CHARACTERS}"),
        ('{"a":1,"a":2}', "the name is there twice"),
        ('{"\\ud800":1}', "half a surrogate pair"),
    ],
    ids=lambda value: value[:12] if isinstance(value, str) else None,
)
def test_what_is_no_document_is_refused(key: str, text: str, words: str) -> None:
    """
    Not JSON, beyond the limits, or not an object.
    """
    with pytest.raises(AnnotationError) as caught:
        READERS[key](text)

    assert words in str(caught.value)
    read_or_refuse(key, text)


@pytest.mark.parametrize("key", OBJECTS)
def test_an_object_of_nothing_says_nothing(key: str) -> None:
    """
    No fields, or null, as Go programs write what they do not have.
    """
    read = READERS[key]

    assert read("{}") == read("null") == read(json.dumps(dict.fromkeys(["cpuset"])))


@pytest.mark.parametrize("key", LISTS)
def test_a_list_of_nothing_says_nothing(key: str) -> None:
    """
    Some documents are lists; null is how Go programs write an empty one.
    """
    assert READERS[key]("[]") == READERS[key]("null") == ()
    with pytest.raises(AnnotationError, match=r"\$: got an object; expected a list"):
        READERS[key]("{}")
