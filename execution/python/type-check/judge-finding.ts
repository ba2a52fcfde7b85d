import { visibleLine } from "../../../base/text/visible-text.ts";
import type { DeclaredTool } from "../../../codegen/generated-module.ts";
import { describeUnwrapped } from "../../prepare/find-functions.ts";
import { didYouMean, nearestNames } from "../../prepare/nearest-names.ts";
import { judgeLibraryAttribute, judgeLibraryName, judgeSum } from "./judge-library.ts";
import { judgeUndefined } from "./judge-undefined.ts";
import {
  isDictOf,
  type JudgedProgram,
  keysOf,
  parametersOf,
  propertiesOf,
  toolNamed,
} from "./named-tools.ts";
import type { PyrightDiagnostic } from "./pyright-process.ts";

/** A mistake that makes a program fail when it runs. */
export interface PythonMistake {
  /** Where it is, in UTF-16 code units. */
  start: number;
  /** What is wrong, in words that follow the place. */
  text: string;
  /** The tool that it is about. */
  tool?: DeclaredTool | undefined;
}

/** What an `asyncio.Future` has, which calls return, beside what can be awaited. */
const OF_FUTURES =
  /^(?:result|done|cancel|cancelled|exception|add_done_callback|remove_done_callback|get_loop)$/;
const PENDING = /\bCoroutine(?:Type)?\[/;
const SCALAR = /^(?:Literal\[.*\]|str|int|float|bool|None)$/;

/** What a finding of pyright means for a program that runs; `undefined` where the program may run well. */
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
      return judgeCall(found, start, program);
    case "reportArgumentType":
      return judgeArgument(found, start, end, program);
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
      return judgeAttribute(found, start, written, program);
    case "reportOperatorIssue":
      return mistake(judgeSum(found.message));
    case "reportIndexIssue":
    case "reportGeneralTypeIssues":
    case "reportTypedDictNotRequiredAccess":
      return judgeUse(found, start, program);
    default:
      return undefined;
  }
}

/** The tool whose value a finding is about, where `result` is taken of it and ptc has taken it out of that already. */
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

/** Whether a value surely has a type that is another one. What is one of several values may be the right one. */
function isMismatch(source: string, target: string): boolean {
  if (source.includes(" | ")) return false;
  if (!SCALAR.test(source))
    return /^(?:list|dict|tuple|set)\[/.test(source) && /^(?:str|int|float|bool)$/.test(target);
  if (/Literal\[/.test(target) && !/^(?:Literal\[|None$)/.test(source)) return false;
  return !(source === "float" && /\bint\b/.test(target));
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
  const isDict = [...modules.values()].some((module) => isDictOf(type, module.text));
  if (!isDict || attribute !== written) return undefined;
  const what = type === program.dataType ? "data" : "a result";
  return { start, text: `${what} is a dict: write ["${attribute}"] instead of .${attribute}` };
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
  const near = nearestNames(key, keysOf(type, owner.text));
  if (type === dataType) return { start, text: `data has no '${key}'${didYouMean(near)}` };
  return near.length === 0 ? undefined : { start, text: `a result has no '${key}'${didYouMean(near)}` };
}

/** The module that a finding about a name of one is about, where it is not one of servers. */
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
