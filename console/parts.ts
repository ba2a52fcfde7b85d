/** The contract that each process fills which serves a console: what a console is made of, and what comes of what people do in it. */
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

/** What a console is made of. */
export interface ConsoleParts {
  /** The project, as people know it: its folder's name. */
  project: string;
  /** Where browsers reach it, such as `https://ptc.example.com`. */
  origin: string;
  configuration: () => Configuration;
  archive: ArchiveStore;
  pending: () => Promise<PendingApprovals>;
  audit: AuditSource;
  tools: () => Promise<ProgramTools>;
  printers: () => Promise<readonly ToolPrinter[]>;
  /** Replays a run when it is the viewer's turn. Without it nothing is replayed. Never rejects. */
  replay?: ((viewer: Viewer, runId: string, signal: AbortSignal) => Promise<ReplayOutcome>) | undefined;
  /** Tests a saved program when it is the viewer's turn. Without it nothing is tested. Never rejects. */
  test?:
    | ((viewer: Viewer, name: string, signal: AbortSignal) => Promise<TestedProgram | undefined>)
    | undefined;
  /** The logins of a viewer at the servers; `undefined` where they cannot be read now. Never rejects. */
  logins?: ((viewer: Viewer) => Promise<readonly LoginStatus[] | undefined>) | undefined;
  /** Begins the login of a viewer at a server, which goes on until the signal aborts. Without it nobody logs in here. Never rejects. */
  connect?: ((viewer: Viewer, server: string, signal: AbortSignal) => Promise<BegunLogin>) | undefined;
  /** Removes the login of a viewer at a server. Resolves with what has to be said of it. Never rejects. */
  disconnect?:
    | ((viewer: Viewer, server: string) => Promise<{ readonly why: string } | undefined>)
    | undefined;
  /** The tokens of the project, for viewers who see all of it, and those of each viewer. If absent, the console shows no tokens. */
  tokens?: KnownTokens | undefined;
  /** The sessions in which programs of a viewer run. Without it there are none here. */
  sessions?: ((viewer: Viewer) => KnownSessions) | undefined;
  /** Without it no server is asked from here. */
  check?: CheckServers | undefined;
  /** Makes one call for a viewer, and resolves with its run when that is archived. Without it nothing is called here. Never rejects. */
  call?: ((viewer: Viewer, call: DirectCall, signal: AbortSignal) => Promise<TriedCall>) | undefined;
  /** Saves the program of a run under a name. Without it nothing is saved here. Never rejects. */
  save?:
    | ((asked: { runId: string; name: string; description: string; force: boolean }) => Promise<SavedRun>)
    | undefined;
  /** Follows the runs of this process. Without it, runs are seen when they are archived. */
  follow?: ((watcher: RunWatcher) => () => void) | undefined;
  entrance: Entrance;
  rightsOf: RightsOf;
  /** How a viewer stands in the audit log who answers a question. */
  nameInAudit: (viewer: Viewer) => string;
  passkeys: Passkeys;
  /** Seals sessions; the same keys in every process that serves this console. */
  sealer: () => Promise<Sealer>;
  now: () => number;
  onWarning: (message: string) => void;
  /** How often the console reads the storage for news, in milliseconds. */
  intervalMs?: number | undefined;
}

/** Where a login goes on, or why there is none, in one line. */
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
  /** The same: every call and the result are as they were recorded. */
  readonly kind: "same" | "diverged" | "undecided" | "impossible";
  /** One line, in ptc's words. */
  readonly message: string;
  /** What the program gave this time; `undefined` where it ran to no end. */
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
  /** Who made it for themselves; `undefined` for one of the project. */
  readonly owner?: string | undefined;
  readonly groups: readonly string[];
  readonly scopes: readonly string[];
  readonly createdAt: number;
  readonly expiresAt: number;
}

/** What a token is made of. */
export interface NewToken {
  readonly groups: readonly string[];
  readonly scopes: readonly Scope[];
  /** Milliseconds since 1970. */
  readonly expiresAt: number;
  /** The principal as whom it acts; absent for a token of the project. */
  readonly owner?: string | undefined;
  /** The groups of that principal's login: what binds these binds the token. */
  readonly ownerGroups?: readonly string[] | undefined;
}

/** The tokens of a project, and those of people. No method rejects. */
export interface KnownTokens {
  /** Whether `ptc serve --http` takes them. */
  counts(): boolean;
  list(): Promise<readonly KnownToken[] | { readonly why: string }>;
  /** Resolves with the token, which is nowhere else. */
  create(name: string, wanted: NewToken): Promise<{ readonly token: string } | { readonly why: string }>;
  /** Learns the groups of somebody's login, which bind their tokens. */
  learnGroups(owner: string, groups: readonly string[] | undefined): Promise<void>;
  /** Resolves with why it could not be revoked. @param owner whose it is; `undefined` for one of the project. */
  revoke(name: string, owner: string | undefined): Promise<{ readonly why: string } | undefined>;
}

/** A session in which programs of the viewer run, one after the other. Times are milliseconds since 1970. */
export interface KnownSession {
  /** Names it among the sessions of its viewer. */
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
