"""HTML from parts: text becomes harmless by itself, so that no name from a file is ever markup."""

from html import escape


class Html(str):
    """Markup that is finished; every other text is escaped where it becomes part of some."""

    __slots__ = ()


def html_element(name: str, *children: str, **attributes: object) -> Html:
    """Return an element.

    Args:
        name: Its name.
        children: Text, which is escaped, and elements, which are not.
        attributes: By name; ``_`` stands for ``-`` and is left out at the end (``class_``). True
            is an attribute without a value; None and False are left out.

    """
    told = "".join(
        _attribute(key.rstrip("_").replace("_", "-"), value) for key, value in attributes.items()
    )
    return Html(f"<{name}{told}>{joined_html(*children)}</{name}>")


def joined_html(*children: str) -> Html:
    """Return text and elements one after the other."""
    return Html("".join(one if isinstance(one, Html) else escape(one) for one in children))


def _attribute(key: str, value: object) -> str:
    if value is None or value is False:
        return ""
    return f" {key}" if value is True else f' {key}="{escape(str(value))}"'
