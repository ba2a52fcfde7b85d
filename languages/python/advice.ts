import type { Failure } from "../../protocol/failure.ts";
import type { Platform } from "../../protocol/platform.ts";
import { parseNamespacedName } from "../../protocol/tool-names.ts";
import type { EndedProgram } from "../language.ts";
import type { ModuleSource } from "../module-source.ts";
import { adviseOnUnwrapped, findFunctions, isTool, nameServers, nearestNames } from "../name-lookup.ts";
import type { Program } from "../program.ts";
import { adviseOnProse } from "../resolve-program.ts";
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
  nameFileTools,
  toolsNamed,
  toolsTakenFrom,
} from "../tool-suggestions.ts";
import { blankTexts, mayBePython } from "./python-text.ts";

const UNDEFINED_NAME = /^NameError: name '(\w{1,100})' is not defined/;
const NO_ATTRIBUTE = /^AttributeError: module 'servers\.(\w{1,128})' has no attribute '(\w{1,200})'/;
const NO_FUNCTION = /^ImportError: cannot import name '(\w{1,200})' from 'servers\.(\w{1,128})'/;
const NO_SERVER = /^ModuleNotFoundError: No module named 'servers\.(\w{1,128})'/;
const NOT_AWAITED =
  /^(?:TypeError|AttributeError): '?(?:coroutine|Future|Task|_asyncio\.Future|_asyncio\.Task|_GatheringFuture)\b/;
const MCP_SHAPE =
  /^(?:KeyError: '(?:content|structuredContent|data|result|text)'|AttributeError: '(?:dict|list|str)' object has no attribute)/;
/** Matches failures that can result from taking a tool's result for something else. */
const WRONG_SHAPE =
  /^(?:KeyError|IndexError|TypeError|AttributeError|ValueError|(?:json\.(?:decoder\.)?)?JSONDecodeError)\b/;
const UNAVAILABLE = /^(?:ToolError: )?'([^'\n]{1,200})' is not available in execute_program/;
const TOO_SLOW = /^(?:ToolError: )?'[^'\n]+' failed: server '[^'\n]+' did not answer within /;
const FUNCTION_RESULT = /^result(?:[.[].*)? is a (?:function|builtin_function_or_method|coroutine|Future)/;
/** Matches failures that can result from reading data that was not passed. */
const EMPTY_DATA = /^(?:KeyError|IndexError|TypeError|AttributeError)\b/;

function isEmpty(data: unknown): boolean {
  return typeof data !== "object" || data === null || Object.keys(data).length === 0;
}

/** The line of a failure that names the error. In a traceback it is the first unindented line after the head. */
function errorLine(message: string): string {
  const lines = message.split("\n");
  const head = lines.findLastIndex((line) => line.startsWith("Traceback (most recent call last)"));
  const after = lines.slice(head + 1);
  return after.find((line) => line !== "" && !/^\s/.test(line)) ?? lines[0] ?? "";
}

/** Advice on an unknown name that was passed to `call_tool`. A forbidden tool has no replacement. */
async function adviseOnCalled(
  called: string,
  code: string,
  source: ModuleSource,
): Promise<string | undefined> {
  if (await isTool(called, source)) return undefined;
  // The failure's message says already why a server is not in use.
  if (source.unlisted?.has(parseNamespacedName(called)?.module ?? "") === true) return undefined;
  const apart = /\bcall_tool\(\s*["']([\w-]{1,80})["']\s*,\s*["']([\w-]{1,80})["']/.exec(code);
  const [meant] = apart?.[1] === called ? await toolsNamed(`${called}.${apart[2]}`, source) : [];
  if (meant !== undefined)
    return `call_tool takes the whole name of a tool: write call_tool("${meant.tool.namespacedName}", {...})`;
  return adviseOnUnknownTool(called, source, ({ tool }) => `servers.${tool.module}.${tool.identifier}`);
}

/** Advice on a name that a server's module lacks. */
async function adviseOnFunction(
  module: string,
  name: string,
  source: ModuleSource,
): Promise<string | undefined> {
  const tools = ((await source.load(module))?.tools ?? []).filter(({ isAvailable }) => isAvailable);
  const near = nearestNames(
    name,
    tools.map(({ identifier }) => identifier),
  );
  if (near.length > 0) return `did you mean ${near.map((each) => `servers.${module}.${each}`).join(" or ")}?`;
  const { functions } = await findFunctions(name, source);
  const elsewhere = functions.map((each) => `servers.${each.module}.${each.identifier}`);
  return elsewhere.length === 0 ? undefined : `did you mean ${elsewhere.join(" or ")}?`;
}

const WORDS: KindWords = {
  object: "dict",
  nothing: "None",
  parsers: {
    JSON: "json.loads",
    "JSON lines": "json.loads, line by line",
    "Python's repr": "ast.literal_eval",
    CSV: "csv.DictReader",
  },
};
const MAX_DESCRIBED = 2;
const MAX_STEPS = 6;

/**
 * What tools returned, for a failure that shows that the program took it for something else: the answer that the failing line is
 * about, else the last ones.
 */
async function adviseOnShape(
  message: string,
  code: string,
  answers: readonly ToolAnswer[],
  source: ModuleSource,
): Promise<string | undefined> {
  if (answers.length === 0) return undefined;
  const named = await nameAnswers(answers, source);
  const calls = (text: string) =>
    named.find(({ tool, declared }) =>
      [tool, tool.replace(/\W/g, "_"), declared?.identifier].some(
        (name) => name !== undefined && new RegExp(`\\b${name.replace(/\W/g, "\\$&")}\\b`).test(text),
      ),
    );
  const numbers = [...message.matchAll(/^ {2}File "program\.py", line (\d+)/gm)].map(([, line]) =>
    Number(line),
  );
  const lines = code.split("\n");
  const failing = lines[(numbers.at(-1) ?? 0) - 1] ?? "";
  let words = new Set(failing.match(/[A-Za-z_]\w*/g) ?? []);
  let meant = calls(failing);
  for (let step = 0; meant === undefined && words.size > 0 && step < MAX_STEPS; step++) {
    const bound = lines.filter((line) =>
      [...words].some((word) =>
        new RegExp(`^\\s*${word}\\s*(?::[^=]*)?=(?!=)|\\bfor\\s+[^:]*\\b${word}\\b.*\\bin\\b`).test(line),
      ),
    );
    meant = calls(bound.join("\n"));
    words = new Set(
      bound.flatMap((line) => line.replace(/^[^=]*=|^.*\bin\b/, "").match(/[A-Za-z_]\w*/g) ?? []),
    );
  }
  const described = meant === undefined ? named.slice(-MAX_DESCRIBED) : [meant];
  const keys = [...failing.matchAll(/["']([^"'\n]{1,80})["']/g)].map(([, key = ""]) => key);
  return described
    .map((answer) => {
      const inner = keys.flatMap((key) => memberOf(answer.value, key) ?? []).at(-1);
      const what = describeAnswer(answer, WORDS);
      return inner === undefined
        ? what
        : `${what}; its '${inner.key}' is ${describeValue(inner.value, WORDS)}`;
    })
    .join("; ");
}

/** The first member of a value with a name, in any depth. */
function memberOf(value: unknown, key: string): { key: string; value: unknown } | undefined {
  if (typeof value !== "object" || value === null) return undefined;
  if (!Array.isArray(value) && Object.hasOwn(value, key))
    return { key, value: (value as Record<string, unknown>)[key] };
  for (const each of Object.values(value)) {
    const found = memberOf(each, key);
    if (found !== undefined) return found;
  }
  return undefined;
}

/**
 * Advice on a failure that a program caused, one line each. The failure's message is the program's own text. It selects the
 * advice, which repeats only names from it.
 */
export async function advisePythonFailure(
  { type, message }: Failure,
  { code, data }: Program,
  source: ModuleSource,
  { answers = [], platform = "node" }: Pick<EndedProgram, "answers" | "platform"> = {},
): Promise<string[]> {
  const line = errorLine(message);
  const advice: (string | undefined)[] = [];
  if (type === "ScriptError") {
    const [, name] = UNDEFINED_NAME.exec(line) ?? [];
    if (name !== undefined && !name.startsWith("mcp__"))
      advice.push(await advisePythonName(name, code, source));
    const [, inModule, attribute] = NO_ATTRIBUTE.exec(line) ?? [];
    if (inModule !== undefined && attribute !== undefined)
      advice.push(await adviseOnFunction(inModule, attribute, source));
    const [, imported, fromModule] = NO_FUNCTION.exec(line) ?? [];
    if (imported !== undefined && fromModule !== undefined)
      advice.push(await adviseOnFunction(fromModule, imported, source));
    const [, server] = NO_SERVER.exec(line) ?? [];
    if (server !== undefined) {
      const near = nearestNames(server, source.modules());
      if (near.length > 0) advice.push(`did you mean ${near.map((each) => `servers.${each}`).join(" or ")}?`);
    }
    advice.push(
      await advisePythonLimits(line, code, source, platform),
      await adviseOnUnwrapped(code, source),
    );
    const isUnreadable = /^(?:Syntax|Indentation|Tab)Error\b/.test(line);
    const prose = isUnreadable ? adviseOnProse(code) : undefined;
    if (prose !== undefined) advice.push(prose);
    else if (isUnreadable && !mayBePython(code))
      advice.push(
        "if this is not Python, say so: give the argument `language`, a file name that ends in .ts, or --language",
      );
    if (NOT_AWAITED.test(line))
      advice.push("a call gives something to await: write `await` before it, or `await asyncio.gather(...)`");
    if (EMPTY_DATA.test(line) && /\bdata\s*[.[]/.test(code) && isEmpty(data))
      advice.push(
        "no data was passed in, so `data` is empty: pass it as the argument `data`, or with --data",
      );
    else if (WRONG_SHAPE.test(line) && answers.length > 0 && !NOT_AWAITED.test(line))
      advice.push(await adviseOnShape(message, code, answers, source));
    else if (MCP_SHAPE.test(line) && /\bmcp__|\bservers\b|\bcall_tool\b/.test(code))
      advice.push(
        "a tool's function returns its data itself, not an MCP result; print what it returned to see its shape",
      );
  }
  if (type === "ToolError" && TOO_SLOW.test(line))
    advice.push(
      "a call gets more time from `call_timeout_seconds` of its server, or `execution.tool_call_timeout_seconds`, in ptc.yaml",
    );
  const [, called] = UNAVAILABLE.exec(type === "ToolError" ? line : "") ?? [];
  if (called !== undefined) advice.push(await adviseOnCalled(called, code, source));
  if (type === "ScriptError" || type === "ToolError") advice.push(advisePythonCredentials(code));
  if (type === "ResultNotSerializable" && FUNCTION_RESULT.test(message))
    advice.push("call the function, and set result to what it returns");
  return advice.filter((each) => each !== undefined);
}

/** The Python equivalents of names in other languages. */
const ELSEWHERE: ReadonlyMap<string, string> = new Map([
  ["console", "write `print(...)`"],
  ["null", "write `None`"],
  ["undefined", "write `None`"],
  ["true", "write `True`"],
  ["false", "write `False`"],
  ["callTool", "write `call_tool(...)`"],
  ["JSON", "write `import json`, and `json.dumps(...)` or `json.loads(...)`"],
  ["require", "write `import ...`"],
  ["globalThis", "write `result = ...`"],
]);
/** Modules that programs often use without importing them. */
const STANDARD: ReadonlySet<string> = new Set(
  "asyncio base64 collections csv datetime functools hashlib io itertools json math os random re statistics string sys time uuid".split(
    " ",
  ),
);
/** Names under which other runtimes give tools to programs. */
const TOOL_OBJECTS: ReadonlySet<string> = new Set(["tools", "tool", "mcp", "client", "server", "api", "ptc"]);

/**
 * Advice on an undefined name: mostly the missing import. `undefined` if nothing is known about the name.
 */
async function advisePythonName(
  name: string,
  code: string,
  source: ModuleSource,
): Promise<string | undefined> {
  const elsewhere = ELSEWHERE.get(name);
  if (elsewhere !== undefined) return elsewhere;
  if (isOwnTool(name)) return explainOwnTool(name);
  if (STANDARD.has(name)) return `write \`import ${name}\` first`;
  const modules = source.modules();
  if (modules.includes(name)) return `write \`from servers import ${name}\` first`;
  const [example] = modules;
  const taken = TOOL_OBJECTS.has(name) ? await toolsTakenFrom(name, code, source) : [];
  if (taken.length > 0)
    return `tools are functions of modules: write ${taken.map(({ callable }) => `${callable}(...)`).join(" or ")}`;
  if (TOOL_OBJECTS.has(name) && example !== undefined)
    return `tools are functions of modules: write \`from servers import ${example}\`, or mcp__<server>__<tool>(...) without an import`;
  const named = /^mcp_|__/.test(name) ? await toolsNamed(name, source) : [];
  if (named.length > 0) return `write ${named.map(({ callable }) => `${callable}(...)`).join(" or ")}`;
  const { isExact, functions } = await findFunctions(name, source);
  const ways = functions.map(({ module, identifier }) => {
    const alias = new RegExp(`\\bimport[ \\t]+servers\\.${module}[ \\t]+as[ \\t]+(\\w{1,64})`).exec(
      code,
    )?.[1];
    if (alias !== undefined) return `${alias}.${identifier}(...)`;
    return `from servers.${module} import ${identifier}`;
  });
  if (ways.length === 0) return undefined;
  if (isExact) return `write ${ways.join(" or ")}`;
  const names = [...new Set(functions.map(({ identifier }) => `'${identifier}'`))];
  return `did you mean ${names.join(" or ")}? write ${ways.join(" or ")}`;
}

/** Matches Python's errors for things that a sandbox lacks, by the beginning of the line. */
const NETWORK =
  /^(?:[\w.]*\.)?(?:gaierror|URLError|ConnectionRefusedError|ConnectionError|ConnectError)\b|^OSError: \[Errno (?:101|99|97)\]|^(?:[\w.]*\.)?\w*Error: .*(?:Name or service not known|Temporary failure in name resolution|Network is unreachable)/;
const LOCAL = /^(?:[\w.]*\.)?ConnectionRefusedError\b/;
const NO_PACKAGE = /^ModuleNotFoundError: No module named '([^'.]{1,100})/;
const HTTP_PACKAGES: ReadonlySet<string> = new Set([
  "requests",
  "httpx",
  "aiohttp",
  "urllib3",
  "websockets",
  "mcp",
  "fastmcp",
  "openai",
  "anthropic",
]);
const PROCESS =
  /^FileNotFoundError: .*No such file or directory: '(?:\/bin\/)?(?:sh|bash|curl|git|node|npm|pip)'/;
const READ_ONLY = /^(?:OSError: \[Errno 30\]|PermissionError: \[Errno (?:1|13)\])/;
const NO_FILE = /^FileNotFoundError: /;
const LISTS = /\b(?:listdir|scandir|iterdir|walk)\(/;
const WRITES =
  /\bopen\([^)\n]{0,200},[ \t]*(?:mode[ \t]*=[ \t]*)?["'][wax]|\bwrite_(?:text|bytes)\(|\bmkdir\(|\bmakedirs\(/;
const CREDENTIAL = /\bos\.(?:environ\.get\(|getenv\(|environ\[)[ \t]{0,9}["']([A-Za-z_]\w{0,100})["']/g;
const CREDENTIAL_NAME = /KEY|TOKEN|SECRET|PASS|CREDENTIAL|AUTH|COOKIE|SESSION|DATABASE|DSN|_URL$|_URI$/i;

/** Advice on an error for things that a sandbox lacks: a network, the host's files, other programs, packages. */
async function advisePythonLimits(
  line: string,
  code: string,
  source: ModuleSource,
  platform: Platform = "node",
): Promise<string | undefined> {
  if (NETWORK.test(line)) {
    const local = LOCAL.test(line) ? ", and localhost is the sandbox itself" : "";
    return `a program has no network${local}: call a tool of a server instead${nameServers(source)}`;
  }
  const [, name] = NO_PACKAGE.exec(line) ?? [];
  if (name !== undefined && name !== "servers") return adviseOnPackage(name, source, platform);
  if (PROCESS.test(line))
    return `there are no other programs in the sandbox, and no shell: use Python, or call a tool of a server${nameServers(source)}`;
  if (READ_ONLY.test(line) || (NO_FILE.test(line) && WRITES.test(code)))
    return `a program may write in /workspace only, which is gone when it ends: to keep something, set result or call a tool of a server${await nameFileTools("write", source)}`;
  if (NO_FILE.test(line)) {
    const tools = await nameFileTools(LISTS.test(code) ? "list" : "read", source);
    return `a program does not see the files of the host: pass what it needs as data (the argument \`data\`, or --data), or read it with a tool of a server${tools}`;
  }
  if (/^EOFError: EOF when reading a line/.test(line))
    return "nobody types anything into a program: pass what it needs as data (the argument `data`, or --data)";
  return undefined;
}

function adviseOnPackage(name: string, source: ModuleSource, platform: Platform): string {
  if (source.modules().includes(name)) return `write \`from servers import ${name}\``;
  if (HTTP_PACKAGES.has(name))
    return `a program has no network: call a tool of a server instead${nameServers(source)}`;
  if (platform === "wasm")
    return "a program has Python's standard library here and no packages: `sandbox.python_packages` needs an engine with gVisor (docs/engines.md)";
  return "a program has Python's standard library and the packages that `sandbox.python_packages` in ptc.yaml names";
}

/** Advice that environment variables that look like credentials are missing. `undefined` if the program reads none. */
function advisePythonCredentials(code: string): string | undefined {
  const read = [...code.matchAll(CREDENTIAL)].map(([, name = ""]) => name);
  const name = read.find((each) => CREDENTIAL_NAME.test(each));
  if (name === undefined) return undefined;
  return `${name} is not set in the sandbox: a program has no credentials; servers have theirs, and their tools need none from it`;
}

/** Longer programs mostly contain data, and are not analysed. */
const MAX_CODE_CHARS = 256 * 1024;

const PENDING = /<coroutine object |<(?:Future|Task) (?:pending|finished)|<_GatheringFuture /;
const GENERATOR = /<(?:async_)?generator object /;
const NO_NETWORK =
  /\bName or service not known\b|\bTemporary failure in name resolution\b|\bNetwork is unreachable\b/;
const PRINTED_NO_FILE = /\bNo such file or directory: /;
const ASKS_FOR_FILES = /\bos\.path\.(?:exists|isfile|isdir)\(|\.exists\(\)|\bglob\(/;
const NO_VALUE = "nothing was printed and no result is set";

const GIVES_NOTHING = `${NO_VALUE}: end the program with what is to come back, or print it`;

/** Advice on a program that succeeded without returning anything, or whose value was probably lost, one line each. */
export async function advisePythonSuccess(
  { code }: Program,
  { consoleText, isEmpty, data, answers = [] }: EndedProgram & { ok: true },
  modules: ModuleSource,
): Promise<string[]> {
  if (PENDING.test(consoleText)) return ["a call was printed and not its value: await it first"];
  if (GENERATOR.test(consoleText)) return ["a generator was printed and not its items: write [... for ...]"];
  if (NO_NETWORK.test(consoleText))
    return [`a program has no network: call a tool of a server instead${nameServers(modules)}`];
  if (PRINTED_NO_FILE.test(consoleText))
    return [(await advisePythonLimits("FileNotFoundError: ", code, modules)) ?? NO_VALUE];
  if (/\bFalse\b|\[\]/.test(consoleText) && ASKS_FOR_FILES.test(code)) {
    const tools = await nameFileTools("list", modules);
    return [`a program does not see the files of the host: use a tool of a server${tools}`];
  }
  const asked =
    /\bNone\b/.test(consoleText) || data === null || isEmpty ? missedKey(code, answers) : undefined;
  if (asked !== undefined) return [asked];
  if (!isEmpty) return [];
  const advice = code.length > MAX_CODE_CHARS ? undefined : adviseOnLostValue(blankTexts(code).code);
  return [advice ?? GIVES_NOTHING];
}

/** Says what tools returned, if the program asks for a key that none of the answers has in any depth. */
function missedKey(code: string, answers: readonly ToolAnswer[]): string | undefined {
  if (answers.length === 0 || code.length > MAX_CODE_CHARS) return undefined;
  const keys = [...code.matchAll(/\.get\(\s*["'](\w{1,80})["']/g)].map(([, key = ""]) => key);
  const missed = keys.find((key) => answers.every(({ value }) => memberOf(value, key) === undefined));
  const [last] = answers.slice(-1);
  return missed === undefined || last === undefined
    ? undefined
    : `${describeAnswer(last, WORDS)}, without '${missed}'`;
}

/** Advice on returning the value that a program probably means. @param code the program without its texts. */
function adviseOnLostValue(code: string): string | undefined {
  for (const { 1: isAsync, 2: name = "" } of code.matchAll(/^(async[ \t]+)?def[ \t]+(\w+)/gm)) {
    if (mentions(code, name) > 1) continue;
    const call = `${isAsync === undefined ? "" : "await "}${name}()`;
    return `${NO_VALUE}: ${name} is never called; end the program with ${call}`;
  }
  const guarded = /^if[ \t]+__name__/m.test(code);
  if (guarded) return undefined;
  const [last = ""] = code.trimEnd().split("\n").slice(-1);
  const [, assigned] = /^([A-Za-z_]\w*)[ \t]*(?::[^=]*)?=(?!=)/.exec(last) ?? [];
  if (assigned !== undefined) return `${NO_VALUE}: end the program with ${assigned}, or print it`;
  return undefined;
}

function mentions(code: string, name: string): number {
  return code.match(new RegExp(`\\b${name}\\b`, "g"))?.length ?? 0;
}
