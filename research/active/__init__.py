"""Accuracy of `flashweir diagnose --active` on drives whose faults are known (README.md)."""
