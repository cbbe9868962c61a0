"""Detectors of `flashweir diagnose`: drives with known faults, training, precision and recall.

`drives` draws simulated drives with known faults, `bench` runs them, `training` makes the detectors, `measure` counts
how often they are right.
"""
