/**
 * One project, opened once: its configuration, the redactor that all texts leave through, the keyring, what keeps runs, the audit log,
 * and the folder of this process. Commands, servers and the library open one, do their work with it, and close it.
 *
 * Nothing is read, made or connected before it is first asked for. This file alone builds a redactor, and opens the audit log and the
 * storage for those that write, so that a secret that one part has read is redacted by all parts.
 */
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import type { ArchiveStore } from "../archive/archive-store.ts";
import type { AuditedConnection, AuditedLogin } from "../archive/audit/audit-line.ts";
import type { AuditLog } from "../archive/audit/audit-log.ts";
import type { AuditSource } from "../archive/audit/reading/audit-source.ts";
import type { Configuration } from "../configuration/configuration.ts";
import type { FindOptions } from "../configuration/configuration-paths.ts";
import { loadConfiguration } from "../configuration/load.ts";
import { openPending } from "../execution/pending/open-pending.ts";
import type { PendingApprovals } from "../execution/pending/pending-approvals.ts";
import { Redactor } from "../secrets/redaction.ts";
import { UserSecrets } from "../secrets/user-secrets.ts";
import { openAudit, openRuns, placeOfRuns, sharedStorage } from "../storage/storage.ts";
import type { EnvironmentVariables } from "../system/environment-variables.ts";
import { version } from "../system/package.ts";
import { PRIVATE_FOLDER_NAME } from "../system/private-folder.ts";
import { type OwnProcess, openState } from "../system/state-directory.ts";
import type { Telemetry } from "../telemetry/telemetry.ts";
import type { ProgramTools } from "../tools/program-tools.ts";
import type { SecretKeyring } from "../upstream/secret-source.ts";

export interface ProjectOptions {
  env: EnvironmentVariables;
  /** Receives one line for each failure that belongs to no run. */
  onWarning: (message: string) => void;
  /** Defaults to the user's keyring. */
  keyring?: SecretKeyring | undefined;
  /** Opens what keeps runs. Defaults to the configured archive. */
  archive?: (() => ArchiveStore) | undefined;
  /** The folder of this process, if it was made before. */
  own?: OwnProcess | undefined;
}

/** Ends a part of a project, within `patienceMs` if that is given. */
type EndPart = (patienceMs?: number) => Promise<unknown>;

/** How long the end waits for a collector. */
const TELEMETRY_PATIENCE_MS = 1_000;
const MAX_TELEMETRY_PATIENCE_MS = 5_000;

export class Project {
  readonly env: EnvironmentVariables;
  /** Receives one line for each failure that belongs to no run. */
  readonly onWarning = (message: string): void => this.#warn(message);
  /** The only redactor of this project. */
  readonly redactor: Redactor;
  readonly keyring: SecretKeyring;
  readonly #options: ProjectOptions;
  #configuration: Configuration;
  #warn: (message: string) => void;
  #runs: ArchiveStore | undefined;
  #auditLog: Promise<AuditLog> | undefined;
  #own: OwnProcess | undefined;
  #storageRead: Promise<void> | undefined;
  readonly #parts: EndPart[] = [];
  readonly #lastParts: EndPart[] = [];
  #closing: Promise<void> | undefined;

  constructor(configuration: Configuration, options: ProjectOptions) {
    this.#configuration = configuration;
    this.#options = options;
    this.env = options.env;
    this.#warn = options.onWarning;
    this.keyring = options.keyring ?? new UserSecrets(options.env);
    this.redactor = new Redactor(configuration.secrets, configuration.credentials);
    this.#own = options.own;
  }

  get configuration(): Configuration {
    return this.#configuration;
  }

  /** Hands warnings to another listener from now on. */
  tellWarnings(listener: (message: string) => void): void {
    this.#warn = listener;
  }

  /** Switches to another configuration. What was secret stays so. What is open stays where it is. */
  reconfigure(next: Configuration): void {
    this.#configuration = next;
    this.redactor.learn(next.secrets, next.credentials);
  }

  /** Keeps the project's runs. */
  get runs(): ArchiveStore {
    this.#runs ??= this.#options.archive?.() ?? openRuns(this.configuration, this.env);
    return this.#runs;
  }

  /** Where runs are kept, for people. */
  get placeOfRuns(): string {
    return placeOfRuns(this.configuration);
  }

  /** Whether runs are kept elsewhere than the configuration says. */
  get isArchivedElsewhere(): boolean {
    return this.#options.archive !== undefined;
  }

  /** The file of the audit log, where no storage is shared. */
  get auditPath(): string {
    return join(this.configuration.directory, PRIVATE_FOLDER_NAME, "audit.jsonl");
  }

  /** The audit log, to be written. */
  auditLog(): Promise<AuditLog> {
    this.#auditLog ??= import("./open-audit.ts").then(({ openAuditLog }) =>
      openAuditLog(this.configuration, {
        path: this.auditPath,
        redact: (name) => this.redactText(name),
        env: this.env,
        onWarning: this.onWarning,
      }),
    );
    return this.#auditLog;
  }

  /** Notes in the audit log what happened to a login or a passkey. */
  auditLogin(event: AuditedLogin): void {
    void this.auditLog().then((log) => log.login(event));
  }

  /** Notes in the audit log what became of a connection of a server in a sandbox. */
  auditConnection(connection: AuditedConnection): void {
    void this.auditLog().then((log) => log.connection(connection));
  }

  /** The audit log, to be read. */
  readAudit(): AuditSource {
    return openAudit(this.configuration, this.env, this.auditPath);
  }

  /** The runs that wait for approvals. */
  pendingApprovals(): Promise<PendingApprovals> {
    return openPending(this.configuration, this.env);
  }

  /** The generated tools. @throws CatalogError when the generated files cannot be read or were edited. */
  async tools(): Promise<ProgramTools> {
    const [{ loadProgramTools }, { rankingOfCommands }] = await Promise.all([
      import("../tools/program-tools.ts"),
      import("../tools/search/open-ranking.ts"),
    ]);
    const ranking = rankingOfCommands(this.configuration, this.env);
    return loadProgramTools(this.configuration, undefined, { ranking });
  }

  /** The private folder of this process, made on first use. @throws StateDirectoryError */
  get own(): OwnProcess {
    this.#own ??= openState(this.env);
    return this.#own;
  }

  redactText(text: string): string {
    return this.redactor.redactText(text).value;
  }

  /** Redacts the secrets of a shared storage from now on. What needs one reports a failure to read it. */
  redactStorage(): Promise<void> {
    this.#storageRead ??= this.#learnStorage();
    return this.#storageRead;
  }

  async #learnStorage(): Promise<void> {
    const shared = await sharedStorage(this.configuration, this.env)?.().catch(() => undefined);
    for (const secret of shared?.secrets ?? []) this.redactor.add(secret);
  }

  /** Opens what reports to a collector, as the environment says; `undefined` if it names none. It ends with the project. */
  async openTelemetry(options: { isScraped?: boolean | undefined } = {}): Promise<Telemetry | undefined> {
    const { openTelemetry } = await import("../telemetry/open-telemetry.ts");
    const { onWarning } = this;
    const telemetry = await openTelemetry(this.env, { version, onWarning, ...options });
    this.onClose(async (patienceMs = TELEMETRY_PATIENCE_MS) =>
      telemetry?.close(Math.min(patienceMs, MAX_TELEMETRY_PATIENCE_MS)),
    );
    return telemetry;
  }

  /** Registers how a part ends that uses the project. All of them end together; one that was still being opened ends after those. */
  onClose(end: EndPart): void {
    this.#parts.push(end);
  }

  /** Registers what is done once the others have ended, or have taken too long. */
  afterClose(end: EndPart): void {
    this.#lastParts.push(end);
  }

  /**
   * Ends every part, and removes what this process keeps on disk. Never throws.
   *
   * @param patienceMs the time after which running processes are killed, and sandboxes are left to their engine.
   */
  close(patienceMs?: number): Promise<void> {
    this.#closing ??= this.#end(patienceMs);
    return this.#closing;
  }

  async #end(patienceMs: number | undefined): Promise<void> {
    const kept = this.#runs?.close();
    const late = patienceMs === undefined ? [] : [delay(patienceMs, undefined, { ref: false })];
    await Promise.race([endAll(this.#parts, patienceMs), ...late]);
    await kept;
    await endAll(this.#lastParts, patienceMs);
    await (await this.#auditLog?.catch(() => undefined))?.close();
    this.#own?.state.groups.kill();
    this.#own?.state.remove();
  }
}

/** Ends parts, and those that are registered meanwhile. */
async function endAll(parts: readonly EndPart[], patienceMs: number | undefined): Promise<void> {
  for (let ended = 0; ended < parts.length; ) {
    const next = parts.slice(ended);
    ended = parts.length;
    await Promise.all(next.map((end) => end(patienceMs).catch(() => {})));
  }
}

/**
 * Opens the project of a command.
 *
 * @throws ConfigurationError when its configuration cannot be read, or is wrong.
 */
export async function openProject(
  found: FindOptions,
  options: Omit<ProjectOptions, "env">,
): Promise<Project> {
  return new Project(await loadConfiguration(found), { ...options, env: found.env });
}
