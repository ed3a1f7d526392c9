"""Versions of the agents, for run.toml and harbor's result files; light to import."""

#: harbor's version of terminus-2, and the number of our changes to what it does.
TERMINUS_VERSION = "2.0.0+tbeval.1"

#: harbor's own, which we change in nothing but the clock.
REFERENCE_VERSION = "1.0.0"
