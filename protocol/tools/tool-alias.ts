/** What a program may call a tool by when its namespaced name is not an identifier, or reads otherwise in code. */
export interface NamedTool {
  module: string;
  /** Name of its function in the generated module. */
  identifier: string;
  namespacedName: string;
}

const IDENTIFIER = /^[A-Za-z_$][A-Za-z0-9_$]*$/;

/** Finds tools by what programs call them: the exact namespaced name, or, where that is nobody's, an alias of it. */
export class ToolNames<Tool extends NamedTool> {
  readonly #exact = new Map<string, Tool>();
  readonly #aliases = new Map<string, Tool[]>();

  constructor(tools: Iterable<Tool>) {
    for (const tool of tools) {
      this.#exact.set(tool.namespacedName, tool);
      for (const alias of aliasesOf(tool)) {
        const others = this.#aliases.get(alias);
        if (others === undefined) this.#aliases.set(alias, [tool]);
        else others.push(tool);
      }
    }
  }

  /** The tools that a name can mean: none, one, or several when it is nobody's own name and an alias of each. */
  resolve(name: string): readonly Tool[] {
    const exact = this.#exact.get(name);
    return exact === undefined ? (this.#aliases.get(name) ?? []) : [exact];
  }

  /** What to write in code for a tool: a name that is an identifier and means no other, else `module.function`. */
  callable(tool: Tool): string {
    const names = [tool.namespacedName, ...aliasesOf(tool)];
    const free = names.find((name) => isWritableName(name) && this.#means(name, tool));
    return free ?? `${tool.module}.${tool.identifier}`;
  }

  #means(name: string, tool: Tool): boolean {
    const [first, another] = this.resolve(name);
    return first === tool && another === undefined;
  }
}

/** Whether a namespaced name can be written in code as it is. */
export function isWritableName(name: string): boolean {
  return IDENTIFIER.test(name);
}

/** The namespaced name with `_` for whatever an identifier cannot hold, and with the function's name for the tool's. */
function aliasesOf({ module, identifier, namespacedName }: NamedTool): Set<string> {
  return new Set([namespacedName.replace(/[^A-Za-z0-9_$]/g, "_"), `mcp__${module}__${identifier}`]);
}
