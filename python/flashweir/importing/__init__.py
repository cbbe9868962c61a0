"""Configurations of other simulators as drives: each of their keys becomes one of ours, or is named with the reason.

`model.py` is the table that an import yields, and the device file made of it; `source.py` reads values with clear
errors; `mqsim.py`, `ssdsim.py`, `nvmevirt.py` and `femu.py` map the keys of one simulator each.
`api.py` has `import_drive`; `device.py` converts where a device is taken, and is all that is imported before that.
"""
