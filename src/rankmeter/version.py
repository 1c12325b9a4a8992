"""The version of this package, as outputs, files and the cache of compiled code name it."""


def package_version() -> str:
    """The version that is installed; `0+source` for a source tree that is not.

    >>> package_version()[0].isdigit()
    True
    """
    from importlib.metadata import PackageNotFoundError, version  # slow to load, and help has no use for it

    try:
        return version("rankmeter")
    except PackageNotFoundError:
        return "0+source"
