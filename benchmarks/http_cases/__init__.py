"""The parts of the benchmark of HTTP connections."""
