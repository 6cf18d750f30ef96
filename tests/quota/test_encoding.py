"""What goes into a number of quotas comes out of it again, or is refused (B2 to B8, B15)."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from placer.quota.filter import free_quotas_packed_in_words
from placer_models.quota import (
    BitPackedQuotas,
    IllegalQuotaError,
    bits_per_quota,
    decode_device_quota,
    decode_quotas,
    encode_device_quotas,
    fields_per_word,
    parse_quota_quantity,
    quota_quantity_text,
)

QUOTAS = st.lists(st.integers(0, 1 << 62), max_size=40)


@given(QUOTAS, st.integers(0, 3))
def test_quotas_come_back(quotas: list[int], spare_bits: int) -> None:
    """
    As one number, as 64-bit words of it, and as words whose fields never span two.
    """
    bits = bits_per_quota(max(quotas, default=0)) + spare_bits
    number = encode_device_quotas(quotas, bits)

    words = BitPackedQuotas(number, bits, len(quotas)).words
    assert sum(word << 64 * i for i, word in enumerate(words)) == number
    assert list(decode_quotas(number, bits, len(quotas))) == quotas
    assert [
        decode_device_quota(number, bits, i + 1, len(quotas)) for i in range(len(quotas))
    ] == quotas
    if bits <= 63:
        for field_bits in (bits, bits + 1):
            row = free_quotas_packed_in_words(np.array([quotas], np.int64), bits, field_bits)[
                :, 0
            ].tolist()
            each, mask = fields_per_word(field_bits), (1 << bits) - 1
            fields = [row[i // each] >> i % each * field_bits & mask for i in range(len(quotas))]
            assert fields == quotas


@given(st.integers(0, 1 << 64) | st.integers(0, 1 << 20_000).map(lambda n: n * n))
def test_a_number_of_any_size_survives_a_quantity(number: int) -> None:
    """
    B9: a node's number travels as a decimal quantity, however many devices it has.
    """
    assert parse_quota_quantity(quota_quantity_text(number)) == number


@pytest.mark.parametrize(
    ("text", "number"),
    [("0", 0), ("3k", 3_000), ("12E", 12 * 10**18), ("5e3", 5_000), ("676500", 676_500)],
)
def test_round_numbers_come_back_as_kubernetes_writes_them(text: str, number: int) -> None:
    """
    Kubernetes writes 3000 as 3k.
    """
    assert parse_quota_quantity(text) == number


@pytest.mark.parametrize("text", ["", "-1", "0.5", "500m", "1Ki", "0x10", "1e", "1 k", "ten"])
def test_what_is_no_whole_number_is_refused(text: str) -> None:
    """
    A fraction, a binary suffix or a word is no encoded number.
    """
    with pytest.raises(IllegalQuotaError, match="is no encoded number; expected decimal digits"):
        parse_quota_quantity(text)


@pytest.mark.parametrize(
    ("number", "bits", "devices", "words"),
    [
        (-1, 5, 1, "the encoded number is below 0"),
        (32, 5, 1, "the encoded number has 6 bits, but 1 devices of 5 bits have 5"),
        (0, 0, 1, "a field of 0 bits holds nothing; use 1 bit or more"),
        (0, 5, -1, "-1 devices; a class has 0 or more"),
    ],
)
def test_a_number_with_other_fields_is_refused(
    number: int, bits: int, devices: int, words: str
) -> None:
    """
    A number from elsewhere has the fields that it says it has, or is refused.
    """
    with pytest.raises(IllegalQuotaError, match=words):
        BitPackedQuotas(number, bits, devices)
    with pytest.raises(IllegalQuotaError, match=words):
        decode_quotas(number, bits, devices)


def test_what_fits_no_word_is_refused() -> None:
    """
    A quota beyond its field, or a field beyond a word: nothing is guessed.
    """
    with pytest.raises(
        IllegalQuotaError, match="a quota is outside 0 to 31, all that a 5-bit field can say"
    ):
        free_quotas_packed_in_words(np.array([[1, 32]]), 5, 6)
    with pytest.raises(IllegalQuotaError, match="a field of 65 bits does not fit a word of 64"):
        free_quotas_packed_in_words(np.array([[1]]), 63, 65)
    with pytest.raises(IllegalQuotaError, match="fields of 4 bits cannot hold quotas of 5"):
        free_quotas_packed_in_words(np.array([[1, 2]]), 5, 4)
