"""The parts of `soak.py`: the tree, those who call, those who watch, those who break, the checks."""
