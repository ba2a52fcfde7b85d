import type { DeclaredTool, GeneratedModule } from "../../../codegen/generated-module.ts";
import { ToolNames } from "../../../protocol/tool-names.ts";
import type { ModuleSource } from "../../module-source.ts";
import type { ProgramText } from "./checked-text.ts";

/** A program that findings are judged in. */
export interface JudgedProgram {
  text: ProgramText;
  /** The modules that the program names. */
  modules: ReadonlyMap<string, GeneratedModule>;
  source: ModuleSource;
  /** The type of its data, where that is known. */
  dataType?: string | undefined;
}

/** The tool that a program calls by a name: that of its function, or of all servers, also where it was imported as another. */
export function toolNamed(
  name: string | undefined,
  { text, modules }: JudgedProgram,
): DeclaredTool | undefined {
  if (name === undefined) return undefined;
  const tools = [...modules.values()].flatMap((module) => module.tools);
  const renamed = new RegExp(`\\b([\\p{XIDC}]+)\\s+as\\s+${name}\\b`, "u").exec(text.plain)?.[1];
  const wanted = renamed ?? name;
  const [alias] = new ToolNames(tools).resolve(wanted);
  if (alias !== undefined) return alias;
  const own = tools.filter((tool) => tool.identifier === wanted);
  return own.length === 1 ? own[0] : own.find((tool) => new RegExp(`\\b${tool.module}\\b`).test(text.plain));
}

export function propertiesOf(tool: DeclaredTool): string[] {
  const names = tool.parameters ?? {};
  return parametersOf(tool).map((parameter) => names[parameter] ?? parameter);
}

export function parametersOf(tool: DeclaredTool): string[] {
  const [, parameters = ""] = /^[^(]*\(\*, ([\s\S]*)/.exec(tool.signature()) ?? [];
  return [...parameters.matchAll(/(?:^|, )([\p{XIDC}]+)\??: /gu)].map(([, name = ""]) => name);
}

export function isDictOf(type: string, moduleText: string): boolean {
  return moduleText.includes(`\nclass ${type}(TypedDict`) || moduleText.includes(`\n${type} = TypedDict(`);
}

export function keysOf(type: string, moduleText: string): string[] {
  const at = moduleText.search(new RegExp(`^(?:class ${type}\\(TypedDict|${type} = TypedDict\\()`, "m"));
  const block = moduleText.slice(at).split(/\n(?=\S)/, 1)[0] ?? "";
  return [...block.matchAll(/^ {4}([\p{XIDC}]+): |^ {8}"(.+)": /gmu)].map(
    ([, plain, quoted]) => plain ?? quoted ?? "",
  );
}
