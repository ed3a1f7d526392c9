"""The kinds of sandbox, as a run needs them: where each is, whether it works, and its end."""

from tbeval.sandboxes.check import check_bubblewrap
from tbeval.settings.checkpoint import SandboxName

#: For harbor's `EnvironmentConfig.import_path`.
ENVIRONMENTS: dict[SandboxName, str] = {
    "bubblewrap": "tbeval.sandboxes.bubblewrap:BubblewrapEnvironment",
    "docker": "tbeval.sandboxes.docker.environment:DockerEnvironment",
}


async def check_sandbox(kind: SandboxName) -> None:
    """Find out before the first trial whether sandboxes of this kind can be had.

    Raises:
        SandboxStartError: One sentence on what is missing and what to do.
    """
    if kind == "bubblewrap":
        await check_bubblewrap()
        return
    from tbeval.sandboxes.docker.check import look  # noqa: PLC0415 - not for bubblewrap's runs

    await look()


async def release_sandboxes(kind: SandboxName) -> None:
    """Close what all trials of a run shared."""
    if kind == "docker":
        from tbeval.sandboxes.docker.engine import close_engines  # noqa: PLC0415 - as above

        await close_engines()
