import { byCodeUnit } from "../../protocol/canonical-json.ts";
import { EXTRACT_NAME, isWritableName, type NamedTool, ToolNames } from "../../protocol/tool-names.ts";
import { codeLines, packageName } from "./python-text.ts";

/** Whether a program awaits its calls, or calls block until they return. */
type CallMode = "async" | "sync";

/** The stubs of names that every program finds, by its way of calling tools. */
const AROUND: Readonly<Record<CallMode, string>> = {
  async: `
async def call_tool(name: str, arguments: Mapping[str, Any] | None = ..., /, **keywords: Any) -> Any:
    """Calls a tool by its namespaced name, \`mcp__<server_module>__<tool>\`."""

async def parallel[T](
    functions: Iterable[Callable[[], Awaitable[T]] | Callable[[], T] | Awaitable[T]], limit: int | None = ...
) -> list[T]:
    """Calls functions at once, at most \`limit\` of them at a time. Results come in order."""

def pages[**P, T](function: Callable[P, Awaitable[T]], /, *args: P.args, **kwargs: P.kwargs) -> AsyncIterator[T]:
    """The result of a tool that answers with one page of a list, and then the pages that follow, a call each.

    \`async for page in pages(list_orders, status="open")\`. Raises ToolError when a call fails.
    """
`,
  sync: `
def call_tool(name: str, arguments: Mapping[str, Any] | None = ..., /, **keywords: Any) -> Any:
    """Calls a tool by its namespaced name, \`mcp__<server_module>__<tool>\`."""

def parallel[T](functions: Iterable[Callable[[], T]], limit: int | None = ...) -> list[T]:
    """Calls functions at once, at most \`limit\` of them at a time. Results come in order."""

def pages[**P, T](function: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> Iterator[T]:
    """The result of a tool that answers with one page of a list, and then the pages that follow, a call each.

    \`for page in pages(list_orders, status="open")\`. Raises ToolError when a call fails.
    """
`,
};

const ALWAYS = `
data: Any
"""The data given along with the program."""

result: Any
"""Set this to the value that the program returns."""

def emit(value: Any, mime_type: str | None = ..., name: str | None = ...) -> None:
    """Hands an image, a sound, a file or a text to the client beside the output.

    The value is a text, bytes with their type, or content blocks as tools return them. With a \`name\`, texts and bytes
    are files.
    """

def bytes_of(block: Any) -> bytes:
    """The bytes of an image, a sound or a resource that a tool returned."""

class ToolError(Exception):
    """A tool call that failed."""

    server: str
    """The server's module name."""
    tool: str
    """The tool's protocol name."""
    message: str
    retryable: bool
    """Whether the same call may succeed later."""
    data: Any
    """What a tool says of its failure as structured content, or its answer if that contradicts what the tool promises."""
`;

/** The stubs of the function that asks a model, if one is configured. */
const EXTRACT: Readonly<Record<CallMode, string>> = {
  async: extractStub("async def"),
  sync: extractStub("def"),
};

/** The stub of `extract`. For a class it returns an instance, and for other types a fitting value. */
function extractStub(def: string): string {
  return `
@overload
${def} extract[T](value: Any, type: type[T]) -> T:
    """Coerces a text, or other data, to a type through a model. What it gives fits the type; whether it is true nobody has checked.

    A type is a Python type, a TypedDict, a dataclass, a word ("string", "number | null", "'open' | 'closed'"), a list with the type
    of its items ([str]), a dict with the types of its members ({"name": str, "phone?": str}), or a JSON Schema.
    """

@overload
${def} extract[T](value: Any, type: list[type[T]]) -> list[T]: ...
@overload
${def} extract(value: Any, type: Literal["string", "date", "datetime"]) -> str: ...
@overload
${def} extract(value: Any, type: Literal["integer"]) -> int: ...
@overload
${def} extract(value: Any, type: Literal["number"]) -> float: ...
@overload
${def} extract(value: Any, type: Literal["boolean"]) -> bool: ...
@overload
${def} extract(value: Any, type: Any) -> Any: ...
`;
}

const HEADER = '"""What a program finds around it. Written by `ptc generate`: edits are lost."""';

/**
 * Prints `__builtins__.pyi`, which type checkers add to Python's built-in names. It has the names that every program finds, and
 * tools by their namespaced names in the form of identifiers.
 *
 * @param tools with the names of their functions in Python.
 */
function printBuiltins(tools: readonly NamedTool[], mode: CallMode): string {
  const names = new ToolNames(tools);
  const aliases = tools
    .map((tool) => ({ tool, name: names.callable(tool) }))
    .filter(({ name }) => isWritableName(name) && !name.includes("$"))
    .sort((a, b) => byCodeUnit(a.name, b.name));
  const typing =
    mode === "async"
      ? "AsyncIterator, Awaitable, Callable, Iterable, Mapping"
      : "Callable, Iterable, Iterator, Mapping";
  const asks = tools.some(({ namespacedName }) => namespacedName === EXTRACT_NAME);
  const imports = [
    // A tool's name may begin with an underscore.
    "# pyright: reportPrivateUsage=false",
    `from collections.abc import ${typing}`,
    `from typing import Any${asks ? ", Literal, overload" : ""}`,
    "",
    "import servers as _servers",
  ];
  const lines = [
    "servers = _servers",
    ...aliases.map(({ tool, name }) => `${name} = _servers.${packageName(tool.module)}.${tool.identifier}`),
  ];
  const around = (AROUND[mode] + ALWAYS + (asks ? EXTRACT[mode] : "")).trim();
  return `${[HEADER, imports.join("\n"), around, lines.join("\n")].join("\n\n")}\n`;
}

/** The file of all names that programs find without an import. Type checkers add them to Python's built-in names. */
export const BUILTINS_FILE = "__builtins__.pyi";

/** The file that lists the modules. */
export const SERVERS_FILE = "servers/__init__.pyi";

/** The path of a server's stubs, within the folder of all stubs. */
export function moduleFile(module: string): string {
  return `servers/${packageName(module)}/__init__.pyi`;
}

/** The stubs that a type checker gets with a program, as texts by path. */
export const PYTHON_STUBS = {
  builtinsFile: BUILTINS_FILE,
  serversFile: SERVERS_FILE,
  moduleFile,
  /** @param tools with the names of their functions in Python. */
  builtins: (tools: readonly NamedTool[], mode: CallMode): string => printBuiltins(tools, mode),
  /** The same for editors, which have one set of stubs for all programs. */
  editorBuiltins: (tools: readonly NamedTool[]): string =>
    eitherWay(printBuiltins(tools, "async")).replace(
      /(?=^def pages\b)(.*) -> AsyncIterator\[T\]:/m,
      `${PAGES}\n\n$1 -> _Pages[T]:`,
    ),
  servers: (modules: readonly string[]): string => printServersPackage(modules),
  /** Turns a module's stubs for programs that await calls into stubs for the given way of calling. */
  inMode: (text: string, mode: CallMode): string =>
    mode === "async" ? text : text.replace(/^((?: {4})?)async def /gm, "$1def "),
};

/** Prints `servers/__init__.pyi`, with `servers.<server_module>` for each server that has tools. */
function printServersPackage(modules: readonly string[]): string {
  const header = '"""The servers, a module each. Written by `ptc generate`: edits are lost."""';
  const distinct = [...new Set(modules.map(packageName))].sort(byCodeUnit);
  const imports = distinct.map((module) => `from . import ${module} as ${module}`);
  return `${[header, EITHER_WAY, ...(imports.length === 0 ? [] : [imports.join("\n")])].join("\n\n")}\n`;
}

/**
 * A tool's function can be awaited, but in a program without any `await` it blocks. ptc checks a program with the stubs for its
 * way of calling. An editor has one set of stubs for all files beside ptc.yaml. The stubs on disk therefore have a decorator that
 * makes the result either: awaited, it has its type, and not awaited, it can be anything.
 */

const DECORATOR = "@_either_way";
const IMPORT = "\nfrom servers import either_way_ as _either_way\n";

/** What `pages` gives, which is iterated over in either way. */
const PAGES = "class _Pages[T](AsyncIterator[T], Iterable[T], Any): ...";

/** Declares the decorator. A class that derives from Any passes for any other, and what is read of it is Any. */
const EITHER_WAY = `from collections.abc import Callable, Coroutine, Iterable
from typing import Any

class _EitherWay[T](Coroutine[Any, Any, T], Iterable[Any], Any): ...

def either_way_[**P, T](function: Callable[P, Coroutine[Any, Any, T]], /) -> Callable[P, _EitherWay[T]]: ...`;

/** Turns stubs of functions that are awaited into stubs for editors. */
export function eitherWay(text: string): string {
  let printed = "";
  let at = 0;
  let isImported = false;
  for (const { line, start } of codeLines(text)) {
    if (!isImported) {
      printed += text.slice(at, start) + IMPORT;
      at = start;
      isImported = true;
    }
    const [, indent] = /^( *)async def /.exec(line) ?? [];
    if (indent === undefined) continue;
    printed += `${text.slice(at, start)}${indent}${DECORATOR}\n`;
    at = start;
  }
  return printed + text.slice(at);
}

/** Reverses `eitherWay`. */
export function awaited(text: string): string {
  let read = "";
  let at = 0;
  for (const { line, start } of codeLines(text)) {
    if (line.trim() !== DECORATOR) continue;
    read += text.slice(at, start);
    at = start + line.length + 1;
  }
  return (read + text.slice(at)).replace(IMPORT, "");
}
