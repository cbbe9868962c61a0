"""Accuracy of `flashweir probe`: `drives` draws simulated drives, `bench` probes them and compares."""
