import * as z from "zod";
import { type DeclaredSetting, settingsIn, unwrap } from "../../configuration/settings/declare.ts";
import { Settings } from "../../configuration/settings/settings.ts";

/** The default of each setting that has one, and `undefined` for the others, by path. */
export function settingDefaults(): ReadonlyMap<string, unknown> {
  return new Map(shownSettings().map(({ path, fallback }) => [path, fallback]));
}

/** The page of all settings. @throws Error when nothing is said of one. */
export function printSettings(): string {
  const settings = shownSettings();
  const groups = new Set(settings.map(({ path }) => groupOf(path)));
  const sections = [...groups].map((name) => {
    const rows = settings
      .filter(({ path }) => groupOf(path) === name)
      .map(
        ({ path, schema, fallback, description }) =>
          `| \`${path}\` | ${valuesOf(schema)} | ${shown(fallback)} | ${cell(description ?? "")} |`,
      );
    return [`## ${name}`, "", "| key | value | default | what it is |", "|---|---|---|---|", ...rows].join(
      "\n",
    );
  });
  return `${INTRODUCTION}\n${sections.join("\n\n")}\n`;
}

const INTRODUCTION = `# Settings

All keys of \`ptc.yaml\`. \`[]\` stands for an entry of a list, \`*\` for a name of yours. Unknown keys and values out of bounds are refused,
with the file, the line and the key. Zero never means unlimited. Editors check the file by
[ptc.schema.json](ptc.schema.json), such as with \`# yaml-language-server: $schema=PATH\` on its first line. Made from the schema: \`node scripts/docs.ts\`.
`;

/** The settings that have a row: all but mappings of which nothing is said besides their keys. */
function shownSettings(): DeclaredSetting[] {
  const settings = settingsIn(Settings).filter(
    ({ description, schema }) => description !== undefined || !(schema instanceof z.ZodObject),
  );
  const untold = settings.filter(({ description }) => description === undefined).map(({ path }) => path);
  if (untold.length > 0) throw new Error(`configuration/settings says nothing of ${untold.join(", ")}`);
  return settings;
}

/** The key at the top of the file. */
function groupOf(path: string): string {
  return path.split(/[.[]/, 1)[0] ?? "";
}

function valuesOf(schema: unknown): string {
  if (schema instanceof z.ZodEnum) return schema.options.map((each) => `\`${String(each)}\``).join(", ");
  if (schema instanceof z.ZodLiteral)
    return [...schema.values].map((each) => `\`${String(each)}\``).join(", ");
  if (schema instanceof z.ZodNumber) {
    const range = `${schema.minValue} to ${schema.maxValue}`;
    return schema.format === "safeint" ? `whole number, ${range}` : range;
  }
  if (schema instanceof z.ZodBoolean) return "`true`, `false`";
  if (schema instanceof z.ZodArray) {
    const entry = valuesOf(unwrap(schema.element).inner);
    return `list of ${entry.replace(/^(?:text|mapping|whole number)\b/, "$&s")}`;
  }
  if ([z.ZodRecord, z.ZodObject, z.ZodCustom, z.ZodUnknown].some((kind) => schema instanceof kind))
    return "mapping";
  if (schema instanceof z.ZodUnion)
    return schema.options.map((each) => valuesOf(unwrap(each).inner)).join(", or ");
  return "text";
}

function shown(value: unknown): string {
  if (value === undefined || (Array.isArray(value) && value.length === 0)) return "";
  return `\`${Array.isArray(value) ? `[${value.join(", ")}]` : String(value)}\``;
}

function cell(text: string): string {
  return text.replaceAll("|", "\\|");
}
