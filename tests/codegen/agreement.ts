import type { ErrorObject, ValidateFunction } from "ajv";
import { isObject } from "../../base/json.ts";
import { compileSchema } from "../../broker/schemas/schema-check.ts";
import type { ServerListing } from "../../catalog/parse-tool.ts";
import { planGeneration } from "../../generation/generate-plan.ts";
import { namespacedName, serverModule } from "../../protocol/tool-names.ts";
import { compileGenerated } from "./compile-generated.ts";
import { mutate, seededRandom, ValueSampler } from "./sample-values.ts";

/** One value, what the validator says of it, and what the compiler says. */
export interface Judged {
  tool: string;
  role: "input" | "output";
  value: unknown;
  accepted: boolean;
  typeChecks: boolean;
  /** Why the validator refused it. */
  keywords: string[];
}

export interface Agreement {
  schemas: number;
  /** Schemas for which no accepted value was found. */
  unsampled: string[];
  /** Accepted by the validator: all of them must type-check. */
  accepted: Judged[];
  /** Refused for their shape, in a way that a type can express. */
  refused: Judged[];
}

/** Share of the values refused for their shape that must not type-check. A list is an object to the compiler. */
export const MIN_REFUSED = 0.999;

/** Samples and mutates values of every schema, and asks the validator and the compiler about each. */
export async function measureAgreement(listings: readonly ServerListing[], each: number): Promise<Agreement> {
  const { files } = await planGeneration({ listings });
  const sources = new Map([...files].filter(([path]) => path.endsWith(".ts") && path !== "globals.d.ts"));
  const agreement: Agreement = { schemas: 0, unsampled: [], accepted: [], refused: [] };
  const placed = new Map<string, Judged[]>();
  let seed = 1;
  for (const listing of listings) {
    const module = serverModule(listing.name);
    const typeNames = readTypeNames(files.get(`servers/${module}/index.ts`) ?? "");
    const lines: string[] = [];
    const judged: Judged[] = [];
    const used = new Set<string>();
    for (const tool of listing.tools.filter(isObject)) {
      const names = typeNames.get(namespacedName(module, String(tool.name)));
      for (const role of ["input", "output"] as const) {
        const schema = tool[`${role}Schema`];
        const typeName = names?.[role];
        if (typeName === undefined || typeName === "any") continue;
        const found = judgeValues(schema, role, each, () => seed++);
        if (found === undefined) continue;
        agreement.schemas++;
        used.add(typeName);
        if (!found.some(({ accepted }) => accepted))
          agreement.unsampled.push(`${listing.name} ${tool.name} ${role}`);
        for (const { value, accepted, keywords } of found) {
          judged.push({
            tool: `${listing.name} ${tool.name}`,
            role,
            value,
            accepted,
            typeChecks: true,
            keywords,
          });
          lines.push(`export const v${lines.length}: ${typeName} = ${literal(value)};`);
        }
      }
    }
    if (lines.length === 0) continue;
    const path = `values/${module}.ts`;
    const types = `import type { ${[...used].join(", ")} } from "../servers/${module}/index.js";`;
    sources.set(path, [types, ...lines, ""].join("\n"));
    placed.set(path, judged);
  }
  for (const line of compileGenerated(sources)) {
    const [, path = "", number = ""] =
      /^(values\/\w+\.ts)\((\d+),/.exec(line.replace(/^.*?(?=values\/)/, "")) ?? [];
    if (path === "" && /^\S/.test(line)) throw new Error(line);
    const found = placed.get(path)?.[Number(number) - 2];
    if (found !== undefined) found.typeChecks = false;
  }
  for (const judged of [...placed.values()].flat()) {
    (judged.accepted ? agreement.accepted : agreement.refused).push(judged);
  }
  return agreement;
}

/** What the validator says of a value, and why it refused it. */
interface JudgedValue {
  value: unknown;
  accepted: boolean;
  keywords: string[];
  errors: readonly ErrorObject[];
}

/** Samples and mutates values of a schema; `undefined` where nothing checks values by it. */
export function judgeValues(
  schema: unknown,
  role: "input" | "output",
  each: number,
  nextSeed: () => number,
): JudgedValue[] | undefined {
  const validate = schema === undefined ? undefined : compileForCalls(schema, role);
  return validate && judge(schema, validate, each, seededRandom(nextSeed()));
}

function judge(
  schema: unknown,
  validate: ValidateFunction,
  each: number,
  random: () => number,
): JudgedValue[] {
  const sampler = new ValueSampler(schema, random);
  const found = new Map<string, JudgedValue>();
  const add = (value: unknown, accepted: boolean, keywords: string[]): void => {
    const errors = accepted ? [] : (validate.errors ?? []);
    found.set(JSON.stringify(value), { value, accepted, keywords, errors });
  };
  const good: unknown[] = [];
  for (let i = 0; i < each * 5 && good.length < each; i++) {
    const value = sampler.sample(schema);
    if (!isObject(value) || validate(value) !== true) continue;
    good.push(value);
    add(value, true, []);
  }
  for (let i = 0; i < each * 5 && found.size < good.length + each; i++) {
    const value = mutate(good[i % Math.max(1, good.length)], random);
    if (value === undefined || validate(value) === true) continue;
    const keywords = expressible(validate.errors ?? []);
    if (keywords !== undefined) add(value, false, keywords);
  }
  return [...found.values()];
}

/**
 * The keywords for which a value was refused, where a type can say all of them. What one alternative of several forbids
 * a type cannot always say: it lets through properties that any of the others has.
 */
function expressible(errors: readonly ErrorObject[]): string[] | undefined {
  const combined = errors.some(({ keyword }) => keyword === "anyOf" || keyword === "oneOf");
  for (const { keyword, params, data, schemaPath, parentSchema } of errors) {
    // Which names a pattern matches a type cannot say.
    if (keyword === "additionalProperties" && isObject(parentSchema?.patternProperties)) return undefined;
    const extra = ["additionalProperties", "additionalItems", "false schema", "items"].includes(keyword);
    const aboutShape =
      ["required", "enum", "const", "anyOf", "if"].includes(keyword) ||
      (keyword === "type" && !(typeof data === "number" && [params.type].flat().includes("integer"))) ||
      (keyword === "oneOf" && params.passingSchemas === null) ||
      (extra && !combined);
    // Properties that are not declared one by one have the type that all others have, too.
    if (
      !aboutShape ||
      /\/(?:additionalProperties|unevaluatedProperties|patternProperties|propertyNames|not|if)\//.test(
        schemaPath,
      )
    )
      return;
  }
  return errors.map(({ keyword }) => keyword);
}

/** What checks the arguments and results of a tool when it is called. */
function compileForCalls(schema: unknown, role: "input" | "output"): ValidateFunction | undefined {
  if (!isObject(schema)) return undefined;
  // Arguments are an object, whatever a schema forgets to say.
  const complete = role === "input" && schema.type === undefined ? { ...schema, type: "object" } : schema;
  return compileSchema(JSON.stringify(complete), { allErrors: true });
}

/** The types of a module's tools by namespaced name. */
function readTypeNames(module: string): Map<string, { input: string; output: string }> {
  const found = new Map<string, { input: string; output: string }>();
  for (const [, input = "", output = "", name = ""] of module.matchAll(
    / = tool<(\w+), (\w+)>\((".*")\);$/gm,
  )) {
    found.set(JSON.parse(name) as string, { input, output });
  }
  return found;
}

function literal(value: unknown): string {
  // One value is one line for the compiler, too.
  return JSON.stringify(value)
    .replaceAll('"__proto__":', '["__proto__"]:')
    .replaceAll("\u2028", "\\u2028")
    .replaceAll("\u2029", "\\u2029");
}
