"""Reports: one HTML file that opens anywhere, without a network.

`model` is what a report holds, `build` makes it from results and sweeps, `page` draws it.
"""
