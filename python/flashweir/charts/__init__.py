"""Figures: what they show (`model`), how they come from results, and how they are drawn.

Every figure is data first. A report draws it with plotly, a file with matplotlib: same data, same name.
"""
