import type { ToolModel } from "../../catalog/tool-model.ts";
import { quoteString } from "../escape.ts";
import type { DeclaredTool, GeneratedModule } from "../language-printer.ts";
import { codeLines, packageName } from "./python-text.ts";

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
 * Reads the text of a printed module, or of an archived one, which marks each tool that programs may not call. Takes time linear
 * in the text.
 *
 * @param callable namespaced names of the tools that programs may call. By default, the tools without a mark.
 */
export function readPythonModule(
  module: string,
  text: string,
  callable?: ReadonlySet<string>,
): GeneratedModule {
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

/** The tools of a text, each from its mark to the next statement that is not a part of its function. */
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

/** The annotation of the result, which is a name. */
function returnsOf(declaration: string): string {
  return /^(?:async def .*|)\) -> ([\p{XIDC}]+):/mu.exec(declaration)?.[1] ?? "Any";
}

const MAX_SIGNATURE_CHARS = 600;

/** The number of levels of dicts to spell out. */
const MAX_LEVELS = 3;

/**
 * Renders a declared function as `name(*, owner: str, page?: int) -> {...}` on one line, with its dicts spelled out, cut if it is
 * very long.
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

/** Replaces the names in an annotation by their declarations. */
function spellOut(annotation: string, moduleText: string, levels: number): string {
  if (levels === 0 || annotation.length > 4 * MAX_SIGNATURE_CHARS) return annotation;
  return annotation.replace(/"(?:[^"\\]|\\.)*"|\b[A-Z_][\p{XIDC}]*(?![\p{XIDC}]*\??:)/gu, (word) => {
    const declared = word.startsWith('"') ? undefined : declarationOf(word, moduleText);
    return declared === undefined ? word : spellOut(declared, moduleText, levels - 1);
  });
}

/** The declaration of a type: `{key: type, other?: type}`, or another annotation. Resolves an alias. */
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

/** The entries of a dict's declaration, without documentation. */
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

/** The comment before a tool's function, which names the tool. */
interface ToolMark {
  /** The tool's namespaced name. */
  tool: string;
  /** Properties by the names of their parameters, if these differ. */
  parameters: Readonly<Record<string, string>>;
  /** The type of all arguments as a dict. Empty if it is unknown. */
  input: string;
  /** The number of calls in which its result was observed. `undefined` if the tool declares its result. */
  observed?: number | undefined;
  /** Whether its result is the value inside the server's wrapper `{result: ...}`. */
  unwrapped?: boolean | undefined;
}

const MARK = "# ptc ";

/** Follows the mark of a tool that programs may not call, in an archived module. */
const NOT_AVAILABLE = " not available";

const MARKED = /^# ptc (\{.*\})( not available)?$/;

/** Prints a mark: JSON in a comment, with only visible characters. */
export function printToolMark(request: {
  tool: ToolModel;
  parameters: ReadonlyMap<string, string>;
  inputName: string;
}): string {
  const renamed = [...request.parameters].filter(([property, parameter]) => property !== parameter);
  const parameters = renamed.map(
    ([property, parameter]) => `${quoteString(parameter)}: ${quoteString(property)}`,
  );
  const members = [
    `"tool": ${quoteString(request.tool.namespacedName)}`,
    ...(request.inputName === "" ? [] : [`"input": ${quoteString(request.inputName)}`]),
    ...(request.tool.observedCalls === undefined ? [] : [`"observed": ${request.tool.observedCalls}`]),
    ...(request.tool.isUnwrapped === true ? ['"unwrapped": true'] : []),
    ...(parameters.length === 0 ? [] : [`"parameters": {${parameters.join(", ")}}`]),
  ];
  return `${MARK}{${members.join(", ")}}`;
}

/** Reads a mark, or returns `undefined` for any other line. */
function readToolMark(line: string): (ToolMark & { isMarked: boolean }) | undefined {
  const [, json, mark] = MARKED.exec(line) ?? [];
  if (json === undefined) return undefined;
  try {
    const {
      tool,
      parameters = {},
      input = "",
      observed,
      unwrapped = false,
    } = JSON.parse(json) as Partial<ToolMark>;
    if (typeof tool !== "string" || !tool.startsWith("mcp__")) return undefined;
    return { tool, parameters, input, observed, unwrapped, isMarked: mark !== undefined };
  } catch {
    return undefined;
  }
}

/** The tool that a module's function calls. */
interface CalledTool {
  /** The tool's namespaced name. */
  tool: string;
  /** Properties by the names of their parameters, if these differ. */
  parameters: Record<string, string>;
}

/** The names in modules that a sandbox gets, by Python's name of each module. */
interface SandboxTable {
  /** Tools by the names of functions. */
  modules: Record<string, Record<string, CalledTool>>;
  /** Types that stubs declare. Programs may import them for annotations. */
  types: Record<string, string[]>;
}

const TYPE =
  /^(?:class ([\p{XIDC}]+)\(TypedDict|type ([\p{XIDC}]+) = |([\p{XIDC}]+) = (?:TypedDict\(|[\p{XIDC}]+$))/u;

/** Modules in the form that the sandbox needs: only names, without any text of servers. */
export function sandboxTable(modules: Iterable<readonly [string, GeneratedModule]>): SandboxTable {
  const all = [...modules];
  return {
    modules: Object.fromEntries(all.map(([module, { tools }]) => [packageName(module), functionsOf(tools)])),
    types: Object.fromEntries(all.map(([module, { text }]) => [packageName(module), typesOf(text)])),
  };
}

function functionsOf(tools: readonly DeclaredTool[]): Record<string, CalledTool> {
  return Object.fromEntries(
    tools.map(({ identifier, namespacedName, parameters = {} }) => [
      identifier,
      { tool: namespacedName, parameters: { ...parameters } },
    ]),
  );
}

function typesOf(text: string): string[] {
  return [...codeLines(text)].flatMap(({ line }) => {
    const [, dict, alias, name] = TYPE.exec(line) ?? [];
    return dict ?? alias ?? name ?? [];
  });
}
