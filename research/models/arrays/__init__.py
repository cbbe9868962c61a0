"""A model of an SSD in Python and numpy, with labels for its faults (README.md)."""
