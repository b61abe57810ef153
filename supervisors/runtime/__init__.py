"""The kernel: nodes, processes, mailboxes, futures and timers on a real event loop."""
