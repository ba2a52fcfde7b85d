import type { DeclaredTool, GeneratedModule } from "../../../codegen/generated-module.ts";
import { EXTRACT_SERVER } from "../../../protocol/tools/extract-tool.ts";
import { PROGRAMS_MODULE } from "../../../protocol/tools/programs-module.ts";
import type { NamedTool } from "../../../protocol/tools/tool-alias.ts";
import type { ModuleSource } from "../../prepare/module-source.ts";
import { mayExtract } from "../../prepare/offers-extract.ts";
import { namedDeclarations, toolsNamedIn } from "./named-stubs.ts";

/** Whether a program awaits its calls, or each call blocks until it has its result. */
export type CheckedMode = "async" | "sync";

/** Where a program is checked: with all stubs, or aside, with those that a second look takes. */
export type CheckedRoot = CheckedMode | `aside-${CheckedMode}`;

export function asideRoot(mode: CheckedMode): CheckedRoot {
  return `aside-${mode}`;
}

/** What prints the stubs that a program is checked with. */
export interface StubPrinter {
  readonly builtinsFile: string;
  readonly serversFile: string;
  moduleFile(module: string): string;
  builtins(tools: readonly NamedTool[], mode: CheckedMode): string;
  servers(modules: readonly string[]): string;
  inMode(text: string, mode: CheckedMode): string;
}

/** The most modules that one program is checked with. */
const MAX_MODULES = 60;

/** The stubs that programs were checked with. Modules stay, so that the next program that uses them finds them read. */
export class ShownStubs {
  readonly #printer: StubPrinter;
  readonly #shown = new Map<string, GeneratedModule>();
  /** The type of the data of the program that was shown last; Any without it. */
  #dataType: string | undefined;

  constructor(printer: StubPrinter) {
    this.#printer = printer;
  }

  get size(): number {
    return this.#shown.size;
  }

  /** Loads the modules that a program names, and returns them with all stubs that it is to be checked with. */
  async show(code: string, source: ModuleSource, mode: CheckedMode, dataOf?: string) {
    const named = new Map<string, GeneratedModule>();
    for (const name of source.modules()) {
      const package_ = this.#printer.moduleFile(name).split("/").at(-2) ?? name;
      const isNamed =
        new RegExp(`(?:\\b|mcp__)(?:${package_}|${name})(?:\\b|__)`).test(code) ||
        (name === EXTRACT_SERVER && mayExtract(code, source)) ||
        (name === PROGRAMS_MODULE && dataOf !== undefined);
      if (!isNamed || named.size >= MAX_MODULES) continue;
      const module = await (source.peek ?? source.load).call(source, name);
      if (module !== undefined) named.set(name, module);
    }
    for (const [name, module] of named) this.#shown.set(name, module);
    for (const name of this.#shown.keys()) if (!source.modules().includes(name)) this.#shown.delete(name);
    this.#dataType = named.get(PROGRAMS_MODULE)?.tools.find((each) => each.namespacedName === dataOf)?.input;
    return { named, files: this.files(mode), dataType: this.#dataType };
  }

  /** Every stub by its path. */
  files(mode: CheckedMode): Map<string, string> {
    return this.#print(mode, mode, (module) => ({ text: callableText(module, false), tools: module.tools }));
  }

  /**
   * What a program names of the stubs, in a root of their own, so that a second look at it neither reads large modules again nor has
   * the next program do so.
   *
   * @param declaredOnly what was observed of results and not declared is Any.
   */
  aside(mode: CheckedMode, program: string, declaredOnly: boolean): Map<string, string> {
    const named = `${program}\n${this.#dataType ?? ""}`;
    return this.#print(asideRoot(mode), mode, (module) => {
      const tools = toolsNamedIn(module.tools, named);
      return { tools, text: namedDeclarations(callableText(module, declaredOnly), named, tools) };
    });
  }

  #print(
    root: CheckedRoot,
    mode: CheckedMode,
    show: (module: GeneratedModule) => Pick<GeneratedModule, "text" | "tools">,
  ): Map<string, string> {
    const files = new Map<string, string>();
    const tools: DeclaredTool[] = [];
    for (const [name, module] of this.#shown) {
      const shown = show(module);
      files.set(this.#printer.moduleFile(name), this.#printer.inMode(shown.text, mode));
      tools.push(...shown.tools.filter(({ isAvailable }) => isAvailable));
    }
    if (this.#shown.has(PROGRAMS_MODULE))
      files.set(`${PROGRAMS_MODULE}/__init__.pyi`, `from servers.${PROGRAMS_MODULE} import *\n`);
    files.set(this.#printer.serversFile, this.#printer.servers([...this.#shown.keys()]));
    files.set(this.#printer.builtinsFile, declareData(this.#printer.builtins(tools, mode), this.#dataType));
    return new Map([...files].map(([path, text]) => [`${root}/${path}`, text]));
  }
}

/** A saved program sees the data that its manifest describes. */
function declareData(builtins: string, type: string | undefined): string {
  if (type === undefined) return builtins;
  return builtins.replace("\ndata: Any\n", `\ndata: _servers.${PROGRAMS_MODULE}.${type}\n`);
}

/** A module's text without the functions that programs may not call. */
function callableText({ text, tools }: GeneratedModule, declaredOnly: boolean): string {
  let kept = "";
  let at = 0;
  for (const { start, end, isAvailable, isObserved } of tools) {
    if (isAvailable && !(declaredOnly && isObserved)) continue;
    kept += text.slice(at, start);
    if (isAvailable) kept += text.slice(start, end).replace(/\) -> [\p{XIDC}]+:/gu, ") -> Any:");
    at = end;
  }
  return kept + text.slice(at) + (declaredOnly ? "\nfrom typing import Any\n" : "");
}

/** A module's stubs whose functions have their first signature alone, so that what is wrong with a call can be told. */
export function withoutOverloads(text: string): string {
  return text
    .replace(/^@overload\n((?:async )?def [^(]+)\(arguments: .*\n/gm, "")
    .replace(
      /^@overload\n(?=((?:async )?def [^(]+)\((?:(?!^@overload$)[\s\S])*?(?=^(?!@overload$|[ )]|\n)))/gm,
      "",
    );
}
