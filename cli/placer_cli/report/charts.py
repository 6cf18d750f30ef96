"""Charts of a report: bars, and a curve over the size of a demand.

They are written by hand as HTML and SVG: two kinds of charts need no library, print without a
script, and take the colours of the page, light or dark.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from math import floor, log10

from placer_cli.report.html import Html, html_element

_WIDTH, _HEIGHT = 640, 240
_LEFT, _RIGHT, _TOP, _BOTTOM = 64, 56, 14, 30
_TICKS = 4


@dataclass(frozen=True, slots=True)
class ChartBar:
    """An amount with a name.

    Attributes:
        words: The amount as people write it.

    """

    name: str
    amount: float
    words: str


@dataclass(frozen=True, slots=True)
class GrowthChartPoint:
    """A point of a curve.

    Attributes:
        scale: How many times the demand.
        price: None: there is no plan.
        nodes: How many nodes are bought.

    """

    scale: float
    price: float | None
    nodes: int


def bar_chart(of: Sequence[ChartBar], most: float | None = None) -> Html:
    """Return bars one below the other, as long as their amounts.

    Args:
        of: The bars.
        most: The amount of a full bar; None: the largest.

    """
    full = most or max((one.amount for one in of), default=0.0)
    drawn = (
        html_element(
            "div",
            html_element("span", one.name, class_="name"),
            html_element("i", html_element("b", style=f"width:{_percent(one.amount, full):.1f}%")),
            html_element("span", one.words, class_="amount"),
            class_="bar",
        )
        for one in of
    )
    return html_element("div", *drawn, class_="bars")


def _percent(amount: float, full: float) -> float:
    return 100 * min(1.0, max(0.0, amount / full)) if full else 0.0


def price_over_demand_chart(
    points: Sequence[GrowthChartPoint], currency: str, burst: float | None
) -> Html:
    """Return price and nodes over the size of the demand.

    Args:
        points: By ascending size, two or more.
        currency: What prices are in.
        burst: From this size on something has to be bought; None: not marked.

    """
    axes = _Axes(points)
    inside = [*axes.grid()]
    if burst is not None:
        x = axes.x(burst)
        inside.append(_line(x, _TOP, x, _HEIGHT - _BOTTOM, "burst"))
    for name, values in (
        ("price", [(p.scale, p.price) for p in points]),
        ("nodes", [(p.scale, None if p.price is None else float(p.nodes)) for p in points]),
    ):
        height = axes.price_y if name == "price" else axes.nodes_y
        known = [(axes.x(scale), height(value)) for scale, value in values if value is not None]
        path = " ".join(f"{x:.1f},{y:.1f}" for x, y in known)
        inside.append(html_element("polyline", points=path, class_=name))
        inside += [
            html_element("circle", cx=f"{x:.1f}", cy=f"{y:.1f}", r=3, class_=f"{name}-dot")
            for x, y in known
        ]
    for point in points:
        if point.price is None:
            words = html_element("title", f"{point.scale:.6g}x: no plan")
            x = axes.x(point.scale)
            inside.append(
                html_element(
                    "circle", words, cx=f"{x:.1f}", cy=_HEIGHT - _BOTTOM, r=4, class_="none"
                )
            )
    picture = html_element(
        "svg",
        html_element("title", "Price and nodes over the size of the demand"),
        *inside,
        viewBox=f"0 0 {_WIDTH} {_HEIGHT}",
        role="img",
    )
    told = (
        f"Solid, left: price{f' in {currency}' if currency else ''}. Dashed, right: nodes bought."
    )
    if burst is not None:
        told += f" From the red line on, at {burst:.6g}x, nodes have to be bought."
    return html_element(
        "figure",
        html_element("div", picture, class_="chart wide"),
        html_element("figcaption", told),
    )


class _Axes:
    """Where sizes, prices and nodes are in the picture."""

    def __init__(self, points: Sequence[GrowthChartPoint]) -> None:
        scales = [point.scale for point in points]
        self._first, self._last = min(scales), max(scales)
        self._price = _ceiling(max((p.price or 0.0 for p in points), default=0.0))
        self._nodes = _ceiling(float(max(p.nodes for p in points)))

    def x(self, scale: float) -> float:
        """Return where a size is."""
        part = (scale - self._first) / ((self._last - self._first) or 1.0)
        return _LEFT + part * (_WIDTH - _LEFT - _RIGHT)

    def price_y(self, price: float) -> float:
        """Return where a price is."""
        return self._y(price / self._price)

    def nodes_y(self, nodes: float) -> float:
        """Return where a number of nodes is."""
        return self._y(nodes / self._nodes)

    @staticmethod
    def _y(part: float) -> float:
        return _HEIGHT - _BOTTOM - part * (_HEIGHT - _TOP - _BOTTOM)

    def grid(self) -> list[Html]:
        """Return lines and figures of all three axes."""
        found = []
        for tick in range(_TICKS + 1):
            part = tick / _TICKS
            y = self._y(part)
            found.append(_line(_LEFT, y, _WIDTH - _RIGHT, y, "axis"))
            found.append(_words(_LEFT - 6, y + 4, f"{part * self._price:,.6g}", "end"))
            found.append(_words(_WIDTH - _RIGHT + 6, y + 4, f"{part * self._nodes:,.6g}", "start"))
            scale = self._first + part * (self._last - self._first)
            found.append(_words(self.x(scale), _HEIGHT - 8, f"{scale:.4g}x", "middle"))
        return found


def _ceiling(most: float) -> float:
    """Return a round number that is no smaller."""
    if most <= 0:
        return 1.0
    unit = 10.0 ** floor(log10(most))
    return next(step * unit for step in (1, 1.2, 1.6, 2, 3, 4, 5, 6, 8, 10) if step * unit >= most)


def _line(x1: float, y1: float, x2: float, y2: float, look: str) -> Html:
    return html_element(
        "line", x1=f"{x1:.1f}", y1=f"{y1:.1f}", x2=f"{x2:.1f}", y2=f"{y2:.1f}", class_=look
    )


def _words(x: float, y: float, text: str, anchor: str) -> Html:
    return html_element("text", text, x=f"{x:.1f}", y=f"{y:.1f}", text_anchor=anchor)
