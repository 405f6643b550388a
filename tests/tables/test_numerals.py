"""Numbers in text, in all notations."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from paralesn.tables.numerals import AmbiguousNumberError, are_numbers, parse_numbers

NOTATIONS = [
    (".", ""),
    (",", ""),
    (".", ","),
    (",", "."),
    (".", " "),
    (",", " "),
    (".", "'"),
    (",", "'"),
]
VALUES = st.lists(st.integers(-(10**9), 10**9).map(lambda n: n / 100), min_size=1, max_size=8)


def spelled(value, decimal, thousands):
    text = f"{value:,.2f}" if thousands else f"{value:.2f}"
    return text.translate(str.maketrans({",": thousands, ".": decimal}))


@given(VALUES, st.sampled_from(NOTATIONS))
def test_every_notation_is_read_back(values, notation):
    texts = [spelled(value, *notation) for value in values]
    found = parse_numbers(texts)  # two decimals: never ambiguous
    np.testing.assert_allclose(found.values, values, rtol=1e-12, atol=0)
    assert found.format.decimal == notation[0]
    assert not found.is_wrong.any()


@given(st.lists(st.integers(1000, 999_999), min_size=1, max_size=6))
def test_whole_thousands_are_refused_until_it_is_said_what_they_are(values):
    texts = [f"{value:,}" for value in values]
    with pytest.raises(AmbiguousNumberError) as error:
        parse_numbers(texts)
    assert error.value.text == texts[0]
    np.testing.assert_array_equal(parse_numbers(texts, thousands=",").values, values)
    np.testing.assert_array_equal(parse_numbers(texts, decimal=".").values, values)
    np.testing.assert_array_equal(parse_numbers(texts, usual=".").values, values)
    np.testing.assert_array_equal(parse_numbers(texts, decimal=",").values, np.array(values) / 1000)


@pytest.mark.parametrize(
    ("texts", "values"),
    [
        (["1,234", "12,345,678"], [1234, 12345678]),
        (["1,234", "1,5"], [1.234, 1.5]),
        (["1,234", "12345"], [1.234, 12345]),
        (["1,234.5", "12345.5"], [1234.5, 12345.5]),
        (["0,123"], [0.123]),
        (["1\u202f234,5", "\u22127"], [1234.5, -7]),
        (["1,5e3", "2E-1"], [1500, 0.2]),
        (["5 %", "-7,5%"], [5, -7.5]),
        (["-$1.50", "$2"], [-1.5, 2]),
        (["?", "-", "3", None, ".."], [np.nan, np.nan, 3, np.nan, np.nan]),
    ],
)
def test_numbers_of_people(texts, values):
    found = parse_numbers(texts)
    np.testing.assert_array_equal(found.values, values)
    assert not found.is_wrong.any()


@pytest.mark.parametrize(
    "text", ["1,23,456", "12 34", "1..2", "abc", "1.2.3", "5,5,5", "$", "1'23"]
)
def test_what_is_no_number(text):
    found = parse_numbers(["1", text])
    assert found.is_wrong.tolist() == [False, True]


def test_text_is_not_taken_for_numbers():
    assert are_numbers(["1,5", None, "?"])
    assert not are_numbers(["2020-01-01x", "1"])
    assert not are_numbers([None, ""])
