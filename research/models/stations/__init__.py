"""Managed channels whose dies share buses, request by request (README.md)."""
