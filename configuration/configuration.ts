import type { ServerFlow } from "../broker/policy/data-flow.ts";
import type { ValueLists } from "../broker/policy/value-lists.ts";
import type { EngineChoice } from "../sandbox/sandbox-engine.ts";
import type { PiiKind, PiiSettings } from "../secrets/pii/pii-kinds.ts";
import type { AuthSettings } from "../upstream/authorization/auth-settings.ts";
import type { AllowedHost } from "../upstream/egress/egress.ts";
import type { HostFunction } from "../upstream/functions/function-connection.ts";
import type { LocalTool } from "../upstream/local/local-tool.ts";
import type { OperationFilter } from "../upstream/openapi/operations.ts";
import type { ConfiguredSecret, SecretSource } from "../upstream/secret-source.ts";
import type { ManagedSettings } from "./managed-settings.ts";
import type { PolicyFile } from "./policy-files.ts";
import type { Plain } from "./settings/declare.ts";
import type { SCOPES } from "./settings/http-settings.ts";
import type { Settings } from "./settings/settings.ts";

/**
 * The checked content of a `ptc.yaml` with all defaults, as plain data for the other folders. The declarations in `settings/` describe
 * each setting.
 */
export interface Configuration {
  /** The name of the file in messages; `undefined` if there is none. */
  readonly file: string | undefined;
  /** Absolute. Relative paths in the file were resolved against it. */
  readonly directory: string;
  /** The folder of generated modules, where that is none of the project's. Absolute. */
  readonly generated?: string | undefined;
  readonly servers: readonly ServerConfiguration[];
  readonly tools: { readonly allow: readonly string[] | undefined; readonly block: readonly string[] };
  readonly approvals: Plain<Settings["approvals"]>;
  /** How far labels reach. */
  readonly labels: Readonly<Omit<Settings["labels"], "plain">> & { readonly plain: readonly string[] };
  /** Named lists of patterns, and the files from which some of them were read. */
  readonly lists: { readonly values: ValueLists; readonly files: readonly PolicyFile[] };
  readonly languages: Readonly<Settings["languages"]>;
  readonly policy: ConfiguredRules;
  /** The personal data that is redacted in everything that leaves a run; `undefined` for none. */
  readonly pii: PiiSettings | undefined;
  /** Every entry of `tools` and `approvals`, and every tool with its own labels, with its place in the file. */
  readonly toolPatterns: readonly ToolPattern[];
  /** Every argument and field that labels and `accepts` name, with its place in the file. */
  readonly flowNames: readonly FlowName[];
  /** `maxReplyBytes` is never more than `maxOutputBytes`. */
  readonly execution: Plain<Settings["execution"]> & { readonly maxParallelPrograms: number };
  readonly limits: {
    readonly together: PlainUse;
    readonly each: PlainUse;
    readonly groups: Readonly<Record<string, { readonly together: PlainUse; readonly each: PlainUse }>>;
    readonly principals: Readonly<Record<string, PlainUse>>;
  };
  readonly sandbox: Plain<Settings["sandbox"]> & {
    readonly maxWarm: number;
    readonly engine: EngineChoice;
    /** The socket of the only Docker engine to use, from managed settings; `undefined` for the engine that `docker` would use. */
    readonly engineAddress?: string | undefined;
    /** As in `EngineOptions.runsc`. */
    readonly runsc?: string | undefined;
  };
  readonly host: Plain<Settings["host"]>;
  /** `undefined` if sessions are off. */
  readonly sessions: Plain<NonNullable<Settings["sessions"]>> | undefined;
  /** A URL, or an absolute path. */
  readonly registry: string | undefined;
  readonly learn: boolean;
  readonly discovery: Settings["discovery"];
  /** As patterns over namespaced names. */
  readonly direct: readonly string[];
  /** Who is asked about calls and results. */
  readonly interceptors: readonly InterceptorSettings[];
  /** The tools of each narrow endpoint, as patterns over namespaced names. */
  readonly toolsets: Readonly<Record<string, readonly string[]>>;
  /** What rules see as one run of direct calls. */
  readonly directRuns: Settings["direct"]["runs"];
  readonly audit: Plain<Settings["audit"]>;
  /** Models that improve the search for tools. */
  readonly search: {
    readonly embedding?: ModelSettings | undefined;
    readonly rerank?: ModelSettings | undefined;
  };
  /** The path is absolute. */
  readonly archive: Plain<Settings["archive"]>;
  readonly storage: StorageSettings;
  /** How it is reached over HTTP. */
  readonly http: HttpSettings;
  /** Who is notified of questions that wait. */
  readonly notify: NotifySettings;
  /** Managed settings, whose lists and rules count in each decision. */
  readonly managed: readonly ManagedSettings[];
  /** The project's settings that do not count because of managed settings, one line each. */
  readonly held: readonly string[];
  /** Values that must be redacted wherever text leaves ptc: expanded variables, values of `env`, values of `headers`. */
  readonly secrets: readonly string[];
  /** The `secrets` that are most likely credentials: variables, headers, and values whose name says so. */
  readonly credentials: readonly string[];
}

type PlainUse = Plain<Settings["limits"]["each"]>;

/** Where everything is kept that several processes share. */
export interface StorageSettings {
  /** The URL of a PostgreSQL database; `undefined` if files of this machine are used. */
  readonly url: ConfiguredSecret | undefined;
  /** The first key encrypts, and all keys decrypt. There is at least one if there is a URL. */
  readonly encryptionKeys: readonly ConfiguredSecret[];
  /** Why it cannot be used: a variable that it needs is not set. */
  readonly off?: string | undefined;
}

/** A check of others. It has either `url` and `secret`, or `command`. */
export interface InterceptorSettings {
  readonly name: string;
  readonly on: readonly ("call" | "result" | "question")[];
  /** Patterns over namespaced names; none for all tools. */
  readonly tools: readonly string[];
  readonly url: ConfiguredSecret | undefined;
  readonly secret: ConfiguredSecret | undefined;
  readonly command: readonly [string, ...string[]] | undefined;
  /** The folder in which the command runs. */
  readonly cwd: string;
  readonly timeoutMs: number;
  /** Whether a call goes on that it gives no usable answer about. */
  readonly failsOpen: boolean;
  /** Whether it is one of managed settings, which nothing of a project changes. */
  readonly isManaged?: true | undefined;
  /** Why it cannot be asked: a variable that it needs is not set. */
  readonly off?: string | undefined;
}

/** Who may answer in Slack. Without `groups`, nobody knows in which groups of logins they are. */
export interface SlackApprover {
  readonly principal: string;
  readonly groups?: readonly string[] | undefined;
}

/** Who is notified of questions that wait, and how. Without any way, nobody is notified. */
export interface NotifySettings {
  readonly webhook: { readonly url: ConfiguredSecret; readonly secret: ConfiguredSecret } | undefined;
  readonly slack:
    | {
        readonly url: ConfiguredSecret;
        /** Without it, messages have no buttons. */
        readonly signingSecret: ConfiguredSecret | undefined;
        /** By their member ID in Slack. */
        readonly approvers: { readonly [member: string]: SlackApprover };
      }
    | undefined;
  readonly command: readonly [program: string, ...args: string[]] | undefined;
  /** How long a question waits with its run before anybody is notified. */
  readonly afterMs: number;
  /** Why nobody can be notified: a variable is not set. */
  readonly off?: string | undefined;
}

/** How ptc is reached over HTTP, and by whom. */
export interface HttpSettings {
  /** HOST:PORT. */
  readonly listen: string | undefined;
  readonly publicUrl: string | undefined;
  /** Absolute paths of files in PEM. */
  readonly tls: { readonly cert: string; readonly key: string } | undefined;
  /** Addresses and networks (CIDR). */
  readonly trustedProxies: readonly string[];
  readonly drainMs: number;
  /** `undefined` where nobody is asked who they are. */
  readonly auth: { readonly tokens: boolean; readonly issuers: readonly IssuerSettings[] } | undefined;
}

/** Who says who somebody is. */
export interface IssuerSettings {
  readonly issuer: string;
  /** Without any, the public URL. */
  readonly audiences: readonly string[];
  readonly algorithms: readonly string[];
  readonly clockSkewSeconds: number;
  readonly jwksUrl: string | undefined;
  /** The names of claims; a dot leads into an object. */
  readonly claims: { readonly subject: string; readonly name: string | undefined; readonly groups: string };
  /** Who has a scope of ptc, if not everybody with a scope of that name. */
  readonly scopes: { readonly [scope in Scope]?: readonly string[] | undefined };
  /** The scopes that clients should ask for. */
  readonly requestScopes: readonly string[] | undefined;
  /** ptc's own client, by which it finds out who uses a browser; `undefined` if there is none. */
  readonly login:
    | {
        readonly clientId: string;
        readonly clientSecret: ConfiguredSecret | undefined;
        /** What it asks for besides `openid`. */
        readonly scopes: readonly string[];
      }
    | undefined;
  /** How opaque tokens are asked about; `undefined` where there are none. */
  readonly introspection:
    | {
        readonly clientId: string;
        readonly clientSecret: ConfiguredSecret;
        readonly url: string | undefined;
        readonly cacheMs: number;
      }
    | undefined;
  /** Why its secrets cannot be used: a variable is not set. */
  readonly off?: string | undefined;
}

/** What a caller may do with a token. */
export type Scope = (typeof SCOPES)[number];

/** The rules, as their files said when the configuration was read, and the principals in each group that rules name. */
interface ConfiguredRules {
  readonly files: readonly PolicyFile[];
  readonly groups: Readonly<Record<string, readonly string[]>>;
}

/** A model behind an OpenAI-compatible API. */
export interface ModelSettings {
  readonly url: string;
  readonly model: string;
  /** The key that is sent as a bearer token. */
  readonly key: ConfiguredSecret | undefined;
  /** How long a search waits for it. */
  readonly timeoutMs: number;
  /** Why the model is not asked: a variable that it needs is not set. */
  readonly off?: string | undefined;
}

/** How much of a server is used at a time. */
interface ServerUse {
  readonly maxConnections: number;
  readonly maxParallelCalls: number;
  readonly maxQueuedCalls: number;
}

interface AnyServer {
  readonly name: string;
  /** The name in snake_case, as in `servers/<module>/index.ts` and `mcp__<module>__<tool>`. */
  readonly module: string;
  readonly description: string | undefined;
  /** The time limit of one call. Starting and listing the server count; waiting for a person does not. */
  readonly callTimeoutMs: number;
  /**
   * The time limit for starting or reaching the server and initializing the MCP session, and then for each page of its tools. For a
   * server on stdio it starts again whenever the server shows progress, up to five minutes.
   */
  readonly connectTimeoutMs: number;
  /** Whether all principals share one connection. */
  readonly shared: boolean;
  /** How much of it is used at a time, by all principals together. */
  readonly use: ServerUse;
  /** The folders that ptc names to the server, absolute (MCP, "Roots"). Without any, ptc does not declare roots. */
  readonly roots?: readonly string[] | undefined;
  /** Whether clients get the views of its tools (MCP Apps). By default they do. */
  readonly apps?: boolean | undefined;
  /** Whether it may ask for answers of the client's model. By default it may not. */
  readonly sampling?: boolean | undefined;
  /** The labels of its data, and the labels that may flow into it. */
  readonly flow: ServerFlow;
  /** The kinds of personal data that are shown in runs that have read from this server and from no stricter one. */
  readonly piiAllowed: readonly PiiKind[];
  /**
   * Why the server is off, and what to do; `undefined` when it is not off. A server that is off is never started, because some of its
   * values are unknown.
   */
  readonly off: string | undefined;
  /** The values of `env` or `headers` that are read when the server starts, by name. They are not among `env` and `headers`. */
  readonly secretSources: Readonly<Record<string, SecretSource>>;
  /** Its accounts by name, at least one, each with values of `env` or `headers` besides those of the server. */
  readonly accounts?: Readonly<Record<string, AccountValues>> | undefined;
}

/** What one account of a server has besides the server. */
interface AccountValues {
  readonly values: Readonly<Record<string, string>>;
  readonly secretSources: Readonly<Record<string, SecretSource>>;
}

/** How the sandbox of a server differs from one that has nothing. */
export interface ServerSandbox {
  readonly network: readonly AllowedHost[];
  /** Files and folders that are mounted, by their absolute paths. */
  readonly files: readonly { readonly path: string; readonly write: boolean }[];
  readonly memoryMb: number;
}

interface StdioServerConfiguration extends AnyServer {
  readonly transport: "stdio";
  readonly command: string;
  readonly args: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  /** Absolute. */
  readonly cwd: string;
  /** Its own sandbox; `false` where it must have none, and undefined where `sandbox.servers` decides. */
  readonly sandbox?: ServerSandbox | false | undefined;
}

export interface RemoteServerConfiguration extends AnyServer {
  readonly transport: "http" | "sse";
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  /** How ptc gets tokens for the server; `undefined` if it uses only the headers. */
  readonly auth: AuthSettings<ConfiguredSecret> | undefined;
}

/** An HTTP API that a description says, whose operations are called as the tools of a server. */
interface OpenApiServerConfiguration extends AnyServer {
  readonly transport: "openapi";
  /** Where the description is: an absolute path, or a URL. */
  readonly openapi: string;
  /** Where the API is; empty where its description says so. */
  readonly url: string;
  /** And its credentials, as `credentials/NAME`, each by the name of a security scheme. */
  readonly headers: Readonly<Record<string, string>>;
  /** As for MCP servers over HTTP. There is none unless `url` is set. */
  readonly auth: AuthSettings<ConfiguredSecret> | undefined;
  /** Which operations are tools. */
  readonly operations: OperationFilter;
}

/** What is reached over HTTP, and may have a login. */
export type RemoteServer = RemoteServerConfiguration | OpenApiServerConfiguration;

/** The commands of `tools.local`, which are called as the tools of a server. */
export interface LocalServerConfiguration extends AnyServer {
  readonly transport: "local";
  readonly localTools: readonly LocalTool[];
  /** Variables of all tools, by `ownVariable`. */
  readonly env: Readonly<Record<string, string>>;
}

/** Functions of the program that ptc is a library of, which are called as the tools of a server. No file can name them. */
export interface FunctionServerConfiguration extends AnyServer {
  readonly transport: "functions";
  readonly functions: readonly HostFunction[];
  /** They have their credentials where they are. */
  readonly env: Readonly<Record<string, never>>;
}

/** The model of `extract`, which is asked as the one tool of a server. */
export interface ModelServerConfiguration extends AnyServer {
  readonly transport: "model";
  /** The personal data that is withheld from it; `undefined` if nothing is. */
  readonly withheldPii: PiiSettings | undefined;
  /** The URL of the API. */
  readonly url: string;
  readonly model: string;
  readonly api: "openai" | "anthropic";
  /** The headers that hold the key. */
  readonly headers: Readonly<Record<string, string>>;
  /** The most calls of one run. */
  readonly maxCalls: number;
  /** The most bytes of one text that is sent. */
  readonly maxInputBytes: number;
}

export type ServerConfiguration =
  | StdioServerConfiguration
  | RemoteServer
  | LocalServerConfiguration
  | FunctionServerConfiguration
  | ModelServerConfiguration;

/** An argument or a field that the configuration names, with its place. */
export interface FlowName {
  /** Configured name of the server. */
  readonly server: string;
  /** Protocol name of the tool; `undefined` for all tools of the server. */
  readonly tool: string | undefined;
  readonly kind: "argument" | "field";
  readonly name: string;
  readonly key: string;
  readonly line: number;
}

export interface ToolPattern {
  readonly key: string;
  readonly pattern: string;
  readonly line: number;
}
