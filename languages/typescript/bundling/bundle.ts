import { isBuiltin } from "node:module";
import { RecentlyUsed } from "../../../base/recently-used.ts";
import { listUpTo } from "../../../base/visible-text.ts";
import { MAX_CODE_BYTES } from "../../../protocol/limits.ts";
import { type Platform, WASM_MODULES } from "../../../protocol/platform.ts";
import { PROGRAM_SCHEME } from "../../../protocol/runners.ts";
import { PROGRAMS_MODULE } from "../../../protocol/tool-names.ts";
import { type CalledProgram, collectPrograms } from "../../called-programs.ts";
import type { FailureReason } from "../../language.ts";
import type { ModuleSource } from "../../module-source.ts";
import { explainUnlisted, mayExtract, nearestNames, offersExtract } from "../../name-lookup.ts";
import type { Program } from "../../program.ts";
import {
  adviseGlobals,
  calledPrograms,
  explainAmbiguous,
  explainMissingExport,
  loadMentioned,
  mentionedToolNames,
  toolNamesOf,
} from "../tool-names.ts";
import {
  BundlerOverwhelmed,
  bundle,
  type Message,
  type Plugin,
  reduceToJavaScript,
  type TransformOptions,
} from "./bundler.ts";
import { findComputedImports } from "./computed-imports.ts";
import { findSavedModules, renderProgramsModule, type SavedModule, savedRuntime } from "./saved-runtime.ts";
import { bundleVerbatim } from "./verbatim-program.ts";

type BundleOutcome =
  | { ok: true; bundle: string }
  | {
      ok: false;
      message: string;
      /** The location of the errors: only imported modules, only imported names, or the text itself. */
      subject: "text" | "imports" | "exports";
      /** The reasons of the errors in the message. */
      reasons: readonly FailureReason[];
    };

/** Deeper nesting overflows the bundler's stack and ends its process. */
const MAX_BRACKET_DEPTH = 2_000;
const MAX_SHOWN_CHARS = 200;
const MAX_LISTED_CHARS = 1_500;

/** The esbuild namespace of the program. Source paths are `<namespace>:<path>`, so it is the scheme that the runner expects. */
const PROGRAM = PROGRAM_SCHEME.slice(0, -1);
const RUNTIME = "runtime";
/** The esbuild namespace of the runtime of saved programs. */
const SAVED = "saved";
const RESOLVER = "closed-resolver";

/**
 * Matches any text that may be more than a plain module: an `import` that does not begin a declaration, and words that the
 * bundler considers signs of CommonJS.
 */
const SPECIAL = /import(?!\s*["'{*]|\s+[\w$])|\b(?:require|module|exports|this)\b/;

/** The module through which generated modules and global tool names reach the function that the runner provides. */
const RUNTIME_SOURCE =
  'const make = globalThis[Symbol.for("ptc.tool")];\n' +
  "export const tool = /* @__NO_SIDE_EFFECTS__ */ (name) => make(name);\n";

/**
 * Bundles a program into one ES module. The resolver is closed: whatever the program imports, the bundler reads only its text
 * and the generated modules. Errors have places in the program's own lines.
 *
 */
export async function bundleProgram(
  program: Program,
  source: ModuleSource,
  { isInSession = false, platform = "node" }: BundleOptions = {},
): Promise<BundleOutcome> {
  const bytes = Buffer.byteLength(program.code);
  const tooLarge = `the program is ${bytes} bytes and at most ${MAX_CODE_BYTES} are taken; pass data as data`;
  if (bytes > MAX_CODE_BYTES) return refuseText(tooLarge);
  if (bracketDepth(program.code) > MAX_BRACKET_DEPTH)
    return refuseText(`the program nests brackets deeper than ${MAX_BRACKET_DEPTH} levels`);
  const hasWork = isInSession || mayExtract(program.code, source);
  const verbatim = hasWork ? undefined : await bundleVerbatim(program);
  if (verbatim !== undefined) return { ok: true, bundle: verbatim };
  try {
    const called = await collectPrograms(program, source, calledPrograms);
    if (!called.ok) return refuseText(called.message);
    const saved = await findSavedModules([...called.programs.values()]);
    if (!saved.ok) return refuseText(saved.message);
    const kept = isInSession ? await keepBindings(program) : undefined;
    const bundled: Bundled = { program, source, kept, saved: saved.modules, platform };
    const plain = SPECIAL.test(program.code) ? undefined : await buildPlain(bundled);
    if (plain !== undefined) return { ok: true, bundle: plain };
    const [computed] = await findComputedImports(program);
    if (computed !== undefined) {
      const shown = computed.slice(0, MAX_SHOWN_CHARS);
      return refuseText(`${shown}: an import cannot be computed; name the module in a string`);
    }
    return { ok: true, bundle: await build(bundled) };
  } catch (error) {
    if (error instanceof RangeError) return refuseText("the program nests too deeply");
    if (error instanceof BundlerOverwhelmed && error.isLate) return refuseText(error.message, "out_of_time");
    if (error instanceof BundlerOverwhelmed || error instanceof SyntaxError) return refuseText(error.message);
    const messages = error instanceof Error && "errors" in error ? (error.errors as Message[]) : undefined;
    if (messages === undefined) throw error;
    return {
      ok: false,
      ...(await describeErrors(messages, program.code, source)),
      subject: subjectOf(messages),
    };
  }
}

function subjectOf(messages: readonly Message[]): "text" | "imports" | "exports" {
  if (messages.every((message) => reasonOf(message).code === "unknown_export")) return "exports";
  return messages.every(({ pluginName }) => pluginName === RESOLVER) ? "imports" : "text";
}

function refuseText(message: string, code: "invalid_text" | "out_of_time" = "invalid_text"): BundleOutcome {
  return { ok: false, message, subject: "text", reasons: [{ code }] };
}

/**
 * Bundles a program whose text alone shows that it is a module without computed imports. Resolves with `undefined` for a program
 * with an error, which is then bundled in the usual way to get the message.
 */
async function buildPlain(bundled: Bundled): Promise<string | undefined> {
  const { program } = bundled;
  try {
    // The added export turns code that a module may not contain, such as a top-level return, into an error.
    return await build({ ...bundled, program: { ...program, code: `${program.code}\nexport {};` } });
  } catch (error) {
    if (error instanceof Error && "errors" in error) return undefined;
    throw error;
  }
}

/** The code before and after a program that runs in a session. */
interface KeptBindings {
  banner: string;
  behind: string;
}

async function keepBindings(program: Program): Promise<KeptBindings> {
  const { HAND_OVER, renderKeptBindings } = await import("./session-names.ts");
  return { banner: HAND_OVER, behind: await renderKeptBindings(program) };
}

async function build({ kept, ...unkept }: Bundled): Promise<string> {
  const { code, ...rest } = unkept.program;
  const bundled = { ...unkept, kept, program: { ...rest, code: `${code}${kept?.behind ?? ""}` } };
  const result = await bundle({
    ...(kept === undefined ? {} : { banner: { js: kept.banner } }),
    entryPoints: [PROGRAM],
    inject: [RUNTIME],
    plugins: [closedResolver(bundled)],
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
    // The bundler would resolve calls of `require`, even with patterns. The runner's `require` knows only Node's modules.
    define: { require: "globalThis.require" },
  });
  return result.outputFiles[0]?.text ?? "";
}

interface BundleOptions {
  /** Whether the runner gets the program's top-level names, to keep them for later programs. */
  isInSession?: boolean;
  /** What the program will find around it. */
  platform?: Platform | undefined;
}

/** The parts of a bundle. */
interface Bundled {
  platform: Platform;
  program: Program;
  source: ModuleSource;
  kept: KeptBindings | undefined;
  /** The saved programs that it calls, by the names of their tools. */
  saved: ReadonlyMap<string, SavedModule>;
}

/** The depth of nested brackets, including those in strings and comments. No real program comes near the bound. */
function bracketDepth(code: string): number {
  let depth = 0;
  let deepest = 0;
  for (const character of code) {
    if ("([{".includes(character)) deepest = Math.max(deepest, ++depth);
    else if (")]}".includes(character)) depth--;
  }
  return deepest;
}

function closedResolver({ program, source, saved, platform }: Bundled): Plugin {
  const files = new Map([...saved.values()].map((each) => [each.fileName, each]));
  const texts = [program, ...saved.values()].map(({ code }) => code).join("\n");
  return {
    name: RESOLVER,
    setup(builder) {
      builder.onResolve({ filter: /.*/ }, ({ path, kind, namespace, importer }) => {
        if (kind === "entry-point") {
          return path === PROGRAM
            ? { path: program.fileName, namespace: PROGRAM }
            : { path: "globals", namespace: RUNTIME };
        }
        if (namespace === GENERATED && path === "../../runtime.js")
          return { path: "tool", namespace: RUNTIME };
        if (namespace === RUNTIME && path === PROGRAMS_MODULE) return { path, namespace: GENERATED };
        if (namespace === RUNTIME) return { path: "tool", namespace: RUNTIME };
        if (namespace === GENERATED && files.has(path)) return { path, namespace: PROGRAM };
        if (path === "saved" && (namespace === GENERATED || files.has(importer)))
          return { path, namespace: SAVED };
        if (namespace === SAVED && isBuiltin(path)) return { path, external: true };
        if (namespace !== PROGRAM) return refuseImport(path, program, source);
        if (isBuiltin(path)) return isOn(platform, path) ? { path, external: true } : refuseModule(path);
        const module = /^(?:\.\/)?(?:servers\/([a-z0-9_]+)|(programs))(?:\/index(?:\.[jt]s)?)?$/
          .exec(path)
          ?.slice(1)
          .find((name) => name !== undefined);
        if (module === undefined) return refuseImport(path, program, source);
        if (!source.modules().includes(module)) return refuseServer(module, source);
        source.named?.(module);
        return { path: module, namespace: GENERATED };
      });
      // Never reached. If the bundler found a way around the resolver, this would keep it from reading a file.
      builder.onLoad({ filter: /.*/, namespace: "file" }, ({ path }) =>
        failWith("cannot be imported", { code: "unknown_import", path }),
      );
      builder.onLoad({ filter: /.*/, namespace: PROGRAM }, ({ path }) => {
        const called = files.get(path);
        if (called !== undefined) return { contents: called.module, loader: "js" };
        return { contents: program.code, loader: program.language === "typescript" ? "ts" : "js" };
      });
      builder.onLoad({ filter: /.*/, namespace: SAVED }, () => ({
        contents: savedRuntime(platform),
        loader: "js",
      }));
      builder.onLoad({ filter: /.*/, namespace: GENERATED }, async ({ path }) => {
        const module = await source.load(path);
        if (module === undefined)
          return failWith(`servers/${path}/index.ts is missing or was edited${generateAdvice(source)}`, {
            code: "missing_module",
            module: path,
          });
        if (path === PROGRAMS_MODULE && source.saved !== undefined)
          return { contents: renderProgramsModule(module.tools, saved), loader: "js" };
        const compiled = await compileModule(module.text);
        // The bundler itself reports the errors of a module that cannot be compiled.
        return compiled === undefined
          ? { contents: module.text, loader: "ts" }
          : { contents: compiled, loader: "js" };
      });
      builder.onLoad({ filter: /.*/, namespace: RUNTIME }, async ({ path }) => ({
        contents: path === "tool" ? RUNTIME_SOURCE : await renderGlobalTools(texts, source, saved),
        loader: "js",
      }));
    },
  };
}

/** Whether a platform has a module of Node.js. */
function isOn(platform: Platform, path: string): boolean {
  return platform === "node" || WASM_MODULES.some((name) => name === path.replace(/^node:/, ""));
}

function refuseModule(path: string) {
  const has = WASM_MODULES.map((name) => `node:${name}`).join(", ");
  const text = `'${path}' is not in this engine (sandbox.engine: wasm); of Node's modules it has ${has}`;
  return failWith(text, { code: "unknown_import", path });
}

function refuseImport(path: string, { code }: Program, source: ModuleSource) {
  const isFile = /^\.{0,2}\//.test(path);
  const none = isFile ? "a program is one file" : "there are no packages in the sandbox";
  const known = `${none}; a program can import Node's built-in modules and ${listServers(source)}`;
  const advice = adviseGlobals(namesImportedFrom(path, code));
  const [meant] = nearestNames(lastName(path), source.modules());
  if (meant !== undefined && advice === undefined)
    return failWith(`'${path}' cannot be imported; did you mean ./servers/${meant}/index.js?`, {
      code: "unknown_import",
      path,
    });
  const text = `'${path}' cannot be imported: ${advice === undefined ? known : `${advice}; ${known}`}`;
  return failWith(text, { code: "unknown_import", path });
}

/** The part of a path that may be a server's name. */
function lastName(path: string): string {
  return path.replace(/(?:\/index)?(?:\.[cm]?[jt]s)?$/, "").replace(/^.*[/:]/s, "");
}

function namesImportedFrom(path: string, code: string): string[] {
  const clauses = code.matchAll(/\bimport\s([^"';]{1,400}?)\bfrom\s{0,9}(["'])(.*?)\2/g);
  return [...clauses].flatMap(([, clause = "", , from]) =>
    from === path ? (clause.match(/\w+/g) ?? []) : [],
  );
}

function refuseServer(module: string, source: ModuleSource) {
  const unlisted = explainUnlisted(module, source);
  if (unlisted !== undefined) return failWith(unlisted, { code: "unknown_server", module });
  const [nearest] = nearestNames(module, source.modules());
  const meant = nearest === undefined ? "" : `; did you mean ./servers/${nearest}/index.js?`;
  const advice = generateAdvice(source, " when a server was added");
  const text = `there is no server module '${module}'${meant || `: a program can import ${listServers(source)}${advice}`}`;
  return failWith(text, { code: "unknown_server", module });
}

/** Advice to generate, which does not help a program that is checked against a record. */
function generateAdvice({ isRecord }: ModuleSource, when = ""): string {
  return isRecord === true ? "" : `; run \`ptc generate\`${when}`;
}

/** An error of the resolver, in the form that the bundler passes through. */
function failWith(text: string, detail: FailureReason) {
  return { errors: [{ text, detail }] };
}

function listServers(source: ModuleSource): string {
  const modules = source.modules();
  if (modules.length > 0) return `./servers/<name>/index.js of ${listUpTo(modules, MAX_LISTED_CHARS)}`;
  return source.isRecord === true ? "no server modules" : "no server modules yet (run `ptc generate`)";
}

const MAX_MODULES = 200;
const MAX_CHARS = 32 * 1024 * 1024;

const OPTIONS: TransformOptions = {
  loader: "ts",
  target: "es2022",
  charset: "utf8",
  legalComments: "none",
  logLevel: "silent",
  tsconfigRaw: { compilerOptions: {} },
};

/** Compiled modules by their text. */
const compiled = new RecentlyUsed<string, string>({ maxEntries: MAX_MODULES, maxWeight: MAX_CHARS });

/**
 * Compiles a generated module to plain JavaScript with a few lines for each tool. Types and descriptions, which are most of its
 * text, are parsed only once for all programs. Resolves with `undefined` for a module with an error.
 *
 * @throws BundlerOverwhelmed
 */
async function compileModule(text: string): Promise<string | undefined> {
  const known = compiled.get(text);
  if (known !== undefined) return known;
  try {
    const code = await reduceToJavaScript(text, OPTIONS);
    compiled.set(text, code, text.length + code.length);
    return code;
  } catch (error) {
    if (error instanceof Error && "errors" in error) return undefined;
    throw error;
  }
}

/** A `callTool` that runs saved programs too, if a program uses both. */
function renderCallTool(code: string, saved: ReadonlyMap<string, Pick<CalledProgram, "declared">>): string[] {
  if (saved.size === 0 || !/\bcallTool\b/.test(code)) return [];
  const entries = [...saved].map(
    ([tool, { declared }]) => `[${JSON.stringify(tool)}, $ptc.${declared.identifier}]`,
  );
  return [
    `import * as $ptc from "${PROGRAMS_MODULE}";`,
    `const $programs = new Map([${entries.join(", ")}]);`,
    "export const callTool = (name, args) => ($programs.get(name) ?? ((given) => globalThis.callTool(name, given)))(args);",
  ];
}

/**
 * A module that exports a function for each `mcp__<server>__<tool>` in the text, under the tool's own name for an alias, and
 * `extract` if a model is configured. The bundler uses those that are free variables. The broker handles unknown names. A name of
 * several tools fails when called.
 */
async function renderGlobalTools(
  code: string,
  source: ModuleSource,
  saved: ReadonlyMap<string, Pick<CalledProgram, "declared">> = new Map(),
): Promise<string> {
  const extract = (await offersExtract(code, source))
    ? ['export const extract = /* @__PURE__ */ (() => globalThis[Symbol.for("ptc.extract")])();']
    : [];
  const mentioned = mentionedToolNames(code);
  if (mentioned.length === 0) return extract.join("\n");
  const names = toolNamesOf(await loadMentioned(code, source));
  const exports = mentioned.map((name) => {
    const meant = names.resolve(name);
    const [first, another] = meant;
    const called = another === undefined && first !== undefined && saved.get(first.namespacedName);
    if (another === undefined && first !== undefined) source.named?.(first.module);
    if (called) return `export { ${called.declared.identifier} as ${name} } from "${PROGRAMS_MODULE}";`;
    if (another === undefined)
      return `export const ${name} = tool(${JSON.stringify(first?.namespacedName ?? name)});`;
    const message = JSON.stringify(explainAmbiguous(name, meant, names));
    return `export const ${name} = () => { throw new ReferenceError(${message}); };`;
  });
  return ['import { tool } from "tool";', ...exports, ...renderCallTool(code, saved), ...extract].join("\n");
}

const MAX_ERRORS_SHOWN = 5;
const MAX_LINE_CHARS = 200;

/** A description of why a program cannot be bundled. */
interface DescribedErrors {
  /** Each error with its place in the program, and what to do. */
  message: string;
  /** The reasons of the errors in the message, in the same order, then the language that the program looks like. */
  reasons: FailureReason[];
}

/** Describes the first of the bundler's errors, and counts the others. */
async function describeErrors(
  messages: readonly Message[],
  code: string,
  source: ModuleSource,
): Promise<DescribedErrors> {
  const shown = messages.slice(0, MAX_ERRORS_SHOWN);
  const lines = await Promise.all(shown.map((message) => describe(message, source)));
  if (messages.length > shown.length) lines.push(`and ${messages.length - shown.length} more`);
  const reasons = shown.map(reasonOf);
  if (messages.every(isSyntax)) reasons.push(...foreignLanguage(code));
  return { message: lines.join("\n"), reasons };
}

async function describe(message: Message, source: ModuleSource): Promise<string> {
  const text = await explain(message, source);
  const { location } = message;
  if (location === null) return text;
  const place = `${showFile(location.file)}:${location.line}:${location.column + 1}: ${text}`;
  // The author of the program does not know the lines of a generated module.
  if (generatedModule(location.file) !== undefined) return place;
  return `${place}\n    ${location.lineText.trim().slice(0, MAX_LINE_CHARS)}`;
}

/** Whether an error concerns the program's syntax. */
function isSyntax(message: Message): boolean {
  const { code } = reasonOf(message);
  return message.location !== null && (code === "invalid_text" || code === "top_level_return");
}

async function explain(message: Message, source: ModuleSource): Promise<string> {
  const reason = reasonOf(message);
  switch (reason.code) {
    case "unknown_export": {
      const { module, name } = reason;
      const tools = (await source.load(module))?.tools ?? [];
      return explainMissingExport(module, name, localName(message.location) ?? module, tools);
    }
    case "top_level_return":
      return "a program cannot return at its top level; set globalThis.result instead";
    case "broken_module":
      return "this generated module is broken, run `ptc generate`";
    default:
      return message.text;
  }
}

/** The program's name for an import. The bundler's columns and lengths are in bytes. */
function localName(location: Message["location"]): string | undefined {
  if (location === null) return undefined;
  const { lineText, column, length } = location;
  const name = Buffer.from(lineText)
    .subarray(column, column + length)
    .toString();
  return /^[\w$]+$/.test(name) && name !== "default" ? name : undefined;
}

function showFile(file: string): string {
  const module = generatedModule(file);
  if (module !== undefined) return `servers/${module}/index.ts`;
  const scheme = file.lastIndexOf(PROGRAM_SCHEME);
  return scheme === -1 ? file : file.slice(scheme + PROGRAM_SCHEME.length);
}

/** Syntax of Python that is not valid JavaScript. Programs can be long, so none of these patterns may backtrack. */
const PYTHON = [
  /^[ \t]*(?:async )?def \w+\(/m,
  /^[ \t]*(?:if|elif|else|for|while|try|except|with|class)\b[^{}\n]{0,200}:[ \t]{0,9}(?:#.*)?$/m,
  /^(?:import [\w.]+(?: as \w+)?|from [\w.]+ import [\w*,() ]+)$/m,
  /[(=,+][ \t]*f["']/,
];

/** The probable language of a text that is not TypeScript. Empty if it is unknown. */
function foreignLanguage(code: string): FailureReason[] {
  return PYTHON.some((sign) => sign.test(code)) ? [{ code: "other_language", language: "python" }] : [];
}

/** The bundler names generated modules `<namespace>:<module>`. Messages must not show that name. */
const GENERATED = "generated";

const MISSING_EXPORT = new RegExp(`^No matching export in "${GENERATED}:([a-z0-9_]+)" for import "(.+)"$`);

/** The reason of a message from the bundler. Messages of plugins have it as their `detail`. */
function reasonOf({ text, location, pluginName, detail }: Message): FailureReason {
  if (pluginName === "") {
    const [, module, name] = MISSING_EXPORT.exec(text) ?? [];
    if (module !== undefined && name !== undefined) return { code: "unknown_export", module, name };
  }
  const broken = location === null ? undefined : generatedModule(location.file);
  if (broken !== undefined) return { code: "broken_module", module: broken };
  if (pluginName !== "") return detail as FailureReason;
  return { code: text.startsWith("Top-level return") ? "top_level_return" : "invalid_text" };
}

/** The server module of a file name in the bundler, or `undefined` for any other file. */
function generatedModule(file: string): string | undefined {
  return file.startsWith(`${GENERATED}:`) ? file.slice(GENERATED.length + 1) : undefined;
}
