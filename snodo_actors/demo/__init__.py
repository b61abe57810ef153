"""The demo: a supervised connection to a real server, its death, and its return."""
