"""What labels must say."""

import pytest

from placer_models.selectors import LabelExpression, SelectorOperator, labels_meet

LABELS = (("app", "db"), ("cores", "16"))


@pytest.mark.parametrize(
    ("key", "operator", "values", "met"),
    [
        ("app", "In", ("db", "web"), True),
        ("app", "In", ("web",), False),
        ("zone", "In", ("a",), False),
        ("app", "NotIn", ("web",), True),
        ("app", "NotIn", ("db",), False),
        ("zone", "NotIn", ("a",), True),
        ("app", "Exists", (), True),
        ("zone", "Exists", (), False),
        ("app", "DoesNotExist", (), False),
        ("zone", "DoesNotExist", (), True),
        ("cores", "Gt", ("15",), True),
        ("cores", "Gt", ("16",), False),
        ("cores", "Lt", ("17",), True),
        ("cores", "Lt", ("16",), False),
        ("cores", "Gt", ("-1",), True),
        ("app", "Gt", ("0",), False),
        ("zone", "Lt", ("1",), False),
    ],
)
def test_an_expression_asks_as_in_kubernetes(
    key: str, operator: str, values: tuple[str, ...], met: bool
) -> None:
    """
    NotIn is met where the key is missing; numbers are compared as numbers.
    """
    assert LabelExpression(key, SelectorOperator(operator), values).meets(LABELS) is met


def test_all_expressions_have_to_be_met() -> None:
    """
    Nothing asked is always met.
    """
    has = LabelExpression("app", SelectorOperator.EXISTS)
    lacks = LabelExpression("cores", SelectorOperator.DOES_NOT_EXIST)

    assert labels_meet(LABELS, [])
    assert labels_meet(LABELS, [has])
    assert not labels_meet(LABELS, [has, lacks])


@pytest.mark.parametrize(
    ("operator", "values"),
    [
        (SelectorOperator.IN, ()),
        (SelectorOperator.EXISTS, ("x",)),
        (SelectorOperator.GT, ()),
        (SelectorOperator.GT, ("1", "2")),
        (SelectorOperator.LT, ("many",)),
    ],
)
def test_values_go_with_the_operator(operator: SelectorOperator, values: tuple[str, ...]) -> None:
    """
    In needs some, Exists takes none, Gt and Lt take one whole number.
    """
    with pytest.raises(ValueError, match="expected"):
        LabelExpression("key", operator, values)


def test_an_expression_is_said_as_people_write_it() -> None:
    """
    As kubectl takes it.
    """
    said = [
        str(LabelExpression("k", SelectorOperator.IN, ("a", "b"))),
        str(LabelExpression("k", SelectorOperator.NOT_IN, ("a",))),
        str(LabelExpression("k", SelectorOperator.EXISTS)),
        str(LabelExpression("k", SelectorOperator.DOES_NOT_EXIST)),
        str(LabelExpression("k", SelectorOperator.GT, ("3",))),
    ]

    assert said == ["k in (a,b)", "k not in (a)", "k", "!k", "k>3"]
