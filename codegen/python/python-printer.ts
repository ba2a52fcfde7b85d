import { assignIdentifiers } from "../../catalog/identifiers.ts";
import { parseTool } from "../../catalog/parse-tool.ts";
import { buildToolModel } from "../../catalog/tool-model.ts";
import { PROGRAMS_MODULE } from "../../protocol/tool-names.ts";
import type { EditorSetup } from "../editor-setup.ts";
import type { DeclaredTool, GeneratedModule } from "../generated-module.ts";
import type { ExampleCall, LanguagePrinter, ProgramGuide } from "../language-printer.ts";
import { awaited, eitherWay } from "./either-way.ts";
import { printPythonModule } from "./print-python.ts";
import { printPythonSignature } from "./print-python-signature.ts";
import { BUILTINS_FILE, moduleFile, PYTHON_STUBS, SERVERS_FILE } from "./program-stubs.ts";
import { functionName, packageName, parameterNames } from "./python-names.ts";
import { codeLines } from "./python-text.ts";
import { NOT_AVAILABLE, readToolMark } from "./tool-mark.ts";

const FUNCTION = /^async def ([\p{XIDC}]+)\(/u;

/** A tool as a module's text declares it. */
interface FoundTool {
  mark: NonNullable<ReturnType<typeof readToolMark>>;
  identifier: string;
  start: number;
  /** The end of the mark's line, without the line end. */
  markEnd: number;
  end: number;
}

/**
 * Reads the text of a module back: as it was printed, or as it was archived, with a mark at each tool that programs may not
 * call. Takes time linear in the text.
 *
 * @param callable namespaced names of the tools that programs may call; without it, those that bear no mark.
 */
function readPythonModule(module: string, text: string, callable?: ReadonlySet<string>): GeneratedModule {
  const found = findTools(text);
  const isAvailable = ({ mark }: FoundTool): boolean =>
    !mark.isMarked && (callable === undefined || callable.has(mark.tool));
  let archived = "";
  let at = 0;
  for (const each of found) {
    if (each.mark.isMarked || isAvailable(each)) continue;
    archived += text.slice(at, each.markEnd) + NOT_AVAILABLE;
    at = each.markEnd;
  }
  return {
    text,
    tools: found.map((each): DeclaredTool => {
      const { mark, identifier, start, end } = each;
      return {
        module,
        identifier,
        namespacedName: mark.tool,
        input: mark.input === "" ? "Any" : mark.input,
        output: returnsOf(text.slice(start, end)),
        isObserved: mark.observed !== undefined,
        isUnwrapped: mark.unwrapped === true,
        parameters: mark.parameters,
        isAvailable: isAvailable(each),
        start,
        end,
        signature: () => pythonSignature(identifier, text.slice(start, end), text),
      };
    }),
    archived: archived + text.slice(at),
  };
}

/** The tools of a text: from each mark to where the next statement begins that is no part of its function. */
function findTools(text: string): FoundTool[] {
  const found: FoundTool[] = [];
  let open: FoundTool | undefined;
  for (const { line, start } of codeLines(text)) {
    const lineEnd = start + line.length;
    const mark = readToolMark(line);
    const isPart = line === "@overload" || FUNCTION.test(line) || /^(?: |\) ->|$)/.test(line);
    if (mark !== undefined) {
      open = { mark, identifier: "", start, markEnd: lineEnd, end: lineEnd };
    } else if (open !== undefined && !isPart) {
      open = undefined;
    }
    const name = FUNCTION.exec(line)?.[1];
    if (open === undefined || name === undefined) {
      if (open !== undefined && line !== "") open.end = lineEnd;
      continue;
    }
    if (open.identifier === "") found.push(open);
    else if (open.identifier !== name) {
      open = undefined;
      continue;
    }
    open.identifier = name;
    open.end = lineEnd;
  }
  return found;
}

/** The annotation after the first parameters, which is a name. */
function returnsOf(declaration: string): string {
  return /^(?:async def .*|)\) -> ([\p{XIDC}]+):/mu.exec(declaration)?.[1] ?? "Any";
}

const MAX_SIGNATURE_CHARS = 600;

/** How deep the dicts within arguments are spelled out. */
const MAX_LEVELS = 3;

/**
 * `name(*, owner: str, page?: int) -> {...}` of a declared function on one line, with the dicts that it names spelled out, cut
 * where it is very long.
 *
 * @param declaration the text of the function, with all its signatures.
 */
function pythonSignature(name: string, declaration: string, moduleText: string): string {
  const forms = declaration.split("@overload\n").slice(1, -1);
  const lines = (forms.length === 0 ? [declaration] : forms).map((form) => {
    const [, parameters = "", returns = "Any"] =
      /^async def [^(]+\(([\s\S]*?)\) -> ([\p{XIDC}]+):/mu.exec(form) ?? [];
    const spelled = parameters
      .split("\n")
      .map((line) => line.trim().replace(/,$/, ""))
      .filter((line) => line !== "" && line !== "/")
      .map((line) => line.replace(/^([\p{XIDC}]+): (.*) = \.\.\.$/u, "$1?: $2"))
      .join(", ");
    return { call: `${name}(${spellOut(spelled, moduleText, MAX_LEVELS)})`, returns };
  });
  const calls = lines.map(({ call }) => call).join(" or ");
  const returns = spellOut(lines[0]?.returns ?? "Any", moduleText, MAX_LEVELS);
  if (calls.length > MAX_SIGNATURE_CHARS) return `${calls.slice(0, MAX_SIGNATURE_CHARS)}...`;
  const whole = `${calls} -> ${returns}`;
  return whole.length > MAX_SIGNATURE_CHARS ? `${calls} -> ...` : whole;
}

/** An annotation with the declarations of the names in it in their places. */
function spellOut(annotation: string, moduleText: string, levels: number): string {
  if (levels === 0 || annotation.length > 4 * MAX_SIGNATURE_CHARS) return annotation;
  return annotation.replace(/"(?:[^"\\]|\\.)*"|\b[A-Z_][\p{XIDC}]*(?![\p{XIDC}]*\??:)/gu, (word) => {
    const declared = word.startsWith('"') ? undefined : declarationOf(word, moduleText);
    return declared === undefined ? word : spellOut(declared, moduleText, levels - 1);
  });
}

/** What a type is declared as: `{key: type, other?: type}`, or another annotation. Of another name for a type, what that is declared as. */
function declarationOf(name: string, moduleText: string): string | undefined {
  const declared = declaredAs(name, moduleText);
  const isName = declared !== undefined && /^[\p{XIDC}]+$/u.test(declared);
  return isName ? (declaredAs(declared, moduleText) ?? declared) : declared;
}

function declaredAs(name: string, moduleText: string): string | undefined {
  for (const [start, end] of [
    [`\nclass ${name}(TypedDict`, /\n(?! |\n)/],
    [`\n${name} = TypedDict(`, /\n\)/],
    [`\ntype ${name} = `, /\n/],
    [`\n${name} = `, /\n/],
  ] as const) {
    const at = moduleText.indexOf(start);
    if (at < 0) continue;
    const rest = moduleText.slice(at + start.length);
    const block = rest.slice(0, end.exec(rest)?.index);
    if (start.endsWith("= ")) return block;
    return `{${entriesOf(block).join(", ")}}`;
  }
  return undefined;
}

/** The entries of a dict's declaration. Documentation is skipped. */
function entriesOf(block: string): string[] {
  const entries: string[] = [];
  for (const { line } of codeLines(block)) {
    const [, key, type = ""] =
      /^ {4}([\p{XIDC}]+): (.*)$/u.exec(line) ?? /^ {8}("(?:[^"\\]|\\.)*"): (.*),$/.exec(line) ?? [];
    if (key === undefined) continue;
    const optional = /^NotRequired\[(.*)\]$/.exec(type)?.[1];
    entries.push(optional === undefined ? `${key}: ${type}` : `${key}?: ${optional}`);
  }
  return entries;
}

/** Names that the example has beside those of the call. */
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

/** What a model is told of programs in Python. Every word of it is in the context of every conversation. */
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

/** Of a table of pyproject.toml, everything until the next table. */
const PYRIGHT_TABLE = /^[ \t]*\[tool\.(?:based)?pyright\][ \t]*(?:#.*)?$([\s\S]*?)(?=^[ \t]*\[|(?![\s\S]))/m;
const LEADING_SETTING = /^[ \t]*(?:stubPath|extends|extraPaths)[ \t]*=[ \t]*(.*)$/gm;

/** `pyrightconfig.json` in the output folder: pyright, and what is made of it, then know the stubs and the runner's Python. */
const PYRIGHT_CONFIG = `// How editors read programs beside ptc.yaml. Written by \`ptc generate\`: edits are lost.
${JSON.stringify({ stubPath: ".", pythonVersion: "3.11", pythonPlatform: "Linux", reportMissingModuleSource: "none" }, null, 2)}
`;

/** Pyright, Pylance and basedpyright take `pyrightconfig.json` before `pyproject.toml`, which need not speak of them. */
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
export const PYTHON_GENERATOR = "7";

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
      [BUILTINS_FILE, eitherWay(PYTHON_STUBS.builtins(tools, "async"))],
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
