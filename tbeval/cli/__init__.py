"""The click commands: options in, exit code out."""
