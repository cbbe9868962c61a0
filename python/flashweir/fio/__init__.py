"""fio's job files as workloads: `fio:FILE` wherever Python takes a trace or a generator (docs/reference/fio.md).

`jobfile` reads the file, `options` says which options count, `job` makes numbers of them, `requests` and `walk` the
requests, `streams` the streams of a run, and `resolving` puts them in the place of the text.
"""
