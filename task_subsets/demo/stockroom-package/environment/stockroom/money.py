"""Amounts of money: whole cents inside, text outside."""


def parse_money(text):
    """The cents of a price such as 12.50."""
    return int(float(text) * 100)


def format_money(cents):
    """An amount with two digits after the point."""
    return f"{cents // 100}.{cents % 100}"
