"""The parts of `soak.py`: the tree, who calls, who watches, who breaks, and the checks."""
