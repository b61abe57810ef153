"""The actors of a connection: they receive, ask a machine, and carry out what it says."""
