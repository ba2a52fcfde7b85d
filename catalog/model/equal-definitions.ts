import { isObject } from "../../base/json.ts";
import { canonicalJson } from "../../protocol/canonical-json.ts";
import { MAX_COMPARED_REFERENCES } from "./limits.ts";
import type { Definition, TypeModel, TypeNode } from "./type-model.ts";

/** The type of a tool's input or output, with its definitions. */
export interface ToolSide {
  model: TypeModel;
  isInput: boolean;
}

interface Compared {
  definition: Definition;
  /** The definition as canonical JSON, with a number instead of each reference. */
  form: string;
  /** The targets of the numbered references. */
  targets: Definition[];
}

/**
 * Groups the definitions of tools. Definitions of a group have equal types and documentation, whatever their names, and refer to
 * definitions that are equal too. The search starts with all in one group and divides groups until nothing changes, so that
 * definitions that refer to themselves are compared too. If that takes too long, no definition is in a group.
 *
 * @param dependsOnSide whether a part is printed differently for input and output. Definitions with such a part are equal only
 *   within one side.
 */
export function groupEqualDefinitions(
  sides: readonly ToolSide[],
  dependsOnSide: (type: TypeNode) => boolean,
): ReadonlyMap<Definition, number> {
  const compared = sides.flatMap(({ model, isInput }) =>
    [...model.definitions.values()].map((definition) =>
      comparedForm(definition, model, isInput, dependsOnSide),
    ),
  );
  const references = compared.reduce((n, { targets }) => n + 1 + targets.length, 0);
  let groups = numberBy(compared, ({ form }) => form);
  for (let left = MAX_COMPARED_REFERENCES; left >= references; left -= references) {
    const finer = numberBy(compared, ({ definition, targets }) =>
      [definition, ...targets].map((each) => groups.byDefinition.get(each)).join(),
    );
    if (finer.count === groups.count) return finer.byDefinition;
    groups = finer;
  }
  return new Map();
}

function numberBy(compared: readonly Compared[], keyOf: (compared: Compared) => string) {
  const numbers = new Map<string, number>();
  const byDefinition = new Map<Definition, number>();
  for (const each of compared) {
    const key = keyOf(each);
    const number = numbers.get(key) ?? numbers.size;
    numbers.set(key, number);
    byDefinition.set(each.definition, number);
  }
  return { byDefinition, count: numbers.size };
}

function comparedForm(
  definition: Definition,
  model: TypeModel,
  isInput: boolean,
  dependsOnSide: (type: TypeNode) => boolean,
): Compared {
  const targets: Definition[] = [];
  let isOfSide = false;
  const withNumbers = (value: unknown): unknown => {
    if (Array.isArray(value)) return value.map(withNumbers);
    if (!isObject(value)) return value;
    if (isTypeNode(value)) {
      const target = value.kind === "reference" ? model.definitions.get(value.name) : undefined;
      if (target !== undefined) return { kind: "reference", number: targets.push(target) };
      // A dangling reference is printed as any.
      isOfSide ||= value.kind === "reference" || dependsOnSide(value);
    }
    return Object.fromEntries(Object.entries(value).map(([key, each]) => [key, withNumbers(each)]));
  };
  const form = canonicalJson(withNumbers(definition));
  return { definition, form: isOfSide ? `${isInput ? "input" : "output"} ${form}` : form, targets };
}

/** Among the parts of definitions, only types have a kind. */
function isTypeNode(value: object): value is TypeNode {
  return "kind" in value;
}
