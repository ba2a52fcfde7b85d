import { visibleLine } from "../../../base/visible-text.ts";
import type { DeclaredTool, GeneratedModule } from "../../../codegen/language-printer.ts";
import { ToolNames } from "../../../protocol/tool-names.ts";
import type { ModuleSource } from "../../module-source.ts";
import { describeUnwrapped, didYouMean, nearestNames } from "../../name-lookup.ts";
import { explainOwnTool, isOwnTool } from "../../tool-suggestions.ts";
import type { PyrightDiagnostic } from "./pyright-process.ts";
import { ResultParts } from "./result-parts.ts";

/** A mistake that makes a program fail when it runs. */
export interface PythonMistake {
  /** Where it is, in UTF-16 code units. */
  start: number;
  /** A description that follows the place. */
  text: string;
  /** The tool that it concerns. */
  tool?: DeclaredTool | undefined;
}

/** Matches the attributes of `asyncio.Future`, which calls return. */
const OF_FUTURES =
  /^(?:result|done|cancel|cancelled|exception|add_done_callback|remove_done_callback|get_loop)$/;
const PENDING = /\bCoroutine(?:Type)?\[/;
/** One value of a `Literal[...]`. */
const LITERAL = /[bB]?'(?:[^'\\]|\\.)*'|[bB]?"(?:[^"\\]|\\.)*"|[^,\s]+/g;
const SCALAR = /^(?:Literal\[.*\]|str|int|float|bool|None)$/;

/** The meaning of pyright's finding for a running program, or `undefined` if the program may run well. */
export function judgeFinding(found: PyrightDiagnostic, program: JudgedProgram): PythonMistake | undefined {
  const start = program.text.offsetOf(found.start);
  const end = program.text.offsetOf(found.end);
  const written = program.text.code.slice(start, end);
  const mistake = (text: string | undefined, tool?: DeclaredTool): PythonMistake | undefined =>
    text === undefined ? undefined : { start, text, tool };
  const unwrapped = unwrappedAt(start, end, program);
  if (unwrapped !== undefined) return mistake(describeUnwrapped(unwrapped.identifier), unwrapped);
  switch (found.rule) {
    case "reportUndefinedVariable":
      return mistake(judgeUndefined(written, program));
    case "reportMissingImports":
      return mistake(judgeImport(found.message, program));
    case "reportCallIssue":
      return judgeCall(found, start, program) ?? judgePart(found, start, end, program);
    case "reportArgumentType":
      return judgeArgument(found, start, end, program) ?? judgePart(found, start, end, program);
    case "reportUnusedCoroutine": {
      const tool = toolNamed(
        /([\p{XIDC}]+)\s*\($/u.exec(written.slice(0, written.indexOf("(") + 1))?.[1],
        program,
      );
      return (
        tool &&
        mistake(`${tool.identifier} is called and not awaited: write await ${tool.identifier}(...)`, tool)
      );
    }
    case "reportAttributeAccessIssue":
      return judgeAttribute(found, start, written, program) ?? judgePart(found, start, end, program);
    case "reportOperatorIssue":
      return mistake(judgeSum(found.message) ?? judgeOperands(found.message, start, program));
    case "reportIndexIssue":
    case "reportGeneralTypeIssues":
    case "reportTypedDictNotRequiredAccess":
      return judgeUse(found, start, program) ?? judgePart(found, start, end, program);
    case "reportAssignmentType":
      return judgePart(found, start, end, program);
    default:
      return undefined;
  }
}

/** The tool whose value a finding concerns, if the program reads `result` of a value that ptc has already unwrapped. */
function unwrappedAt(start: number, end: number, program: JudgedProgram): DeclaredTool | undefined {
  const { code, plain } = program.text;
  const found = code.slice(start, end + MAX_KEY_CHARS);
  const isKey = /^[^\n]*?\[\s*["']result["']\s*\]/.test(found);
  if (!isKey && code.slice(start, end) !== "result") return undefined;
  const before = isKey ? found.slice(0, found.indexOf("[")) : code.slice(0, start).replace(/\.$/, "");
  const name = /([\p{XIDC}]+)$/u.exec(before)?.[1];
  const assigned =
    name === undefined
      ? before.split("\n").at(-1)?.trim()
      : new RegExp(`^\\s*${name}\\s*(?::[^=\\n]*)?=(?!=)\\s*(.*)$`, "mu").exec(plain)?.[1];
  const tool = toolNamed(firstCallee(assigned ?? ""), program);
  return tool?.isUnwrapped === true ? tool : undefined;
}

/** The name that is called first in an expression. */
function firstCallee(expression: string): string | undefined {
  return /^\(?\s*(?:await\s+)?(?:[\p{XIDC}]+\.)*([\p{XIDC}]+)\(/u.exec(expression)?.[1];
}

const MAX_KEY_CHARS = 16;

function judgeImport(message: string, { source }: JudgedProgram): string | undefined {
  const module = /^Import "servers\.([^".]+)/.exec(message)?.[1];
  if (module === undefined || source.modules().includes(module)) return undefined;
  return `there is no server module '${module}'${didYouMean(nearestNames(module, source.modules()))}`;
}

function judgeCall(
  found: PyrightDiagnostic,
  start: number,
  program: JudgedProgram,
): PythonMistake | undefined {
  const { text } = program;
  const called = /^([\p{XIDC}.]+)\s*\(/u.exec(text.plain.slice(start))?.[1]?.split(".").at(-1);
  const around = text.calleeAround(start);
  const unknown = /^No parameter named "(.+?)"/.exec(found.message)?.[1];
  if (unknown !== undefined) {
    const tool = toolNamed(around, program);
    if (tool === undefined)
      return around === undefined ? undefined : { start, text: `${around} has no parameter '${unknown}'` };
    const near = nearestNames(unknown, parametersOf(tool));
    return { start, tool, text: `'${unknown}' is not a parameter of ${tool.identifier}${didYouMean(near)}` };
  }
  const missing = /^Arguments? missing for parameters? (.+)$/.exec(found.message)?.[1];
  const name =
    toolNamed(called, program) === undefined && toolNamed(around, program) !== undefined ? around : called;
  const tool = toolNamed(name, program);
  if (missing !== undefined) {
    const names = [...missing.matchAll(/"(.+?)"/g)].map(([, each]) => `'${each}'`);
    const verb = names.length === 1 ? "is" : "are";
    return {
      start,
      tool,
      text: `${names.join(", ")} ${verb} missing from ${tool?.identifier ?? name ?? "a call"}'s arguments`,
    };
  }
  if (!/^Expected \d+ (?:more )?positional argument/.test(found.message)) return undefined;
  const owner = toolNamed(around, program);
  if (owner === undefined) return { start, text: lowerFirst(found.message) };
  return { start, tool: owner, text: `${owner.identifier} takes keyword arguments, or one dict of them` };
}

function judgeArgument(
  { message }: PyrightDiagnostic,
  start: number,
  end: number,
  program: JudgedProgram,
): PythonMistake | undefined {
  const { text } = program;
  const written = text.code.slice(start, end);
  const [, source = "", parameter = "", target = "", callee = ""] =
    /^Argument of type "([\s\S]*?)" cannot be assigned to parameter "(.*?)" of type "([\s\S]*?)" in function "(.*?)"/.exec(
      message,
    ) ?? [];
  const tool = toolNamed(callee, program) ?? toolNamed(text.calleeAround(start), program);
  if (PENDING.test(source) && !PENDING.test(target) && !/Awaitable|Future/.test(target))
    return {
      start,
      tool: undefined,
      text: "a tool's result is used before it is awaited: write await before the call",
    };
  if (tool === undefined || text.code.slice(Math.max(0, start - 2), start).includes("**")) return undefined;
  const whose =
    parameter === "arguments"
      ? `the arguments of ${tool.identifier}`
      : `'${parameter}' of ${tool.identifier}`;
  if (/^(?:dict|list)\[/.test(source) && !/^(?:str|int|float|bool)$/.test(target)) {
    const unknown = /"(.+?)" is an undefined item in /.exec(message)?.[1];
    if (unknown !== undefined) {
      const near = nearestNames(unknown, propertiesOf(tool));
      return { start, tool, text: `'${unknown}' is not a property of ${whose}${didYouMean(near)}` };
    }
    const missing = /"(.+?)" is required in /.exec(message)?.[1];
    if (missing !== undefined && !/\*\*/.test(written))
      return { start, tool, text: `'${missing}' is missing from ${whose}` };
    if (source.startsWith("dict[") && /^(?:Sequence|list)\[/.test(target) && written.startsWith("{"))
      return { start, tool, text: `${whose} must be a list, not a dict` };
    if (!/^(?:["'[{\d-]|[fFrR]["']|(?:True|False|None)$)/.test(written)) return undefined;
    const innermost = [
      ...message.matchAll(/"([^"\n]*(?:"[^"\n]*"[^"\n]*)?)" is not assignable to (?:type )?"([^\n]*)"$/gm),
    ];
    const values = innermost.filter(([, from = "", to = ""]) => isMismatch(from, to));
    const [, from = "", to = ""] = values.find(([, each = ""]) => each.startsWith("Literal[")) ?? [];
    return from === ""
      ? undefined
      : { start, tool, text: `${whose} must hold ${shown(to)}, not ${shown(from)}` };
  }
  if (!isMismatch(source, target)) return undefined;
  const value = /^Literal\['(.*)'\]$/.exec(source)?.[1];
  const choices = [...target.matchAll(/'([^']*)'/g)].map(([, each = ""]) => each);
  const near = value === undefined ? "" : didYouMean(nearestNames(value, choices));
  return { start, tool, text: `${whose} must be ${shown(target)}, not ${shown(source)}${near}` };
}

/** Whether a value certainly has another type. A value of a union may be the right one. */
function isMismatch(source: string, target: string): boolean {
  if (source.includes(" | ")) return false;
  const values = /^Literal\[(.*)\]$/.exec(source)?.[1]?.match(LITERAL) ?? [];
  if (values.length > 1 && values.some((value) => fits(value, target))) return false;
  if (!SCALAR.test(source))
    return /^(?:list|dict|tuple|set)\[/.test(source) && /^(?:str|int|float|bool)$/.test(target);
  if (/Literal\[/.test(target) && !/^(?:Literal\[|None$)/.test(source)) return false;
  return !(source === "float" && /\bint\b/.test(target));
}

/** Whether a value may be of a type, by the type's text. */
function fits(value: string, target: string): boolean {
  if (target.includes(value)) return true;
  const kinds = /^[bB]?["']/.test(value)
    ? /\bstr\b/
    : /^-?\d/.test(value)
      ? /\b(?:int|float)\b/
      : /\b(?:bool|int)\b/;
  return kinds.test(target);
}

function judgeAttribute(
  { message }: PyrightDiagnostic,
  start: number,
  written: string,
  program: JudgedProgram,
): PythonMistake | undefined {
  const { modules, text } = program;
  const name = /^"(.+?)" is (?:unknown import symbol|not a known attribute of module)/.exec(message)?.[1];
  if (name !== undefined) {
    const statement = text.lines[lineOf(text.code, start)] ?? "";
    const [, from] =
      /module "(?:servers)?\.+(\w+)"/.exec(message) ??
      /from\s+servers\.(\w+)/.exec(importAround(text.plain, start)) ??
      [];
    if (from === undefined) {
      const library = judgeLibraryName(message, libraryModule(message, text.plain, start), text.plain);
      if (library !== undefined) return { start, text: library };
      if (!/\bservers\b/.test(statement) || program.source.modules().includes(name)) return undefined;
      const near = nearestNames(name, program.source.modules());
      return { start, text: `there is no server module '${name}'${didYouMean(near)}` };
    }
    const module = [...modules].find(
      ([each]) => each === from || `_${each}` === from || `${each}_` === from,
    )?.[1];
    if (module === undefined || name === "result") return undefined;
    const hidden = module.tools.find((tool) => tool.identifier === name && !tool.isAvailable);
    if (hidden !== undefined)
      return {
        start,
        text: `'${visibleLine(hidden.namespacedName)}' is not available in execute_program: the configuration does not allow it`,
      };
    const functions = module.tools.filter((tool) => tool.isAvailable).map((tool) => tool.identifier);
    const near = nearestNames(name, functions);
    const tool = near.length === 1 ? module.tools.find((each) => each.identifier === near[0]) : undefined;
    return { start, tool, text: `servers.${from} has no function '${name}'${didYouMean(near)}` };
  }
  const [, attribute = "", type = ""] =
    /^Cannot access attribute "(.+?)" for class "(.+?)"/.exec(message) ?? [];
  if (PENDING.test(type) || /^Coroutine/.test(type)) {
    if (OF_FUTURES.test(attribute)) return undefined;
    return { start, text: "a tool's result is used before it is awaited: write await before the call" };
  }
  const library = judgeLibraryAttribute(attribute, type, text.plain);
  if (library !== undefined) return { start, text: library };
  const owner = [...modules.values()].find((module) => isDictOf(type, module.text));
  if (owner === undefined || attribute !== written) return undefined;
  const what = type === program.dataType ? "data" : "a result";
  const keys = keysOf(type, owner.text);
  if (keys.includes(attribute))
    return { start, text: `${what} is a dict: write ["${attribute}"] instead of .${attribute}` };
  return { start, text: `${what} is a dict, ${withoutKey(attribute, keys)}` };
}

/** A missing `await`, or a key that a result does not have. */
function judgeUse(
  { message }: PyrightDiagnostic,
  start: number,
  { text, modules, dataType }: JudgedProgram,
): PythonMistake | undefined {
  if (
    /"Coroutine(?:Type)?[["]/.test(message) &&
    /__getitem__|not iterable|__iter__|not subscriptable/.test(message)
  )
    return { start, text: "a tool's result is used before it is awaited: write await before the call" };
  const [, key = "", type = ""] = /"(.+?)" is not a defined key in "(.+?)"/.exec(message) ?? [];
  if (key === "" || text.code.includes(`"${key}" in `) || text.code.includes(`'${key}' in `))
    return undefined;
  if (/\bexcept\b/.test(text.plain)) return undefined;
  const owner = [...modules.values()].find((module) => isDictOf(type, module.text));
  if (owner === undefined) return undefined;
  const keys = keysOf(type, owner.text);
  if (type === dataType) return { start, text: `data has no '${key}'${didYouMean(nearestNames(key, keys))}` };
  return { start, text: `a result has no '${key}'${knownKeys(key, keys)}` };
}

/** Members of an MCP result, which a tool's function does not return. */
const OF_MCP_RESULTS: ReadonlySet<string> = new Set(["content", "structuredContent", "isError", "_meta"]);

/** What a dict has instead of a key: the nearest keys, or all. */
function knownKeys(key: string, keys: readonly string[]): string {
  const nearest = didYouMean(nearestNames(key, keys));
  const known = nearest === "" && keys.length > 0 ? `; it has ${keys.slice(0, 12).join(", ")}` : nearest;
  if (!OF_MCP_RESULTS.has(key)) return known;
  return `${known}; a tool's function returns its data itself, not an MCP result`;
}

function withoutKey(key: string, keys: readonly string[]): string {
  return `and has no '${key}'${knownKeys(key, keys)}`;
}

/** What a type of pyright's is, for messages. `undefined` for a union, or a type that says nothing certain. */
function certainKind(type: string, modules: JudgedProgram["modules"]): string | undefined {
  if (/\|| & /.test(type.replace(/\[.*\]$/s, ""))) return undefined;
  if (/^(?:str|LiteralString|Literal\[['"].*['"]\])$/s.test(type)) return "a str";
  if (/^(?:int|float|bool)$/.test(type)) return `${type === "int" ? "an" : "a"} ${type}`;
  if (/^list\[/.test(type) || isListOf(type, modules)) return "a list";
  if (/^dict\[/.test(type) || [...modules.values()].some((module) => isDictOf(type, module.text)))
    return "a dict";
  return undefined;
}

/** Whether a module's type is a name for a list. */
function isListOf(type: string, modules: JudgedProgram["modules"]): boolean {
  if (!/^[\p{XIDC}]+$/u.test(type)) return false;
  return [...modules.values()].some(
    ({ text }) => text.includes(`\ntype ${type} = list[`) || text.includes(`\n${type} = list[`),
  );
}

/** Functions of Python's library that fail for values of other kinds. */
const STRICT =
  /^(?:loads|len|int|float|sum|round|abs|join|fromisoformat|strptime|reversed|b64decode|fromkeys|fsum|mean|median)$/;

/** Describes a wrong use of a text, number, list or dict that certainly is a part of a result. */
function judgePart(
  { message, rule }: PyrightDiagnostic,
  start: number,
  end: number,
  program: JudgedProgram,
): PythonMistake | undefined {
  const { text, modules } = program;
  const parts = new ResultParts(text, (name) => toolNamed(name, program) !== undefined);
  const certain = (place: { start: number; end: number } | undefined) =>
    place !== undefined && parts.isPart(place) && !parts.isGuarded(place.start)
      ? parts.textOf(place)
      : undefined;
  const mistake = (said: string, of: { start: number; end: number }): PythonMistake => ({
    start,
    text: said,
    tool: toolNamed(firstCallee(parts.textOf(of)), program),
  });
  const [, attribute, owner = ""] =
    /^Cannot access attribute "(.+?)" for class "(.+?)"\n/.exec(message) ?? [];
  if (attribute !== undefined) {
    const receiver = parts.before(start - 1);
    const kind = certainKind(owner, modules);
    const shownAs = kind === undefined || /\bhasattr\b/.test(text.plain) ? undefined : certain(receiver);
    if (receiver === undefined || shownAs === undefined || mayBeOther(owner.replace(/\[.*/s, ""), program))
      return undefined;
    return mistake(
      `'${attribute}' is not an attribute of ${describe(shownAs, kind ?? "", modules)}`,
      receiver,
    );
  }
  const key = keyAt(message, start, end, text);
  if (key !== undefined) {
    const receiver = parts.before(key.receiverEnd);
    const shownAs = certain(receiver);
    if (receiver === undefined || shownAs === undefined || mayBeOther(key.kind, program)) return undefined;
    const kind = key.kind === "str" ? "a str" : key.kind === "dict" ? "a dict" : "a list";
    if (key.kind === "dict") return mistake(`${shownAs} is a dict: take a key, not [${key.key}]`, receiver);
    return mistake(`[${key.key}] cannot be taken of ${describe(shownAs, kind, modules)}`, receiver);
  }
  const value = { start, end };
  const [, source = ""] =
    /^(?:Argument of type|Type) "([\s\S]*?)" (?:cannot be assigned to parameter|is not assignable to declared type)/.exec(
      message,
    ) ?? [];
  const kind = certainKind(source, modules);
  if (rule === "reportAssignmentType") {
    const [, target = ""] = /declared type "([^"]+)"/.exec(message) ?? [];
    const wanted = certainKind(target, modules);
    const shownAs =
      kind === undefined || wanted === undefined || kind === wanted ? undefined : certain(value);
    if (shownAs === undefined || (kind === "an int" && wanted === "a float")) return undefined;
    return mistake(`${shownAs} is ${kind}, not ${wanted}`, value);
  }
  const [, called = ""] = /in function "([\p{XIDC}]+)"/u.exec(message) ?? [];
  const callee = called === "__new__" || called === "__init__" ? (text.calleeAround(start) ?? "") : called;
  if (rule === "reportArgumentType" && STRICT.test(callee)) {
    const shownAs = kind === undefined ? undefined : certain(value);
    if (shownAs === undefined) return undefined;
    if (callee === "loads" && /^a (?:dict|list)$/.test(kind ?? ""))
      return mistake(`${shownAs} is ${kind} already, not JSON: leave out json.loads`, value);
    if (callee === "join" && kind === "a list")
      return mistake(`${shownAs} is a list of other values than str, which join does not take`, value);
    return mistake(`${shownAs} is ${kind}, which ${callee} does not take`, value);
  }
  const [, unusable = ""] =
    /^(?:Object of type )?"([^"]+)" (?:is not (?:iterable|callable)|cannot be used with)/.exec(message) ?? [];
  if (unusable === "") return undefined;
  const used = rule === "reportCallIssue" ? parts.before(text.plain.lastIndexOf("(", end - 1)) : value;
  const what = certainKind(unusable, modules);
  const shownAs = what === undefined ? undefined : certain(used);
  if (used === undefined || shownAs === undefined) return undefined;
  const use = /not iterable/.test(message)
    ? "iterated over"
    : /not callable/.test(message)
      ? "called"
      : "used in `with`";
  return mistake(`${shownAs} cannot be ${use}: it is ${what}`, used);
}

/** Says what an expression is. An item of a text is a character, which is mostly taken for an item of a list. */
function describe(expression: string, kind: string, modules: JudgedProgram["modules"]): string {
  const [, whole = "", key] = /^(.*?(?:\["(.*?)"\])?)\[-?\d+\]$/s.exec(expression) ?? [];
  const types = key === undefined ? [] : declaredTypes(key, modules);
  if (types.length > 0 && types.every((type) => type === "str"))
    return `${expression}, a character: ${whole} is a str itself, not a list`;
  return `${expression}: it is ${kind}`;
}

/** The types that a module declares for members with a name. */
function declaredTypes(key: string, modules: JudgedProgram["modules"]): string[] {
  const name = key.replace(/[.*+?^${}()|[\]\\]/g, "\\$&");
  const member = new RegExp(`^ {4}(?: {4}"${name}"|${name}): (?:NotRequired\\[)?([^\\n]*?)\\]?,?$`, "gmu");
  return [...modules.values()].flatMap(({ text }) => [...text.matchAll(member)].map(([, type = ""]) => type));
}

/** Whether a value of a kind that a finding names may be of another, because a member that the program reads may be of either. */
function mayBeOther(kind: string, { text, modules }: JudgedProgram): boolean {
  const other = (type: string) => {
    const members = type
      .replace(/\[[^\]]*\]/g, "")
      .split(" | ")
      .filter((each) => each !== "None");
    return members.length > 1 && members.includes(kind);
  };
  const keys = new Set([...text.code.matchAll(/["']([^"'\n]{1,80})["']/g)].map(([, key = ""]) => key));
  if ([...keys].some((key) => declaredTypes(key, modules).some(other))) return true;
  return [...modules.values()].some((module) =>
    [...module.text.matchAll(/^type [\p{XIDC}]+ = (.*)$/gmu)].some(([, type = ""]) => other(type)),
  );
}

/** The key by which a program takes an item of a text, a list or a dict that has no such keys, and the end of what it takes it of. */
function keyAt(
  message: string,
  start: number,
  end: number,
  { code, plain }: ProgramText,
): { key: string; kind: "str" | "list" | "dict"; receiverEnd: number } | undefined {
  const isOfText =
    /^Argument of type "Literal\['.*?'\]" cannot be assigned to parameter "key".*in function "__getitem__"/s.test(
      message,
    );
  const isOfList =
    /^Argument of type "Literal\['.*?'\]" cannot be assigned to parameter "[si]" of type .*in function "__getitem__"/s.test(
      message,
    );
  const isNumber = /"Literal\[-?\d+\]" is not a string literal/.test(message);
  if (!isOfText && !isOfList && !isNumber) return undefined;
  const written = code.slice(start, end);
  const isKeyAlone = /^["'].*["']$/s.test(written) && plain[start - 1] === "[";
  const open = isKeyAlone ? start - 1 : openBracket(plain, end);
  if (open === undefined) return undefined;
  const close = isKeyAlone ? end : end - 1;
  return {
    key: code.slice(open + 1, close).trim(),
    kind: isOfText ? "str" : isOfList ? "list" : "dict",
    receiverEnd: open,
  };
}

function openBracket(plain: string, end: number): number | undefined {
  let depth = 0;
  for (let at = end - 1; at >= 0; at--) {
    if (plain[at] === "]") depth++;
    else if (plain[at] === "[" && --depth === 0) return at;
  }
  return undefined;
}

/** Describes a calculation with a dict of a result, or of a text with a number, which Python rejects. */
function judgeOperands(message: string, start: number, { modules, text }: JudgedProgram): string | undefined {
  const [, operator = "", left = "", right = ""] =
    /^Operator "([-+*/%<>]=?|\/\/|\*\*)" not supported for types "([^"|]+)" and "([^"|]+)"/.exec(message) ??
    [];
  if (operator === "") return undefined;
  const isResult = [left, right].some((type) =>
    [...modules.values()].some((module) => isDictOf(type, module.text)),
  );
  if (isResult) return `a result is a dict: take what it has before you write ${operator}`;
  const kinds = [kindOf(left), kindOf(right)];
  if (
    kinds.includes(undefined) ||
    !kinds.includes("str") ||
    new ResultParts(text, () => false).isGuarded(start)
  )
    return undefined;
  return `${kinds.join(` ${operator} `)} is a TypeError: write int(...) or float(...)`;
}

/** The library module that a finding about a name concerns. */
function libraryModule(message: string, plain: string, start: number): string | undefined {
  return (
    /of module "([\w.]+)"/.exec(message)?.[1] ??
    /^from\s+([\w.]+)\s+import\b/.exec(importAround(plain, start))?.[1]
  );
}

function importAround(plain: string, start: number): string {
  const at = plain.lastIndexOf("from", start);
  return at < 0 ? "" : plain.slice(at, start);
}

function lineOf(code: string, offset: number): number {
  return code.slice(0, offset).split(/\r\n|\r|\n/).length - 1;
}

function shown(type: string): string {
  return type.length > 120 ? `${type.slice(0, 120)}...` : type;
}

function lowerFirst(text: string): string {
  return text.charAt(0).toLowerCase() + text.slice(1).split("\n", 1)[0];
}

/** The names that every program finds. */
const AROUND_PROGRAMS = [
  "data",
  "result",
  "call_tool",
  "pages",
  "parallel",
  "emit",
  "bytes_of",
  "ToolError",
  "servers",
];

/** Modules of Python that programs often forget to import. */
const COMMON_MODULES =
  /^(?:asyncio|json|re|math|datetime|time|random|itertools|functools|collections|statistics|os|sys)$/;

/** Describes an undefined name, unless it may be defined at run time. */
function judgeUndefined(
  name: string,
  { text, modules, source, unknownTools }: JudgedProgram,
): string | undefined {
  if (
    !/^[\p{XIDC}]+$/u.test(name) ||
    /\bglobals\s*\(|\bexec\s*\(|\bimport\s*\*|\bNameError\b/.test(text.plain)
  )
    return undefined;
  const tools = [...modules.values()].flatMap((module) => module.tools);
  const explained = unknownTools?.get(name);
  if (explained !== undefined && !name.startsWith("mcp__")) return explained;
  if (name.startsWith("mcp__")) {
    const [meant] = new ToolNames(tools).resolve(name);
    if (meant !== undefined && !meant.isAvailable)
      return `'${visibleLine(meant.namespacedName)}' is not available in execute_program: the configuration does not allow it`;
    return explained ?? `there is no tool '${name}'`;
  }
  if (isOwnTool(name)) return `'${name}' is not defined: ${explainOwnTool(name)}`;
  const assigned = [...text.plain.matchAll(/\b([\p{XIDS}_][\p{XIDC}]*)\b/gu)].map(([word]) => word);
  const defined = assigned.filter((word) => word !== name && isDefined(word, text.plain));
  const functions = tools.filter((tool) => tool.isAvailable && tool.identifier === name);
  if (functions[0] !== undefined)
    return `'${name}' is not defined; write \`from servers.${functions[0].module} import ${name}\``;
  if (COMMON_MODULES.test(name)) return `'${name}' is not defined; write \`import ${name}\``;
  if (source.modules().includes(name)) return `'${name}' is not defined; write \`import servers.${name}\``;
  return `'${name}' is not defined${didYouMean(nearestNames(name, [...defined, ...AROUND_PROGRAMS]))}`;
}

function isDefined(word: string, plain: string): boolean {
  return new RegExp(
    `(?:\\b(?:def|class|import|as|for)\\s+|[,(]\\s*)${word}\\b|\\b${word}\\s*(?:=(?!=)|,.*=|:)`,
  ).test(plain);
}

/** Matches modules whose stubs are complete. */
const COMPLETE =
  /^(?:asyncio|base64|bisect|calendar|collections|contextlib|copy|csv|dataclasses|datetime|decimal|difflib|enum|fractions|functools|hashlib|heapq|html|io|itertools|json|math|operator|os|pathlib|random|re|secrets|statistics|string|struct|textwrap|time|typing|unicodedata|uuid|zoneinfo)$/;

/** Matches their submodules, which exist once anything has imported them although the stubs of the outer module lack them. */
const INNER =
  /^(?:abc|base_\w+|constants|coroutines|decoder|encoder|entities|events|exceptions|futures|locks|mixins|parser|path|proactor_events|protocols|queues|runners|scanner|selector_events|sslproto|staggered|streams|subprocess|taskgroups|tasks|threads|timeouts|tool|transports|trsock|unix_events)$/;

/** Matches programs that check for themselves whether a name exists. */
const LOOKS_ITSELF =
  /\b(?:hasattr|ImportError|ModuleNotFoundError|AttributeError|version_info)\b|\bexcept\s*(?::|(?:Base)?Exception\b)/;

const OF_TOOL_ERRORS = ["server", "tool", "message", "retryable", "args", "add_note", "with_traceback"];

const OF_TYPES: Readonly<Record<string, string>> = {
  str: "capitalize casefold center count encode endswith expandtabs find format format_map index isalnum isalpha isascii isdecimal isdigit isidentifier islower isnumeric isprintable isspace istitle isupper join ljust lower lstrip maketrans partition removeprefix removesuffix replace rfind rindex rjust rpartition rsplit rstrip split splitlines startswith strip swapcase title translate upper zfill",
  list: "append clear copy count extend index insert pop remove reverse sort",
  dict: "clear copy fromkeys get items keys pop popitem setdefault update values",
  set: "add clear copy difference difference_update discard intersection intersection_update isdisjoint issubset issuperset pop remove symmetric_difference symmetric_difference_update union update",
  datetime:
    "astimezone combine ctime date day dst fold fromisocalendar fromisoformat fromordinal fromtimestamp hour isocalendar isoformat isoweekday max microsecond min minute month now replace resolution second strftime strptime time timestamp timetuple timetz today toordinal tzinfo tzname utcfromtimestamp utcnow utcoffset utctimetuple weekday year",
};

/** The Python equivalents of members in other languages, by type. */
const ELSEWHERE: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  str: {
    length: "len(...)",
    toLowerCase: ".lower()",
    toUpperCase: ".upper()",
    trim: ".strip()",
    includes: "`in`",
    contains: "`in`",
    startsWith: ".startswith()",
    endsWith: ".endswith()",
    indexOf: ".find()",
    substring: "[a:b]",
    replaceAll: ".replace()",
    padStart: ".rjust()",
  },
  list: {
    length: "len(...)",
    push: ".append()",
    map: "[... for x in ...]",
    filter: "[x for x in ... if ...]",
    forEach: "for x in ...:",
    includes: "`in`",
    contains: "`in`",
    indexOf: ".index()",
    slice: "[a:b]",
    concat: "+",
    add: ".append()",
  },
  dict: { has_key: "`in`", hasOwnProperty: "`in`", iteritems: ".items()", length: "len(...)" },
  set: { push: ".add()", append: ".add()", has: "`in`", length: "len(...)", size: "len(...)" },
};

/**
 * Describes a name that a module of Python's library certainly lacks.
 *
 * @param plain the program without the texts of its strings and comments.
 */
function judgeLibraryName(message: string, module: string | undefined, plain: string): string | undefined {
  const name = /^"(.+?)" is (?:unknown import symbol|not a known attribute of module)/.exec(message)?.[1];
  if (name === undefined || module === undefined || !COMPLETE.test(module)) return undefined;
  if (name.startsWith("_") || INNER.test(name) || LOOKS_ITSELF.test(plain)) return undefined;
  return `Python's module '${module}' has no '${name}'`;
}

/**
 * Describes an attribute that a value of a built-in type lacks. A value may have other types that the finding does not name, so
 * this reports only probable slips: a name close to an attribute of the type, or a name from another language.
 */
function judgeLibraryAttribute(attribute: string, type: string, plain: string): string | undefined {
  if (LOOKS_ITSELF.test(plain)) return undefined;
  if (type === "ToolError") {
    if (OF_TOOL_ERRORS.includes(attribute) || /^__|\bexcept\s*\(/.test(`${attribute} ${plain}`))
      return undefined;
    return `a ToolError has no '${attribute}'; it has ${OF_TOOL_ERRORS.slice(0, 4).join(", ")}`;
  }
  const base = type.startsWith("Literal['") ? "str" : (/^(?:type\[)?(\w+)/.exec(type)?.[1] ?? "");
  const known = Object.hasOwn(OF_TYPES, base) ? OF_TYPES[base]?.split(" ") : undefined;
  if (known === undefined || isDefinedIn(plain, attribute)) return undefined;
  const meant = ELSEWHERE[base];
  if (meant !== undefined && Object.hasOwn(meant, attribute))
    return `a ${base} has no '${attribute}'; write ${meant[attribute]}`;
  const near = nearestNames(attribute, known);
  return near.length === 0 ? undefined : `a ${base} has no '${attribute}'${didYouMean(near)}`;
}

/** Describes a sum of a text and a value of another type, which Python rejects. */
function judgeSum(message: string): string | undefined {
  const [, left = "", right = ""] =
    /^Operator "\+=?" not supported for types "([^"|]+)" and "([^"|]+)"/.exec(message) ?? [];
  const [a, b] = [kindOf(left), kindOf(right)];
  if (a === undefined || b === undefined || (a === "str") === (b === "str")) return undefined;
  const other = a === "str" ? b : a;
  return `str + ${other} is a TypeError: write f"..." or str(...)`;
}

function kindOf(type: string): string | undefined {
  if (/^(?:str|Literal\['.*'\])$/.test(type)) return "str";
  if (/^(?:int|Literal\[-?\d+\])$/.test(type)) return "int";
  return /^(float|list|dict)(?:\[|$)/.exec(type)?.[1];
}

/** Whether a program defines that name itself, for example in a class. */
function isDefinedIn(plain: string, name: string): boolean {
  return new RegExp(`(?<![.\\w])${name}\\b|\\bself\\.${name}\\s*[:=]`).test(plain);
}

/** The program whose findings are judged. */
export interface JudgedProgram {
  text: ProgramText;
  /** The modules that the program names. */
  modules: ReadonlyMap<string, GeneratedModule>;
  source: ModuleSource;
  /** What to say about names of tools that there are not. */
  unknownTools?: ReadonlyMap<string, string>;
  /** The type of its data, if known. */
  dataType?: string | undefined;
}

/** The tool that a program calls by a name: its function's name, its global name, or an alias of an import. */
function toolNamed(name: string | undefined, { text, modules }: JudgedProgram): DeclaredTool | undefined {
  if (name === undefined) return undefined;
  const tools = [...modules.values()].flatMap((module) => module.tools);
  const renamed = new RegExp(`\\b([\\p{XIDC}]+)\\s+as\\s+${name}\\b`, "u").exec(text.plain)?.[1];
  const wanted = renamed ?? name;
  const [alias] = new ToolNames(tools).resolve(wanted);
  if (alias !== undefined) return alias;
  const own = tools.filter((tool) => tool.identifier === wanted);
  return own.length === 1 ? own[0] : own.find((tool) => new RegExp(`\\b${tool.module}\\b`).test(text.plain));
}

function propertiesOf(tool: DeclaredTool): string[] {
  const names = tool.parameters ?? {};
  return parametersOf(tool).map((parameter) => names[parameter] ?? parameter);
}

function parametersOf(tool: DeclaredTool): string[] {
  const [, parameters = ""] = /^[^(]*\(\*, ([\s\S]*)/.exec(tool.signature()) ?? [];
  return [...parameters.matchAll(/(?:^|, )([\p{XIDC}]+)\??: /gu)].map(([, name = ""]) => name);
}

function isDictOf(type: string, moduleText: string): boolean {
  return moduleText.includes(`\nclass ${type}(TypedDict`) || moduleText.includes(`\n${type} = TypedDict(`);
}

function keysOf(type: string, moduleText: string): string[] {
  const at = moduleText.search(new RegExp(`^(?:class ${type}\\(TypedDict|${type} = TypedDict\\()`, "m"));
  const block = moduleText.slice(at).split(/\n(?=\S)/, 1)[0] ?? "";
  return [...block.matchAll(/^ {4}([\p{XIDC}]+): |^ {8}"(.+)": /gmu)].map(
    ([, plain, quoted]) => plain ?? quoted ?? "",
  );
}

/** A program's text, with lookup by line and column. */
export class ProgramText {
  readonly code: string;
  /** The same text with spaces instead of strings and comments. */
  readonly plain: string;
  readonly lines: readonly string[];
  readonly #starts: number[] = [];

  constructor(code: string) {
    this.code = code;
    this.plain = withoutStrings(code);
    this.lines = code.split(/\r\n|\r|\n/);
    this.#starts.push(0);
    for (const { index, 0: end } of code.matchAll(/\r\n|\r|\n/g)) this.#starts.push(index + end.length);
  }

  /** Converts pyright's place to an offset in the text, in UTF-16 code units. */
  offsetOf({ line, character }: { line: number; character: number }): number {
    return Math.min((this.#starts[line] ?? this.code.length) + character, this.code.length);
  }

  /** The last part of the name that the innermost call around a place calls. */
  calleeAround(offset: number): string | undefined {
    let depth = 0;
    for (let at = offset - 1; at >= 0; at--) {
      const character = this.plain[at];
      if (character === ")" || character === "]" || character === "}") depth++;
      else if (character === "[" || character === "{") depth = Math.max(0, depth - 1);
      else if (character === "(") {
        if (depth > 0) depth--;
        else {
          const name = nameBefore(this.plain, at);
          if (name !== undefined) return name;
        }
      }
    }
    return undefined;
  }
}

const STRING =
  /[rRbBuUfF]{0,2}(?:"""[\s\S]*?(?:"""|$)|'''[\s\S]*?(?:'''|$)|"(?:[^"\\\n]|\\[\s\S])*"?|'(?:[^'\\\n]|\\[\s\S])*'?)|#.*/g;

function withoutStrings(code: string): string {
  return code.replace(STRING, (text) => text.replace(/[^\r\n]/g, " "));
}

function nameBefore(text: string, at: number): string | undefined {
  return /([\p{XIDS}_][\p{XIDC}]*)\s*$/u.exec(text.slice(Math.max(0, at - 200), at))?.[1];
}
