import { visibleLine } from "../../../base/text/visible-text.ts";
import { ToolNames } from "../../../protocol/tools/tool-alias.ts";
import { didYouMean, nearestNames } from "../../prepare/nearest-names.ts";
import type { JudgedProgram } from "./named-tools.ts";

/** What every program finds around it. */
const AROUND_PROGRAMS = [
  "data",
  "result",
  "call_tool",
  "parallel",
  "emit",
  "bytes_of",
  "ToolError",
  "servers",
];

/** Modules of Python that programs often forget to import. */
const COMMON_MODULES =
  /^(?:asyncio|json|re|math|datetime|time|random|itertools|functools|collections|statistics|os|sys)$/;

/** Says that a name is not defined, unless it may be when the program runs. */
export function judgeUndefined(name: string, { text, modules, source }: JudgedProgram): string | undefined {
  if (
    !/^[\p{XIDC}]+$/u.test(name) ||
    /\bglobals\s*\(|\bexec\s*\(|\bimport\s*\*|\bNameError\b/.test(text.plain)
  )
    return undefined;
  const tools = [...modules.values()].flatMap((module) => module.tools);
  if (name.startsWith("mcp__")) {
    const [meant] = new ToolNames(tools).resolve(name);
    if (meant !== undefined && !meant.isAvailable)
      return `'${visibleLine(meant.namespacedName)}' is not available in execute_program: the configuration does not allow it`;
    const names = new ToolNames(tools);
    const near = nearestNames(
      name,
      tools.filter((tool) => tool.isAvailable).map((tool) => names.callable(tool)),
    );
    return `there is no tool '${name}'${didYouMean(near)}`;
  }
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
