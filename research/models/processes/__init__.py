"""A drive as communicating processes (README.md)."""
