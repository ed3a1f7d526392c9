"""Preflight: whether a run can work here, found out before it costs anything."""

from tbeval.runs.preflight.examine import before_run, examine
from tbeval.runs.preflight.finding import Finding, Status, Subject

__all__ = ["Finding", "Status", "Subject", "before_run", "examine"]
