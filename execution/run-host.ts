import type { LoginAddress, StartLogin } from "../broker/call-interceptors.ts";
import type { Authorizer, Viewer } from "../broker/policy/authorizer.ts";
import type { SchemaValidator } from "../broker/schemas/schema-validator.ts";
import type { ToolCatalog } from "../catalog/tool-catalog.ts";
import type { LanguagePrinter } from "../codegen/language-printer.ts";
import type { Configuration } from "../configuration/configuration.ts";
import type { Language } from "../languages/language.ts";
import type { ModuleSource } from "../languages/module-source.ts";
import type { Notifier } from "../notify/notifier.ts";
import type { RunContext } from "../protocol/run-context.ts";
import type { SandboxSource } from "../sandbox/sandbox.ts";
import type { Redactor } from "../secrets/redaction.ts";
import type { EnvironmentVariables } from "../system/environment-variables.ts";
import type { Telemetry } from "../telemetry/telemetry.ts";
import type { ToolServers } from "../upstream/tool-servers.ts";
import type { Checks } from "./checks/checks.ts";
import type { RunRecorder } from "./record/run-recorder.ts";
import type { RunRedaction } from "./redact-run.ts";
import type { RunFeed } from "./runs/run-feed.ts";
import type { Arrival } from "./sessions/arrival-order.ts";
import type { LazySessions } from "./sessions/open-sessions.ts";

/** What runs get from their host. `run-request.ts` holds what they get from their callers. */

/** The tools that a run begins with. The run keeps them when the catalog changes meanwhile. */
export interface RunTools {
  /** Every tool, including those that the policy forbids to programs. */
  readonly all: ToolCatalog;
  modulesFor(viewer: Viewer, printer: LanguagePrinter): ModuleSource;
  /** The saved programs, which are tools of their own. */
  readonly programs?:
    | { forRun(modules: ModuleSource, tools: CallableTools, servers: ToolServers): Callable }
    | undefined;
}

type CallableTools = Pick<ToolCatalog, "get" | "unlisted">;

/** The modules that a program may import, and the tools that it may call. */
export interface Callable {
  readonly modules: ModuleSource;
  readonly tools: CallableTools;
  readonly servers: ToolServers;
}

/** The parts that all live runs of a host share. `project/` makes it once. */
export interface RunHost {
  /** The configuration in force at present. */
  readonly configuration: () => Configuration;
  readonly env: EnvironmentVariables;
  /** The only redactor of the host. */
  readonly redactor: Redactor;
  readonly authorizer: Authorizer;
  readonly servers: ToolServers;
  readonly validator: SchemaValidator;
  /** Makes the recorder of one run. */
  recorder(context: RunContext, tools: ToolCatalog, redaction: RunRedaction): RunRecorder;
  /** Starts the login of a principal at a server. If absent, nobody is asked to log in. */
  readonly startLogin?: ((principal: string) => StartLogin) | undefined;
  /** Notifies people of questions that wait. If absent, nobody is notified. */
  readonly notifier?: Notifier | undefined;
  /** Asks others about calls and results. If absent, nobody is asked. */
  readonly checks: Checks | undefined;
  /** Where a principal logs in who is not at this machine. */
  readonly loginAddress?: ((principal: string) => LoginAddress | undefined) | undefined;
  /** Receives the events of runs. */
  readonly runs?: RunFeed | undefined;
  /** Sends runs to a telemetry collector. */
  readonly telemetry?: Telemetry | undefined;
}

/** The parts that all live programs of a host share. */
export interface ProgramHost extends RunHost {
  readonly sandboxes: SandboxSource;
  readonly sessions: LazySessions;
  readonly languages: HostLanguages;
}

/** The state of the host at the moment when a program begins. */
export interface RunStart {
  readonly tools: RunTools;
  /** The place of the program among those that came for the same session. */
  readonly arrival?: Arrival | undefined;
}

/** The languages of programs. */
interface HostLanguages {
  /** The enabled languages, at least one. */
  on(): Promise<readonly Language[]>;
  /** The enabled languages, and the language of a recorded program. */
  recorded(language: string): Promise<readonly Language[]>;
}
