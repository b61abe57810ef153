"""The rules of the package: pure machines that decide, without clock, loop or actor."""
