"""Research behind the detectors and the probe: nothing of it is in the wheel (README.md)."""
