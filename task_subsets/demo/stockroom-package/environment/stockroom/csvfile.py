"""Stores as CSV files."""

import csv

from stockroom.money import parse_money
from stockroom.store import Store

COLUMNS = ("name", "quantity", "price")


def read_csv(path):
    """The store that a CSV file describes."""
    store = Store()
    with open(path, newline="", encoding="utf-8") as file:
        for row in csv.DictReader(file):
            store.add(row["name"], int(row["quantity"]), parse_money(row["price"]))
    return store
