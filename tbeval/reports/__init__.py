"""Views on the table: summaries as text, JSON and Markdown."""
