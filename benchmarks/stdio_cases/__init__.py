"""The parts of the benchmark of stdio connections."""
