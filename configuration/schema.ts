import * as z from "zod";
import { LANGUAGE_NAMES } from "../languages/program-files.ts";
import { DISCOVERY } from "./discovery-mode.ts";
import { ExtractSection } from "./extract-section.ts";
import { LocalTools } from "./local-tool-entry.ts";
import { PiiSection, ServerPii } from "./pii-section.ts";
import { flow, list, notAMapping, numberBetween, oneOf, section, text, wholeNumber } from "./schema-parts.ts";
import { SearchSection } from "./search-section.ts";
import { secretValue } from "./secret-value.ts";
import { SessionSettings } from "./session-settings.ts";

/** Every key of ptc.yaml, its type, its bounds and its default. Zero never means unlimited. */

export const ToolPatterns = z.array(
  text(512).regex(/^[!-~]+$/, {
    error: "must be a tool's name without spaces; `*` stands for any characters",
  }),
  list,
);

/** A list of patterns. A key without a value counts as an empty list. */
export const OptionalToolPatterns = z.preprocess((value) => value ?? [], ToolPatterns);

const Scopes = z.union(
  [text(4_096), z.array(text(1_024).regex(/^\S+$/, { error: "must be a scope without spaces" }), list)],
  { error: "must be a list of scopes, or a text with spaces between them" },
);

/** How ptc gets tokens for a server over HTTP. */
const Auth = z.preprocess(
  // `auth: oauth` is short for `auth: { type: oauth }`.
  (value) => (typeof value === "string" ? { type: value } : value),
  z.strictObject(
    {
      type: oneOf(["oauth", "client_credentials", "none"]),
      client_id: text(2_048).optional(),
      client_secret: secretValue(text(8_192)).optional(),
      scopes: Scopes.optional(),
      issuer: text(2_048).optional(),
      client_metadata_url: text(2_048).optional(),
      callback_host: oneOf(["127.0.0.1", "localhost"]).optional(),
      callback_port: wholeNumber(1, 65_535).optional(),
      private_key: secretValue(text(65_536)).optional(),
      signing_algorithm: oneOf([
        "RS256",
        "RS384",
        "RS512",
        "PS256",
        "PS384",
        "PS512",
        "ES256",
        "ES384",
        "ES512",
      ]).optional(),
      token_endpoint_auth_method: oneOf(["client_secret_basic", "client_secret_post"]).optional(),
    },
    { error: notAMapping },
  ),
);

export const Policy = z.preprocess(
  // `policy: [rules.cedar]` is short for `policy: { files: [rules.cedar] }`.
  (value) => (Array.isArray(value) ? { files: value } : (value ?? {})),
  z.strictObject(
    {
      files: z.preprocess(
        (value) => value ?? [],
        z.array(text(4_096), list).max(64, { error: "must be at most 64 files" }),
      ),
      groups: z
        .record(text(256), z.array(text(256), list), { error: "must be a mapping of groups to principals" })
        .optional(),
    },
    {
      error: ({ code }) =>
        code === "invalid_type" ? "must be a list of files, or a mapping with files and groups" : undefined,
    },
  ),
);

const Server = z.strictObject(
  {
    name: z.string({ error: "must be a text; give the server a name" }).regex(/^[A-Za-z0-9._-]{1,64}$/, {
      error: "must be 1 to 64 letters, digits, `.`, `_` or `-`",
    }),
    description: text(4_096).optional(),
    transport: oneOf(["stdio", "http", "sse"]).optional(),
    command: text(4_096).optional(),
    args: z.array(z.string({ error: "must be a text; put it in quotes" }), list).optional(),
    env: z
      .record(
        z.string().regex(/^[^=\0]+$/, { error: "is not a name for an environment variable" }),
        secretValue(z.string()),
        { error: "must be a mapping of names to values" },
      )
      .optional(),
    cwd: text(4_096).optional(),
    url: text(8_192).optional(),
    headers: z
      .record(
        z.string().regex(/^[A-Za-z0-9!#$%&'*+.^_`|~-]+$/, {
          error: "is not a name for an HTTP header",
        }),
        secretValue(
          z.string().regex(/^[\t\x20-\x7e\x80-\xff]*$/, {
            error: "holds a character that no HTTP header may; remove it",
          }),
        ),
        { error: "must be a mapping of names to values" },
      )
      .optional(),
    roots: z.array(text(4_096), list).max(64, { error: "must be at most 64 folders" }).optional(),
    auth: Auth.optional(),
    ...flow,
    pii: ServerPii,
    tools: z
      .record(text(512), z.strictObject(flow, { error: notAMapping }), {
        error: "must be a mapping of tools to their labels",
      })
      .optional(),
    call_timeout_seconds: wholeNumber(1, 86_400).optional(),
    connect_timeout_seconds: wholeNumber(1, 86_400).optional(),
  },
  { error: notAMapping },
);

const SYSLOG_ADDRESS = "must be udp://HOST:PORT, tcp://HOST:PORT or unix:///PATH";
const OTLP_ADDRESS = "must be an http or https URL, such as http://127.0.0.1:4318/v1/logs";

function isSyslogAddress(value: string): boolean {
  if (/^unix:\/\/\/[^/]/.test(value)) return true;
  if (!/^(?:udp|tcp):\/\/[^/]/.test(value) || !URL.canParse(value)) return false;
  const { port, hostname, pathname, search, username } = new URL(value);
  return port !== "" && hostname !== "" && pathname === "" && search === "" && username === "";
}

function isHttpUrl(value: string): boolean {
  return /^https?:\/\//.test(value) && URL.canParse(value);
}

/** Where lines of the audit log go as well. */
export const AuditAddresses = {
  syslog: text(2_048).refine(isSyslogAddress, { error: SYSLOG_ADDRESS }).optional(),
  otlp: text(2_048).refine(isHttpUrl, { error: OTLP_ADDRESS }).optional(),
};

export const ConfigurationFile = section({
  servers: z.preprocess((value) => value ?? [], z.array(Server, list)),
  tools: section({ allow: ToolPatterns.optional(), block: OptionalToolPatterns, local: LocalTools }),
  extract: ExtractSection,
  policy: Policy,
  pii: PiiSection,
  approvals: section({
    default: oneOf(["annotated", "destructive"]).default("annotated"),
    ask: OptionalToolPatterns,
    allow: OptionalToolPatterns,
    require: oneOf(["any", "terminal"]).default("any"),
    suspend: z.boolean({ error: "must be true or false" }).default(true),
    expire_minutes: wholeNumber(1, 43_200).default(1_440),
  }),
  languages: z.preprocess(
    (value) => value ?? undefined,
    z
      .array(oneOf(LANGUAGE_NAMES), { error: `must be a list such as [${LANGUAGE_NAMES.join(", ")}]` })
      .min(1, { error: `must name at least one of ${LANGUAGE_NAMES.join(", ")}` })
      .refine((names) => new Set(names).size === names.length, { error: "must name each language once" })
      .default(["typescript"]),
  ),
  execution: section({
    timeout_seconds: wholeNumber(1, 86_400).default(120),
    max_output_bytes: wholeNumber(2_048, 33_554_432).default(65_536),
    max_reply_bytes: wholeNumber(1_024, 1_048_576).default(16_384),
    max_stderr_bytes: wholeNumber(1_024, 33_554_432).default(262_144),
    tool_call_timeout_seconds: wholeNumber(1, 86_400).default(30),
    max_parallel_calls: wholeNumber(1, 1_000).default(10),
    max_tool_calls: wholeNumber(1, 1_000_000).default(1_000),
    /** Without it, as many as the machine carries. */
    max_parallel_programs: wholeNumber(1, 64).optional(),
    max_queued_programs: wholeNumber(1, 1_000).default(32),
    memory_mb: wholeNumber(128, 1_048_576).default(512),
    cpus: numberBetween(0.1, 256).default(1),
    pids: wholeNumber(64, 32_768).default(256),
    typecheck: oneOf(["error", "warn", "off"]).default("error"),
    schema_mismatch: oneOf(["warn", "error"]).default("warn"),
  }),
  sandbox: section({
    runtime: text(128).default("runsc"),
    image: text(512).default("ptc-runner"),
    warm: wholeNumber(0, 64).default(2),
    /** Without it, as many as the machine carries. */
    max_warm: wholeNumber(0, 64).optional(),
    channel: oneOf(["auto", "socket", "attached"]).default("auto"),
    /** Names of the distribution's packages, with or without `python3-` in front. */
    python_packages: z.preprocess(
      (value) => value ?? [],
      z
        .array(
          text(100).regex(/^[a-z0-9][a-z0-9+.-]+$/, {
            error: "must be the name of a package of Debian or Ubuntu, such as numpy or python3-numpy",
          }),
          list,
        )
        .max(50, { error: "must be at most 50 packages" }),
    ),
    allow_weaker_isolation: z.boolean({ error: "must be true or false" }).default(false),
  }),
  /** `off` is a text in YAML 1.2, and false in YAML 1.1. */
  host: z.preprocess(
    (value) => (value === "off" || value === false ? { off: true } : (value ?? {})),
    z.strictObject(
      {
        off: z.literal(true).optional(),
        idle_seconds: wholeNumber(1, 86_400).default(600),
      },
      {
        error: ({ code }) =>
          code === "invalid_type" ? "must be off, or a mapping with idle_seconds" : undefined,
      },
    ),
  ),
  /** `off` is a text in YAML 1.2, and false in YAML 1.1. */
  learn: z.preprocess(
    (value) => (value === "on" || value === null ? true : value === "off" ? false : value),
    z.boolean({ error: "must be on or off" }).default(true),
  ),
  /** `audit: strict` is short for `audit: { strict: true }`. */
  audit: z.preprocess(
    (value) => (value === "strict" ? { strict: true } : (value ?? {})),
    z.strictObject(
      {
        strict: z.boolean({ error: "must be true or false" }).default(false),
        max_file_mb: wholeNumber(1, 1_024).default(64),
        keep_days: wholeNumber(1, 36_500).default(365),
        ...AuditAddresses,
      },
      {
        error: ({ code }) =>
          code === "invalid_type" ? "must be strict, or a mapping of keys to values" : undefined,
      },
    ),
  ),
  sessions: SessionSettings,
  discovery: oneOf(DISCOVERY).default("auto"),
  direct: OptionalToolPatterns,
  search: SearchSection,
  archive: section({
    path: text(4_096).default(".ptc/archive.db"),
    keep_days: wholeNumber(1, 36_500).default(30),
  }),
});
export type ConfigurationFile = z.infer<typeof ConfigurationFile>;
export type ServerEntry = z.infer<typeof Server>;

/** The keys that are allowed at a path of the file, for suggestions. Empty where any key is allowed. */
export function knownKeys(path: readonly PropertyKey[]): string[] {
  let schema: unknown = ConfigurationFile;
  for (const step of path) {
    schema = unwrap(schema);
    if (schema instanceof z.ZodArray) schema = schema.element;
    else if (schema instanceof z.ZodObject) schema = schema.shape[String(step)];
    else return [];
  }
  schema = unwrap(schema);
  return schema instanceof z.ZodObject ? Object.keys(schema.shape) : [];
}

function unwrap(schema: unknown): unknown {
  if (schema instanceof z.ZodPipe) return unwrap(schema.out);
  if (schema instanceof z.ZodOptional || schema instanceof z.ZodDefault) return unwrap(schema.unwrap());
  return schema;
}
