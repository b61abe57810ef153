"""The parts of the chaos over HTTP."""
