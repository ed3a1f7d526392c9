"""What one part writes and another reads: the ledger, reports of the parts of a trial, Protocols."""
