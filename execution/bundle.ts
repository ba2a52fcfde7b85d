import { isBuiltin } from "node:module";
import { MAX_CODE_BYTES } from "../protocol/limits.ts";
import { PROGRAM_SCHEME } from "../protocol/paths.ts";
import { areMissingExports, GENERATED, renderErrors } from "./bundle-errors.ts";
import { BundlerOverwhelmed, bundle, type Message, type Plugin } from "./bundler.ts";
import { findComputedImports } from "./computed-imports.ts";
import { explainAmbiguous, loadMentioned, mentionedToolNames, toolNamesOf } from "./mentioned-tools.ts";
import { adviseGlobals } from "./missing-export.ts";
import type { ModuleSource } from "./module-source.ts";
import type { Program } from "./program.ts";

/** `reason`: what the program imports or takes from imports cannot be had, or its text cannot be bundled at all. */
type BundleOutcome =
  | { ok: true; bundle: string }
  | { ok: false; message: string; reason: "text" | "imports" | "exports" };

/** Deeper nesting overflows the bundler's stack, and it dies noisily. */
const MAX_BRACKET_DEPTH = 2_000;
const MAX_SHOWN_CHARS = 200;

/** The bundler writes sources as `<namespace>:<path>`, so this namespace is the scheme that the runner looks for. */
const PROGRAM = PROGRAM_SCHEME.slice(0, -1);
const RUNTIME = "runtime";
const RESOLVER = "closed-resolver";

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
  if (bytes > MAX_CODE_BYTES)
    return refuseText(
      `the program is ${bytes} bytes and at most ${MAX_CODE_BYTES} are taken; pass data as data`,
    );
  if (bracketDepth(program.code) > MAX_BRACKET_DEPTH)
    return refuseText(`the program nests brackets deeper than ${MAX_BRACKET_DEPTH} levels`);
  try {
    const [computed] = await findComputedImports(program);
    if (computed !== undefined) {
      const shown = computed.slice(0, MAX_SHOWN_CHARS);
      return refuseText(`${shown}: an import cannot be computed; name the module in a string`);
    }
    return { ok: true, bundle: await build(program, source) };
  } catch (error) {
    if (error instanceof RangeError) return refuseText("the program nests too deeply");
    if (error instanceof BundlerOverwhelmed || error instanceof SyntaxError) return refuseText(error.message);
    const messages = error instanceof Error && "errors" in error ? (error.errors as Message[]) : undefined;
    if (messages === undefined) throw error;
    const message = await renderErrors(messages, program.code, source);
    if (areMissingExports(messages)) return { ok: false, message, reason: "exports" };
    const isRefused = messages.every(({ pluginName }) => pluginName === RESOLVER);
    return { ok: false, message, reason: isRefused ? "imports" : "text" };
  }
}

function refuseText(message: string): BundleOutcome {
  return { ok: false, message, reason: "text" };
}

async function build(program: Program, source: ModuleSource): Promise<string> {
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
  return result.outputFiles[0]?.text ?? "";
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
    name: RESOLVER,
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
        if (namespace !== PROGRAM) return refuse(path, program, source);
        if (isBuiltin(path)) return { path, external: true };
        const module = /^(?:\.\/)?servers\/([a-z0-9_]+)(?:\/index(?:\.[jt]s)?)?$/.exec(path)?.[1];
        if (module === undefined) return refuse(path, program, source);
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
      builder.onLoad({ filter: /.*/, namespace: RUNTIME }, async ({ path }) => ({
        contents: path === "tool" ? RUNTIME_SOURCE : await globalTools(program.code, source),
        loader: "js",
      }));
    },
  };
}

/**
 * Exports one function for each `mcp__<server>__<tool>` in the text, aliases under the tool's own name; the bundler uses
 * those that are free variables. Names of no tool are left to the broker, and one of several tools fails when called.
 */
async function globalTools(code: string, source: ModuleSource): Promise<string> {
  const mentioned = mentionedToolNames(code);
  if (mentioned.length === 0) return "";
  const names = toolNamesOf(await loadMentioned(code, source));
  const exports = mentioned.map((name) => {
    const meant = names.resolve(name);
    const [first, another] = meant;
    if (another === undefined)
      return `export const ${name} = tool(${JSON.stringify(first?.namespacedName ?? name)});`;
    const message = JSON.stringify(explainAmbiguous(name, meant, names));
    return `export const ${name} = () => { throw new ReferenceError(${message}); };`;
  });
  return ['import { tool } from "tool";', ...exports].join("\n");
}

function refuse(path: string, { code }: Program, source: ModuleSource) {
  const known = `a program can import Node's built-in modules and ${listServers(source)}`;
  const advice = adviseGlobals(namesImportedFrom(path, code));
  const text = `'${path}' cannot be imported: ${advice === undefined ? known : `${advice}; ${known}`}`;
  return { errors: [{ text }] };
}

function namesImportedFrom(path: string, code: string): string[] {
  const clauses = code.matchAll(/\bimport\s([^"';]{1,400}?)\bfrom\s{0,9}(["'])(.*?)\2/g);
  return [...clauses].flatMap(([, clause = "", , from]) =>
    from === path ? (clause.match(/\w+/g) ?? []) : [],
  );
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
