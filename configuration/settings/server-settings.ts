/** The settings of everything that programs call: MCP servers, commands of this machine, and the model of `extract`. */

import * as z from "zod";
import { isObject } from "../../base/json.ts";
import { PII_KINDS } from "../../secrets/pii/pii-kinds.ts";
import { ALL_HEADERS } from "../../upstream/secret-source.ts";
import { hostProblem } from "../host-problem.ts";
import {
  expanded,
  folder,
  headed,
  list,
  mapping,
  numberBetween,
  oneOf,
  orEmpty,
  ownName,
  secret,
  section,
  setting,
  shorthand,
  text,
  trueOrFalse,
  wholeNumber,
} from "./declare.ts";

/** The source of a value of `env` or `headers`, or of a secret of `auth`. Exactly one of the first three members is set. */
export interface SecretValueEntry {
  file?: string;
  command?: [string, ...string[]];
  keyring?: string;
  /** The text before the secret, such as `Bearer `. */
  prefix?: string;
}

/** The sources that a value can name. `env` is expanded before values are checked, so it only remains if it is invalid. */
const SECRET_KINDS = ["env", "file", "command", "keyring"] as const;

/** The names under which secrets can be put into the keyring. */
export const KEYRING_NAME = /^[A-Za-z0-9][A-Za-z0-9._/-]{0,127}$/;
export const KEYRING_NAME_RULE =
  "1 to 128 letters, digits, `.`, `_`, `/` or `-`, and begin with a letter or digit";

const MAX_WORDS = 64;
const MAX_WORD_CHARS = 4_096;

/** A text, or a mapping that names the source from which the text is read when the server starts. */
export function secretValue(written: z.ZodString) {
  const schema = z.unknown().transform((value, context): string | SecretValueEntry => {
    const problem = (message: string, path: PropertyKey[] = []): typeof z.NEVER => {
      context.addIssue({ code: "custom", message, path });
      return z.NEVER;
    };
    if (typeof value === "string") {
      const checked = written.safeParse(value);
      return checked.success ? value : problem(checked.error.issues[0]?.message ?? "cannot be used");
    }
    if (!isObject(value))
      return problem("must be a text in quotes, or a mapping with env, file, command or keyring");
    const kinds = SECRET_KINDS.filter((kind) => Object.hasOwn(value, kind));
    const unknown = Object.keys(value).find(
      (key) => key !== "prefix" && !(SECRET_KINDS as readonly string[]).includes(key),
    );
    if (unknown !== undefined)
      return problem("is not a known key; write env, file, command or keyring, and prefix", [unknown]);
    const [kind] = kinds;
    if (kind === undefined || kinds.length > 1)
      return problem("must have exactly one of env, file, command and keyring");
    const { prefix, file, command, keyring } = value;
    if (prefix !== undefined && !(typeof prefix === "string" && written.safeParse(prefix).success))
      return problem("must be a text in quotes that can stand before the secret", ["prefix"]);
    const before = prefix === undefined ? {} : { prefix };
    switch (kind) {
      case "env":
        return problem("must be the name of an environment variable", ["env"]);
      case "file":
        return isWord(file) ? { file, ...before } : problem("must be the path of a file", ["file"]);
      case "command": {
        if (!Array.isArray(command) || command.length === 0 || command.length > MAX_WORDS)
          return problem('must be a list of a program and its arguments: ["op", "read", "..."]', ["command"]);
        const wrong = command.findIndex((word, index) => !(index === 0 ? isWord(word) : isArgument(word)));
        if (wrong >= 0) return problem("must be a text; put it in quotes", ["command", wrong]);
        return { command: command as [string, ...string[]], ...before };
      }
      case "keyring":
        return typeof keyring === "string" && KEYRING_NAME.test(keyring)
          ? { keyring, ...before }
          : problem(`must be a name of ${KEYRING_NAME_RULE}`, ["keyring"]);
    }
  });
  return secret(schema);
}

function isArgument(value: unknown): value is string {
  return typeof value === "string" && value.length <= MAX_WORD_CHARS && !value.includes("\0");
}

function isWord(value: unknown): value is string {
  return isArgument(value) && value.trim() !== "";
}

const MAPPING_OF_VALUES = "must be a mapping of names to values";

/** A word of a command. Numbers are read as they are written. */
function word() {
  return shorthand(z.string({ error: "must be a text; put it in quotes" }), { type: ["number", "boolean"] });
}

function environment() {
  const name = z.string().regex(/^[^=\0]+$/, { error: "is not a name for an environment variable" });
  return z.record(name, secretValue(z.string()), { error: MAPPING_OF_VALUES }).optional();
}

function headers() {
  const name = z
    .string()
    .regex(/^[A-Za-z0-9!#$%&'*+.^_`|~-]+$/, { error: "is not a name for an HTTP header" });
  const value = z.string().regex(HEADER_TEXT, { error: IN_HEADER });
  return z
    .record(name, secretValue(value), { error: MAPPING_OF_VALUES })
    .check(
      z.refine((given) => typeof given[ALL_HEADERS] !== "string", {
        error: "must name a source that prints headers as a JSON object, such as { command: [...] }",
        path: [ALL_HEADERS],
      }),
    )
    .optional();
}

const HEADER_TEXT = /^[\t\x20-\x7e\x80-\xff]*$/;
const IN_HEADER = "holds a character that no HTTP header may; remove it";

/** The labels of a server's or a tool's data, and the labels that may flow into it. */
function flow(
  labels = "the labels of its results; `{ label: L, unless: { ARGUMENT: PATTERN } }` (or `when`) limits a label to some arguments",
  accepts = "the labels that may flow into its arguments; by default all. Or a mapping from arguments (`*`: all others; `()`: whether the call is made) to labels or to `{ labels, lists, named, said }`",
  results = "the labels of single fields of its results: maps paths such as `messages[].body` to labels; `*` is every other field (by default `labels`)",
) {
  return {
    labels: setting(labelEntries(), labels),
    results: setting(
      z
        .record(text(512), list(label()), {
          error: 'must be a mapping of fields to labels, such as { "messages[].body": [untrusted], "*": [] }',
        })
        .optional(),
      results,
    ),
    accepts: setting(
      z
        .union([list(label()), z.record(text(512), argumentAccepts())], {
          error:
            'must be a list of labels, or a mapping of arguments to labels, such as { to: [], "*": [untrusted] }',
        })
        .optional(),
      accepts,
    ),
  };
}

/** The labels in managed settings, which apply only to whole servers. */
export function managedFlow() {
  return { labels: list(label()).optional(), accepts: list(label()).optional() };
}

function label() {
  return z
    .string({ error: "must be a label, such as confidential" })
    .regex(/^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$/, {
      error: "must be 1 to 64 letters, digits, `.`, `_` or `-`",
    });
}

function labelEntries() {
  const patterns = z.record(text(512), text(4_096), {
    error: 'must be a mapping of arguments to patterns, such as { url: "https://*.example.com/*" }',
  });
  const conditional = mapping(() => ({
    label: label(),
    unless: patterns.optional(),
    when: patterns.optional(),
  })).refine(({ unless, when }) => unless !== undefined || when !== undefined, {
    error: "must have `unless` or `when` beside its label",
  });
  return list(
    z.union([label(), conditional], {
      error:
        "must be a label of letters, digits, `.`, `_` or `-`, or { label: ..., unless: { ARGUMENT: PATTERN } }",
    }),
  ).optional();
}

function argumentAccepts() {
  const listed = mapping(() => ({
    labels: orEmpty(list(label())),
    lists: orEmpty(list(ownName("list"))),
    /** Lists of which the user has to name the entry that is meant. */
    named: orEmpty(list(ownName("list"))),
    said: z
      .union([z.literal("host"), mapping(() => ({ host: list(label()) }))], {
        error: "must be `host`, or { host: [...] } with the labels that a host which the user named lets in",
      })
      .optional(),
  }));
  return z.union([list(label()), listed], {
    error: "must be a list of labels, or { labels: [...], lists: [...], named: [...], said: host }",
  });
}

/** Kinds of personal data. */
export function piiKinds() {
  return orEmpty(list(oneOf(PII_KINDS), `must be a list such as [email, phone], of ${PII_KINDS.join(", ")}`));
}

/** The kinds of personal data that are shown here but redacted elsewhere. */
function piiAllowed(shown: string) {
  return setting(
    section(() => ({ allow: setting(piiKinds(), shown) })).optional(),
    "exceptions from `pii.redact`",
  );
}

const PERSON_OR_MACHINE = ["oauth", "client_credentials", "none"] as const;
const SIGNING_ALGORITHMS = [
  ...["RS256", "RS384", "RS512", "PS256", "PS384", "PS512"],
  ...["ES256", "ES384", "ES512"],
] as const;

/** ptc's own client at an authorization server that turns the caller's token into another. */
function exchangeClient() {
  return {
    issuer: setting(
      text(2_048).regex(/^https?:\/\/[^\s?#]+$/, { error: "must be an https URL without a query" }),
      "the authorization server that exchanges tokens; ptc sends the caller's token nowhere else",
    ),
    client_id: setting(text(2_048), "ptc's client ID at that issuer"),
    client_secret: setting(
      secret(secretValue(text(8_192)).optional()),
      "the client's secret; a value as for `env`",
    ),
    token_endpoint_auth_method: setting(
      oneOf(["client_secret_basic", "client_secret_post"]).optional(),
      "how the secret is sent",
    ),
  };
}

/** How ptc gets tokens for a server over HTTP. */
const Auth = z.preprocess(
  // `auth: oauth` is short for `auth: { type: oauth }`.
  (value) => (typeof value === "string" ? { type: value } : value),
  mapping(() => ({
    type: setting(
      oneOf(PERSON_OR_MACHINE).optional(),
      "`oauth`: a person logs in; `client_credentials`: a machine does; `none`: nobody does. Optional with `token_exchange` or `identity_assertion`; then it is used when the caller has no token",
    ),
    token_exchange: setting(
      mapping(() => ({
        ...exchangeClient(),
        audience: setting(
          text(2_048).optional(),
          "the audience of the new token, in addition to the server's URL as `resource`",
        ),
        resource: setting(
          trueOrFalse().default(true),
          "whether the server's URL is sent as `resource` (RFC 8707)",
        ),
        actor: setting(
          trueOrFalse().default(true),
          "whether ptc also sends its own token (`client_credentials`), so that `act` in the new token names ptc as the actor",
        ),
      })).optional(),
      "calls act as the person who calls ptc over HTTP: ptc exchanges that person's token for one that this server accepts (RFC 8693)",
    ),
    identity_assertion: setting(
      mapping(exchangeClient).optional(),
      "the same across organisations: ptc exchanges the caller's token for an identity assertion (ID-JAG), which the server's own authorization server accepts for a token (RFC 7523); `auth.client_id` and `auth.client_secret` are ptc's client there",
    ),
    client_id: setting(text(2_048).optional(), "the ID of a client that is already registered"),
    client_secret: setting(
      secret(secretValue(text(8_192)).optional()),
      "the client's secret; a value as for `env`. Requires `issuer`; ptc sends it nowhere else",
    ),
    scopes: setting(
      z
        .union([text(4_096), list(text(1_024).regex(/^\S+$/, { error: "must be a scope without spaces" }))], {
          error: "must be a list of scopes, or a text with spaces between them",
        })
        .optional(),
      "the scopes to request instead of those that the server asks for",
    ),
    issuer: setting(text(2_048).optional(), "the only authorization server that ptc asks for tokens"),
    client_metadata_url: setting(text(2_048).optional(), "the URL of a client's metadata document"),
    callback_host: setting(oneOf(["127.0.0.1", "localhost"]).optional(), "the host of the redirect URI"),
    callback_port: setting(
      wholeNumber(1, 65_535).optional(),
      "the port of the redirect URI; by default a free one",
    ),
    private_key: setting(
      secret(secretValue(text(65_536)).optional()),
      "the key that signs instead of a secret: PKCS#8 PEM or a JWK (RFC 7523)",
    ),
    signing_algorithm: setting(oneOf(SIGNING_ALGORITHMS).optional(), "the algorithm that signs"),
    token_endpoint_auth_method: setting(
      oneOf(["client_secret_basic", "client_secret_post"]).optional(),
      "how the secret is sent",
    ),
  })),
);

function operationPatterns() {
  const pattern = z.preprocess(
    // A name is short for `{ operation: NAME }`.
    (value) => (typeof value === "string" ? { operation: value } : value),
    mapping(() => ({
      tag: setting(text(512).optional(), "a tag of the operation"),
      path: setting(text(2_048).optional(), "the operation's path, as the description writes it"),
      operation: setting(text(512).optional(), "the `operationId`, or the tool's name"),
      method: setting(
        oneOf(["get", "put", "post", "delete", "options", "head", "patch"]).optional(),
        "the operation's HTTP method",
      ),
    })),
  );
  return list(shorthand(pattern, { type: "string" }))
    .max(1_000, { error: "must be at most 1,000 patterns" })
    .optional();
}

/** How a server runs in a sandbox. */
const SandboxOfServer = mapping(
  () => ({
    network: setting(
      list(
        shorthand(
          z.preprocess(
            // `api.example.com` is short for `{ host: api.example.com }`.
            (value) => (typeof value === "string" ? { host: value } : value),
            mapping(() => ({
              host: setting(
                text(260).check(
                  z.superRefine((value, context) => {
                    const message = hostProblem(value);
                    if (message !== undefined) context.addIssue({ code: "custom", message });
                  }),
                ),
                "a name, with `*.` in front for the names below it, and with a port where that is not 443 or 80",
              ),
              private: setting(
                trueOrFalse().optional(),
                "whether the name may resolve to a private address; by default only names that no public network has may, such as `db.internal`",
              ),
            })),
          ),
          { type: "string" },
        ),
        "must be a list of hosts, such as [api.example.com]",
      )
        .max(200, { error: "must be at most 200 hosts" })
        .optional(),
      'the hosts that the server reaches, such as `[api.github.com, "*.example.com", "db.internal:5432"]`; by default none. `localhost:PORT` is a port of this machine',
    ),
    files: setting(
      list(
        mapping(() => ({
          path: setting(folder(), "a file or folder, relative to the folder of ptc.yaml"),
          write: setting(
            trueOrFalse().optional(),
            "whether the server may change it; by default it only reads",
          ),
        })),
        "must be a list such as [{ path: ./data }]",
      )
        .max(64, { error: "must be at most 64 files or folders" })
        .optional(),
      "the files of this machine that the server sees; by default none",
    ),
    memory_mb: setting(
      wholeNumber(64, 65_536).optional(),
      "the server's memory, with all that it starts; by default 512",
    ),
  }),
  "must be true, false, or a mapping such as { network: [api.example.com] }",
);

const Server = mapping(() => ({
  name: setting(
    ownName("server"),
    "the server's name. Code uses it in snake_case, where each must be unique",
  ),
  description: setting(text(4_096).optional(), "what the server is for; models read this"),
  transport: setting(
    oneOf(["stdio", "http", "sse"]).optional(),
    "how ptc talks to it: by default `stdio` with `command`, and `http` (Streamable HTTP) with `url`",
  ),
  command: setting(expanded(text(4_096).optional()), "the program to start; never a shell"),
  args: setting(expanded(list(word()).optional()), "its arguments"),
  env: setting(
    expanded(environment()),
    "environment variables, added to a minimal set. A value is text, in which variables are expanded, or names its source",
  ),
  cwd: setting(expanded(folder().optional()), "its working folder, relative to the folder of ptc.yaml"),
  sandbox: setting(
    expanded(
      shorthand(
        z.preprocess(
          // `true` is short for a sandbox that reaches nothing, as is no value, and `false` for none.
          (value) => (value === true || value === null ? {} : value === false ? null : value),
          SandboxOfServer.nullable().optional(),
        ),
        { type: "boolean" },
      ),
    ),
    "runs it in a sandbox of its own, as programs are: `true`, or what it reaches from there ([servers](servers.md#a-server-in-a-sandbox)); `false` never does. By default as `sandbox.servers` says",
  ),
  url: setting(expanded(text(8_192).optional()), "the server's URL, for HTTP"),
  headers: setting(
    expanded(headers()),
    "headers sent with each request; values as for `env`. Under the name `*`, a source gives all headers as one JSON object; a command there runs once per connection",
  ),
  roots: setting(
    expanded(list(folder()).max(64, { error: "must be at most 64 folders" }).optional()),
    "folders that ptc tells the server about as its roots",
  ),
  openapi: setting(
    expanded(text(8_192).optional()),
    "a description of an HTTP API, whose operations are the tools: a file or a URL, OpenAPI 3 or Swagger 2.0",
  ),
  base_url: setting(
    expanded(text(8_192).optional()),
    "the base URL of the API of `openapi`; by default the one in its description",
  ),
  credentials: setting(
    expanded(
      z
        .record(text(256), secretValue(z.string().regex(HEADER_TEXT, { error: IN_HEADER })), {
          error: MAPPING_OF_VALUES,
        })
        .optional(),
    ),
    "the secrets of the API of `openapi`, by the names of its `securitySchemes`: a key, a token, or `USER:PASSWORD` for HTTP basic; values as for `env`",
  ),
  client_certificate: setting(
    expanded(
      mapping(() => ({
        cert: setting(
          secret(secretValue(text(65_536))),
          "the certificate chain in PEM; values as for `env`, such as `{ file: client.pem }`",
        ),
        key: setting(secret(secretValue(text(65_536))), "the private key in PEM, without a passphrase"),
      })).optional(),
    ),
    "the certificate that ptc shows to the API of `openapi` (mutual TLS)",
  ),
  include: setting(
    operationPatterns(),
    "the operations of `openapi` that become tools; by default all. Each is a name, or `{ tag, path, operation, method }`; `*` is a wildcard",
  ),
  exclude: setting(operationPatterns(), "the operations of `openapi` that do not become tools"),
  auth: setting(
    expanded(shorthand(Auth.optional(), { enum: [...PERSON_OR_MACHINE] })),
    "how ptc logs in to the server; `none` turns logging in off",
  ),
  accounts: setting(
    expanded(
      z
        .record(
          ownName("account"),
          mapping(() => ({
            env: setting(
              environment(),
              "variables of this account, added to the server's; values as for `env`",
            ),
            headers: setting(
              headers(),
              "headers of this account, added to the server's; values as for `env`",
            ),
          })),
          { error: "must be a mapping of names to accounts, each with `env` or `headers`" },
        )
        .optional(),
    ),
    "accounts by name, each with its own credentials; the server's tools then take the argument `account` ([docs](servers.md#several-accounts))",
  ),
  ...flow(),
  pii: piiAllowed(
    "kinds that ptc leaves as they are in a run, if every server that the run reads from allows them",
  ),
  tools: setting(
    z
      .record(
        text(512),
        mapping(() =>
          flow(
            "the labels of the tool's results, instead of its server's",
            "the labels that may flow into the tool, instead of its server's",
          ),
        ),
        { error: "must be a mapping of tools to their labels" },
      )
      .optional(),
    "exceptions for single tools",
  ),
  apps: setting(
    oneOf(["allow", "off"]).optional(),
    "whether clients get the views of its tools (MCP Apps) where `discovery` is `direct`; `allow` by default",
  ),
  sampling: setting(
    oneOf(["allow", "off"]).optional(),
    "whether it may request answers of the client's model during a call; a person is asked about each ([docs](clients.md#answers-of-the-clients-model)); `off` by default",
  ),
  shared: setting(
    trueOrFalse().optional(),
    "whether all principals share one connection to it, and on stdio one process. By default each principal has its own; share only servers that hold no personal data",
  ),
  max_connections: setting(
    wholeNumber(1, 10_000).optional(),
    "connections to it at a time, one for each principal; by default 64 where it is a process, else 1000. Beyond that, the connection unused the longest is closed",
  ),
  max_parallel_calls: setting(
    wholeNumber(1, 10_000).optional(),
    "concurrent calls, of all principals together; by default 100. Further calls wait, and principals take turns",
  ),
  max_queued_calls: setting(
    wholeNumber(1, 100_000).optional(),
    "calls that may wait; by default 1000. Further calls fail at once",
  ),
  call_timeout_seconds: setting(
    wholeNumber(1, 86_400).optional(),
    "the time limit of a call, instead of `execution.tool_call_timeout_seconds`",
  ),
  connect_timeout_seconds: setting(
    wholeNumber(1, 86_400).optional(),
    "the time limit for starting or reaching it, and for each page of its tools. On stdio, only time without progress counts, up to five minutes in all",
  ),
}));
export type ServerEntry = z.infer<typeof Server>;

export const Servers = setting(orEmpty(list(Server)), "the MCP servers whose tools programs can call", {
  heading:
    "The MCP servers whose tools programs can call, and what programs may do. `ptc generate` follows every change here.",
  value: `
  - name: github                  # servers/github/index.ts, mcp__github__<tool>
    transport: stdio              # stdio | http | sse
    command: npx
    args: ["-y", "@modelcontextprotocol/server-github"]
    env: { GITHUB_TOKEN: "\${GITHUB_TOKEN}" }   # taken from your environment
  - name: internal-apis
    transport: http
    url: "https://apis.example.com/mcp"
    headers: { Authorization: "Bearer \${TOKEN}" }
    # or { file: PATH }, { command: [op, read, ...] }, { keyring: NAME }, each with or without prefix: "Bearer "`,
});

const MAX_TOOLS = 256;
const MAX_ELEMENTS = 256;
const A_COMMAND = 'must be a list of a program and its arguments: ["wc", "-w"]';

function jsonSchema() {
  return z.custom<Record<string, unknown>>(isObject, { error: "must be a JSON Schema, as a mapping" });
}

/** A command that is called as a tool. */
const LocalTool = mapping(() => ({
  name: setting(ownName("tool"), "the tool's name"),
  title: setting(text(256).optional(), "the title, for people"),
  description: setting(text(16_384).optional(), "the description, for models and people"),
  command: setting(
    expanded(
      list(word(), A_COMMAND)
        .min(1, { error: A_COMMAND })
        .max(MAX_ELEMENTS, { error: `must have at most ${MAX_ELEMENTS} elements` }),
    ),
    "a program and its arguments, each a separate element; `{name}` in one is an argument's value. Never a shell",
  ),
  stdin: setting(
    z.string({ error: 'must be a text, such as "{text}"' }).max(65_536).optional(),
    "what the command reads; by default all arguments as one JSON object",
  ),
  inputSchema: setting(jsonSchema(), "JSON Schema of the arguments"),
  output: setting(
    oneOf(["text", "json"]).default("text"),
    "`text`: what it prints; `json`: the value that it prints",
  ),
  exit_codes: setting(
    list(wholeNumber(0, 255), "must be a list of exit codes that mean no failure, such as [0, 1]")
      .min(1, { error: "must have at least one exit code, such as [0, 1]" })
      .max(256, { error: "must have at most 256 exit codes" })
      .default([0]),
    "exit codes that mean no failure",
  ),
  outputSchema: setting(jsonSchema().optional(), "with `output: json`, JSON Schema of that value"),
  annotations: mapping(() => ({
    readOnlyHint: setting(trueOrFalse().optional(), "MCP's annotation: it changes nothing"),
    destructiveHint: setting(
      trueOrFalse().optional(),
      "MCP's annotation: it may destroy data, and needs approval",
    ),
    idempotentHint: setting(
      trueOrFalse().optional(),
      "MCP's annotation: calling it again changes nothing more",
    ),
    openWorldHint: setting(trueOrFalse().optional(), "MCP's annotation: it reaches beyond this machine"),
  })).optional(),
  timeout_seconds: setting(
    wholeNumber(1, 86_400).optional(),
    "the time limit of a call; by default `execution.tool_call_timeout_seconds`",
  ),
  max_output_bytes: setting(wholeNumber(1, 33_554_432).default(1_048_576), "the most that it may print"),
  cwd: setting(expanded(folder().optional()), "its working folder, relative to the folder of ptc.yaml"),
  env: setting(expanded(environment()), "environment variables; values as for `servers[].env`"),
  ...flow(),
}));
export type LocalToolEntry = z.infer<typeof LocalTool>;

export const LocalTools = setting(
  orEmpty(list(LocalTool).max(MAX_TOOLS, { error: `must be at most ${MAX_TOOLS} tools` })),
  "commands that programs call as tools of a server named `local`",
  {
    value: `
    - name: word_count            # servers/local/index.ts, mcp__local__word_count
      description: Counts the words of a text
      command: ["wc", "-w"]       # no shell; "{name}" in an element is an argument's value
      stdin: "{text}"             # by default the arguments as JSON
      inputSchema: { type: object, properties: { text: { type: string } }, required: [text] }
      output: text                # text | json
      exit_codes: [0]             # exit codes that mean no failure
      timeout_seconds: 10`,
  },
);

/** The model of programs' `extract`. */
const ExtractModel = mapping(() => ({
  url: setting(expanded(text(2_048)), "the base URL of the model's API, such as `https://host/v1`", {
    value: '"http://127.0.0.1:11434/v1"',
  }),
  model: setting(expanded(text(256)), "the model's name", { value: "llama3.2" }),
  key: setting(
    expanded(secret(secretValue(z.string().regex(/^[\x21-\x7e]+$/, { error: IN_HEADER })).optional())),
    "the key of the API; a value as for `servers[].env`",
  ),
  api: setting(oneOf(["openai", "anthropic"]).optional(), "the kind of API; by default the URL decides"),
  max_calls: setting(wholeNumber(1, 10_000).default(100), "of one program", { comment: true }),
  max_input_bytes: setting(wholeNumber(1_000, 4_194_304).default(262_144), "of one call"),
  timeout_seconds: setting(wholeNumber(1, 600).default(60), "of one call"),
  ...flow(),
  pii: piiAllowed("kinds that the model sees unredacted; others are replaced by marks"),
}));
export type ExtractEntry = z.infer<typeof ExtractModel>;

/** Absent if there is no key below it. */
export const Extract = headed(
  "The model that `extract(value, type)` of programs asks. By default programs have no such function.",
  z.preprocess((value) => value ?? undefined, ExtractModel.optional()),
);

/** A model behind an OpenAI-compatible API. @param defaultSeconds how long a search waits for an answer. */
function searchModel(url: string, defaultSeconds: number) {
  return mapping(() => ({
    url: setting(text(2_048), url),
    model: setting(text(256), "the model's name"),
    key: setting(
      z
        .preprocess(
          // Variables are expanded in texts.
          (value) => (isEnvReference(value) ? `\${${value.env}}` : value),
          secretValue(
            text(8_192).regex(/^[\x21-\x7e]+$/, { error: "must be a key, in ASCII and without spaces" }),
          ),
        )
        .optional(),
      "the key of the API; a value as for `servers[].env`",
    ),
    timeout_seconds: setting(
      numberBetween(0.05, 60).default(defaultSeconds),
      "how long a search waits for an answer",
    ),
  }));
}

function isEnvReference(value: unknown): value is { env: string } {
  if (!isObject(value) || typeof value.env !== "string") return false;
  return /^[A-Za-z_]\w*$/.test(value.env) && Object.keys(value).length === 1;
}

/** The models that refine the word search. They receive names and descriptions of tools, and queries. */
export const Search = headed(
  "ptc finds tools by words; a model for embeddings finds them by meaning too. ptc sends it names and descriptions of tools.",
  section(() => ({
    embedding: setting(
      searchModel(
        "the base URL of an OpenAI-compatible API whose embeddings also find tools by meaning, such as `http://127.0.0.1:11434/v1`",
        2,
      ).optional(),
      undefined,
      { value: '{ url: "http://127.0.0.1:11434/v1", model: all-minilm }' },
    ),
    rerank: setting(
      searchModel(
        "the base URL of an OpenAI-compatible API whose model chooses from the best 30 tools",
        5,
      ).optional(),
      undefined,
      { value: '{ url: "http://127.0.0.1:11434/v1", model: llama3.2 }' },
    ),
  })),
);
export type SearchEntry = z.infer<typeof Search>;
