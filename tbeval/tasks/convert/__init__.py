"""From a task directory of terminal-bench v0.1.x to one in harbor's format.

docs/terminal-bench.md tells what becomes of what, and why.
"""

from tbeval.tasks.convert.marks import CONVERTER_VERSION, Marks
from tbeval.tasks.convert.source import ConvertError
from tbeval.tasks.convert.task import Converted, convert_task

__all__ = ["CONVERTER_VERSION", "ConvertError", "Converted", "Marks", "convert_task"]
