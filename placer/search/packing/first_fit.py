"""First fit: what a filling lacks goes into the first bins with room."""

from placer.search.packing.bins import Filling, Packing


def completed(packing: Packing, filling: Filling) -> Filling:
    """Return the filling with all things of the packing; each of them fits a fresh bin."""
    rooms = []
    for number, things in enumerate(filling):
        bin = packing.bin(number)
        room = bin.room
        for thing, count in enumerate(things):
            room = bin.without(room, thing, count)
        rooms.append(room)
    filling = [list(things) for things in filling]
    for thing, wanted in enumerate(packing.counts):
        left = wanted - sum(things[thing] for things in filling)
        number = 0
        while left:
            if number == len(filling):
                rooms.append(packing.fresh.room)
                filling.append([0] * len(packing.counts))
            bin = packing.bin(number)
            while left and bin.fits(rooms[number], thing):
                rooms[number] = bin.without(rooms[number], thing)
                filling[number][thing] += 1
                left -= 1
            number += 1
    return filling
