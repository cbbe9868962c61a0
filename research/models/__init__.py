"""Models of drives, written apart from the simulator: they grade programs that were made with it."""
