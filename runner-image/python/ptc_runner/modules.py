"""The modules of servers, and the global names of their tools, built from the table that comes with the program."""

import re
import sys
from collections.abc import Iterator, Mapping, Sequence
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from types import CodeType, ModuleType, SimpleNamespace
from typing import Any, TypedDict

from ptc_runner.saved_programs import SavedPrograms
from ptc_runner.tools import Caller, ToolFunction

PACKAGE = "servers"
PROGRAMS = "programs"
"""The module of saved programs, which can also be imported by itself."""
_PREFIX = "mcp__"
_NOT_IN_NAMES = re.compile(r"[^A-Za-z0-9_]")


class FunctionTable(TypedDict):
    tool: str
    parameters: dict[str, str]


Table = dict[str, dict[str, FunctionTable]]


class ServerModules(MetaPathFinder, Loader):
    """Finds `servers`, `servers.<module>` and `programs`, and nothing else."""

    def __init__(self, caller: Caller, programs: SavedPrograms) -> None:
        self._caller = caller
        self._programs = programs
        self._table: Table = {}

    def install(self, table: Table) -> None:
        self._table = table
        if self not in sys.meta_path:
            sys.meta_path.insert(0, self)

    def find_spec(self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None, /) -> ModuleSpec | None:
        package, _, module = fullname.partition(".")
        if fullname == PROGRAMS and PROGRAMS in self._table:
            return ModuleSpec(fullname, self)
        if package != PACKAGE:
            return None
        if module == "":
            return ModuleSpec(fullname, self, is_package=True)
        return ModuleSpec(fullname, self) if module in self._table else None

    def create_module(self, spec: ModuleSpec) -> ModuleType | None:
        return None

    def exec_module(self, module: ModuleType) -> None:
        _, _, name = module.__name__.partition(".")
        if module.__name__ == PROGRAMS:
            name = PROGRAMS
        if name == "":
            modules = sorted(self._table)
            module.__dict__["__all__"] = modules
            module.__dict__["__getattr__"] = self._import_member
            return
        functions = self._table[name]
        members: dict[str, object] = {
            identifier: self._function(identifier, function) for identifier, function in functions.items()
        }
        for object_name, methods in _methods(functions, self._caller).items():
            members.setdefault(object_name, methods)
        module.__dict__.update(members)
        module.__dict__["__all__"] = sorted(members)

    def bind_globals(self, code: CodeType) -> dict[str, ToolFunction]:
        """The functions for all tool names that occur in a program."""
        names = {name for name in _names_in(code) if name.startswith(_PREFIX)}
        if not names:
            return {}
        known = self._global_names()
        return {name: self._function(name, known.get(name) or {"tool": name, "parameters": {}}) for name in names}

    def _global_names(self) -> dict[str, FunctionTable | None]:
        """The tool that each name stands for; None if there are several."""
        exact: dict[str, FunctionTable | None] = {}
        aliases: dict[str, FunctionTable | None] = {}
        for module, functions in self._table.items():
            for identifier, function in functions.items():
                tool = function["tool"]
                exact[tool] = function
                for alias in {_NOT_IN_NAMES.sub("_", tool), f"{_PREFIX}{module}__{identifier}"}:
                    aliases[alias] = None if alias in aliases and aliases[alias] is not function else function
        return {**aliases, **exact}

    def _function(self, name: str, function: FunctionTable) -> ToolFunction:
        made = ToolFunction(self._caller, name, function["tool"], function["parameters"])
        return self._programs.function(made, self.bind_globals)

    def _import_member(self, name: str) -> Any:
        if name in self._table:
            return __import__(f"{PACKAGE}.{name}", fromlist=["*"])
        raise AttributeError(f"module '{PACKAGE}' has no attribute '{name}'")


def _names_in(code: CodeType) -> Iterator[str]:
    yield from code.co_names
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _names_in(constant)


def _methods(functions: Mapping[str, FunctionTable], caller: Caller) -> dict[str, SimpleNamespace]:
    """The objects `resources` and `prompts` of a server that has them."""
    objects: dict[str, SimpleNamespace] = {}

    def add(path: str, tool: str) -> None:
        object_name, _, member = path.partition("/")
        target = objects.setdefault(object_name, SimpleNamespace())

        def read(uri: str) -> Any:
            return caller.call(tool, {"uri": uri})

        def get(name: str, arguments: Mapping[str, str] | None = None) -> Any:
            return caller.call(tool, {"name": name} if arguments is None else {"name": name, "arguments": arguments})

        def list_all() -> Any:
            return caller.call(tool, {})

        function = {"read": read, "get": get, "list": list_all}[member]
        function.__name__ = member
        setattr(target, member, function)

    for function in functions.values():
        tool = function["tool"]
        path = tool.split("__", 2)[-1]
        if path in ("resources/list", "resources/read", "prompts/get", "prompts/list"):
            add(path, tool)
    return objects
