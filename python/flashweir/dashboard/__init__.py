"""A page that shows a drive while it works: served over HTTP to a browser, from a live drive or a recorded run.

`samples.py` makes frames and points of samples of a drive, `history.py` keeps points of a day in bounded memory,
`sources.py` are the drives that a page shows, `server.py` answers the browser, and `page.*` is the page.
"""
