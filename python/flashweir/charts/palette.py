"""The colours of figures: colour-blind readers tell them apart (after Okabe and Ito); readable on white and dark."""

SERIES = ("#0072b2", "#d55e00", "#009e73", "#c0659c", "#b98300", "#3a93cf", "#8a63d2", "#7d7f82")
STATES = {"host": "#0072b2", "gc": "#d55e00", "mapping": "#c0659c", "waiting": "#e0b000", "idle": "#d3d7dc"}
