"""The words of the client: errors, options and values."""
