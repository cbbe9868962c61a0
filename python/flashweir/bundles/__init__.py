"""Bundles: a result, a sweep or a report in one archive that others can check by running it again.

`archive` is the tar.zst file, `manifest` its list of contents, `contents` the files while a bundle is made;
`of_results` and `of_sweep` make specifications that work inside the bundle, `pack` puts all together. `again` runs a
bundle, `differences` compares, `checking` is both. docs/reference/bundle.md describes the format.
"""

from flashweir.bundles.checking import check_bundle
from flashweir.bundles.pack import bundle

__all__ = ["bundle", "check_bundle"]
