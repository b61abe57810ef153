"""Bridges to other libraries; each needs that library installed."""
