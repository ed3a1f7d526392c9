"""What one part writes and another reads: ledger, run.toml, reports of a trial's parts."""
