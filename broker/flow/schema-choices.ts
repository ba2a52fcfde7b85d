import { isObject } from "../../base/json.ts";
import type { Leaf } from "./folded-text.ts";

/** A list of more values is data: which of many people or files is more than a choice of how. */
const MAX_CHOICES = 64;
const MAX_DEPTH = 20;

/**
 * Whether a schema of arguments names a value itself at its path: as the default, as the constant, or in an enumeration. A program can
 * write such a value without having read anything.
 */
export function isChoice(schema: unknown, path: string, value: Leaf["value"]): boolean {
  if (schema === undefined || path === "") return false;
  const steps = path.match(/\[(?:"(?:[^"\\]|\\.)*"|\d+)\]|\.?[^.[\]]+/g) ?? [];
  return schemasAt(schema, steps, schema).some((each) => namesValue(each, value));
}

function namesValue(schema: Record<string, unknown>, value: Leaf["value"]): boolean {
  const named = [schema.default, schema.const].flat();
  const listed = Array.isArray(schema.enum) && schema.enum.length <= MAX_CHOICES ? schema.enum : [];
  return [...named, ...listed].some((each) => each === value);
}

/** The schemas that a value at a path is checked against. */
function schemasAt(
  schema: unknown,
  steps: readonly string[],
  root: unknown,
  depth = 0,
): Record<string, unknown>[] {
  if (!isObject(schema) || depth > MAX_DEPTH) return [];
  const further = (each: unknown, rest: readonly string[]) => schemasAt(each, rest, root, depth + 1);
  const alternatives = [schema.anyOf, schema.oneOf, schema.allOf].flatMap((each) =>
    Array.isArray(each) ? each : [],
  );
  const referred = typeof schema.$ref === "string" ? definitionOf(schema.$ref, root) : undefined;
  const others = [...alternatives, referred].flatMap((each) => further(each, steps));
  const [step, ...rest] = steps;
  if (step === undefined) return [schema, ...others];
  const isIndex = /^\[\d+\]$/.test(step);
  const name = step.startsWith('["') ? String(JSON.parse(step.slice(1, -1))) : step.replace(/^\./, "");
  const own =
    isObject(schema.properties) && Object.hasOwn(schema.properties, name)
      ? schema.properties[name]
      : undefined;
  return [...(isIndex ? further(schema.items, rest) : further(own, rest)), ...others];
}

function definitionOf(reference: string, root: unknown): unknown {
  const steps = /^#\/((?:\$defs|definitions)\/[^/]+)$/.exec(reference)?.[1]?.split("/") ?? [];
  return steps.length === 0
    ? undefined
    : steps.reduce<unknown>(
        (at, step) => (isObject(at) && Object.hasOwn(at, step) ? at[step] : undefined),
        root,
      );
}
