"""Two naive buyers: they open a node whenever a pod fits nowhere, and never think again.

Each shape has one machine type of its own: where its dominant share costs least. Pods come one
by one, the largest dominant share first. First fit takes the first open node with room; best
fit the one that is left with least. They know sums and GPUs, as the market has them.
"""

import numpy as np

from placer.plan.market import BinKind, ItemDeviceAsk, PurchaseProblem


def buy_one_by_one(market: PurchaseProblem, *, best_fit: bool) -> int:
    """Return what all nodes cost that a naive buyer opens."""
    counts = market.blocks[0]
    choice = [_cheapest(market, item) for item in range(market.items)]
    order = sorted(range(market.items), key=lambda i: -_share(market.kinds[choice[i]], i))
    fleet = _Fleet(market)
    price = 0
    for item in order:
        for _ in range(counts[item]):
            if not fleet.put(item, best_fit=best_fit):
                fleet.open(choice[item])
                price += market.kinds[choice[item]].price
                assert fleet.put(item, best_fit=best_fit)
    return price


def _cheapest(market: PurchaseProblem, item: int) -> int:
    able = [k for k, kind in enumerate(market.kinds) if kind.sizes[item] is not None]
    return min(able, key=lambda k: market.kinds[k].price * _share(market.kinds[k], item))


def _share(kind: BinKind, item: int) -> float:
    """Return the largest part of a node that the item takes."""
    size = kind.sizes[item] or ()
    parts = [a / b for a, b in zip(size, kind.room, strict=True) if b]
    for devices in kind.devices:
        ask = devices.asks[item]
        for quantity, room in enumerate(devices.rooms[0] if devices.rooms else ()):
            shares = sum(n * devices.sizes[s][quantity] for s, n in ask.shares)
            parts.append((ask.whole * room + shares) / (room * len(devices.rooms)))
    return max(parts)


class _Fleet:
    """The nodes that are open."""

    def __init__(self, market: PurchaseProblem) -> None:
        self._market = market
        self._gpus = max((len(d.rooms) for kind in market.kinds for d in kind.devices), default=0)
        self._kinds: list[int] = []
        self._left = np.zeros((0, len(market.kinds[0].room)), np.int64)
        self._room = self._left.copy()
        self._devices = np.zeros((0, self._gpus), np.int64)

    def open(self, kind: int) -> None:
        """Open a node of a kind."""
        bins = self._market.kinds[kind]
        self._kinds.append(kind)
        room = np.array(bins.room, np.int64)[None]
        self._left = np.concatenate([self._left, room])
        self._room = np.concatenate([self._room, room])
        rooms = [room for devices in bins.devices for (room,) in devices.rooms]
        devices = np.full((1, self._gpus), -1, np.int64)
        devices[0, : len(rooms)] = rooms
        self._devices = np.concatenate([self._devices, devices])

    def put(self, item: int, *, best_fit: bool) -> bool:
        """Put an item on an open node; return whether there is room on one."""
        kinds = np.array(self._kinds, np.int64)
        able = np.array([kind.sizes[item] is not None for kind in self._market.kinds])
        like = next(kind for kind in self._market.kinds if kind.sizes[item] is not None)
        size = np.array(like.sizes[item], np.int64)
        fits = (self._left >= size).all(axis=1) & able[kinds]
        ask, share, full = self._ask(like, item)
        if ask.whole:
            fits &= (self._devices == full).sum(axis=1) >= ask.whole
        elif share:
            fits &= (self._devices >= share).any(axis=1)
        if not fits.any():
            return False
        rest = ((self._left - size) / np.maximum(self._room, 1)).sum(axis=1)
        node = int(np.where(fits, rest, np.inf).argmin()) if best_fit else int(fits.argmax())
        self._left[node] -= size
        devices = self._devices[node]
        if ask.whole:
            devices[np.flatnonzero(devices == full)[: ask.whole]] = 0
        elif share:
            devices[np.where(devices >= share, devices, full + 1).argmin()] -= share
        return True

    @staticmethod
    def _ask(kind: BinKind, item: int) -> tuple[ItemDeviceAsk, int, int]:
        """Return what an item asks of GPUs: it is for a share of one GPU at most."""
        if not kind.devices or not kind.devices[0].rooms:
            return ItemDeviceAsk(), 0, 1
        devices = kind.devices[0]
        ask = devices.asks[item]
        share = devices.sizes[ask.shares[0][0]][0] if ask.shares else 0
        return ask, share, devices.rooms[0][0]
