import { NameAllocator } from "../../catalog/identifiers.ts";
import type { ServerModel, ToolModel } from "../../catalog/tool-model.ts";
import { quoteString } from "../escape.ts";
import type { TypeNames } from "./types/type-names.ts";

/** How a module offers a method, beside the function that has its arguments as an object. */
interface Shorthand {
  object: "resources" | "prompts";
  member: string;
  parameters: string;
  args: string;
  description: string;
}

const SHORTHANDS: Readonly<Record<string, Shorthand>> = {
  "resources/list": {
    object: "resources",
    member: "list",
    parameters: "",
    args: "{}",
    description: "All resources, and templates of URIs.",
  },
  "resources/read": {
    object: "resources",
    member: "read",
    parameters: "uri: string",
    args: "{ uri }",
    description: "The contents of one resource.",
  },
  "prompts/get": {
    object: "prompts",
    member: "get",
    parameters: "name: string, args?: Record<string, string>",
    args: "args === undefined ? { name } : { name, arguments: args }",
    description: "The messages of one prompt.",
  },
  "prompts/list": {
    object: "prompts",
    member: "list",
    parameters: "",
    args: "{}",
    description: "All prompts, and their arguments.",
  },
};

/**
 * `resources` and `prompts` of a module, where its server has them. A tool that is called so keeps its name, and the object
 * has another. They call by name, so that they hold whichever of the functions a program may call.
 */
export function printMethods(server: ServerModel, names: ReadonlyMap<ToolModel, TypeNames>): string[] {
  const methods = server.tools.flatMap((tool) => {
    const { method } = tool.definition;
    const shorthand =
      method !== undefined && Object.hasOwn(SHORTHANDS, method) ? SHORTHANDS[method] : undefined;
    return shorthand === undefined ? [] : [{ tool, shorthand }];
  });
  const allocator = new NameAllocator(server.tools.map(({ identifier }) => identifier));
  return (["resources", "prompts"] as const).flatMap((object) => {
    const own = methods.filter(({ shorthand }) => shorthand.object === object);
    if (own.length === 0) return [];
    const members = own.flatMap(({ tool, shorthand: { member, parameters, args, description } }) => {
      const types = `${names.get(tool)?.get("input") ?? "any"}, ${names.get(tool)?.get("output") ?? "any"}`;
      return [
        `  /** ${description} */`,
        `  ${member}: (${parameters}) => tool<${types}>(${quoteString(tool.namespacedName)})(${args}),`,
      ];
    });
    const name = allocator.allocate(object, `${object} of the server`);
    return [[`export const ${name} = {`, ...members, "};"].join("\n")];
  });
}
