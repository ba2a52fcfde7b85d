import { execFileSync } from "node:child_process";
import { join } from "node:path";
import { compile } from "json-schema-to-typescript";
import { isObject } from "../../base/json.ts";
import { printSchema } from "./print-schema.ts";

const ROOT = join(import.meta.dirname, "../..");
const PATH = "library/config.ts";

/** What types say. Bounds and patterns are checked when a configuration is read. */
const KEPT = [
  "type",
  "properties",
  "required",
  "items",
  "additionalProperties",
  "anyOf",
  "enum",
  "const",
] as const;

const MAPPING = "{ [key: string]: unknown }";

/** The type of the settings as they are written, from their declaration. */
export async function printConfigTypes(): Promise<[string, string]> {
  // The other one is an empty file, which is null.
  const [settings] = (JSON.parse(printSchema()) as { anyOf: object[] }).anyOf;
  const source = await compile(typed(settings) as object, "PtcConfig", {
    bannerComment:
      "/** The keys of `ptc.yaml`, as types. Made from configuration/settings: `node scripts/docs.ts`. */\n",
    additionalProperties: false,
    format: false,
  });
  const format = ["format", "--stdin-file-path", PATH];
  const biome = join(ROOT, "node_modules/@biomejs/biome/bin/biome");
  const written = `${source.replace(
    /^export interface PtcConfig/m,
    "/** A configuration as an object: the keys of a `ptc.yaml`. */\nexport interface PtcConfig",
  )}\n`;
  const text = execFileSync(process.execPath, [biome, ...format], {
    input: written,
    cwd: ROOT,
    encoding: "utf8",
  });
  return [PATH, text];
}

/** A schema with nothing but what types say. What it leaves open is a text, or names its source, as secrets do. */
function typed(schema: unknown): unknown {
  if (!isObject(schema)) return schema;
  const { description, properties } = schema;
  const said = typeof description === "string" ? { description } : {};
  const kept: Record<string, unknown> = Object.fromEntries(
    KEPT.flatMap((key) => (schema[key] === undefined ? [] : [[key, schema[key]] as const])),
  );
  const types = [kept.type ?? []].flat();
  if (Object.keys(kept).length === 0 || (types.length > 1 && types.includes("object")))
    return { ...said, tsType: `(string | ${MAPPING})` };
  if (kept.type === "object" && properties === undefined && kept.additionalProperties === undefined)
    return { ...said, tsType: MAPPING };
  if (isObject(properties))
    kept.properties = Object.fromEntries(
      Object.entries(properties).map(([name, each]) => [name, typed(each)]),
    );
  for (const key of ["items", "additionalProperties"] as const)
    if (key in kept) kept[key] = Array.isArray(kept[key]) ? kept[key].map(typed) : typed(kept[key]);
  if (Array.isArray(kept.anyOf)) kept.anyOf = kept.anyOf.map(typed);
  return { ...kept, ...said };
}
