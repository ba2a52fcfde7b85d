import type { AnyNode, Expression, Program as Parsed, VariableDeclarator } from "acorn";
import type { Failure } from "../../protocol/failure.ts";
import type { EndedProgram } from "../language.ts";
import type { ModuleSource } from "../module-source.ts";
import {
  adviseOnUnwrapped,
  findFunctions,
  isTool,
  type MeantFunctions,
  nameServers,
} from "../name-lookup.ts";
import type { Program } from "../program.ts";
import {
  describeAnswer,
  describeValue,
  type KindWords,
  nameAnswers,
  type ToolAnswer,
} from "../tool-answers.ts";
import {
  adviseOnUnknownTool,
  explainOwnTool,
  isOwnTool,
  toolsNamed,
  toolsTakenFrom,
} from "../tool-suggestions.ts";
import { reduceToJavaScript } from "./bundling/bundler.ts";
import { findMissedReads, type MissedRead } from "./result-reads.ts";

/** The equivalents of names in other module systems and platforms. */
const ELSEWHERE: ReadonlyMap<string, string> = new Map([
  ...["module", "exports"].map((name): [string, string] => [
    name,
    "a program is an ES module and exports nothing: write `globalThis.result = ...`",
  ]),
  ...["__dirname", "__filename"].map((name): [string, string] => [
    name,
    "a program is an ES module without a file of its own; it may write files in /workspace",
  ]),
  ...["Deno", "Bun", "window"].map((name): [string, string] => [
    name,
    "programs run in Node.js: import its modules, and write `globalThis.result = ...` for the value",
  ]),
  ["print", "write `console.log(...)`"],
  ["None", "write `null`"],
  ["True", "write `true`"],
  ["False", "write `false`"],
]);
/** Names under which other runtimes give tools to programs. */
const TOOL_OBJECTS: ReadonlySet<string> = new Set([
  "tools",
  "tool",
  "mcp",
  "client",
  "server",
  "servers",
  "api",
  "codemode",
  "ptc",
]);

/**
 * Advice on an undefined name: mostly the missing import. `undefined` if nothing is known about the name.
 */
export async function adviseUndefined(
  name: string,
  code: string,
  source: ModuleSource,
): Promise<string | undefined> {
  const elsewhere = ELSEWHERE.get(name);
  if (elsewhere !== undefined) return elsewhere;
  if (isOwnTool(name)) return explainOwnTool(name);
  const modules = source.modules();
  if (modules.includes(name)) return `write ${importAll(name)}`;
  const [example] = modules;
  if (TOOL_OBJECTS.has(name) && example !== undefined) {
    const taken = (await toolsTakenFrom(name, code, source)).map(({ callable }) => `${callable}(args)`);
    if (taken.length > 0) return `tools are functions of modules: write ${taken.join(" or ")}`;
    return `tools are functions of modules: write ${importAll(example)}, or mcp__<server>__<tool>(args) without an import`;
  }
  const named = name.includes("_") ? await toolsNamed(name, source) : [];
  if (named.length > 0 && /^mcp_|__/.test(name))
    return `write ${named.map(({ callable }) => `${callable}(args)`).join(" or ")}`;
  return adviseImport(await findFunctions(name, source), code);
}

function adviseImport({ isExact, functions }: MeantFunctions, code: string): string | undefined {
  const ways = functions.map(({ module, identifier }) => {
    const alias = new RegExp(
      `\\bimport\\s*\\*\\s*as\\s+([\\w$]{1,64})\\s+from\\s*["'][^"']*servers/${module}["'/]`,
    ).exec(code);
    return alias === null
      ? `import { ${identifier} } from "./servers/${module}/index.js"`
      : `${alias[1]}.${identifier}(...)`;
  });
  if (ways.length === 0) return undefined;
  if (isExact) return `write ${ways.join(" or ")}`;
  const names = [...new Set(functions.map(({ identifier }) => `'${identifier}'`))];
  return `did you mean ${names.join(" or ")}? write ${ways.join(" or ")}`;
}

function importAll(module: string): string {
  return `import * as ${module} from "./servers/${module}/index.js"`;
}

/** Longer programs mostly contain data, and are not analysed. */
const MAX_CODE_CHARS = 256 * 1024;
const MAX_SHOWN_CHARS = 60;

const NO_NETWORK = /\bfetch failed\b|\bgetaddrinfo EAI_AGAIN\b/;
const PENDING = /Promise \{ <pending> \}|\[object Promise\]/;
/** Methods that are called for their effect, and not for their value. */
const EFFECTS: ReadonlySet<string> = new Set(
  "add append clear close delete end forEach on once pop push set shift splice unshift write log info debug warn error table".split(
    " ",
  ),
);

const NO_VALUE = "nothing was printed and no result is set";

const GIVES_NOTHING = `${NO_VALUE}: write globalThis.result = ... for what is to come back, or print it`;

/** Matches output that a missing member of a result may have come to. */
const RETURNS_DATA =
  "a tool's function returns its data itself, not an MCP result; print what it returned to see its shape";

const SHOWS_NOTHING = /\bundefined\b|\bNaN\b|\bnull\b|\{\}|\[object Object\]/;

const WORDS: KindWords = { object: "object", nothing: "null" };

/**
 * Advice on a program that succeeded without returning anything, whose value was probably lost, or that read members of results
 * that are not there. Never rejects.
 */
export async function adviseOnSuccess(
  program: Program,
  output: EndedProgram & { ok: true },
  modules: ModuleSource,
): Promise<string[]> {
  const advice = await adviseOnValue(program, output, modules);
  const shown = `${output.consoleText}\n${output.data === undefined ? "" : JSON.stringify(output.data)}`;
  if (advice.length > 0 || !SHOWS_NOTHING.test(shown)) return advice;
  const [missed] = await missedReads(program, output.answers ?? [], modules).catch(() => []);
  return missed === undefined ? [] : [`${describeMissed(missed)}: what the program reads there is undefined`];
}

/** The members that a program read of answers and that these lack. */
async function missedReads(
  program: Program,
  answers: readonly ToolAnswer[],
  source: ModuleSource,
): Promise<MissedRead[]> {
  if (answers.length === 0 || program.code.length > MAX_CODE_CHARS) return [];
  const { tree } = await parseProgram(program);
  return findMissedReads(tree, await nameAnswers(answers, source));
}

function describeMissed({ answer, path, value, name }: MissedRead): string {
  const whole = describeAnswer(answer, WORDS);
  const hasNot = typeof value === "string" ? `, not something with '${name}'` : `, without '${name}'`;
  return path === ""
    ? `${whole}${hasNot}`
    : `${whole}; its ${path} is ${describeValue(value, WORDS)}${hasNot}`;
}

const MAX_DESCRIBED = 2;

/** What tools returned, for a failure that shows that the program took it for something else. */
async function adviseOnShape(
  message: string,
  program: Program,
  answers: readonly ToolAnswer[],
  source: ModuleSource,
): Promise<string | undefined> {
  if (answers.length === 0 || !/^(?:TypeError|SyntaxError|RangeError)\b/.test(message)) return undefined;
  const missed = await missedReads(program, answers, source).catch(() => []);
  const [, reading] = /\(reading '([^']*)'\)/.exec(message) ?? [];
  const [, called] = /(?:^TypeError: |\.)([\w$]+) is not (?:a function|iterable)/.exec(message) ?? [];
  const meant =
    missed.find(({ next }) => next !== undefined && next === reading) ??
    missed.find(({ name }) => name === called) ??
    (/^TypeError/.test(message) ? missed[0] : undefined);
  if (meant !== undefined) return describeMissed(meant);
  return answers
    .slice(-MAX_DESCRIBED)
    .map((answer) => describeAnswer(answer, WORDS))
    .join("; ");
}

async function adviseOnValue(
  program: Program,
  output: EndedProgram & { ok: true },
  modules: ModuleSource,
): Promise<string[]> {
  if (PENDING.test(output.consoleText))
    return ["a promise was printed and not its value: await the call first"];
  if (NO_NETWORK.test(output.consoleText))
    return [`a program has no network: call a tool of a server instead${nameServers(modules)}`];
  const general = output.isEmpty ? [GIVES_NOTHING] : [];
  const mayHoldPromise = /\{\}/.test(output.consoleText);
  if ((!output.isEmpty && !mayHoldPromise) || program.code.length > MAX_CODE_CHARS) return general;
  try {
    const parsed = await parseProgram(program);
    const advice = output.isEmpty ? adviseOnLostValue(parsed) : adviseOnPrintedPromise(parsed);
    return advice === undefined ? general : [advice];
  } catch {
    return general;
  }
}

interface ParsedProgram {
  code: string;
  tree: Parsed;
}

async function parseProgram(program: Program): Promise<ParsedProgram> {
  const code = await reduceToJavaScript(program.code, {
    loader: program.language === "typescript" ? "ts" : "js",
    target: "es2022",
    charset: "utf8",
    logLevel: "silent",
    tsconfigRaw: { compilerOptions: { verbatimModuleSyntax: true } },
  });
  const { parse } = await import("acorn");
  return {
    code,
    tree: parse(code, { ecmaVersion: "latest", sourceType: "module", allowReturnOutsideFunction: true }),
  };
}

/** Advice on returning the value that a program probably means. */
function adviseOnLostValue({ code, tree }: ParsedProgram): string | undefined {
  const show = ({ start, end }: AnyNode): string => {
    const text = code.slice(start, end).replace(/\s+/g, " ");
    return text.length <= MAX_SHOWN_CHARS ? text : "...";
  };
  for (const node of tree.body) {
    if (node.type === "ExportDefaultDeclaration") return adviseOnExport(node.declaration, show);
    if (node.type === "ExportNamedDeclaration")
      return `${NO_VALUE}: what a program exports is dropped; write globalThis.result = ...`;
    if (node.type === "ExpressionStatement" && isCommonJs(node.expression))
      return `${NO_VALUE}: a program is an ES module, and module.exports is dropped; write globalThis.result = ...`;
  }
  const last = tree.body.at(-1);
  if (last?.type === "ExpressionStatement" && meansValue(last.expression))
    return `${NO_VALUE}: the value of the last expression is dropped; write globalThis.result = ${waited(last.expression)}${show(last.expression)}`;
  if (tree.body.some((node) => node.type === "VariableDeclaration" && declares(node.declarations, "result")))
    return `${NO_VALUE}: a variable named result is not the program's result; write globalThis.result = result`;
  const uncalled = tree.body.find(
    (node) => node.type === "FunctionDeclaration" && mentions(code, node.id?.name ?? "") === 1,
  );
  if (uncalled?.type === "FunctionDeclaration")
    return `${NO_VALUE}: ${uncalled.id?.name} is never called; write globalThis.result = await ${uncalled.id?.name}()`;
  const declared = last?.type === "VariableDeclaration" ? last.declarations.at(-1)?.id : undefined;
  if (declared?.type === "Identifier")
    return `${NO_VALUE}: write globalThis.result = ${declared.name}, or print it`;
  return undefined;
}

function adviseOnExport(declared: AnyNode, show: (node: AnyNode) => string): string {
  if (/Function|Class/.test(declared.type))
    return `${NO_VALUE}: nobody calls what a program exports; call the function and set globalThis.result to what it returns`;
  return `${NO_VALUE}: what a program exports is dropped; write globalThis.result = ${show(declared)}`;
}

function declares(declarations: readonly VariableDeclarator[], name: string): boolean {
  return declarations.some(({ id }) => id.type === "Identifier" && id.name === name);
}

function isCommonJs(expression: Expression): boolean {
  if (expression.type !== "AssignmentExpression" || expression.left.type !== "MemberExpression") return false;
  const { object } = expression.left;
  const root = object.type === "MemberExpression" ? object.object : object;
  return root.type === "Identifier" && (root.name === "module" || root.name === "exports");
}

/** Whether a last statement like this probably means its value. */
function meansValue(expression: Expression): boolean {
  switch (expression.type) {
    case "AwaitExpression":
      return meansValue(expression.argument);
    case "CallExpression": {
      const { callee } = expression;
      if (callee.type !== "MemberExpression") return true;
      return !(callee.property.type === "Identifier" && EFFECTS.has(callee.property.name));
    }
    case "Identifier":
    case "MemberExpression":
    case "ObjectExpression":
    case "ArrayExpression":
    case "TemplateLiteral":
    case "BinaryExpression":
    case "ConditionalExpression":
      return true;
    case "ParenthesizedExpression":
      return meansValue(expression.expression);
    default:
      return false;
  }
}

function waited(expression: Expression): string {
  return expression.type === "CallExpression" ? "await " : "";
}

/** Advice that a promise was printed as JSON, because a call was not awaited. */
function adviseOnPrintedPromise({ code, tree }: ParsedProgram): string | undefined {
  for (const node of tree.body) {
    if (node.type !== "VariableDeclaration") continue;
    for (const { id, init } of node.declarations) {
      if (id.type !== "Identifier" || init?.type !== "CallExpression") continue;
      const name = id.name.replace(/\$/g, "\\$");
      const isAwaited = new RegExp(
        `\\bawait\\b[^;\\n]*\\b${name}\\b|\\b${name}\\s*\\.\\s*(?:then|catch|finally)\\b`,
      ).test(code);
      const isTool = /^(?:mcp__|callTool\b)|^[\w$]+\.[\w$]+\(/.test(code.slice(init.start, init.end));
      const isTurned = new RegExp(`\\bstringify\\(\\s*${name}\\b`).test(code);
      if (isTool && isTurned && !isAwaited)
        return `'${id.name}' is a promise, which JSON writes as {}: await the call first`;
    }
  }
  return undefined;
}

function mentions(code: string, name: string): number {
  return code.match(new RegExp(`(?<![\\w$])${name.replace(/\$/g, "\\$")}(?![\\w$])`, "g"))?.length ?? 0;
}

/** Matches V8's message for an undefined name. */
const UNDEFINED_NAME = /^ReferenceError: ([\w$]{1,100}) is not defined/;
const OF_UNDEFINED = /^TypeError: Cannot (?:read|destructure) propert.*\b(?:undefined|null)\b/;
const UNAVAILABLE = /^'([^'\n]{1,200})' is not available in execute_program/;
const TOO_SLOW = /^'[^'\n]+' failed: server '[^'\n]+' did not answer within /;
const FUNCTION_RESULT = /^result(?:[.[].*)? is a function/;

function isEmpty(data: unknown): boolean {
  return typeof data !== "object" || data === null || Object.keys(data).length === 0;
}

/** Advice on an unknown name that was passed to `callTool`. A forbidden tool has no replacement. */
async function adviseOnCalled(
  called: string,
  code: string,
  source: ModuleSource,
): Promise<string | undefined> {
  if (await isTool(called, source)) return undefined;
  const apart = /\bcallTool\(\s*["'`]([\w-]{1,80})["'`]\s*,\s*["'`]([\w-]{1,80})["'`]/.exec(code);
  const whole = apart?.[1] === called ? `${called}.${apart[2]}` : called;
  if (whole !== called) {
    const [meant] = await toolsNamed(whole, source);
    if (meant !== undefined)
      return `callTool takes the whole name of a tool: write callTool("${meant.tool.namespacedName}", args)`;
  }
  return adviseOnUnknownTool(called, source, ({ tool }) => `callTool("${tool.namespacedName}", args)`);
}

/**
 * Advice on a failure that a program caused, one line each. The failure's message is the program's own text. It selects the
 * advice, which repeats only names from it.
 */
export async function adviseOnFailure(
  { type, message }: Failure,
  program: Program,
  source: ModuleSource,
  answers: readonly ToolAnswer[] = [],
): Promise<string[]> {
  const { code, data } = program;
  const advice: (string | undefined)[] = [];
  if (type === "ScriptError") {
    const [, name] = UNDEFINED_NAME.exec(message) ?? [];
    if (name !== undefined && !name.startsWith("mcp__"))
      advice.push(await adviseUndefined(name, code, source));
    advice.push(adviseOnLimits(message, code, source), await adviseOnUnwrapped(code, source));
    if (OF_UNDEFINED.test(message) && /\bdata\s*[.[]/.test(code) && isEmpty(data))
      advice.push(
        "no data was passed in, so `data` is empty: pass it as the argument `data`, or with --data",
      );
    else if (answers.length > 0) advice.push(await adviseOnShape(message, program, answers, source));
    else if (OF_UNDEFINED.test(message) && /\bmcp__|servers\/|callTool/.test(code)) advice.push(RETURNS_DATA);
  }
  if (type === "ToolError" && TOO_SLOW.test(message))
    advice.push(
      "a call gets more time from `call_timeout_seconds` of its server, or `execution.tool_call_timeout_seconds`, in ptc.yaml",
    );
  const [, called] = UNAVAILABLE.exec(type === "ToolError" ? message : "") ?? [];
  if (called !== undefined) advice.push(await adviseOnCalled(called, code, source));
  if (type === "ScriptError" || type === "ToolError") advice.push(adviseOnCredentials(code));
  if (type === "ResultNotSerializable" && FUNCTION_RESULT.test(message))
    advice.push("call the function, and set globalThis.result to what it returns");
  return advice.filter((each) => each !== undefined);
}

/** Matches errors of Node.js for things that a sandbox lacks, by the beginning of their text. */
const NETWORK =
  /^(?:\w*Error: )?(?:fetch failed|getaddrinfo |connect E[A-Z]+|queryA?\w* E[A-Z]+|(?:send|bind|listen) E[A-Z]+|Received network error|WebSocket)/;
const LOCAL = /^(?:\w*Error: )?connect ECONNREFUSED (?:127\.|::1)/;
const PROCESS = /^(?:\w*Error: )?(?:spawn(?:Sync)? |Command failed)/;
const READ_ONLY = /^(?:\w*Error: )?(?:EROFS|EACCES|EPERM)\b.*?(?:'([^']*)')?$/;
const NO_FILE = /^(?:\w*Error: )?ENOENT: no such file or directory, (\w+)(?: '([^']*)')?/;
const NO_DATABASE = /^(?:\w*Error: )?unable to open database file/;
const NO_MODULE = /^(?:\w*Error: )?Cannot find (?:module|package) '([^']{1,200})'/;
/** Matches paths where a program may write. */
const WRITABLE = /^\/(?:workspace|tmp)(?:\/|$)/;
const WRITES = /\b(?:writeFile|appendFile|createWriteStream|mkdir|cp|copyFile|rename)\w*\s*\(/;
const CREDENTIAL = /\bprocess\.env(?:\.([A-Za-z_]\w*)|\[["']([A-Za-z_]\w*)["']\])/g;
const CREDENTIAL_NAME = /KEY|TOKEN|SECRET|PASS|CREDENTIAL|AUTH|COOKIE|SESSION|DATABASE|DSN|_URL$|_URI$/i;

/** Advice on an error for things that a sandbox lacks: a network, the host's files, other programs, packages. */
function adviseOnLimits(message: string, code: string, source: ModuleSource): string | undefined {
  const [line = ""] = message.split("\n", 1);
  if (NETWORK.test(line)) {
    const local = LOCAL.test(line) ? ", and localhost is the sandbox itself" : "";
    return `${placeOfFetch(message, code)}a program has no network${local}: call a tool of a server instead${nameServers(source)}`;
  }
  if (PROCESS.test(line))
    return `there are no other programs in the sandbox, and no shell: use Node.js, or call a tool of a server${nameServers(source)}`;
  const [, module] = NO_MODULE.exec(line) ?? [];
  if (module !== undefined) return adviseOnRequire(module, source);
  const [, , missing] = NO_FILE.exec(line) ?? [];
  if (missing !== undefined || READ_ONLY.test(line))
    return adviseOnFile(missing ?? READ_ONLY.exec(line)?.[1] ?? "", code);
  return NO_DATABASE.test(line) ? adviseOnFile("", "") : undefined;
}

/** The line where the program calls `fetch`, because its failures name no place. */
function placeOfFetch(message: string, code: string): string {
  if (!/^TypeError: fetch failed$/.test(message)) return "";
  const lines = code.split("\n").flatMap((line, index) => (/\bfetch\s*\(/.test(line) ? [index + 1] : []));
  return lines.length === 1 ? `line ${lines[0]}: ` : "";
}

function adviseOnFile(path: string, code: string): string {
  const isWriting = WRITES.test(code) && !WRITABLE.test(path);
  if (isWriting)
    return "a program may write in /workspace only, which is gone when it ends: to keep something, set globalThis.result or call a tool of a server";
  return "a program does not see the files of the host: pass what it needs as data (the argument `data`, or --data), or read it with a tool of a server";
}

function adviseOnRequire(module: string, source: ModuleSource): string {
  const [, server] = /servers\/([a-z0-9_]+)/.exec(module) ?? [];
  if (server !== undefined && source.modules().includes(server))
    return `a program is an ES module: write import * as ${server} from "./servers/${server}/index.js"`;
  return "there are no packages in the sandbox, and a program is one file: use the modules of Node.js and of servers";
}

/** Advice that environment variables that look like credentials are missing. `undefined` if the program reads none. */
function adviseOnCredentials(code: string): string | undefined {
  const read = new Set([...code.matchAll(CREDENTIAL)].map(([, dotted, quoted]) => dotted ?? quoted ?? ""));
  const [name] = [...read].filter((each) => CREDENTIAL_NAME.test(each));
  if (name === undefined) return undefined;
  return `process.env.${name} is not set in the sandbox: a program has no credentials; servers have theirs, and their tools need none from it`;
}
