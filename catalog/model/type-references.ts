import { ANY, type Definition, type TypeNode } from "./type-model.ts";

/**
 * Replaces references through which a named type would be defined as itself, with no object or array between, by any:
 * no language can print those. Returns how many there were.
 */
export function cutAliasCycles(root: TypeNode, definitions: ReadonlyMap<string, Definition>): number {
  let cut = 0;
  const open = new Set<string>();
  const done = new Set<string>();
  const walk = (type: TypeNode): TypeNode => {
    switch (type.kind) {
      case "reference": {
        if (open.has(type.name)) {
          cut++;
          return ANY;
        }
        const definition = definitions.get(type.name);
        if (definition === undefined) return ANY;
        if (!done.has(type.name)) {
          open.add(type.name);
          definition.type = walk(definition.type);
          open.delete(type.name);
          done.add(type.name);
        }
        return type;
      }
      case "union":
      case "intersection":
        type.members.forEach((each, i) => {
          type.members[i] = walk(each);
        });
        return type;
      default:
        return type;
    }
  };
  walk(root);
  for (const name of definitions.keys()) walk({ kind: "reference", name });
  return cut;
}

/** The definitions that a type refers to, directly or through others, in the order of their first use. */
export function pickReferenced(
  root: TypeNode,
  definitions: ReadonlyMap<string, Definition>,
): Map<string, Definition> {
  const picked = new Map<string, Definition>();
  const queue: TypeNode[] = [root];
  const visit = (type: TypeNode): void => {
    if (type.kind !== "reference") {
      childrenOf(type).forEach(visit);
      return;
    }
    const definition = picked.has(type.name) ? undefined : definitions.get(type.name);
    if (definition === undefined) return;
    picked.set(type.name, definition);
    queue.push(definition.type);
  };
  for (let type = queue.pop(); type !== undefined; type = queue.pop()) visit(type);
  return picked;
}

function childrenOf(type: TypeNode): TypeNode[] {
  switch (type.kind) {
    case "array":
      return [type.items];
    case "tuple":
      return type.rest === undefined ? type.items : [...type.items, type.rest];
    case "object": {
      const types = type.properties.map((property) => property.type);
      return type.rest === undefined ? types : [...types, type.rest];
    }
    case "union":
    case "intersection":
      return type.members;
    default:
      return [];
  }
}
