"""What is in the stockroom, and what it is worth."""

from stockroom.store import Store
from stockroom.csvfile import read_csv
from stockroom.money import format_money

__all__ = ["Store", "format_money", "read_csv"]
