"""Docker as a sandbox, spoken to through the Engine's own API: no docker CLI, no shared path."""
