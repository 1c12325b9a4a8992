"""Being refused: what a file's mode forbids, root may do too, unless it gives that up before it begins."""

import ctypes
import os

VERSION = 0x20080522


def powerless():
    """Give up all that a superuser may do beyond the rights of files."""
    if os.geteuid() == 0:
        header, nothing = (ctypes.c_uint32 * 2)(VERSION, 0), (ctypes.c_uint32 * 6)()
        assert ctypes.CDLL(None).capset(header, nothing) == 0
