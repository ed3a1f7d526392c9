"""Plan, scheduler, outcome, resume, progress."""
