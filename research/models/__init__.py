"""Drives that share no code with the simulator, to grade what is said of it by others."""
