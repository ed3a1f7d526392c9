"""The page of a report: index.html, trial pages, Markdown, data and figures."""
