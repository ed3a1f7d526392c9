"""The served model: probe, gateway, embedded server."""
