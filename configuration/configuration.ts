import type { ServerFlow } from "../broker/policy/data-flow.ts";
import type { LanguageName } from "../languages/program-files.ts";
import type { PiiKind, PiiSettings } from "../secrets/pii/pii-kinds.ts";
import type { AuthSettings } from "../upstream/authorization/auth-settings.ts";
import type { LocalTool } from "../upstream/local/local-tool.ts";
import type { ConfiguredSecret, SecretSource } from "../upstream/secret-sources/secret-source.ts";
import type { Discovery } from "./discovery-mode.ts";

/** What a `ptc.yaml` says, checked, with every default filled in, as plain data for the other folders. */
export interface Configuration {
  /** The file as messages name it; `undefined` when there is none. */
  readonly file: string | undefined;
  /** Absolute. Relative paths in the file were resolved against it. */
  readonly directory: string;
  readonly servers: readonly ServerConfiguration[];
  readonly tools: { readonly allow: readonly string[] | undefined; readonly block: readonly string[] };
  readonly approvals: {
    /** Which tools need an approval: those annotated as destructive, or also those without that annotation. */
    readonly default: "annotated" | "destructive";
    readonly ask: readonly string[];
    readonly allow: readonly string[];
    /** What approvals count: of any way in which one can be given, or only what is typed at a terminal. */
    readonly require: "any" | "terminal";
    /** Whether a run that waits longer than its client can is suspended; else the call is denied. */
    readonly suspend: boolean;
    /** How long a suspended run waits for an answer, and to be gone on with. */
    readonly expireMs: number;
  };
  /** The languages that programs may be in. The first is that of programs that name none, and of signatures. */
  readonly languages: readonly LanguageName[];
  /** The rules, as their files said when the configuration was read, and the principals in each group that rules name. */
  readonly policy: {
    readonly files: readonly PolicyFile[];
    readonly groups: Readonly<Record<string, readonly string[]>>;
  };
  /** What is redacted of personal data in what leaves a run; `undefined` for nothing. */
  readonly pii: PiiSettings | undefined;
  /** Every entry of `tools` and `approvals`, and every tool that has labels of its own, with its place in the file. */
  readonly toolPatterns: readonly ToolPattern[];
  readonly execution: {
    readonly timeoutMs: number;
    readonly maxOutputBytes: number;
    /** How much of what a program gave out is in the reply to a model; never more than `maxOutputBytes`. */
    readonly maxReplyBytes: number;
    readonly maxStderrBytes: number;
    readonly toolCallTimeoutMs: number;
    readonly maxParallelCalls: number;
    readonly maxToolCalls: number;
    /** Programs that `ptc serve` runs at the same time. */
    readonly maxParallelPrograms: number;
    /** Programs that wait for those to end. */
    readonly maxQueuedPrograms: number;
    readonly memoryMb: number;
    readonly cpus: number;
    readonly pids: number;
    readonly typecheck: "error" | "warn" | "off";
    /** What an answer is that contradicts its tool's outputSchema: data with a warning, or an error that has the data. */
    readonly schemaMismatch: "warn" | "error";
  };
  readonly sandbox: {
    readonly runtime: string;
    readonly allowWeakerIsolation: boolean;
    readonly image: string;
    /** Sandboxes that are kept started, however few programs come. */
    readonly warm: number;
    /** Sandboxes that are kept started at most, when many programs come. */
    readonly maxWarm: number;
    /** Packages of the distribution that the image holds for programs in Python. */
    readonly pythonPackages: readonly string[];
    /** The socket of the only engine to use, as managed settings name it; `undefined` for the one that `docker` would use. */
    readonly engine?: string | undefined;
    /** How programs reach ptc; `auto` leaves it to the engine. */
    readonly channel: "auto" | "socket" | "attached";
  };
  /** The background host of the project, and how long it waits for a command before it ends. */
  readonly host: { readonly isOff: boolean; readonly idleMs: number };
  /** How many sessions of programs there may be, and how long one waits for a program; `undefined` where they are off. */
  readonly sessions: { readonly max: number; readonly idleMs: number } | undefined;
  /** Whether types of results that servers do not declare are learned from archived results, and used. */
  readonly learn: boolean;
  /** Which tools `ptc serve` has as tools of its own: all where they cost little, none, or all; those of `direct` always. */
  readonly discovery: Discovery;
  /** The tools that are always among them, as patterns over namespaced names. */
  readonly direct: readonly string[];
  readonly audit: AuditSettings;
  /** What finds tools beside words; without either, words alone do. */
  readonly search: {
    readonly embedding?: ModelSettings | undefined;
    readonly rerank?: ModelSettings | undefined;
  };
  readonly archive: { readonly path: string; readonly keepDays: number };
  /** What managed settings say, whose lists and rules are asked with each decision; none where there are none. */
  readonly managed: readonly ManagedSettings[];
  /** What of the project's settings does not count because of them, one line each. */
  readonly held: readonly string[];
  /** Values that must be redacted wherever text leaves ptc: expanded variables, values of `env`, values of `headers`. */
  readonly secrets: readonly string[];
  /** The `secrets` that are most likely credentials: variables, headers, and values whose name says so. */
  readonly credentials: readonly string[];
}

/** What managed settings say, as they are read. Where they say nothing of a key, the project's own holds. */
export interface ManagedSettings {
  /** As messages name it. */
  readonly file: string;
  readonly tools: { readonly allow?: readonly string[] | undefined; readonly block: readonly string[] };
  readonly approvals: {
    readonly default?: "annotated" | "destructive" | undefined;
    readonly ask: readonly string[];
    readonly allow?: readonly string[] | undefined;
    readonly require?: "any" | "terminal" | undefined;
  };
  readonly policy: {
    readonly files: readonly PolicyFile[];
    readonly groups: Readonly<Record<string, readonly string[]>>;
  };
  readonly labels: readonly ManagedLabels[];
  readonly servers: {
    readonly allow?: readonly ServerMatch[] | undefined;
    readonly block: readonly ServerMatch[];
  };
  readonly sandbox: {
    readonly engine?: string | undefined;
    readonly runtime?: string | undefined;
    readonly image?: string | undefined;
    readonly allow_weaker_isolation?: false | undefined;
  };
  readonly archive: { readonly keep_days?: number | undefined };
  readonly audit: {
    readonly strict?: true | undefined;
    readonly keep_days?: number | undefined;
    readonly syslog?: string | undefined;
    readonly otlp?: string | undefined;
  };
}

/** Which servers are meant: by all that is here, a name, or a command or an address, or one of these with a name. */
export interface ServerMatch {
  /** A pattern of names in ptc.yaml. Whoever writes that file chooses the names. */
  readonly name?: string | undefined;
  /** The command with all of its arguments, each a pattern. */
  readonly command?: readonly string[] | undefined;
  /** A pattern of addresses; `*` in its host does not lead out of it. */
  readonly url?: string | undefined;
}

export interface ManagedLabels {
  readonly server: ServerMatch;
  readonly labels: readonly string[];
  readonly accepts?: readonly string[] | undefined;
}

/** A file of rules. */
export interface PolicyFile {
  /** As `ptc.yaml` names it, for messages. */
  readonly file: string;
  /** Absolute. */
  readonly path: string;
  readonly text: string;
  /** Why it could not be read, in one line for a person. Then nothing is decided by the configuration. */
  readonly problem?: string | undefined;
}

/** A model behind an OpenAI-compatible API. */
export interface ModelSettings {
  readonly url: string;
  readonly model: string;
  /** What is sent as a bearer token. */
  readonly key: ConfiguredSecret | undefined;
  /** How long a search waits for it. */
  readonly timeoutMs: number;
  /** Why it is not asked: not all that it is asked with is known. */
  readonly off?: string | undefined;
}

/** How the audit log is kept. */
interface AuditSettings {
  /** Whether a call with an effect goes out only when its line is on the disk. */
  readonly strict: boolean;
  readonly maxFileBytes: number;
  /** How long files are kept after another was begun. */
  readonly keepDays: number;
  /** Where lines go as well: `udp://`, `tcp://` or `unix://`. */
  readonly syslog?: string | undefined;
  /** Where lines go as well, as log records by OTLP over HTTP. */
  readonly otlp?: string | undefined;
}

interface AnyServer {
  readonly name: string;
  /** The name in snake_case, as in `servers/<module>/index.ts` and `mcp__<module>__<tool>`. */
  readonly module: string;
  readonly description: string | undefined;
  /** The time limit of one call. Starting and listing the server count; waiting for a person does not. */
  readonly callTimeoutMs: number;
  /**
   * The time limit for starting or reaching the server and initializing the MCP session, and then for each page of its tools. A
   * server on stdio has it anew whenever it is seen at work, up to five minutes.
   */
  readonly connectTimeoutMs: number;
  /** The folders that the server is told of, absolute (MCP, "Roots"). Without any, it is not told that there are roots. */
  readonly roots?: readonly string[] | undefined;
  /** What its data carries, and what may flow into it. */
  readonly flow: ServerFlow;
  /** The kinds of personal data that are shown in runs that have read of this server, if they have read of no stricter one. */
  readonly piiAllowed: readonly PiiKind[];
  /**
   * Why the server is off, and what to do; `undefined` when it is not off. A server that is off is never started, because
   * not all that it is started with is known.
   */
  readonly off: string | undefined;
  /** The values of `env` or `headers` that are read when the server starts, by name. They are not among `env` and `headers`. */
  readonly secretSources: Readonly<Record<string, SecretSource>>;
}

interface StdioServerConfiguration extends AnyServer {
  readonly transport: "stdio";
  readonly command: string;
  readonly args: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  /** Absolute. */
  readonly cwd: string;
}

export interface RemoteServerConfiguration extends AnyServer {
  readonly transport: "http" | "sse";
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  /** How ptc gets tokens for the server; `undefined` when it gets none, and the headers are all there is. */
  readonly auth: AuthSettings<ConfiguredSecret> | undefined;
}

/** The commands of `tools.local`, which are called as the tools of a server. */
export interface LocalServerConfiguration extends AnyServer {
  readonly transport: "local";
  readonly localTools: readonly LocalTool[];
  /** Variables of all tools, by `ownVariable`. */
  readonly env: Readonly<Record<string, string>>;
}

/** The model of `extract`, which is asked as the one tool of a server. */
export interface ModelServerConfiguration extends AnyServer {
  readonly transport: "model";
  /** The personal data that it is not sent; `undefined` where it is sent all. */
  readonly withheldPii: PiiSettings | undefined;
  /** The address that is asked. */
  readonly url: string;
  readonly model: string;
  readonly api: "openai" | "anthropic";
  /** What holds the key. */
  readonly headers: Readonly<Record<string, string>>;
  /** The most calls of one run. */
  readonly maxCalls: number;
  /** The most bytes of one text that is sent. */
  readonly maxInputBytes: number;
}

export type ServerConfiguration =
  | StdioServerConfiguration
  | RemoteServerConfiguration
  | LocalServerConfiguration
  | ModelServerConfiguration;

export interface ToolPattern {
  readonly key: string;
  readonly pattern: string;
  readonly line: number;
}
