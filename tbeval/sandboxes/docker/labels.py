"""What everything of ours on an Engine is labelled with: whose it is, and whether that lives."""

import os
import platform
from collections.abc import Mapping
from pathlib import Path

from tbeval.records.process import ProcessId, pid_namespace, process_id

RUN = "tbeval.run"
TRIAL = "tbeval.trial"
OWNER = "tbeval.owner"
#: On networks and images, which several runs share.
KIND = "tbeval.kind"

_FIELDS = 5


def owned(run_id: str, trial: str) -> dict[str, str]:
    """The labels of what this process makes for one trial."""
    me = process_id(os.getpid())
    owner = f"{platform.node()} {_boot()} {pid_namespace()} {me.pid} {me.started}"
    return {RUN: run_id, TRIAL: trial, OWNER: owner}


def owner_is_dead(labels: Mapping[str, str]) -> bool:
    """Whether what bears these labels was left by a process of this machine that is gone.

    An Engine may serve several machines: of another's processes nothing is known from here.
    """
    fields = labels.get(OWNER, "").split()
    if len(fields) != _FIELDS:
        return False
    node, boot, namespace, pid, started = fields
    if node != platform.node() or not (pid + started + namespace).isdecimal():
        return False
    if boot != _boot():
        return True
    return int(namespace) == pid_namespace() and not (
        ProcessId(pid=int(pid), started=int(started)).alive
    )


def _boot() -> str:
    return Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii").strip()
