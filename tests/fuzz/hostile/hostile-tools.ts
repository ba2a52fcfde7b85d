import type { Random } from "../random.ts";
import { deepJson, hostileJson, hostileObject, hostileString } from "./hostile-json.ts";
import { hostileText } from "./hostile-text.ts";
import { LISTS } from "./words.ts";

const TYPES = ["string", "number", "integer", "boolean", "object", "array", "null"];
const TOOL_NAMES = LISTS.toolNames;

/** The tools of a server that nobody has audited, as `tools/list` gives them. */
export function hostileTools(random: Random): string {
  return `[${random.list(random.between(1, 4), () => hostileTool(random)).join(",")}]`;
}

function hostileTool(random: Random): string {
  if (random.chance(0.03)) return hostileJson(random);
  const name = random.chance(0.6) ? random.pick(TOOL_NAMES) : hostileText(random, 2);
  const members: [string, string][] = [
    ["name", hostileString(random, name)],
    ["inputSchema", hostileSchema(random, 4)],
  ];
  if (random.chance(0.5)) members.push(["description", hostileString(random, hostileText(random, 20))]);
  if (random.chance(0.3)) members.push(["title", hostileString(random, hostileText(random))]);
  if (random.chance(0.4)) members.push(["outputSchema", hostileSchema(random, 4)]);
  if (random.chance(0.3)) {
    const hint = random.pick(["true", "false", '"true"', "1", "null"]);
    members.push(["annotations", hostileObject(random, [["destructiveHint", hint]])]);
  }
  return hostileObject(random, members, 0.1);
}

/** A JSON Schema, more or less. */
export function hostileSchema(random: Random, levels: number): string {
  if (levels <= 0 || random.chance(0.1))
    return random.pick(["true", "false", "{}", '{"type":"string"}', '{"type":"integer"}']);
  if (random.chance(0.02)) return deepJson(random, random.pick([20, 100, 300]));
  if (random.chance(0.03)) return hostileJson(random);
  const inner = () => hostileSchema(random, levels - 1);
  const some = (make: () => string) => `[${random.list(random.size(4), make).join(",")}]`;
  const named = () =>
    `{${random.list(random.size(4), () => `${hostileString(random, hostileText(random, 1))}:${inner()}`).join(",")}}`;
  const text = () => hostileString(random, hostileText(random));
  const value = () => hostileJson(random, { levels: 2 });
  const pointer = () =>
    JSON.stringify(
      random.pick([
        "#",
        "#/",
        "#/$defs/a",
        "#/$defs/b",
        "#/properties/a",
        "#/%",
        "#/$defs/~2",
        "http://x/y",
        "a",
      ]),
    );
  const keywords: (() => [string, string])[] = [
    () => [
      "type",
      random.chance(0.8)
        ? JSON.stringify(random.pick(TYPES))
        : some(() => JSON.stringify(random.pick(TYPES))),
    ],
    () => ["properties", named()],
    () => ["required", random.chance(0.8) ? some(text) : value()],
    () => ["items", random.chance(0.8) ? inner() : some(inner)],
    () => ["prefixItems", some(inner)],
    () => ["anyOf", some(inner)],
    () => ["oneOf", some(inner)],
    () => ["allOf", some(inner)],
    () => ["not", inner()],
    () => ["if", inner()],
    () => ["additionalProperties", inner()],
    () => ["patternProperties", named()],
    () => ["$defs", `{"a":${inner()},"b":${inner()}}`],
    () => ["definitions", `{"a":${inner()}}`],
    () => ["$ref", pointer()],
    () => ["$id", text()],
    () => ["enum", some(value)],
    () => ["const", value()],
    () => ["default", value()],
    () => ["description", text()],
    () => ["title", text()],
    () => ["format", text()],
    () => ["pattern", text()],
    () => ["tsType", text()],
    () => ["nullable", random.pick(["true", "false", '"x"'])],
    () => ["minItems", random.pick(["0", "1", "-1", "1e9", "1.5", "9007199254740993"])],
    () => ["maxItems", random.pick(["0", "3", "-1", "1e9"])],
    () => ["minLength", value()],
    () => ["deprecated", "true"],
    () => ["discriminator", value()],
  ];
  const chosen = new Map(random.list(random.between(1, 5), () => random.pick(keywords)()));
  return `{${[...chosen].map(([name, json]) => `${JSON.stringify(name)}:${json}`).join(",")}}`;
}
