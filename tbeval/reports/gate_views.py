"""The gate's verdict as text, Markdown, plain data and JUnit XML: always the same one."""

import re
from typing import Any
from xml.etree import ElementTree as ET

from tbeval.reports.comparing import ComparisonReport
from tbeval.reports.comparison_views import as_data as comparison_data
from tbeval.reports.escape import markdown, visible
from tbeval.reports.gating import ExitCode, GateReport, sentences

_MARKS = {"PASS": "✅", "FAIL": "❌", "INCONCLUSIVE": "❓"}
_NOT_XML = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def as_text(report: GateReport) -> str:
    """For a terminal or a log: the verdict first."""
    return "\n".join([report.verdict, *(f"  {visible(line)}" for line in sentences(report))])


def as_markdown(report: GateReport) -> str:
    """For a summary of a CI job."""
    name = markdown(report.checkpoint.checkpoint)
    lines = [f"- {markdown(line)}" for line in sentences(report)]
    return "\n".join([f"### {_MARKS[report.verdict]} {report.verdict}: {name}", "", *lines, ""])


def as_data(report: GateReport) -> dict[str, Any]:
    """For programs: every number."""
    decision, bound = report.decision, report.threshold
    data: dict[str, Any] = {
        "verdict": report.verdict,
        "exit_code": int(report.exit_code),
        "metric": str(report.metric),
        "sentences": list(sentences(report)),
        "decision": None,
        "threshold": None,
    }
    if decision is not None and report.compared is not None:
        whole = ComparisonReport(report.metric, report.compared.base, (report.compared,), None)
        data["decision"] = {
            "verdict": decision.verdict,
            "low": decision.low,
            "high": decision.high,
            "margin": decision.margin,
            "attempts_needed": decision.attempts_needed,
            "chances": [
                {
                    "drop": chance.drop,
                    "fail": chance.fail,
                    "pass": chance.passed,
                    "inconclusive": chance.inconclusive,
                }
                for chance in decision.chances
            ],
            "comparison": comparison_data(whole),
        }
    if bound is not None:
        data["threshold"] = {
            "verdict": bound.verdict,
            "rate": bound.rate,
            "low": bound.low,
            "high": bound.high,
            "at_least": bound.at_least,
        }
    return data


def as_junit(report: GateReport) -> str:
    """For CI servers that read JUnit: one test, which fails as the process does."""
    said = "\n".join(sentences(report))
    kind = {ExitCode.FAIL: "failure", ExitCode.INCONCLUSIVE: "skipped"}.get(report.exit_code)
    return _junit(report.checkpoint.checkpoint, report.verdict, said, kind)


def no_answer_junit(checkpoint: str, why: str) -> str:
    """The same where the gate cannot say anything."""
    return _junit(checkpoint, "NO ANSWER", why, "error")


def _junit(checkpoint: str, verdict: str, said: str, kind: str | None) -> str:
    counts = {name: str(int(kind == tag)) for name, tag in _COUNTED.items()}
    suite = ET.Element("testsuite", {"name": "tbeval gate", "tests": "1", **counts})
    case = ET.SubElement(suite, "testcase", classname="tbeval.gate", name=_xml(checkpoint))
    if kind is not None:
        ET.SubElement(case, kind, message=verdict).text = _xml(said)
    ET.SubElement(case, "system-out").text = _xml(f"{verdict}\n{said}")
    return ET.tostring(suite, encoding="unicode", xml_declaration=True) + "\n"


_COUNTED = {"failures": "failure", "errors": "error", "skipped": "skipped"}


def _xml(text: str) -> str:
    return _NOT_XML.sub("\N{REPLACEMENT CHARACTER}", text)
