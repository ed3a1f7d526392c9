"""What can go wrong with a sandbox, by who is to blame."""


class SandboxStartError(RuntimeError):
    """The host could not start a sandbox: nothing is wrong with the task."""


class TaskSetupError(RuntimeError):
    """The task's own set-up failed; the message ends with its last lines of output."""


class UnsupportedTaskError(ValueError):
    """The task asks for something that this kind of sandbox does not have."""


class CommandTimeoutError(RuntimeError):
    """A command ran out of its time and was killed with its children.

    A RuntimeError with harbor's own words, as its Docker environment raises: agents match on both.
    """

    def __init__(self, timeout_sec: float) -> None:
        super().__init__(f"Command timed out after {timeout_sec:g} seconds")


class TransferError(RuntimeError):
    """Files could not be copied into or out of a sandbox."""
