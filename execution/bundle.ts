import { isBuiltin } from "node:module";
import { MAX_CODE_BYTES } from "../protocol/limits.ts";
import { PROGRAM_SCHEME } from "../protocol/paths.ts";
import { BundlerOverwhelmed, bundle, type Message, type Plugin } from "./bundler.ts";
import { findComputedImports } from "./computed-imports.ts";
import type { Program } from "./program.ts";

/** The generated modules that a program may import, by server module. */
export interface ModuleSource {
  /** Server modules that exist, sorted. */
  modules(): readonly string[];
  /** Source of `servers/<module>/index.ts`; `undefined` when there is none. */
  load(module: string): Promise<string | undefined>;
}

export type BundleOutcome = { ok: true; bundle: string } | { ok: false; message: string };

/** Deeper nesting overflows the bundler's stack, and it dies noisily. */
const MAX_BRACKET_DEPTH = 2_000;
const MAX_GLOBAL_TOOLS = 2_000;
const MAX_ERRORS_SHOWN = 5;
const MAX_LINE_CHARS = 200;

/** The bundler writes sources as `<namespace>:<path>`, so this namespace is the scheme that the runner looks for. */
const PROGRAM = PROGRAM_SCHEME.slice(0, -1);
const GENERATED = "generated";
const RUNTIME = "runtime";

/** Where generated modules and global tool names reach the runner, which put the function there. */
const RUNTIME_SOURCE =
  'const make = globalThis[Symbol.for("ptc.tool")];\n' +
  "export const tool = /* @__NO_SIDE_EFFECTS__ */ (name) => make(name);\n";

/**
 * Bundles a program into one ES module. The resolver is closed: nothing but the program's text and the generated modules
 * is ever read, whatever the program imports. Errors are told in the program's own lines.
 */
export async function bundleProgram(program: Program, source: ModuleSource): Promise<BundleOutcome> {
  const bytes = Buffer.byteLength(program.code);
  if (bytes > MAX_CODE_BYTES) {
    return {
      ok: false,
      message: `the program is ${bytes} bytes and at most ${MAX_CODE_BYTES} are taken; pass data as data`,
    };
  }
  if (bracketDepth(program.code) > MAX_BRACKET_DEPTH) {
    return { ok: false, message: `the program nests brackets deeper than ${MAX_BRACKET_DEPTH} levels` };
  }
  try {
    const [computed] = await findComputedImports(program);
    if (computed !== undefined) {
      const shown = computed.slice(0, MAX_LINE_CHARS);
      return { ok: false, message: `${shown}: an import cannot be computed; name the module in a string` };
    }
    const result = await bundle({
      entryPoints: [PROGRAM],
      inject: [RUNTIME],
      plugins: [closedResolver(program, source)],
      bundle: true,
      write: false,
      format: "esm",
      platform: "node",
      target: "node22",
      sourcemap: "inline",
      sourcesContent: false,
      legalComments: "none",
      charset: "utf8",
      logLevel: "silent",
      absWorkingDir: "/",
      tsconfigRaw: { compilerOptions: {} },
      // The bundler resolves calls of `require`, also of patterns. The runner has one that knows Node's own modules.
      define: { require: "globalThis.require" },
    });
    return { ok: true, bundle: result.outputFiles[0]?.text ?? "" };
  } catch (error) {
    if (error instanceof RangeError) return { ok: false, message: "the program nests too deeply" };
    if (error instanceof BundlerOverwhelmed || error instanceof SyntaxError)
      return { ok: false, message: error.message };
    const messages = error instanceof Error && "errors" in error ? (error.errors as Message[]) : undefined;
    if (messages === undefined) throw error;
    return { ok: false, message: renderErrors(messages) };
  }
}

/** How deep brackets nest, strings and comments not told apart: a bound that no program comes near. */
function bracketDepth(code: string): number {
  let depth = 0;
  let deepest = 0;
  for (const character of code) {
    if ("([{".includes(character)) deepest = Math.max(deepest, ++depth);
    else if (")]}".includes(character)) depth--;
  }
  return deepest;
}

function closedResolver(program: Program, source: ModuleSource): Plugin {
  return {
    name: "closed-resolver",
    setup(builder) {
      builder.onResolve({ filter: /.*/ }, ({ path, kind, namespace }) => {
        if (kind === "entry-point") {
          return path === PROGRAM
            ? { path: program.fileName, namespace: PROGRAM }
            : { path: "globals", namespace: RUNTIME };
        }
        if (namespace === GENERATED && path === "../../runtime.js")
          return { path: "tool", namespace: RUNTIME };
        if (namespace === RUNTIME) return { path: "tool", namespace: RUNTIME };
        if (namespace !== PROGRAM) return refuse(path, source);
        if (isBuiltin(path)) return { path, external: true };
        const module = /^(?:\.\/)?servers\/([a-z0-9_]+)(?:\/index(?:\.[jt]s)?)?$/.exec(path)?.[1];
        if (module === undefined) return refuse(path, source);
        if (!source.modules().includes(module)) return unknownServer(module, source);
        return { path: module, namespace: GENERATED };
      });
      // Nothing gets here; were the bundler to find a way around the resolver, it would still read nothing.
      builder.onLoad({ filter: /.*/, namespace: "file" }, () => ({
        errors: [{ text: "cannot be imported" }],
      }));
      builder.onLoad({ filter: /.*/, namespace: PROGRAM }, () => ({
        contents: program.code,
        loader: program.language === "typescript" ? "ts" : "js",
      }));
      builder.onLoad({ filter: /.*/, namespace: GENERATED }, async ({ path }) => {
        const contents = await source.load(path);
        if (contents === undefined)
          return { errors: [{ text: `servers/${path}/index.ts is missing; run \`ptc generate\`` }] };
        return { contents, loader: "ts" };
      });
      builder.onLoad({ filter: /.*/, namespace: RUNTIME }, ({ path }) => ({
        contents: path === "tool" ? RUNTIME_SOURCE : globalTools(program.code),
        loader: "js",
      }));
    },
  };
}

/** Exports one function for each `mcp__<server>__<tool>` in the text; the bundler uses those that are free variables. */
function globalTools(code: string): string {
  const names = [...new Set(code.match(/\bmcp__[A-Za-z0-9_$]+/g))].slice(0, MAX_GLOBAL_TOOLS);
  const exports = names.map((name) => `export const ${name} = tool(${JSON.stringify(name)});`);
  return names.length === 0 ? "" : ['import { tool } from "tool";', ...exports].join("\n");
}

function refuse(path: string, source: ModuleSource) {
  const text = `'${path}' cannot be imported: a program can import Node's built-in modules and ${listServers(source)}`;
  return { errors: [{ text }] };
}

function unknownServer(module: string, source: ModuleSource) {
  const advice = "run `ptc generate` when a server was added";
  return {
    errors: [
      {
        text: `there is no server module '${module}': a program can import ${listServers(source)}; ${advice}`,
      },
    ],
  };
}

function listServers(source: ModuleSource): string {
  const modules = source.modules();
  if (modules.length === 0) return "no server modules yet (run `ptc generate`)";
  return modules.map((module) => `./servers/${module}/index.js`).join(", ");
}

function renderErrors(messages: readonly Message[]): string {
  const shown = messages.slice(0, MAX_ERRORS_SHOWN).map(({ text, location }) => {
    if (location === null) return text;
    const scheme = location.file.lastIndexOf(PROGRAM_SCHEME);
    const file = scheme === -1 ? location.file : location.file.slice(scheme + PROGRAM_SCHEME.length);
    const line = location.lineText.trim().slice(0, MAX_LINE_CHARS);
    return `${file}:${location.line}:${location.column + 1}: ${text}\n    ${line}`;
  });
  if (messages.length > shown.length) shown.push(`and ${messages.length - shown.length} more`);
  return shown.join("\n");
}
