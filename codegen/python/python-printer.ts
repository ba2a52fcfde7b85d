import { assignIdentifiers } from "../../catalog/identifiers.ts";
import { parseTool } from "../../catalog/parse-tool.ts";
import { buildToolModel } from "../../catalog/tool-model.ts";
import { PROGRAMS_MODULE } from "../../protocol/tool-names.ts";
import type { EditorSetup, ExampleCall, LanguagePrinter, ProgramGuide } from "../language-printer.ts";
import { printPythonModule } from "./print-python.ts";
import {
  awaited,
  BUILTINS_FILE,
  eitherWay,
  moduleFile,
  PYTHON_STUBS,
  SERVERS_FILE,
} from "./program-stubs.ts";
import { functionName, packageName, parameterNames } from "./python-text.ts";
import { readPythonModule } from "./read-module.ts";
import { printPythonSignature } from "./signature.ts";

/** Names in the example besides those of the call. */
const NAMES = new Set(["asyncio", "each", "found", "print", "str"]);

function printExample({ module, tool: { name, identifier }, argument }: ExampleCall): string | undefined {
  const called = functionName(name, identifier);
  if (NAMES.has(called) || (argument !== "" && parameterNames([argument]).get(argument) !== argument))
    return undefined;
  const from = `from servers.${packageName(module)} import ${called}`;
  const lines =
    argument === ""
      ? [from, `found = await ${called}()`]
      : [
          "import asyncio",
          from,
          `found = await asyncio.gather(*[${called}(${argument}=each) for each in ["a", "b"]])`,
        ];
  return [...lines, "print(str(found)[:500])"].join("\n");
}

/** The text that a model reads about programs in Python. Every word is in the context of every conversation. */
const PYTHON_GUIDE: ProgramGuide = {
  signatures: "Python",
  programs: "Python",
  givesBack: "prints or sets as result",
  abilities: "Top-level await works, Python's standard library can be imported",
  calls:
    "`from servers.<server> import some_tool; await some_tool(key=value)`, or `await mcp__<server>__<tool>(key=value)`",
  example: printExample,
  rules:
    "A program without await gets functions that block. Results are dicts and lists. A failed call raises ToolError. Types are checked first. Tools without an output schema return Any: print a small sample before relying on its shape.",
  extract: '`await extract(text, {"name": str, "tags": [str]})`',
  brief: "functions have the tools' names and take keyword arguments; print, or set result.",
};

/** Matches pyright's table in pyproject.toml, up to the next table. */
const PYRIGHT_TABLE = /^[ \t]*\[tool\.(?:based)?pyright\][ \t]*(?:#.*)?$([\s\S]*?)(?=^[ \t]*\[|(?![\s\S]))/m;
const LEADING_SETTING = /^[ \t]*(?:stubPath|extends|extraPaths)[ \t]*=[ \t]*(.*)$/gm;

/** `pyrightconfig.json` in the output folder. It tells pyright, and tools based on it, the stubs and the runner's Python version. */
const PYRIGHT_CONFIG = `// How editors read programs beside ptc.yaml. Written by \`ptc generate\`: edits are lost.
${JSON.stringify({ stubPath: ".", pythonVersion: "3.11", pythonPlatform: "Linux", reportMissingModuleSource: "none" }, null, 2)}
`;

/** Pyright, Pylance and basedpyright prefer `pyrightconfig.json` to `pyproject.toml`. */
const PYTHON_EDITOR: EditorSetup = {
  files: ["pyrightconfig.json", "pyproject.toml"],
  settings: "pyrightconfig.json",
  paths({ name, text, json }) {
    if (name.endsWith(".toml")) {
      const [, table] = PYRIGHT_TABLE.exec(text) ?? [];
      if (table === undefined) return undefined;
      return [...table.matchAll(LEADING_SETTING)].flatMap(([, value = ""]) =>
        [...value.matchAll(/["']([^"']*)["']/g)].map(([, path]) => path),
      );
    }
    const config = json as { extends?: unknown; stubPath?: unknown; extraPaths?: unknown } | undefined;
    return [config?.extends, config?.stubPath, config?.extraPaths].flat();
  },
  advice: (settings) => `have it extend ${settings} (or set its "stubPath" to "generated")`,
};

/** The version of this generator. It must change whenever the same definitions would give another text. */
export const PYTHON_GENERATOR = "9";

/** Prints stubs for programs in Python. Type checkers and editors read them; they never run. */
export const PYTHON_PRINTER: LanguagePrinter = {
  language: "python",
  generator: PYTHON_GENERATOR,
  guide: PYTHON_GUIDE,
  editor: PYTHON_EDITOR,
  nameFunctions: assignIdentifiers,
  modulePath: moduleFile,
  printModule: async (server) => {
    const { text, warnings } = printPythonModule(server);
    return { text: eitherWay(text), warnings };
  },
  savedPrograms: {
    path: `${PROGRAMS_MODULE}/__init__.pyi`,
    text: `"""Saved programs. Written by \`ptc generate\`: edits are lost."""\n\nfrom servers.${PROGRAMS_MODULE} import *\n`,
  },
  printShared: (tools) =>
    new Map([
      [BUILTINS_FILE, PYTHON_STUBS.editorBuiltins(tools)],
      [PYTHON_EDITOR.settings, PYRIGHT_CONFIG],
      [SERVERS_FILE, PYTHON_STUBS.servers(tools.map(({ module }) => module))],
    ]),
  signature: async (tool, form) => {
    const definition = parseTool(tool);
    if (definition === undefined) return `${functionName(tool.name, tool.identifier)}(**arguments)`;
    const { module, identifier, learned, unwraps = false } = tool;
    const model = buildToolModel(definition, module, identifier, undefined, learned, unwraps);
    return printPythonSignature(model, form);
  },
  importLine: (module) => `import ${module === PROGRAMS_MODULE ? module : `servers.${packageName(module)}`}`,
  functionName: ({ name, identifier }) => functionName(name, identifier),
  readModule: (module, text, callable) => readPythonModule(module, awaited(text), callable),
};
