"""Reading results: from ledgers to tables."""
