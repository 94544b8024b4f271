"""HTML put together so that text from a journal can never become markup: all that is not `Html` is escaped."""

from __future__ import annotations

import html
from collections.abc import Iterable, Sequence

_VOID = {"img", "input", "meta"}


class Html(str):
    """Text that is markup already."""

    __slots__ = ()


def escape(value: object) -> Html:
    """Any value as markup; what is markup already stays as it is.

    >>> escape("a < b"), escape(Html("<b>a</b>"))
    ('a &lt; b', '<b>a</b>')
    """
    return value if isinstance(value, Html) else Html(html.escape(str(value)))


def element(name: str, /, *children: object, **attributes: object) -> Html:
    """One element; `class_` is written class, `aria_label` aria-label, and an attribute that is None is left out.

    >>> element("td", "1 < 2", class_="number", title=None)
    '<td class="number">1 &lt; 2</td>'
    """
    written = "".join(
        f' {key.rstrip("_").replace("_", "-")}="{html.escape(str(value))}"'
        for key, value in attributes.items()
        if value is not None
    )
    if name in _VOID:
        return Html(f"<{name}{written}>")
    return Html(f"<{name}{written}>{join(children)}</{name}>")


def join(pieces: Iterable[object]) -> Html:
    """Pieces one after another."""
    return Html("".join(escape(piece) for piece in pieces))


def table(
    head: Sequence[str],
    rows: Iterable[Sequence[object]],
    *,
    label: str,
    words: Sequence[int] = (0,),
    scroll: bool = False,
    name: str | None = None,
    row_attributes: Sequence[dict[str, object]] | None = None,
) -> Html:
    """A table of which the columns in `words` hold text and all others numbers; `scroll` keeps a long one short."""
    kinds = [None if at in words else "number" for at in range(len(head))]
    top = join(element("th", title, class_=kind, scope="col") for title, kind in zip(head, kinds, strict=True))
    lines = []
    for at, row in enumerate(rows):
        cells = join(element("td", cell, class_=kind) for cell, kind in zip(row, kinds, strict=True))
        lines.append(element("tr", cells, **(row_attributes[at] if row_attributes else {})))
    whole = element(
        "table", element("thead", element("tr", top)), element("tbody", join(lines)), aria_label=label, id=name
    )
    # A box that scrolls must be reachable with the keyboard.
    look = {"class_": "scroll", "tabindex": 0, "role": "region", "aria_label": label} if scroll else {"class_": "wide"}
    return element("div", whole, **look)


def pairs(fields: Iterable[tuple[str, object]], label: str) -> Html:
    """Names with their values."""
    rows = join(element("tr", element("th", name, scope="row"), element("td", escape(value))) for name, value in fields)
    return element("div", element("table", element("tbody", rows), class_="pairs", aria_label=label), class_="wide")
