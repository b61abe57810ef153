"""The rules of the client: pure machines that decide, without clock, connection or actor."""
