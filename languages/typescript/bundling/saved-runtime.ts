import type { ExportNamedDeclaration, Program as ModuleTree } from "acorn";
import { RecentlyUsed } from "../../../base/recently-used.ts";
import type { DeclaredTool } from "../../../codegen/language-printer.ts";
import { MAX_CODE_BYTES } from "../../../protocol/limits.ts";
import type { Platform } from "../../../protocol/platform.ts";
import { PROGRAM_SCHEME } from "../../../protocol/runners.ts";
import { type CalledProgram, MAX_PROGRAM_DEPTH } from "../../called-programs.ts";
import { reduceToJavaScript, type TransformOptions } from "./bundler.ts";
import { findComputedImports } from "./computed-imports.ts";

/** A saved program, and the module that exports its function. */
export interface SavedModule extends CalledProgram {
  readonly module: string;
}

/**
 * The runtime of saved programs. A call first asks the broker, like any call of a tool. Then the program runs in its caller's
 * process. It gets separate data, and its value passes through JSON. Its printed output is its log and goes to stderr. Without a
 * result, the output is its value, as for any program. Names computed at run time bypass the checks of `collectPrograms`, but not
 * the checks here.
 */
const RUNTIME = `import { format } from "node:util";
const real = globalThis;
const check = real[Symbol.for("ptc.saved")] ?? (() => {});
const carry = (_, value) => typeof value === "bigint" ? String(value) : value;
const comesBack = (_, value, { source } = { source: JSON.stringify(value) }) => {
  if (typeof value !== "number" || (String(value) === source && !(Number.isInteger(value) && !Number.isSafeInteger(value)))) return value;
  if (/^-?[1-9]\\d{15,}$/.test(source) && Number.isFinite(value)) return source;
  throw new SyntaxError("it would be another number");
};
const carried = real[Symbol.for("ptc.carried")] ?? ((value) => value);
const copy = (value, name) => {
  const text = JSON.stringify(carried(value, name), carry);
  return text === undefined ? null : JSON.parse(text);
};
export const makeScope = (data, get, set) =>
  Object.create(real, {
    data: { value: data, writable: true, enumerable: true, configurable: true },
    result: { get, set, enumerable: true, configurable: true },
    globalThis: { get() { return this; }, configurable: true },
  });
const makeConsole = (lines) => {
  const print = (...values) => {
    const text = format(...values);
    lines.push(text);
    real.console.error(text);
  };
  return Object.assign(Object.create(real.console), { log: print, info: print, debug: print });
};
const printed = (lines) => {
  const text = lines.join("\\n");
  try {
    return JSON.parse(lines.at(-1) ?? "", comesBack);
  } catch {
    return text;
  }
};
const below = (name) => {
  const path = running.getStore() ?? [];
  const way = () => [...path, name].join(" -> ");
  if (path.includes(name)) throw new Error("a saved program cannot call itself: " + way());
  if (path.length >= ${MAX_PROGRAM_DEPTH})
    throw new Error("saved programs call each other deeper than ${MAX_PROGRAM_DEPTH} levels: " + way());
  return [...path, name];
};
export const saved = /* @__NO_SIDE_EFFECTS__ */ (gate, run, name, output) => {
  const call = async (args) => {
    const path = below(name);
    const given = copy(args ?? {}, "arguments");
    await gate(given);
    const lines = [];
    const value = await running.run(path, () => run(copy(given, "arguments"), makeConsole(lines)));
    const own = value === undefined ? printed(lines) : copy(value, "result");
    if (output !== undefined) check(name, output, own);
    return own;
  };
  return Object.assign((args) => call(args), {
    async result(args) {
      try {
        return { ok: true, data: await call(args) };
      } catch (error) {
        return { ok: false, error };
      }
    },
  });
};
export const unnamed = /* @__NO_SIDE_EFFECTS__ */ (name) => () => {
  throw new ReferenceError(name + ": a saved program has to be named in the text of the program that calls it");
};
`;

/** An interpreter follows no call through what awaits it: there `collectPrograms` alone knows which program calls which. */
const RUNNING: Readonly<Record<Platform, string>> = {
  node: 'import { AsyncLocalStorage } from "node:async_hooks";\nconst running = new AsyncLocalStorage();\n',
  wasm: "const running = { getStore: () => undefined, run: (path, call) => call() };\n",
};

export function savedRuntime(platform: Platform): string {
  return RUNNING[platform] + RUNTIME;
}

/** Renders the module `programs`, with a function for each called program. */
export function renderProgramsModule(
  tools: readonly DeclaredTool[],
  saved: ReadonlyMap<string, SavedModule>,
): string {
  const lines = [
    'import { tool } from "../../runtime.js";',
    'import { saved, unnamed } from "saved";',
    ...[...saved.values()].map(({ fileName }, i) => `import run${i} from ${JSON.stringify(fileName)};`),
  ];
  const order = [...saved.keys()];
  for (const { identifier, namespacedName } of tools) {
    const at = order.indexOf(namespacedName);
    const name = JSON.stringify(namespacedName);
    const output = saved.get(namespacedName)?.output;
    const made =
      at < 0
        ? `unnamed(${JSON.stringify(identifier)})`
        : `saved(${[`tool(${name})`, `run${at}`, name, ...(output === undefined ? [] : [`JSON.parse(${JSON.stringify(output)})`])].join(", ")})`;
    lines.push(`export const ${identifier} = ${made};`);
  }
  return `${lines.join("\n")}\n`;
}

/** Makes the modules of saved programs, or describes in one line the first program that cannot be one. */
export async function findSavedModules(
  programs: readonly CalledProgram[],
): Promise<{ ok: true; modules: Map<string, SavedModule> } | { ok: false; message: string }> {
  const modules = new Map<string, SavedModule>();
  for (const program of programs) {
    const { fileName, code } = program;
    if (Buffer.byteLength(code) > MAX_CODE_BYTES)
      return { ok: false, message: `${fileName}: a program has at most ${MAX_CODE_BYTES} bytes` };
    try {
      const [computed] = /\bimport\b/.test(code) ? await findComputedImports({ ...program, data: {} }) : [];
      if (computed !== undefined)
        return { ok: false, message: `${fileName}: ${computed.slice(0, 160)}: an import cannot be computed` };
      modules.set(program.tool, { ...program, module: await savedModule(program) });
    } catch (error) {
      return { ok: false, message: describe(error, fileName) };
    }
  }
  return { ok: true, modules };
}

/** Describes an error about a program's text. @throws any other error. */
function describe(error: unknown, fileName: string): string {
  if (error instanceof SyntaxError || error instanceof RangeError)
    return error.message.startsWith(fileName) ? error.message : `${fileName}: ${error.message}`;
  const [first] =
    error instanceof Error && "errors" in error
      ? (error.errors as { text: string; location: { line: number; column: number } | null }[])
      : [];
  if (first === undefined) throw error;
  const { location, text } = first;
  const place = location === null ? fileName : `${fileName}:${location.line}:${location.column + 1}`;
  return `${place}: ${text}`;
}

/**
 * Turns a saved program, which is written like any program, into a module whose function runs it. Its imports stay at the top
 * level and are evaluated once. Everything else becomes the body of the function, so that each call has separate bindings, data
 * and a separate result.
 */

const MAX_MODULES = 100;
const MAX_CHARS = 16 * 1024 * 1024;
const made = new RecentlyUsed<string, string>({ maxEntries: MAX_MODULES, maxWeight: MAX_CHARS });

const SOURCE_MAP = /\n\/\/# sourceMappingURL=data:application\/json;base64,([A-Za-z0-9+/=]+)\s*$/;

/**
 * Returns the module of a saved program, in JavaScript, with a source map to the program's own lines.
 *
 * @throws SyntaxError for code that a saved program cannot contain, the bundler's error for text that is not a module, and
 *   BundlerOverwhelmed.
 */
async function savedModule({ code, fileName, language }: SavedText): Promise<string> {
  const key = `${language} ${fileName} ${code}`;
  const known = made.get(key);
  if (known !== undefined) return known;
  const options: TransformOptions = {
    loader: language === "typescript" ? "ts" : "js",
    target: "node22",
    charset: "utf8",
    legalComments: "none",
    logLevel: "silent",
    sourcefile: fileName,
    sourcemap: "inline",
    sourcesContent: false,
    tsconfigRaw: { compilerOptions: {} },
  };
  const compiled = await reduceToJavaScript(code, options);
  const [comment = "", encoded = ""] = SOURCE_MAP.exec(compiled) ?? [];
  const text = compiled.slice(0, compiled.length - comment.length);
  const { parse } = await import("acorn");
  const tree = parse(text, { ecmaVersion: "latest", sourceType: "module" });
  const { imports, body } = splitModule(text, tree, fileName);
  const header = [
    'import { makeScope as $ptcScope } from "saved";',
    ...imports,
    "export default async (data, $ptcConsole) => { let result;",
    "const globalThis = $ptcScope(data, () => result, (value) => { result = value; });",
    "{ const console = $ptcConsole; await (async () => {",
  ].join("\n");
  const map = JSON.parse(Buffer.from(encoded, "base64").toString()) as { mappings: string };
  const moved = {
    ...map,
    sources: [PROGRAM_SCHEME + fileName],
    mappings: ";".repeat(header.split("\n").length) + map.mappings,
  };
  const mapped = Buffer.from(JSON.stringify(moved)).toString("base64");
  const module = `${header}\n${body}\n})(); } return result; };\n//# sourceMappingURL=data:application/json;base64,${mapped}\n`;
  made.set(key, module, key.length + module.length);
  return module;
}

type SavedText = Pick<CalledProgram, "code" | "fileName" | "language">;

/** Splits a module into its imports and the rest, in which spaces replace imports, so that lines and columns stay. */
function splitModule(text: string, tree: ModuleTree, fileName: string): { imports: string[]; body: string } {
  const imports: string[] = [];
  let body = "";
  let at = 0;
  const replace = (start: number, end: number, by = "") => {
    body += text.slice(at, start) + by + blank(text.slice(start + by.length, end));
    at = end;
  };
  for (const each of tree.body) {
    switch (each.type) {
      case "ImportDeclaration":
        imports.push(text.slice(each.start, each.end));
        replace(each.start, each.end);
        break;
      case "ExportNamedDeclaration":
        replace(each.start, exportEnd(each, fileName));
        break;
      case "ExportDefaultDeclaration":
        if (/^(?:Function|Class)Declaration$/.test(each.declaration.type)) {
          const isNamed = "id" in each.declaration && each.declaration.id !== null;
          replace(each.start, each.declaration.start, isNamed ? "" : "void ");
        } else replace(each.start, each.declaration.start, "void ");
        break;
      case "ExportAllDeclaration":
        throw cannotExport(fileName);
      default:
        break;
    }
  }
  return { imports, body: body + text.slice(at) };
}

/** The end of the part of an export to leave out: all of it, or the words before a declaration. */
function exportEnd({ declaration, source, end }: ExportNamedDeclaration, fileName: string): number {
  if (source != null) throw cannotExport(fileName);
  return declaration?.start ?? end;
}

function cannotExport(fileName: string): SyntaxError {
  return new SyntaxError(`${fileName}: a saved program cannot export what it imports`);
}

function blank(text: string): string {
  return text.replace(/[^\r\n]/g, " ");
}
