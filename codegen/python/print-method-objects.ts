import { NameAllocator } from "../../catalog/identifiers.ts";
import type { ServerModel, ToolModel } from "../../catalog/tool-model.ts";
import type { ToolTypeNames } from "./types/type-scope.ts";

/** How a module offers a method of the protocol, beside the function that has its arguments by name. */
interface Member {
  object: "resources" | "prompts";
  name: string;
  parameters: string;
  description: string;
}

const MEMBERS: Readonly<Record<string, Member>> = {
  "resources/list": {
    object: "resources",
    name: "list",
    parameters: "self",
    description: "All resources, and templates of URIs.",
  },
  "resources/read": {
    object: "resources",
    name: "read",
    parameters: "self, uri: str",
    description: "The contents of one resource.",
  },
  "prompts/get": {
    object: "prompts",
    name: "get",
    parameters: "self, name: str, arguments: Mapping[str, str] | None = ...",
    description: "The messages of one prompt.",
  },
  "prompts/list": {
    object: "prompts",
    name: "list",
    parameters: "self",
    description: "All prompts, and their arguments.",
  },
};

/** `resources` and `prompts` of a module, where its server has them. A tool that is called so keeps its name, and there is no object. */
export function printMethodObjects(
  server: ServerModel,
  functions: ReadonlyMap<ToolModel, string>,
  types: ReadonlyMap<ToolModel, ToolTypeNames>,
): string[] {
  const taken = new Set(functions.values());
  const allocator = new NameAllocator(taken);
  return (["resources", "prompts"] as const).flatMap((object) => {
    const methods = server.tools.flatMap((tool) => {
      const { method } = tool.definition;
      const member = method !== undefined && Object.hasOwn(MEMBERS, method) ? MEMBERS[method] : undefined;
      return member?.object === object ? [{ tool, member }] : [];
    });
    if (methods.length === 0 || taken.has(object)) return [];
    const name = allocator.allocate(`_${object}`, object);
    const members = methods.flatMap(({ tool, member }) => [
      `    async def ${member.name}(${member.parameters}) -> ${types.get(tool)?.output ?? "Any"}:`,
      `        """${member.description}"""`,
    ]);
    return [[`class ${name}:`, ...members].join("\n"), `${object}: ${name}`];
  });
}
