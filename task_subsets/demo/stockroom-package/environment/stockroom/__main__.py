"""The command line."""

import sys

from csvfile import read_csv
from money import format_money


def main(arguments):
    if arguments[:1] == ["total"] and len(arguments) == 2:
        print(format_money(read_csv(arguments[1]).total_cents()))
        return 0
    if arguments[:1] == ["low"] and len(arguments) == 3:
        for name in read_csv(arguments[1]).low(arguments[2]):
            print(name)
        return 0
    print("usage: python3 -m stockroom total FILE | low FILE LIMIT")
    return 2


sys.exit(main(sys.argv[1:]))
