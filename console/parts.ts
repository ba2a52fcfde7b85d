/** The contract that every process with a console implements: the parts of a console, and the outcomes of people's actions. */
import type { ArchiveStore } from "../archive/archive-store.ts";
import type { AuditSource } from "../archive/audit/reading/audit-source.ts";
import type { ToolPrinter } from "../codegen/language-printer.ts";
import type { Configuration, Scope } from "../configuration/configuration.ts";
import type { PendingApprovals } from "../execution/pending/pending-approvals.ts";
import type { DirectCall } from "../execution/run-request.ts";
import type { RunWatcher } from "../execution/runs/run-events.ts";
import type { LoginStatus } from "../logins/logins.ts";
import type { Passkeys } from "../logins/passkeys.ts";
import type { Sealer } from "../secrets/sealing.ts";
import type { ProgramTools } from "../tools/program-tools.ts";
import type { Entrance } from "./entrance.ts";
import type { CheckServers } from "./server-checks.ts";
import type { RightsOf, Viewer } from "./viewer.ts";

/** The parts of a console. */
export interface ConsoleParts {
  /** The name of the project for people: that of its folder. */
  project: string;
  /** Where browsers reach it, such as `https://ptc.example.com`. */
  origin: string;
  configuration: () => Configuration;
  archive: ArchiveStore;
  pending: () => Promise<PendingApprovals>;
  audit: AuditSource;
  tools: () => Promise<ProgramTools>;
  printers: () => Promise<readonly ToolPrinter[]>;
  /** Replays a run when it is the viewer's turn. If absent, the console replays nothing. Never rejects. */
  replay?: ((viewer: Viewer, runId: string, signal: AbortSignal) => Promise<ReplayOutcome>) | undefined;
  /** Tests a saved program when it is the viewer's turn. If absent, the console tests nothing. Never rejects. */
  test?:
    | ((viewer: Viewer, name: string, signal: AbortSignal) => Promise<TestedProgram | undefined>)
    | undefined;
  /** The logins of a viewer at the servers; `undefined` where they cannot be read now. Never rejects. */
  logins?: ((viewer: Viewer) => Promise<readonly LoginStatus[] | undefined>) | undefined;
  /** Begins the login of a viewer at a server, which continues until the signal aborts. If absent, nobody logs in here. Never rejects. */
  connect?: ((viewer: Viewer, server: string, signal: AbortSignal) => Promise<BegunLogin>) | undefined;
  /** Removes the login of a viewer at a server. Resolves with a note for the viewer. Never rejects. */
  disconnect?:
    | ((viewer: Viewer, server: string) => Promise<{ readonly why: string } | undefined>)
    | undefined;
  /** The tokens of the project, for viewers who see all of it, and those of each viewer. If absent, the console shows no tokens. */
  tokens?: KnownTokens | undefined;
  /** The sessions in which programs of a viewer run. If absent, there are none here. */
  sessions?: ((viewer: Viewer) => KnownSessions) | undefined;
  /** If absent, the console asks no server. */
  check?: CheckServers | undefined;
  /** Makes one call for a viewer, and resolves with its run when that is archived. If absent, the console calls nothing. Never rejects. */
  call?: ((viewer: Viewer, call: DirectCall, signal: AbortSignal) => Promise<TriedCall>) | undefined;
  /** Saves the program of a run under a name. If absent, the console saves nothing. Never rejects. */
  save?:
    | ((asked: { runId: string; name: string; description: string; force: boolean }) => Promise<SavedRun>)
    | undefined;
  /** Follows the runs of this process. If absent, the console shows runs when they are archived. */
  follow?: ((watcher: RunWatcher) => () => void) | undefined;
  entrance: Entrance;
  rightsOf: RightsOf;
  /** The name in the audit log of a viewer who answers a question. */
  nameInAudit: (viewer: Viewer) => string;
  passkeys: Passkeys;
  /** Seals sessions; the same keys in every process that serves this console. */
  sealer: () => Promise<Sealer>;
  now: () => number;
  onWarning: (message: string) => void;
  /** How often the console reads the storage for news, in milliseconds. */
  intervalMs?: number | undefined;
}

/** The address at which a login continues, or why there is none, in one line. */
export type BegunLogin = { readonly address: string } | { readonly why: string };

/** The files of the saved program and notes about it, one line each, or why nothing was saved, in one line. */
export type SavedRun =
  | { readonly files: readonly string[]; readonly notes: readonly string[] }
  | { readonly why: string };

/** The run of a call, or why it is not archived, in one line. */
export type TriedCall = { readonly runId: string } | { readonly why: string };

/** The outcome of a replay. */
export interface ReplayOutcome {
  /** Milliseconds since 1970. */
  readonly at: number;
  /** The same: every call and the result match the recording. */
  readonly kind: "same" | "diverged" | "undecided" | "impossible";
  /** One line, in ptc's words. */
  readonly message: string;
  /** The result of the program this time; `undefined` if it did not finish. */
  readonly result?: { readonly value: unknown } | undefined;
}

/** The outcome of testing a saved program. */
export interface TestedProgram {
  /** Milliseconds since 1970. */
  readonly at: number;
  /** As `ptc test` says it. */
  readonly outcome: "same" | "untested" | "changed" | "failed" | "no-sandbox";
  /** Differences and errors, for a person. */
  readonly lines: readonly string[];
}

/** A token of ptc's own, without the token itself. Times are milliseconds since 1970. */
export interface KnownToken {
  readonly name: string;
  /** The principal that it acts as. */
  readonly principal: string;
  /** The principal who made it for themselves; `undefined` for one of the project. */
  readonly owner?: string | undefined;
  readonly groups: readonly string[];
  readonly scopes: readonly string[];
  readonly createdAt: number;
  readonly expiresAt: number;
}

/** The properties of a new token. */
export interface NewToken {
  readonly groups: readonly string[];
  readonly scopes: readonly Scope[];
  /** Milliseconds since 1970. */
  readonly expiresAt: number;
  /** The principal that it acts as; absent for a token of the project. */
  readonly owner?: string | undefined;
  /** The groups of that principal's login: rules and limits for these apply to the token. */
  readonly ownerGroups?: readonly string[] | undefined;
}

/** The tokens of a project, and those of people. No method rejects. */
export interface KnownTokens {
  /** Whether `ptc serve --http` takes them. */
  counts(): boolean;
  list(): Promise<readonly KnownToken[] | { readonly why: string }>;
  /** Resolves with the token, which ptc does not keep. */
  create(name: string, wanted: NewToken): Promise<{ readonly token: string } | { readonly why: string }>;
  /** Records the groups of somebody's login: rules and limits for these apply to their tokens. */
  learnGroups(owner: string, groups: readonly string[] | undefined): Promise<void>;
  /** Resolves with why it could not be revoked. @param owner the token's owner; `undefined` for one of the project. */
  revoke(name: string, owner: string | undefined): Promise<{ readonly why: string } | undefined>;
}

/** A session in which programs of the viewer run, one after the other. Times are milliseconds since 1970. */
export interface KnownSession {
  /** Identifies it among the sessions of its viewer. */
  readonly id: string;
  readonly name: string;
  readonly language: string;
  readonly programs: number;
  readonly startedAt: number;
  /** `undefined` while a program runs in it. */
  readonly idleSince?: number | undefined;
}

/** The sessions of one viewer. Neither method rejects. */
export interface KnownSessions {
  list(): Promise<readonly KnownSession[] | { readonly why: string }>;
  /** False when there is no such session. */
  end(id: string): Promise<boolean>;
}
