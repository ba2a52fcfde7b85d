import { schemaOfShape } from "../../../catalog/learned/learned-state.ts";
import { mergeShapes, NOTHING, observeShape } from "../../../catalog/learned/shape.ts";
import { normalizeSchema } from "../../../catalog/model/normalize-schema.ts";
import type { TypeModel, TypeNode } from "../../../catalog/model/type-model.ts";

/** How many of the members that a schema declares were found in results, and which were found that it does not declare. */
export interface FoundMembers {
  declared: number;
  found: number;
  undeclared: readonly string[];
}

/** Compares what is learned of some results with what their schema declares. */
export function compareWithDeclared(schema: unknown, results: readonly unknown[]): FoundMembers {
  const shape = results.map((each) => observeShape(each)).reduce(mergeShapes, NOTHING);
  const declared = membersOf(normalizeSchema(schema, () => {}));
  const learned = membersOf(normalizeSchema(schemaOfShape(shape), () => {}));
  const isOpen = (path: string): boolean => [...declared.open].some((open) => path.startsWith(open));
  const isDeclared = (path: string): boolean => isPathOf(declared.paths, path);
  return {
    declared: declared.paths.size,
    found: [...declared.paths].filter((path) => learned.paths.has(path)).length,
    undeclared: [...learned.paths].filter((path) => !isDeclared(path) && !isOpen(path)),
  };
}

/** Whether a path is one of those. A key of a map stands for any name: less is known then, and nothing that is false. */
export function isPathOf(paths: ReadonlySet<string>, path: string): boolean {
  if (paths.has(path)) return true;
  if (!path.includes("{}")) return false;
  const escaped = path.replace(/[.*+?^$()|[\]\\]/g, "\\$&").replaceAll("{}", "(?:\\{\\}|\\.[^.[\\]{}]+)");
  const pattern = new RegExp(`^${escaped}$`);
  return [...paths].some((each) => pattern.test(each));
}

const MAX_DEPTH = 8;

/** The members of a type by their paths, and where anything may be. */
export function membersOf(model: TypeModel): { paths: Set<string>; open: Set<string> } {
  const paths = new Set<string>();
  const open = new Set<string>();
  const walk = (type: TypeNode, path: string, depth: number): void => {
    if (depth > MAX_DEPTH) {
      open.add(path);
      return;
    }
    switch (type.kind) {
      case "any":
        open.add(path);
        return;
      case "array":
        walk(type.items, `${path}[]`, depth);
        return;
      case "tuple":
        for (const each of [...type.items, ...(type.rest ? [type.rest] : [])]) walk(each, `${path}[]`, depth);
        return;
      case "union":
      case "intersection":
        for (const each of type.members) walk(each, path, depth);
        return;
      case "reference": {
        const target = model.definitions.get(type.name);
        if (target !== undefined) walk(target.type, path, depth + 1);
        return;
      }
      case "object":
        for (const { name, type: own } of type.properties) {
          paths.add(`${path}.${name}`);
          walk(own, `${path}.${name}`, depth + 1);
        }
        if (type.rest?.kind === "any") open.add(`${path}.`);
        if (type.rest !== undefined) walk(type.rest, `${path}{}`, depth + 1);
        return;
      default:
        return;
    }
  };
  walk(model.root, "", 0);
  return { paths, open };
}
