"""The words of the package: reasons, signals, specs, errors. Pure values, no behaviour."""
