import type { NamedTool } from "../../protocol/tools/tool-alias.ts";
import { type CallMode, printBuiltins } from "./print-builtins.ts";
import { printServersPackage } from "./print-servers-package.ts";
import { packageName } from "./python-names.ts";

/** The file of all that programs find without an import. Type checkers add its names to those of Python. */
export const BUILTINS_FILE = "__builtins__.pyi";

/** The file that says which modules there are. */
export const SERVERS_FILE = "servers/__init__.pyi";

/** The stubs of a server's module, below the folder of all stubs. */
export function moduleFile(module: string): string {
  return `servers/${packageName(module)}/__init__.pyi`;
}

/** The stubs that a type checker is shown beside a program, as texts by path. */
export const PYTHON_STUBS = {
  builtinsFile: BUILTINS_FILE,
  serversFile: SERVERS_FILE,
  moduleFile,
  /** @param tools with the names of their functions in Python. */
  builtins: (tools: readonly NamedTool[], mode: CallMode): string => printBuiltins(tools, mode),
  servers: (modules: readonly string[]): string => printServersPackage(modules),
  /** A module's stubs for programs whose calls block, of those for programs that await them. */
  inMode: (text: string, mode: CallMode): string =>
    mode === "async" ? text : text.replace(/^((?: {4})?)async def /gm, "$1def "),
};
