"""What compiled code may do with memory beyond numpy: borrow arrays, read words at an address, fetch ahead."""

import ctypes
from collections.abc import Callable
from typing import Any, TypeVar

import numpy as np
from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic, overload
from numba.np import arrayobj

T = TypeVar("T")


def borrowed(value: T) -> T:
    """The same array, or (named) tuple of arrays, without a share in its ownership; outside compiled code as it is.

    Compiled code counts the owners of an array atomically at each slice and call, which costs more than a short loop.
    Only for values that stay alive in the caller, as arguments of the running function do.
    """
    return value


@overload(borrowed, strict=False)  # type: ignore[untyped-decorator]  # numba has no types; not strict: it compares annotations
def _borrowed(value: Any) -> Callable[[Any], Any]:
    del value
    return lambda value: _without_owner(value)


@intrinsic  # type: ignore[untyped-decorator]  # numba has no types
def _without_owner(typing_context: Any, value: Any) -> tuple[Any, Callable[..., Any]]:
    """What `borrowed` compiles to."""
    del typing_context

    def build(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return _lent(context, builder, signature.args[0], arguments[0])

    return value(value), build


def _lent(context: Any, builder: Any, kind: Any, value: Any) -> Any:
    """The value with the owner of each array in it set to none."""
    if isinstance(kind, types.Array):
        array = arrayobj.make_array(kind)(context, builder, value)
        array.meminfo = cgutils.get_null_value(array.meminfo.type)
        array.parent = cgutils.get_null_value(array.parent.type)
        return array._getvalue()
    if isinstance(kind, types.BaseTuple):
        for place, item in enumerate(kind):
            inner = _lent(context, builder, item, builder.extract_value(value, place))
            value = builder.insert_value(value, inner, place)
    return value


def bare(value: T) -> T:
    """The same tuple of arrays, named or not, as pointers that can only be indexed; outside compiled code as it is.

    Calls that pass pointers cost nothing, while each array passed costs as much as a few rows. The arrays must be
    contiguous, and stay alive in the caller.
    """
    return value


@overload(bare, strict=False)  # type: ignore[untyped-decorator]  # likewise
def _bare(value: Any) -> Callable[[Any], Any]:
    del value
    return lambda value: _pointers(value)


@intrinsic  # type: ignore[untyped-decorator]  # likewise
def _pointers(typing_context: Any, value: Any) -> tuple[Any, Callable[..., Any]]:
    """What `bare` compiles to."""
    del typing_context

    def build(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        items = [builder.extract_value(arguments[0], place) for place in range(len(value))]
        items = [
            arrayobj.make_array(kind)(context, builder, item).data if isinstance(kind, types.Array) else item
            for kind, item in zip(signature.args[0], items, strict=True)
        ]
        return context.make_tuple(builder, signature.return_type, items)

    kinds = [types.CPointer(kind.dtype) if isinstance(kind, types.Array) else kind for kind in value]
    named = isinstance(value, types.BaseNamedTuple)
    return (types.NamedTuple(kinds, value.instance_class) if named else types.Tuple(kinds))(value), build


def word_at(address: Any, index: Any) -> Any:
    """The uint64 at an index from an address; it need not be aligned, but must be there."""
    return np.uint64(ctypes.c_uint64.from_address(int(address) + 8 * int(index)).value)


def byte_at(address: Any) -> Any:
    """The byte at an address, as a uint64."""
    return np.uint64(ctypes.c_uint8.from_address(int(address)).value)


@overload(word_at, strict=False)  # type: ignore[untyped-decorator]  # likewise
def _word_at(address: Any, index: Any) -> Callable[[Any, Any], Any]:
    del address, index
    return lambda address, index: _load_word(np.int64(address), np.int64(index))


@overload(byte_at, strict=False)  # type: ignore[untyped-decorator]  # likewise
def _byte_at(address: Any) -> Callable[[Any], Any]:
    del address
    return lambda address: _load_byte(np.int64(address))


@intrinsic  # type: ignore[untyped-decorator]  # likewise
def _load_word(typing_context: Any, address: Any, index: Any) -> tuple[Any, Callable[..., Any]]:
    """What `word_at` compiles to."""
    del typing_context

    def build(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        del context, signature
        pointer = builder.inttoptr(arguments[0], ir.IntType(64).as_pointer())
        return builder.load(builder.gep(pointer, [arguments[1]]), align=1)

    return types.uint64(address, index), build


@intrinsic  # type: ignore[untyped-decorator]  # likewise
def _load_byte(typing_context: Any, address: Any) -> tuple[Any, Callable[..., Any]]:
    """What `byte_at` compiles to."""
    del typing_context

    def build(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        del context, signature
        pointer = builder.inttoptr(arguments[0], ir.IntType(8).as_pointer())
        return builder.zext(builder.load(pointer), ir.IntType(64))

    return types.uint64(address), build


def fetch_ahead(place: Any, index: Any) -> None:
    """Ask for the item at an index from a pointer, or the word from an address: it will be read soon."""
    del place, index


@overload(fetch_ahead, strict=False)  # type: ignore[untyped-decorator]  # likewise
def _fetch_ahead(place: Any, index: Any) -> Callable[[Any, Any], None]:
    del place, index
    return lambda place, index: _prefetch(place, index)


@intrinsic  # type: ignore[untyped-decorator]  # likewise
def _prefetch(typing_context: Any, place: Any, index: Any) -> tuple[Any, Callable[..., Any]]:
    """What `fetch_ahead` compiles to; an address where nothing is does no harm."""
    del typing_context

    def build(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        pointer = arguments[0]
        if isinstance(signature.args[0], types.Integer):
            pointer = builder.inttoptr(pointer, ir.IntType(64).as_pointer())
        pointer = builder.bitcast(builder.gep(pointer, [arguments[1]]), ir.IntType(8).as_pointer())
        flag = ir.IntType(32)
        kind = ir.FunctionType(ir.VoidType(), [pointer.type, flag, flag, flag])
        function = cgutils.get_or_insert_function(builder.module, kind, "llvm.prefetch.p0i8")
        builder.call(function, [pointer, flag(0), flag(3), flag(1)])
        return context.get_dummy_value()

    return types.void(place, index), build
