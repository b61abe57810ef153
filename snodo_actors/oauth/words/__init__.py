"""The words of authorization: errors, metadata and clients."""
