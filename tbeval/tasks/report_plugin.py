"""A pytest plugin that writes down what pytest did, one JSON line per event.

It runs inside the sandbox, with whatever pytest the test script uses: Python 3.8 and pytest 6 are
the oldest that it must work with, and it needs nothing but those two. `tbeval.tasks.verifier`
copies it there as `tbeval_report`; `tbeval.tasks.reports` reads what it wrote. All judgement is
there, so that this file stays small.

It is active if `TBEVAL_REPORT_DIR` is set. An active session takes our variables out of its
environment, so that what a test starts, a pytest of its own included, sees the environment that
the task's author meant, and adds nothing to the report. When the session ends they come back,
for scripts that call `pytest.main` several times.
"""

# ruff: noqa: PTH100, PTH109, PTH112, PTH118, PTH120 - paths here are text, as pytest and the environment hand them over

from __future__ import annotations

import json
import os
import site
import sys
import time
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from collections.abc import Iterator

MODULE = "tbeval_report"
DIRECTORY = "TBEVAL_REPORT_DIR"
NONCE = "TBEVAL_REPORT_NONCE"
OPTIONS = "TBEVAL_REPORT_OPTIONS"  # what stands before the script's own PYTEST_ADDOPTS
USER_SITE = "TBEVAL_REPORT_USER_SITE"  # the task's own PYTHONNOUSERSITE
OURS = (DIRECTORY, NONCE, OPTIONS, USER_SITE)

MESSAGE_LIMIT = 4000  # characters

#: On the command line these make pytest tell something instead of running tests.
RUNS_NOTHING = {
    "-h",
    "--help",
    "-V",
    "--version",
    "--co",
    "--collect-only",
    "--collectonly",
    "--fixtures",
    "--fixtures-per-test",
    "--markers",
    "--setup-only",
    "--setup-plan",
}


@pytest.hookimpl(hookwrapper=True, tryfirst=True)
def pytest_load_initial_conftests(early_config: Any) -> Iterator[None]:
    """Begin a report before anything that the agent may have written is imported."""
    directory = os.environ.get(DIRECTORY)
    if not directory or RUNS_NOTHING.intersection(early_config.invocation_params.args):
        yield
        return
    recorder = Recorder(early_config, directory)
    early_config.pluginmanager.register(recorder, "tbeval-report-recorder")
    early_config.add_cleanup(recorder.close)
    outcome = yield
    recorder.conftests_loaded(outcome.excinfo)  # type: ignore[attr-defined]


class Recorder:
    """Writes the events of one pytest session to a file of its own."""

    def __init__(self, config: Any, directory: str) -> None:
        self._config = config
        self._process = os.getpid()
        self._paths = {}  # type: dict[str, str]
        self._item = None  # type: Any
        name = f"{self._process}-{time.time_ns()}.jsonl"
        flags = os.O_CREAT | os.O_EXCL | os.O_WRONLY | os.O_APPEND | os.O_NOFOLLOW
        self._file = os.open(os.path.join(directory, name), flags, 0o600)
        nonce = os.environ.get(NONCE, "")
        self._hidden = _hide_from_children()
        self._write(
            "start",
            nonce=nonce,
            process=self._process,
            rootdir=_clean(_rootdir(config)),
            cwd=_clean(os.getcwd()),
            pytest=pytest.__version__,
            python=sys.version.split()[0],
        )

    def close(self) -> None:
        """End the report: the process reached an orderly end, whatever came before."""
        if os.getpid() != self._process or self._file < 0:
            return  # a child that a test forked: the report is its parent's
        self._write("end")
        os.close(self._file)
        self._file = -1
        os.environ.update(self._hidden)

    def conftests_loaded(self, excinfo: Any) -> None:
        """Note a conftest.py that cannot be imported: no test runs, and no later hook."""
        if excinfo is None or isinstance(excinfo[1], pytest.UsageError):
            return
        path = getattr(excinfo[1], "path", None) or os.path.join(os.getcwd(), "conftest.py")
        self._write("broken", path=_clean(str(path)), message=_cut(repr(excinfo[1])))

    # -- what is collected ------------------------------------------------------------------

    @pytest.hookimpl(tryfirst=True)
    def pytest_collectreport(self, report: Any) -> None:
        """Note what could not be collected, and modules that skip themselves whole."""
        if report.outcome == "passed":
            return
        self._write(
            "skipped" if report.outcome == "skipped" else "broken",
            id=_clean(report.nodeid),
            path=_clean(self._path_of(report.nodeid)),
            message=_message(report),
        )

    @pytest.hookimpl(trylast=True)
    def pytest_collection_finish(self, session: Any) -> None:
        """Note the tests that are going to run; deselected ones are no longer among them."""
        for item in session.items:
            self._paths[item.nodeid] = _item_path(item)
        self._write(
            "collected",
            items=[[_clean(item.nodeid), _clean(_item_path(item))] for item in session.items],
        )

    @pytest.hookimpl(optionalhook=True)
    def pytest_xdist_node_collection_finished(self, node: Any, ids: Any) -> None:  # noqa: ARG002 - the hook's signature
        """Note what a worker of pytest-xdist collected; its controller collects nothing."""
        self._write("collected", items=[[_clean(i), _clean(self._path_of(i))] for i in ids])

    # -- what runs --------------------------------------------------------------------------

    @pytest.hookimpl(hookwrapper=True, tryfirst=True)
    def pytest_runtest_protocol(self, item: Any) -> Iterator[None]:
        """Remember which test runs: node ids alone may be ambiguous."""
        self._item = item
        yield
        self._item = None

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_logreport(self, report: Any) -> None:
        """Note the result of one phase of one test."""
        item = self._item
        known = item is not None and item.nodeid == report.nodeid
        self._write(
            "result",
            id=_clean(report.nodeid),
            path=_clean(_item_path(item) if known else self._path_of(report.nodeid)),
            when=str(report.when),
            outcome=str(report.outcome),
            xfail=hasattr(report, "wasxfail"),
            message="" if report.outcome == "passed" else _message(report),
        )

    # -- how it ends ------------------------------------------------------------------------

    def pytest_keyboard_interrupt(self, excinfo: Any) -> None:
        """Note that something stopped the session: Ctrl-C or `pytest.exit`."""
        self._write("stopped", internal=False, message=_cut(repr(excinfo.value)))

    def pytest_internalerror(self, excrepr: Any, excinfo: Any) -> None:  # noqa: ARG002 - the hook's signature
        """Note an exception that no test could hold: `sys.exit` in an imported module, or a bug."""
        internal = not isinstance(excinfo.value, SystemExit)
        self._write("stopped", internal=internal, message=_cut(repr(excinfo.value)))

    @pytest.hookimpl(trylast=True)
    def pytest_sessionfinish(self, session: Any, exitstatus: Any) -> None:
        """Note how pytest means to exit, and what it was asked to run."""
        cwd = os.getcwd() if os.path.isdir(".") else "/"
        args = [os.path.normpath(os.path.join(cwd, str(arg))) for arg in session.config.args]
        self._write("finish", status=int(exitstatus), args=[_clean(arg) for arg in args])

    def _path_of(self, node_id: str) -> str:
        file = node_id.split("::", maxsplit=1)[0]
        return self._paths.get(node_id) or os.path.normpath(
            os.path.join(_rootdir(self._config), file)
        )

    def _write(self, event: str, **fields: Any) -> None:
        if os.getpid() == self._process and self._file >= 0:
            line = json.dumps(dict(fields, event=event)).encode("ascii") + b"\n"
            while line:
                line = line[os.write(self._file, line) :]


def _hide_from_children() -> dict[str, str]:
    """Take what is ours out of the environment; returns what brings it back."""
    environ = os.environ
    hidden = {name: environ[name] for name in OURS if name in environ}
    for name in ("PYTEST_ADDOPTS", "PYTHONPATH", "PYTHONNOUSERSITE"):
        if name in environ:
            hidden[name] = environ[name]
    options = environ.get(OPTIONS, "")
    added = environ.get("PYTEST_ADDOPTS", "")
    if options and added.startswith(options):
        _set("PYTEST_ADDOPTS", added[len(options) :].strip())
    here = os.path.dirname(os.path.abspath(__file__))
    path = environ.get("PYTHONPATH", "")
    _set("PYTHONPATH", os.pathsep.join(part for part in path.split(os.pathsep) if part != here))
    if environ.get("PYTHONNOUSERSITE") == MODULE:  # our value: the script set none of its own
        _set("PYTHONNOUSERSITE", environ.get(USER_SITE, ""))
        if not environ.get("PYTHONNOUSERSITE"):
            _add_user_site()
    for name in OURS:
        environ.pop(name, None)
    return hidden


def _set(name: str, value: str) -> None:
    if value:
        os.environ[name] = value
    else:
        os.environ.pop(name, None)


def _add_user_site() -> None:
    """Let tests import what the agent installed for its user.

    Our PYTHONNOUSERSITE kept `usercustomize`, `.pth` files and plugins that the agent may have
    planted there from running before this point; from here on the modules are importable.
    """
    if sys.prefix != sys.base_prefix or sys.flags.isolated:
        return  # a virtual environment has no user site
    directory = site.getusersitepackages()
    if os.path.isdir(directory) and directory not in sys.path:
        sys.path.append(directory)


def _rootdir(config: Any) -> str:
    return str(getattr(config, "rootpath", None) or config.rootdir)


def _item_path(item: Any) -> str:
    return str(getattr(item, "path", None) or item.fspath)


def _message(report: Any) -> str:
    text = report.longrepr
    if isinstance(text, tuple) and text:  # a skip: file, line, reason
        return _cut(str(text[-1]))
    return _cut(str(text or ""))


def _cut(text: str) -> str:
    if len(text) > MESSAGE_LIMIT:
        text = text[: MESSAGE_LIMIT // 4] + "\n[…]\n" + text[-MESSAGE_LIMIT * 3 // 4 :]
    return _clean(text)


def _clean(text: str) -> str:
    """Text without lone surrogates, which file names that are not UTF-8 bring along."""
    return text.encode("utf-8", "backslashreplace").decode("utf-8")
