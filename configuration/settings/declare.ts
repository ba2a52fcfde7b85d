/**
 * The building blocks of settings. A setting is declared once, in its section: its type with the message for a wrong value, its bounds,
 * its default, and its description (`setting`). The declaration yields the types (`Plain`), the messages of `ptc.yaml:3: ...`,
 * docs/settings.md, the JSON Schema for editors, and the commented ptc.yaml of `ptc init`. Zero never means unlimited.
 */
import * as z from "zod";

type JsonSchema = z.core.JSONSchema.BaseSchema;

/** The texts of a declaration. */
interface SettingText {
  /** The purpose of the setting, for its row in docs/settings.md. A mapping without a description has no row. */
  readonly description?: string;
  /** The line in the commented ptc.yaml. Settings without a line are left out there. */
  readonly line?: {
    /** The comment above the key. A key without one directly follows the key before. */
    readonly heading?: string;
    /** The value, as YAML. By default the default of the setting, or the keys below it. */
    readonly value?: string;
    /** The comment after the value; `true` for the description. */
    readonly comment?: string | true;
  };
  /** Variables in its texts are expanded before the check, and numbers and booleans are read as they are written. */
  readonly expands?: true;
  /** The value may be a mapping that names its source. */
  readonly isSecret?: true;
  /** The other forms of the value, which the schema expands before it checks, as JSON Schema. */
  readonly shorthand?: JsonSchema;
}

/** The texts of settings, by the schema of each. */
export const TEXTS = z.registry<SettingText>();

/** Describes a setting. @param line the line in the commented ptc.yaml, for a setting that is shown there. */
export function setting<T extends z.ZodType>(
  schema: T,
  description?: string,
  line?: NonNullable<SettingText["line"]>,
): T {
  const text = { ...TEXTS.get(schema), ...(description && { description }), ...(line && { line }) };
  TEXTS.add(schema, text);
  return schema;
}

/** Gives a section the comment above it in the commented ptc.yaml. */
export function headed<T extends z.ZodType>(heading: string, schema: T): T {
  return setting(schema, undefined, { ...TEXTS.get(schema)?.line, heading });
}

/** Declares that variables are expanded in the texts of a value before it is checked. */
export function expanded<T extends z.ZodType>(schema: T): T {
  TEXTS.add(schema, { ...TEXTS.get(schema), expands: true });
  return schema;
}

/** Declares that a value may be a mapping that names its source. */
export function secret<T extends z.ZodType>(schema: T): T {
  TEXTS.add(schema, { ...TEXTS.get(schema), isSecret: true });
  return schema;
}

/** Declares another form of a value, which the schema expands before it checks. */
export function shorthand<T extends z.ZodType>(schema: T, short: JsonSchema): T {
  TEXTS.add(schema, { ...TEXTS.get(schema), shorthand: short });
  return schema;
}

export function wholeNumber(from: number, to: number): z.ZodInt {
  const error = `must be a whole number from ${from} to ${to}`;
  return z.int({ error }).check(z.gte(from, { error }), z.lte(to, { error }));
}

export function numberBetween(from: number, to: number): z.ZodNumber {
  const error = `must be a number from ${from} to ${to}`;
  return z.number({ error }).check(z.gte(from, { error }), z.lte(to, { error }));
}

export function trueOrFalse(): z.ZodBoolean {
  return z.boolean({ error: "must be true or false" });
}

export function text(maxLength: number): z.ZodString {
  const error = `must be a text of 1 to ${maxLength} characters`;
  return z.string({ error }).check(
    z.minLength(1, { error }),
    z.maxLength(maxLength, { error }),
    z.refine((value) => !value.includes("\0"), { error: "must not contain a NUL character" }),
  );
}

/** The path of a folder. `~` is refused, because the folder of that name is never meant. */
export function folder(): z.ZodString {
  return text(4_096).check(
    z.refine((value) => !/^~(?:\/|$)/.test(value), {
      error: `begins with ~, which only a shell reads; write \${HOME} in its place`,
    }),
  );
}

export function oneOf<const T extends readonly string[]>(values: T) {
  return z.enum(values, { error: `must be one of ${values.join(", ")}` });
}

/** A name that the user gives to a server or a tool. */
export function ownName(what: string): z.ZodString {
  return z.string({ error: `must be a text; give the ${what} a name` }).regex(/^[A-Za-z0-9._-]{1,64}$/, {
    error: "must be 1 to 64 letters, digits, `.`, `_` or `-`",
  });
}

/** @param error the message for a value that is not a list. */
export function list<T extends z.ZodType>(entry: T, error = "must be a list, one `- ` entry a line") {
  return z.array(entry, { error });
}

const NO_VALUE = { type: "null" } as const;

/** A list that is empty when the key has no value. */
export function orEmpty<T extends z.ZodType>(schema: z.ZodArray<T>) {
  return shorthand(
    z.preprocess((value) => value ?? undefined, schema.default([])),
    NO_VALUE,
  );
}

const MAPPING = "must be a mapping of keys to values";

/**
 * A mapping with known keys and no others.
 *
 * @param shape makes the schemas of the keys when a mapping is first checked. Most files have few of the settings that there are, and
 *   making the schemas of all of them takes longer than reading a file.
 */
export function mapping<T extends z.ZodRawShape>(shape: () => T, error = MAPPING) {
  let made: T | undefined;
  const schema: unknown = new z.ZodObject({
    type: "object",
    get shape() {
      made ??= shape();
      return made;
    },
    catchall: z.never(),
    // Unknown keys are issues too, and `parse.ts` words their message.
    error: ({ code }) => (code === "invalid_type" ? error : undefined),
  });
  // The constructor, which takes a shape that is made later, knows no type of it.
  return schema as z.ZodObject<T, z.core.$strict>;
}

/** A mapping that gets its defaults when it has no value, as when every key below it is commented out. */
export function section<T extends z.ZodRawShape>(
  shape: () => T,
  short?: {
    /** The JSON Schema of the short form. */
    readonly schema: JsonSchema;
    /** The mapping for a short form; `undefined` for any other value. */
    readonly expand: (value: unknown) => object | undefined;
    /** The message for any other value. */
    readonly error: string;
  },
) {
  const known = mapping(shape, short?.error);
  const schema = z.preprocess(
    (value) => short?.expand(value) ?? value ?? undefined,
    known.prefault({} as z.input<typeof known>),
  );
  return shorthand(schema, short === undefined ? NO_VALUE : { anyOf: [short.schema, NO_VALUE] });
}

/** One key of a file: its path, its schema and its texts. */
export interface DeclaredSetting extends SettingText {
  /** The path, such as `servers[].auth.type`. `[]` means an entry of a list, `*` a name that the user chooses. */
  readonly path: string;
  /** The schema without its wrappers. */
  readonly schema: unknown;
  readonly fallback: unknown;
}

/** Every key that is declared in a schema, with those below it. */
export function settingsIn(schema: unknown, path = ""): DeclaredSetting[] {
  const { inner, fallback } = unwrap(schema);
  const said = schema instanceof z.ZodType ? TEXTS.get(schema) : undefined;
  const own = path === "" ? [] : [{ ...said, path, schema: inner, fallback }];
  if (inner instanceof z.ZodObject) {
    const prefix = path === "" ? "" : `${path}.`;
    const below = Object.entries(inner.shape).flatMap(([key, each]) => settingsIn(each, prefix + key));
    return [...own, ...below];
  }
  const [step, entry] =
    inner instanceof z.ZodArray
      ? ["[]", inner.element]
      : inner instanceof z.ZodRecord
        ? [".*", inner.def.valueType]
        : [];
  if (step === undefined || !(unwrap(entry).inner instanceof z.ZodObject)) return own;
  // The entry itself is not a key.
  return [...own, ...settingsIn(entry, path + step).slice(1)];
}

/** The keys of a schema at a path, for suggestions. Empty if any key is allowed. */
export function keysAt(schema: unknown, path: readonly PropertyKey[]): string[] {
  let at = unwrap(schema).inner;
  for (const step of path) {
    if (at instanceof z.ZodArray) at = at.element;
    else if (at instanceof z.ZodObject) at = at.shape[String(step)];
    else return [];
    at = unwrap(at).inner;
  }
  return at instanceof z.ZodObject ? Object.keys(at.shape) : [];
}

/** The schema of a value without the wrappers for optional values and defaults, and the default. */
export function unwrap(schema: unknown): { inner: unknown; fallback?: unknown } {
  if (schema instanceof z.ZodPipe) {
    const { in: before, out } = schema.def;
    return unwrap(out instanceof z.ZodTransform ? before : out);
  }
  if (schema instanceof z.ZodOptional || schema instanceof z.ZodPrefault || schema instanceof z.ZodNullable)
    return unwrap(schema.unwrap());
  if (schema instanceof z.ZodDefault)
    return { ...unwrap(schema.unwrap()), fallback: schema.def.defaultValue };
  return { inner: schema };
}

type CamelCase<K extends string> = K extends `${infer A}_${infer B}` ? `${A}${Capitalize<CamelCase<B>>}` : K;
type PlainName<K extends string> = K extends `${infer A}_seconds` | `${infer A}_minutes`
  ? `${CamelCase<A>}Ms`
  : CamelCase<K>;

/** A section for the code: names in camelCase, and seconds and minutes in milliseconds, as `timeoutMs` of `timeout_seconds`. */
export type Plain<T> = { readonly [K in keyof T as PlainName<K & string>]: Readonly<T[K]> };

const UNITS_MS: Readonly<Record<string, number>> = { seconds: 1_000, minutes: 60_000 };

export function plain<T extends object>(given: T): Plain<T> {
  const entries = Object.entries(given).map(([key, value]: [string, unknown]) => {
    const [, base = key, unit = ""] = /^(.+)_(seconds|minutes)$/.exec(key) ?? [];
    const name = base.replaceAll(/_([a-z])/g, (_, letter: string) => letter.toUpperCase());
    return typeof value === "number" && unit !== ""
      ? [`${name}Ms`, value * (UNITS_MS[unit] ?? 1)]
      : [name, value];
  });
  return Object.fromEntries(entries) as Plain<T>;
}
