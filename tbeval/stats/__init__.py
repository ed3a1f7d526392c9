"""Pure functions on numbers: pass@k and friends."""
