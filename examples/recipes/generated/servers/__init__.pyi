"""The servers, a module each. Written by `ptc generate`: edits are lost."""

from collections.abc import Callable, Coroutine, Iterable
from typing import Any

class _EitherWay[T](Coroutine[Any, Any, T], Iterable[Any], Any): ...

def either_way_[**P, T](function: Callable[P, Coroutine[Any, Any, T]], /) -> Callable[P, _EitherWay[T]]: ...

from . import everything as everything
from . import files as files
from . import git as git
from . import memory as memory
from . import sqlite as sqlite
from . import web as web
