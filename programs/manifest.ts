import { stringify } from "yaml";
import * as z from "zod";
import { isObject } from "../base/json.ts";
import { similarNames } from "../catalog/search/similar-names.ts";
import { ConfigurationError } from "../configuration/configuration-error.ts";
import { MAX_CONFIGURATION_BYTES, YamlSource } from "../configuration/yaml-source.ts";

/** The content of `programs/<name>.yaml`, which describes a saved program. The program has the name of the file. */
export interface Manifest {
  readonly description: string;
  /** The file of its text, in the same folder. */
  readonly program: string;
  /** JSON schema of its data, which is an object. */
  readonly input: Readonly<Record<string, unknown>>;
  /** JSON schema of its value; `undefined` if the manifest has none. */
  readonly output: Readonly<Record<string, unknown>> | undefined;
  /** Whether `ptc serve` offers it as a tool. */
  readonly expose: boolean;
  /** Time limit of a run by name. Defaults to the configured one. */
  readonly timeoutMs: number | undefined;
}

const VERSION = 1;
const MAX_DESCRIPTION_CHARS = 4_000;
const MAX_TIMEOUT_SECONDS = 86_400;

const Schema = z.custom<Record<string, unknown>>(isObject, "must be a JSON schema, as a mapping");

const ManifestFile = z.strictObject({
  version: z.literal(VERSION, `must be ${VERSION}, the only version that this ptc reads`),
  description: z
    .string("must be a text")
    .min(1, "must say what the program does")
    .max(MAX_DESCRIPTION_CHARS, `has more than ${MAX_DESCRIPTION_CHARS} characters`),
  program: z
    .string("must be the name of the program's file")
    .regex(/^[A-Za-z0-9][A-Za-z0-9._-]{0,127}$/, "must be the name of a file in the same folder"),
  input: Schema.refine(
    ({ type }) => type === undefined || type === "object",
    "must describe an object: what the program sees as `data`",
  ),
  output: Schema.optional(),
  expose: z.boolean("must be true or false").default(false),
  timeout_seconds: z
    .number("must be a number of seconds")
    .positive("must be more than 0")
    .max(MAX_TIMEOUT_SECONDS, `must be at most ${MAX_TIMEOUT_SECONDS}`)
    .optional(),
});

/**
 * Reads the text of a manifest.
 *
 * @param file the name of the file in messages.
 * @throws ConfigurationError in one line that names the file, the line and the key.
 */
export function parseManifest(text: string, file: string): Manifest {
  if (Buffer.byteLength(text) > MAX_CONFIGURATION_BYTES)
    throw new ConfigurationError("invalid", `${file}:1: larger than ${MAX_CONFIGURATION_BYTES} bytes`);
  const source = YamlSource.parse(text);
  if (!(source instanceof YamlSource))
    throw new ConfigurationError("invalid", `${file}:${source.line}: ${source.message}`);
  const parsed = ManifestFile.safeParse(source.value);
  if (!parsed.success) throw problemOf(parsed.error.issues, source, file);
  const { description, program, input, output, expose, timeout_seconds: seconds } = parsed.data;
  return {
    description,
    program,
    input: { ...input, type: "object" },
    output,
    expose,
    timeoutMs: seconds === undefined ? undefined : Math.ceil(seconds * 1_000),
  };
}

function problemOf(
  issues: readonly z.core.$ZodIssue[],
  source: YamlSource,
  file: string,
): ConfigurationError {
  const problems = issues.map((issue) => {
    const keys = issue.code === "unrecognized_keys" ? issue.keys.slice(0, 1) : [];
    const path = [...issue.path, ...keys];
    return {
      path,
      line: source.lineOf(path),
      message: messageOf(issue, source),
      isMissing: isMissing(issue, source),
    };
  });
  // A missing key has no line. Most often it is a misspelled key, whose own problem has one.
  const first = problems.reduce((a, b) => (b.line < a.line || (a.isMissing && !b.isMissing) ? b : a));
  const where = first.path.length === 0 ? "the file" : first.path.map(String).join(".");
  return new ConfigurationError("invalid", `${file}:${first.line}: ${where}: ${first.message}`);
}

function messageOf(issue: z.core.$ZodIssue, source: YamlSource): string {
  if (issue.code === "unrecognized_keys") {
    const known = Object.keys(ManifestFile.shape);
    const [nearest] = similarNames(issue.keys[0] ?? "", known, 1);
    return `is not a known key; ${nearest === undefined ? `known here: ${known.join(", ")}` : `did you mean '${nearest}'?`}`;
  }
  return isMissing(issue, source) ? `is missing; it ${issue.message}` : issue.message;
}

function isMissing({ code, path }: z.core.$ZodIssue, { value }: YamlSource): boolean {
  const [key] = path;
  return (
    code !== "unrecognized_keys" && path.length === 1 && isObject(value) && !Object.hasOwn(value, String(key))
  );
}

/** The text of a manifest, with comments on what its reader may want to change. */
export function renderManifest({ description, program, input, output, expose, timeoutMs }: Manifest): string {
  const yaml = (value: object) => stringify(value, { lineWidth: 120, aliasDuplicateObjects: false });
  return [
    "# A saved program of ptc. Edit it as you like; `ptc test` says what a change does.\n",
    yaml({ version: VERSION, description, program }),
    "# true: `ptc serve` has it as a tool of its own, beside execute_program.\n",
    yaml({ expose }),
    ...(timeoutMs === undefined ? [] : [yaml({ timeout_seconds: timeoutMs / 1_000 })]),
    "# JSON schema of what the program sees as `data`: its arguments.\n",
    yaml({ input }),
    ...(output === undefined ? [] : ["# JSON schema of its value.\n", yaml({ output })]),
  ].join("");
}
