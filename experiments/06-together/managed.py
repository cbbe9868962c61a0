"""A planner that plans nothing: units collect on their own, and only when they must."""

from flashweir.external import PlannerView


def nobody(_view: PlannerView) -> list[int]:
    """No unit collects ahead."""
    return []
