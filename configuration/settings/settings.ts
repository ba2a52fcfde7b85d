/** Every key of ptc.yaml, in the order of docs/settings.md and of the ptc.yaml that `ptc init` writes. */
import * as z from "zod";
import { isObject } from "../../base/json.ts";
import { LANGUAGE_NAMES } from "../../languages/languages.ts";
import { ENGINE_NAMES } from "../../sandbox/sandbox-engine.ts";
import { countriesWith } from "../../secrets/pii/pii-kinds.ts";
import {
  expanded,
  headed,
  keysAt,
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
import { Http } from "./http-settings.ts";
import { Interceptors } from "./interceptor-settings.ts";
import { Notify } from "./notify-settings.ts";
import { Extract, LocalTools, piiKinds, Search, Servers, secretValue } from "./server-settings.ts";
import { toolPatterns } from "./tool-patterns.ts";

/** `policy: [rules.cedar]` is short for `policy: { files: [rules.cedar] }`. */
export function policySection() {
  return section(
    () => ({
      files: setting(
        orEmpty(list(text(4_096)).max(64, { error: "must be at most 64 files" })),
        "files of rules. If there are any, whatever no rule permits is denied",
        { value: "[rules.cedar]" },
      ),
      groups: setting(
        z
          .record(text(256), list(text(256)), { error: "must be a mapping of groups to principals" })
          .optional(),
        "groups and their members, for rules",
      ),
    }),
    {
      schema: { type: "array", items: { type: "string" } },
      expand: (value) => (Array.isArray(value) ? { files: value } : undefined),
      error: "must be a list of files, or a mapping with files and groups",
    },
  );
}

export const APPROVAL_DEFAULTS = ["annotated", "destructive"] as const;
const APPROVAL_MODES = ["call", "plan"] as const;
export const APPROVAL_REQUIREMENTS = ["any", "terminal", "passkey"] as const;

/** Who may answer questions about calls in the place of a person. */
export const Reviewer = mapping(() => ({
  by: setting(ownName("interceptor"), "the name of an interceptor that has `question` in its `on`"),
  tools: setting(
    toolPatterns().min(1, { error: "must name at least one tool" }),
    "patterns of the tools that it may answer for; a tool that may be destructive must be named without `*`",
  ),
}));
export type ReviewerEntry = z.infer<typeof Reviewer>;

const MAX_KEPT_DAYS = 36_500;
export const keptDays = () => wholeNumber(1, MAX_KEPT_DAYS);

/** Further destinations of the audit log. */
export function auditAddresses() {
  return {
    syslog: setting(
      text(2_048)
        .refine(isSyslogAddress, { error: "must be udp://HOST:PORT, tcp://HOST:PORT or unix:///PATH" })
        .optional(),
      "where a copy is sent as RFC 5424: `udp://HOST:PORT`, `tcp://HOST:PORT` or `unix:///PATH`",
    ),
    otlp: setting(
      text(2_048)
        .refine((value) => /^https?:\/\//.test(value) && URL.canParse(value), {
          error: "must be an http or https URL, such as http://127.0.0.1:4318/v1/logs",
        })
        .optional(),
      "where a copy is sent as OTLP log records",
    ),
  };
}

function isSyslogAddress(value: string): boolean {
  if (/^unix:\/\/\/[^/]/.test(value)) return true;
  if (!/^(?:udp|tcp):\/\/[^/]/.test(value) || !URL.canParse(value)) return false;
  const { port, hostname, pathname, search, username } = new URL(value);
  return port !== "" && hostname !== "" && pathname === "" && search === "" && username === "";
}

/** What somebody may use. */
function useLimits() {
  return section(() => ({
    max_parallel_programs: setting(
      wholeNumber(1, 100_000).optional(),
      "concurrent programs; further ones wait",
    ),
    max_programs_per_minute: setting(
      wholeNumber(1, 10_000_000).optional(),
      "programs started within a clock minute; further ones fail with `Busy`, which says when to try again",
    ),
    max_calls_per_minute: setting(
      wholeNumber(1, 100_000_000).optional(),
      "calls within a clock minute; further ones fail, saying when to try again",
    ),
    max_cpu_seconds_per_day: setting(
      wholeNumber(1, 1_000_000_000).optional(),
      "processor time of programs per UTC day: each program's running time times `execution.cpus`, counted when it ends; waiting for tools counts, waiting for people does not",
    ),
    max_result_bytes_per_day: setting(
      wholeNumber(1, 1_000_000_000_000_000).optional(),
      "bytes of tools' answers per UTC day",
    ),
  }));
}

/** YAML 1.2 reads `off` as a text, and YAML 1.1 as false. */
const isOff = (value: unknown) => value === "off" || value === false;

/** Makes the schema of each key of the file. */
const SECTIONS = {
  servers: () => Servers,
  tools: () =>
    headed(
      "Tools by namespaced name; `*` is a wildcard. Either block or allow. Commands of this machine can be tools too, without a server.",
      section(() => ({
        allow: setting(
          toolPatterns().optional(),
          "patterns of the tools that programs may call; all others are blocked. Cannot be combined with `block`",
        ),
        block: setting(orEmpty(toolPatterns()), "patterns of tools that programs may not call", {
          value: '["mcp__internal_apis__delete_*"]',
        }),
        local: LocalTools,
      })),
    ),
  approvals: () =>
    headed(
      "A person approves calls of tools that say that they are destructive, and of those in `ask`; never of those in `allow`.",
      section(() => ({
        default: setting(
          oneOf(APPROVAL_DEFAULTS).default("annotated"),
          "which tools need approval by default: `annotated`: those annotated as destructive; `destructive`: also those that say neither that nor that they only read",
        ),
        ask: setting(orEmpty(toolPatterns()), "patterns of further tools that need approval", {
          value: '["mcp__*__delete_*"]',
        }),
        allow: setting(orEmpty(toolPatterns()), "patterns of tools that never need approval", {}),
        reviewer: setting(
          Reviewer.optional(),
          "an interceptor that may answer in place of a person: [docs](policy.md#a-reviewer)",
        ),
        mode: setting(
          oneOf(APPROVAL_MODES).default("call"),
          "`plan`: when a program reaches a call that needs approval, it is rehearsed, and a person is asked once about everything that it will change; `call`: about each call by itself",
          {},
        ),
        require: setting(
          oneOf(APPROVAL_REQUIREMENTS).default("any"),
          "with `terminal`, an approval counts only when it is typed at a terminal: not by `--approve`, a client's form or `ptc approvals approve` in a script; with `passkey`, only when a person gives it with their passkey in the console",
          { comment: "terminal: an approval counts only when it is typed at one" },
        ),
        suspend: setting(
          trueOrFalse().default(true),
          "whether a run is suspended when the client stops waiting for an answer; otherwise the call is denied",
          {
            comment: "a run that waits longer than its client can gives up its sandbox, and continues later",
          },
        ),
        expire_minutes: setting(
          wholeNumber(1, 43_200).default(1_440),
          "how long a suspended run is kept",
          {},
        ),
      })),
    ),
  policy: () =>
    setting(policySection(), "rules in Cedar; a list of files is short for `files`", {
      heading: "Who may call what by rules in Cedar, and by what a run has read (labels).",
    }),
  labels: () =>
    headed(
      "How far labels reach: `conversation`, what a model was shown stays with what it writes then; `run`, each run begins anew.",
      section(() => ({
        scope: setting(
          oneOf(["conversation", "run"]).default("conversation"),
          "`conversation`: once a model has seen labelled data, what it writes carries the labels too; `run`: it does not",
          {},
        ),
        refused: setting(
          oneOf(["deny", "ask"]).default("deny"),
          "what happens to a call with a value whose labels its argument does not accept: `deny` denies it, `ask` asks a person",
          {},
        ),
        preset: setting(
          oneOf(["none", "careful"]).default("none"),
          "`careful`: a person is asked about each change that labelled data may have influenced",
          {},
        ),
        plain: setting(
          orEmpty(list(ownName("list"))),
          "names of `lists`: values that match, such as ids, give a model no labels when it sees them",
        ),
      })),
    ),
  lists: () =>
    setting(
      z
        .record(
          ownName("list"),
          z.union(
            [
              list(text(4_096)).max(10_000, { error: "must be at most 10000 patterns; use file" }),
              mapping(() => ({ file: text(4_096) })),
            ],
            { error: "must be a list of patterns, or { file: PATH } with one a line" },
          ),
          { error: "must be a mapping of names to lists of patterns" },
        )
        .optional(),
      "named lists of patterns for `accepts`, `labels.plain` and rules; `*` matches anything but spaces and separators. `{ file: PATH }` reads one pattern per line",
      { value: '{ colleagues: ["*@example.com"] }' },
    ),
  languages: () =>
    setting(
      z.preprocess(
        (value) => value ?? undefined,
        list(oneOf(LANGUAGE_NAMES), `must be a list such as [${LANGUAGE_NAMES.join(", ")}]`)
          .min(1, { error: `must name at least one of ${LANGUAGE_NAMES.join(", ")}` })
          .refine((names) => new Set(names).size === names.length, { error: "must name each language once" })
          .default(["typescript"]),
      ),
      "the languages of programs; the first is the default, and the language of signatures",
      {
        comment: "python",
        heading:
          "The languages of programs. The first is the default, and the language of the signatures that a model reads.",
      },
    ),
  execution: () =>
    headed(
      "What one program may use.",
      section(() => ({
        timeout_seconds: setting(
          wholeNumber(1, 86_400).default(120),
          "the time limit of a program, as wall-clock time",
          {},
        ),
        max_output_bytes: setting(
          wholeNumber(2_048, 33_554_432).default(65_536),
          "the most that a run returns: console text and envelope",
          {
            comment: "the most that a run returns: console text and envelope",
          },
        ),
        max_reply_bytes: setting(
          wholeNumber(1_024, 1_048_576).default(16_384),
          "the most of console text and result that a reply of `ptc serve` shows a model, which reads the rest with `read_output`. Never more than `max_output_bytes`",
          { comment: "what a model is shown of them; it reads the rest with read_output" },
        ),
        max_stderr_bytes: setting(
          wholeNumber(1_024, 33_554_432).default(262_144),
          "the most that a program may write with `console.error` and to stderr",
        ),
        tool_call_timeout_seconds: setting(
          wholeNumber(1, 86_400).default(30),
          "the time limit of a call. Starting the server counts, waiting for a person does not. Each progress report restarts it, up to ten times",
          {},
        ),
        max_parallel_calls: setting(
          wholeNumber(1, 1_000).default(10),
          "concurrent calls of a program; further calls wait",
          {},
        ),
        max_tool_calls: setting(wholeNumber(1, 1_000_000).default(1_000), "of one program", {}),
        max_parallel_programs: setting(
          wholeNumber(1, 64).optional(),
          "concurrent programs; by default two per core if the memory is enough",
          { value: "4", comment: "of `ptc serve`; the default depends on cores and memory" },
        ),
        max_queued_programs: setting(
          wholeNumber(1, 1_000).default(32),
          "programs of one principal that may wait, in order of arrival; further ones fail with `Busy`. Principals take turns",
        ),
        memory_mb: setting(wholeNumber(128, 1_048_576).default(512), "of one program", {}),
        cpus: setting(numberBetween(0.1, 256).default(1), "of one program"),
        pids: setting(
          wholeNumber(64, 32_768).default(256),
          "processes of a program, not counting gVisor's own",
        ),
        typecheck: setting(
          oneOf(["error", "warn", "off"]).default("error"),
          "what a type error does: `error`: the program does not run; `warn`: it runs, and the reply names the error; `off`: nothing is checked",
          { comment: "error | warn | off" },
        ),
        schema_mismatch: setting(
          oneOf(["warn", "error"]).default("warn"),
          "what happens when an answer does not match its tool's output schema: `warn`: the program gets the answer, the run a warning; `error`: the call fails with an error that contains the answer",
          {
            comment:
              "error: a call whose answer contradicts its tool's outputSchema fails, with the answer in the error",
          },
        ),
      })),
    ),
  limits: () =>
    headed(
      "What principals may use of `ptc serve`: more waits for its turn, or is told when there is more. Without any limit, nothing is counted.",
      section(() => ({
        together: setting(useLimits(), "all principals together", {
          value: "{ max_parallel_programs: 32 }",
        }),
        each: setting(useLimits(), "each principal", {
          value: "{ max_parallel_programs: 4, max_programs_per_minute: 60, max_calls_per_minute: 600 }",
        }),
        groups: setting(
          z
            .record(
              text(256),
              section(() => ({ together: useLimits(), each: useLimits() })),
              {
                error: "must be a mapping of groups to { together: ..., each: ... }",
              },
            )
            .default({}),
          "groups of `policy.groups` and of logins: `together` limits all members of a group together, `each` replaces `limits.each` for every member; with several groups, the most generous applies",
        ),
        principals: setting(
          z
            .record(text(2_048), useLimits(), { error: "must be a mapping of principals to limits" })
            .default({}),
          "single principals, instead of `each`",
        ),
      })),
    ),
  sessions: () =>
    headed(
      "A program that names a session finds the variables and files of the programs before it. Off by default.",
      shorthand(
        z.preprocess(
          (value) => {
            if (isOff(value)) return undefined;
            return value === true || value === null ? {} : value;
          },
          mapping(
            () => ({
              max: setting(
                wholeNumber(1, 64).default(4),
                "concurrent sessions; without `sessions` there are none",
                { comment: "at a time" },
              ),
              idle_minutes: setting(
                wholeNumber(1, 1_440).default(10),
                "a session ends after this time without a program",
                { comment: true },
              ),
            }),
            "must be true, off, or a mapping with max and idle_minutes",
          ).optional(),
        ),
        { enum: [true, "off", false] },
      ),
    ),
  sandbox: () =>
    headed(
      "Where sandboxes come from.",
      section(() => ({
        engine: setting(
          oneOf(["auto", ...ENGINE_NAMES]).optional(),
          "what runs sandboxes: `docker`, gVisor's `runsc` alone, a `kubernetes` cluster, `wasm` (an interpreter in a process, a [weaker wall](engines.md#an-interpreter-in-webassembly)), or `auto`, which picks Docker, then runsc, and never a cluster or `wasm`; by default the variable `PTC_ENGINE`, else `auto`",
          {
            value: "auto",
            comment: "what starts sandboxes: docker, runsc alone, or what is there, Docker first",
          },
        ),
        runtime: setting(
          text(128).default("runsc"),
          "the container runtime; any but runsc requires `allow_weaker_isolation`",
        ),
        image: setting(
          text(512).default("ptc-runner"),
          "the image that programs run in; `ptc-runner` stands for the one that ptc builds for this project, any other name is used as is",
          { comment: "ptc-runner is the one that ptc builds for what this project needs" },
        ),
        warm: setting(
          wholeNumber(0, 64).default(2),
          "the fewest sandboxes that are kept started while programs come; before the first, one is, once a client is there; when neither has come for three minutes they end; none but one, after half a minute, is replaced while all processors are used; 0 turns the pool off",
          {
            comment:
              "the fewest sandboxes that `ptc serve` keeps started while programs come; 0 turns the pool off",
          },
        ),
        max_warm: setting(
          wholeNumber(0, 64).optional(),
          "the most that are kept while programs arrive often; by default four for each core if the memory is enough",
          {
            value: "8",
            comment: "the most, while many programs come; the default depends on cores and memory",
          },
        ),
        channel: setting(
          oneOf(["auto", "socket", "attached"]).default("auto"),
          "how programs reach ptc; `auto`: by a socket if the engine can mount one, by a connection to the pod if there are certificates, else by the container's stdin and stdout",
          { comment: "how programs reach ptc: by a socket, attached, or auto, as the engine can" },
        ),
        servers: setting(
          oneOf(["required", "wanted", "off"]).default("off"),
          "whether MCP servers that are commands run in sandboxes too: `required` for all; `wanted` for all, but as processes of this machine where no engine is; `off` only for those whose own `sandbox` says so",
          { comment: "whether MCP servers run in sandboxes too: required | wanted | off" },
        ),
        python_packages: setting(
          orEmpty(
            list(
              // With or without `python3-` in front.
              text(100).regex(/^[a-z0-9][a-z0-9+.-]+$/, {
                error: "must be the name of a package of Debian or Ubuntu, such as numpy or python3-numpy",
              }),
            ).max(50, { error: "must be at most 50 packages" }),
          ),
          "Debian packages for programs in Python; `ptc image build` adds them to the image",
          {
            comment:
              "such as [numpy, pandas]: Debian packages for programs in Python; `ptc image build` adds them to the image",
          },
        ),
        kubernetes: setting(
          section(() => ({
            namespace: setting(
              text(63).optional(),
              "where pods are claimed; by default the namespace of the context, or of ptc's own pod",
              { value: "ptc", comment: "by default that of the context" },
            ),
            template: setting(
              text(50).default("ptc"),
              "the prefix of the SandboxWarmPools' names; `-javascript` or `-python` follows",
              {},
            ),
            context: setting(text(256).optional(), "the kubeconfig's context; by default the current one"),
            kubeconfig: setting(
              text(4_096).optional(),
              "the kubeconfig file; by default that of the variable KUBECONFIG, `~/.kube/config`, or in a pod its service account",
            ),
            certificates: setting(
              text(4_096).optional(),
              "a folder with `ca.crt`, `tls.crt` and `tls.key` for connections to pods; without it, programs reach ptc through the API server",
            ),
            ready_timeout_seconds: setting(
              wholeNumber(1, 3_600).default(60),
              "how long a program waits for a pod",
              {},
            ),
          })),
          "the cluster that `engine: kubernetes` uses",
          {},
        ),
        wasm: setting(
          section(() => ({
            tools: setting(
              oneOf(["read_only", "all"]).default("read_only"),
              "`read_only`: a person approves calls of tools that are not annotated as reading only, as if `approvals.ask` named them; `all`: as with any other engine",
              {},
            ),
          })),
          "what programs may do with `engine: wasm`",
          {},
        ),
        allow_weaker_isolation: setting(trueOrFalse().default(false), "allows a `runtime` other than runsc"),
      })),
    ),
  host: () =>
    setting(
      section(
        () => ({
          off: setting(z.literal(true).optional(), "the same as `host: off`"),
          idle_seconds: setting(
            wholeNumber(1, 86_400).default(600),
            "the background host ends after this time without a command",
            {},
          ),
        }),
        {
          schema: { enum: ["off", false] },
          expand: (value) => (isOff(value) ? { off: true } : undefined),
          error: "must be off, or a mapping with idle_seconds",
        },
      ),
      "the background host; with `off`, every command runs alone",
      {
        heading:
          "A process in the background keeps things ready for later commands, and ends when none came for so long. `host: off`: there is none.",
      },
    ),
  search: () => Search,
  extract: () => Extract,
  pii: () =>
    headed(
      "Kinds of personal data that ptc masks in what leaves a run: email, phone, card, iban, national_id, ip. Off by default.",
      // `pii: [email, phone]` is short for `pii: { redact: [email, phone] }`.
      section(
        () => ({
          redact: setting(
            piiKinds(),
            "kinds of personal data that ptc redacts in whatever leaves a run; `pii: [...]` is short for it",
            { value: "[email, phone]" },
          ),
          countries: setting(
            orEmpty(
              list(
                z
                  .string({ error: "must be the code of a country; put it in quotes" })
                  .refine((code) => countriesWith("phone").includes(code), {
                    error: "must be the two capital letters of a country, such as DE or US (ISO 3166-1)",
                  }),
              ).max(32, { error: "must be at most 32 countries" }),
            ),
            "ISO 3166-1 codes of the countries whose phone numbers ptc recognises without a `+`, and whose national ids it looks for",
            { value: "[DE, US]", comment: "whose phone numbers are written without a country's code" },
          ),
        }),
        {
          schema: { type: "array", items: { type: "string" } },
          expand: (value) => (Array.isArray(value) ? { redact: value } : undefined),
          error: "must be a list of kinds, or a mapping with redact and countries",
        },
      ),
    ),
  discovery: () =>
    setting(
      oneOf(["auto", "search", "direct"]).default("auto"),
      "which tools `ptc serve` lists besides its own: `auto`: all, if they cost less than 2 % of a context of 200,000 tokens and no decision about a call depends on what its run has read; `direct`: all, and clients also get everything else that servers offer ([docs](clients.md#all-that-servers-offer)); `search`: none",
      {
        heading: `The tools that a model has beside ptc's own: all if their definitions cost little (auto), all (direct), or none (search);
and those that \`direct\` names in any case: a server, SERVER.TOOL, or a pattern such as mcp__github__get_*.`,
      },
    ),
  direct: () =>
    setting(
      section(
        () => ({
          tools: setting(
            orEmpty(toolPatterns()),
            "servers and tools that are always listed: a server's name, `<server>.<tool>`, or a pattern of `mcp__<server>__<tool>`; `direct: [...]` is short for it",
          ),
          runs: setting(
            oneOf(["conversation", "call"]).default("conversation"),
            "what counts as one run for rules: all direct calls of a `conversation`, or each `call` by itself ([docs](clients.md#a-conversation-is-a-run))",
          ),
        }),
        {
          schema: { type: "array", items: { type: "string" } },
          expand: (value) => (Array.isArray(value) ? { tools: value } : undefined),
          error: "must be a list of tools, or a mapping with tools and runs",
        },
      ),
      undefined,
      { value: "[]" },
    ),
  interceptors: () =>
    setting(Interceptors, "external checks of calls and results ([docs](policy.md#checks-of-others))", {
      heading:
        "Checks of others, which are asked about calls and results: DLP, virus scanners, a reviewer (docs/policy.md).",
      value: `
  - name: dlp
    on: [call, result]
    url: "https://dlp.internal/check"
    secret: "\${DLP_SECRET}"`,
    }),
  toolsets: () =>
    setting(
      z
        .record(
          z.string().regex(/^[A-Za-z0-9][A-Za-z0-9_-]{0,63}$/, {
            error: "must be 1 to 64 letters, digits, `_` or `-`",
          }),
          toolPatterns().min(1, { error: "must name at least one tool" }),
          { error: "must be a mapping of names, of letters, digits, `_` and `-`, to lists of tools" },
        )
        .default({}),
      "named sets of tools, written as in `direct.tools`, each served by an endpoint of its own: `/mcp/NAME` over HTTP, `ptc serve --toolset NAME` over stdio; a token of `ptc token create --toolset NAME` is narrowed to it at every address ([docs](clients.md#narrow-endpoints))",
      {
        value: "{ reporting: [github.list_*, files.read_*] }",
        heading: "Narrow endpoints for agents that need few tools: /mcp/NAME, or `ptc serve --toolset NAME`.",
      },
    ),
  registry: () =>
    setting(
      expanded(
        text(8_192)
          .refine((value) => !/^https?:/i.test(value) || URL.canParse(value), { error: "is no valid URL" })
          .optional(),
      ),
      "where `ptc add NAMESPACE/NAME` finds servers: the URL of an MCP registry, or a file that mirrors one ([docs](servers.md#servers-of-a-registry))",
    ),
  learn: () =>
    setting(
      shorthand(
        z.preprocess(
          (value) => (value === "on" || value === null ? true : isOff(value) ? false : value),
          z.boolean({ error: "must be on or off" }).default(true),
        ),
        { enum: ["on", "off"] },
      ),
      "whether ptc learns the types of results that tools do not declare, and uses them ([learned types](learned-types.md))",
      {
        value: "on",
        heading:
          "ptc learns types of results that tools do not declare from archived results. `off`: it learns and uses none.",
      },
    ),
  audit: () =>
    setting(
      section(
        () => ({
          strict: setting(
            trueOrFalse().default(false),
            "whether a call that may change something is sent only once its audit line is on disk",
            {},
          ),
          max_file_mb: setting(wholeNumber(1, 1_024).default(64), "the size at which ptc starts a new file"),
          keep_days: setting(keptDays().default(365), "how long files are kept after their last line", {}),
          ...auditAddresses(),
        }),
        {
          schema: { const: "strict" },
          expand: (value) => (value === "strict" ? { strict: true } : undefined),
          error: "must be strict, or a mapping of keys to values",
        },
      ),
      "the audit log; `strict` is short for `strict: true`",
      {
        heading:
          "Every call and run has a line in .ptc/audit.jsonl. `strict`: whether a call that may change something is sent only once its audit line is on disk.",
      },
    ),
  archive: () =>
    headed(
      "Every run is kept, so that it can be looked at and replayed.",
      section(() => ({
        path: setting(
          text(4_096).default(".ptc/archive.db"),
          "the file that keeps runs, relative to the folder of ptc.yaml",
          {},
        ),
        keep_days: setting(keptDays().default(30), "how long runs are kept", {}),
      })),
    ),
  http: () =>
    headed("How `ptc serve --http` is reached by many people, and who may use it (docs/team.md).", Http),
  notify: () =>
    headed(
      "Who is told of questions that wait for an approval, where no client shows them (docs/notify.md).",
      setting(Notify, undefined, {
        value: `
  slack: { url: "\${SLACK_WEBHOOK_URL}" }
  after_seconds: 10`,
      }),
    ),
  storage: () =>
    headed(
      "Where everything is kept that outlives a run, so that several ptc share it (docs/storage.md). Without it, in files of this machine.",
      section(() => ({
        url: setting(
          expanded(secret(secretValue(text(8_192)).optional())),
          "a PostgreSQL database that keeps runs, the audit log, approvals, logins and learned types instead of files: `postgres://USER:PASSWORD@HOST/DATABASE`; a value as for `servers[].env`",
          { value: `"postgres://ptc:\${PTC_DATABASE_PASSWORD}@db.internal/ptc"` },
        ),
        encryption_key: setting(
          expanded(
            secret(
              shorthand(
                z.preprocess(
                  (value) =>
                    value === undefined || value === null || Array.isArray(value)
                      ? (value ?? undefined)
                      : [value],
                  list(secretValue(text(1_024)), "must be a key, or a list of keys")
                    .min(1, { error: "must have at least one key" })
                    .max(16, { error: "must be at most 16 keys" })
                    .optional(),
                ),
                { type: ["string", "object"] },
              ),
            ),
          ),
          "the key that encrypts logins and suspended runs in the database: 32 bytes in base64, as `openssl rand -base64 32` prints; in a list, the first encrypts and all decrypt; values as for `servers[].env`",
          { value: `"\${PTC_ENCRYPTION_KEY}"` },
        ),
      })),
    ),
};
type Section = keyof typeof SECTIONS;
type Sections = { [K in Section]: ReturnType<(typeof SECTIONS)[K]> };

const made: Partial<Sections> = {};

/** The schema of a key of the file, which is made when it is first asked for. */
export function sectionOf<K extends Section>(key: K): Sections[K] {
  const schema = made[key] ?? (SECTIONS[key]() as Sections[K]);
  made[key] = schema;
  return schema;
}

export function isSection(key: string): key is Section {
  return Object.hasOwn(SECTIONS, key);
}

const sectionsOf = (keys: readonly Section[]) =>
  Object.fromEntries(keys.map((key) => [key, sectionOf(key)])) as Sections;

/** The whole file. */
export const Settings = section(() => sectionsOf(Object.keys(SECTIONS) as Section[]));
export type Settings = z.infer<typeof Settings>;

/** What a file without any key says, as JSON. The build writes it here. */
declare const SETTINGS_OF_NO_FILE: string | undefined;

/** Checks a file. It makes the schemas of the keys that the file has. */
export function parseSettings(file: unknown): z.ZodSafeParseResult<Settings> {
  // A file is parsed once. Compiling code for that, as zod does by default, takes longer than parsing.
  const how = { jitless: true };
  const others = typeof SETTINGS_OF_NO_FILE === "undefined" ? undefined : SETTINGS_OF_NO_FILE;
  const keys = isObject(file) ? Object.keys(file) : undefined;
  if (others === undefined || keys === undefined || !keys.every(isSection))
    return Settings.safeParse(file, how);
  const parsed = mapping(() => sectionsOf(keys)).safeParse(file, how);
  return parsed.success
    ? { success: true, data: { ...(JSON.parse(others) as Settings), ...parsed.data } }
    : parsed;
}

/** The keys that are allowed at a path of the file, for suggestions. Empty if any key is allowed. */
export function knownKeys(path: readonly PropertyKey[]): string[] {
  return keysAt(Settings, path);
}
