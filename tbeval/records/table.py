"""The trial table's columns: one row per trial, whatever harness ran it."""

#: Column → dtype of pandas. Times are UTC; seconds and tokens are sums over the trial.
COLUMNS: dict[str, str] = {
    "checkpoint": "category",
    "run_id": "category",
    "source": "category",  # the harness: tbeval, harbor, terminal-bench
    "trial_id": "string",
    "task": "category",
    "attempt": "int32",
    "try": "int32",
    "result": "bool",  # this try is its cell's result
    "outcome": "category",
    "scored": "bool",
    "solved": "boolean",  # <NA>: unscored
    "solved_published": "boolean",
    "score": "float64",  # NaN: unscored
    "tests_passed": "int32",
    "tests_failed": "int32",
    "tests_skipped": "int32",
    "tests_total": "int32",
    "stop_reason": "category",
    "turns": "int32",
    "commands": "int32",
    "model_calls": "int32",
    "tokens_in": "int64",
    "tokens_out": "int64",
    "model_sec": "float64",  # NaN: another harness, which does not tell
    "paused_sec": "float64",  # likewise
    "sandbox_sec": "float64",
    "agent_sec": "float64",
    "verifier_sec": "float64",
    "began": "datetime64[us, UTC]",
    "ended": "datetime64[us, UTC]",
    "limits_hit": "string",  # separated by commas
    "replica": "category",
    "task_digest": "category",
    "error_class": "category",
    "error_message": "string",
}
