import * as z from "zod";
import { ConfigurationFile } from "../../configuration/schema.ts";
import { SETTING_TEXTS } from "./setting-texts.ts";

/** One setting of ptc.yaml. */
interface Setting {
  path: string;
  values: string;
  default: string;
  fallback: unknown;
}

/** The default of each setting that has one, and `undefined` for the others, by path. */
export function settingDefaults(): ReadonlyMap<string, unknown> {
  return new Map(settingsOf(ConfigurationFile, "").map(({ path, fallback }) => [path, fallback]));
}

/** The page of all settings. @throws Error when a setting has no text, or a text no setting. */
export function printSettings(): string {
  const settings = settingsOf(ConfigurationFile, "");
  const untold = settings.filter(({ path }) => SETTING_TEXTS[path] === undefined).map(({ path }) => path);
  const stale = Object.keys(SETTING_TEXTS).filter((path) => !settings.some((each) => each.path === path));
  if (untold.length > 0) throw new Error(`scripts/docs/setting-texts.ts lacks ${untold.join(", ")}`);
  if (stale.length > 0)
    throw new Error(`scripts/docs/setting-texts.ts has no setting for ${stale.join(", ")}`);
  const groups = new Set(settings.map(({ path }) => groupOf(path)));
  const sections = [...groups].map((name) => {
    const group = settings.filter(({ path }) => groupOf(path) === name);
    const rows = group.map(
      (each) =>
        `| \`${each.path}\` | ${each.values} | ${each.default} | ${cell(SETTING_TEXTS[each.path] ?? "")} |`,
    );
    return [`## ${name}`, "", "| key | value | default | what it is |", "|---|---|---|---|", ...rows].join(
      "\n",
    );
  });
  return `${INTRODUCTION}\n${sections.join("\n\n")}\n`;
}

const INTRODUCTION = `# Settings

All keys of \`ptc.yaml\`. \`[]\` stands for an entry of a list, \`*\` for a name of yours. Unknown keys and values out of bounds are refused,
with the file, the line and the key. Zero never means unlimited. Made from the schema: \`node scripts/docs.ts\`.
`;

/** The key at the top of the file. */
function groupOf(path: string): string {
  return path.split(/[.[]/, 1)[0] ?? "";
}

function settingsOf(schema: unknown, path: string): Setting[] {
  const { inner, fallback } = unwrap(schema);
  const own = path === "" ? [] : [{ path, values: valuesOf(inner), default: shown(fallback), fallback }];
  if (inner instanceof z.ZodObject) {
    const below = Object.entries(inner.shape).flatMap(([key, each]) =>
      settingsOf(each, path === "" ? key : `${path}.${key}`),
    );
    const isTold = SETTING_TEXTS[path] !== undefined;
    return isTold ? [...own, ...below] : below;
  }
  if (inner instanceof z.ZodArray && unwrap(inner.element).inner instanceof z.ZodObject)
    return [...own, ...settingsOf(inner.element, `${path}[]`)];
  if (inner instanceof z.ZodRecord && unwrap(inner.def.valueType).inner instanceof z.ZodObject)
    return [...own, ...settingsOf(inner.def.valueType, `${path}.*`)];
  return own;
}

function unwrap(schema: unknown): { inner: unknown; fallback?: unknown } {
  if (schema instanceof z.ZodPipe) {
    const { in: before, out } = schema.def;
    return unwrap(out instanceof z.ZodTransform ? before : out);
  }
  if (schema instanceof z.ZodOptional) return unwrap(schema.unwrap());
  if (schema instanceof z.ZodDefault)
    return { ...unwrap(schema.unwrap()), fallback: schema.def.defaultValue };
  return { inner: schema };
}

function valuesOf(schema: unknown): string {
  if (schema instanceof z.ZodEnum) return schema.options.map((each) => `\`${String(each)}\``).join(", ");
  if (schema instanceof z.ZodLiteral)
    return [...schema.values].map((each) => `\`${String(each)}\``).join(", ");
  if (schema instanceof z.ZodNumber) {
    const whole = schema.format === "safeint" ? "whole number, " : "";
    return `${whole}${schema.minValue} to ${schema.maxValue}`;
  }
  if (schema instanceof z.ZodBoolean) return "`true`, `false`";
  if (schema instanceof z.ZodArray) {
    const entry = valuesOf(unwrap(schema.element).inner);
    return entry === "mapping"
      ? "list of mappings"
      : `list of ${entry.startsWith("`") ? entry : `${entry}s`}`;
  }
  if ([z.ZodRecord, z.ZodObject, z.ZodCustom, z.ZodUnknown].some((kind) => schema instanceof kind))
    return "mapping";
  if (schema instanceof z.ZodUnion)
    return schema.options.map((each) => valuesOf(unwrap(each).inner)).join(", or ");
  return "text";
}

function shown(value: unknown): string {
  if (value === undefined || (typeof value === "object" && value !== null && Object.keys(value).length === 0))
    return "";
  return `\`${Array.isArray(value) ? `[${value.join(", ")}]` : String(value)}\``;
}

function cell(text: string): string {
  return text.replaceAll("|", "\\|");
}
