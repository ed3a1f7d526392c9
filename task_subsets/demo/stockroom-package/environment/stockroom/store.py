"""A store: items by name, each with a quantity and a price in cents."""

from stockroom.csvfile import COLUMNS


class Store:
    columns = COLUMNS

    def __init__(self, items={}):
        self.items = items

    def add(self, name, quantity, cents):
        """Add some pieces of an item; the newest price counts."""
        if name in self.items:
            quantity += self.items[name][0]
        self.items[name] = (quantity, cents)

    def total_cents(self):
        """What everything is worth."""
        return sum(quantity * cents for quantity, cents in self.items.values())

    def low(self, limit):
        """Names of the items of which there are at most `limit`."""
        return [name for name, (quantity, _) in self.items.items() if quantity < limit]
