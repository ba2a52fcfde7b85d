import { existsSync } from "node:fs";
import { oneLine } from "../../base/visible-text.ts";
import type { RankingStage } from "../../catalog/search/tool-index.ts";
import type { Configuration } from "../../configuration/configuration.ts";
import { configurationOf, findConfiguration } from "../../configuration/load.ts";
import { HostFiles, LostSessions } from "../../project/background/host-files.ts";
import {
  differingVariables,
  findDifference,
  type HostIdentity,
  identify,
  isReplaceable,
} from "../../project/background/host-identity.ts";
import {
  describeBuild,
  findHost,
  findProject,
  type HostPlace,
  placeOf,
} from "../../project/background/host-place.ts";
import type { HostCatalog } from "../../project/host.ts";
import { LOCAL_USER } from "../../project/local-user.ts";
import { openHost } from "../../project/open-host.ts";
import { Project } from "../../project/open-project.ts";
import type { EnvironmentVariables } from "../../system/environment-variables.ts";
import { catalogVersion, loadProgramTools, type ProgramTools } from "../../tools/program-tools.ts";
import { rankingOfCommands } from "../../tools/search/open-ranking.ts";
import { EXIT, type ExitCode, SIGNALS, type Surroundings } from "../command.ts";
import { askOnce, connectTo } from "./ask-host.ts";
import { HostListener } from "./host-listener.ts";

/** How often a host looks whether it is still wanted. */
const LOOK_MS = 1_000;
/** How long the host in service may take to answer before another host replaces it. */
const ANSWER_PATIENCE_MS = 5_000;
/** How long closing the host may take. */
const CLOSE_PATIENCE_MS = 10_000;
const MAX_LOG_BYTES = 1024 * 1024;
/** The most hosts of a user. Each has sandboxes, servers and a type checker. Commands of further projects run in their own process. */
const MAX_HOSTS = 4;

/**
 * The background host of a project. It runs the commands of its callers until none has come for a while, or until it is out of date.
 * It logs to stderr.
 *
 * @param runCommand runs one command for a caller.
 */
export async function runBackgroundHost(
  surroundings: Surroundings,
  config: string | undefined,
  runCommand: (surroundings: Surroundings) => Promise<number>,
): Promise<ExitCode> {
  const { argv, env } = surroundings;
  const log = openLog(surroundings.stderr);
  const entry = argv[1] ?? "";
  const options = { flag: config, env, cwd: surroundings.cwd() };
  const build = describeBuild(entry);
  const project = findProject(options);
  const found = await findConfiguration(options);
  const configuration = configurationOf(found, options);
  if (project === undefined || configuration.host.off) return EXIT.done;
  process.chdir("/");

  const place = placeOf(project, env);
  const files = new HostFiles(place);
  if (!files.claim()) return EXIT.done;
  try {
    const identity = identify({ build, fileDigest: project.fileDigest }, configuration, env);
    if (files.countOthers() >= MAX_HOSTS || (await isNeedless(identity, place))) return EXIT.done;
    let retire: (why: string) => void = () => {};
    const retired = new Promise<string>((resolve) => {
      retire = resolve;
    });
    for (const signal of SIGNALS) surroundings.on(signal, () => retire(signal));
    let listener: HostListener | undefined;
    const onWarning = (message: string) => {
      log(`warning: ${message}`);
      listener?.warn(message);
    };
    const lost = new LostSessions(place);
    const ptc = new Project(configuration, { env, onWarning });
    const host = openHost(ptc, {
      telemetry: await ptc.openTelemetry(),
      catalog: new CatalogOnDisk(configuration, env),
      warm: configuration.sandbox.warm,
      idleMs: configuration.host.idleMs,
      takeLostSession: (_, name) => lost.take(name),
    });
    listener = await HostListener.open({
      socket: files.socket,
      token: files.token,
      identity,
      differingVariables: (caller) =>
        differingVariables(env, caller, { configuration, text: found?.text ?? "" }),
      host,
      runCommand,
      idleMs: configuration.host.idleMs,
      isNeeded: async () => (await host.sessions(LOCAL_USER.principal).list()).length > 0,
      onRetire: retire,
    });
    files.publish();
    log("in service");
    const watch = setInterval(() => {
      if (!files.isPublished) retire("another host is in service");
      else if (!isSameBuild(entry, build)) retire("ptc was updated");
      else if (!existsSync(configuration.directory)) retire("the project is gone");
    }, LOOK_MS);
    await host.warm();
    const why = await retired;
    log(`ends: ${why}`);
    const open = await host.sessions(LOCAL_USER.principal).list();
    lost.add(
      open.map(({ name }) => name),
      why.startsWith("was ") ? `with the background host, which ${why}` : `with the background host (${why})`,
    );
    clearInterval(watch);
    files.withdraw();
    await listener.close();
    await ptc.close(CLOSE_PATIENCE_MS);
    return EXIT.done;
  } finally {
    files.unclaim();
  }
}

/** Whether a host is in service that equals this identity, or that must not be replaced yet. */
async function isNeedless(identity: HostIdentity, place: HostPlace): Promise<boolean> {
  const found = findHost(place);
  const socket = found === undefined ? undefined : await connectTo(found.socket);
  if (found === undefined || socket === undefined || typeof socket === "string") return false;
  const answer = await askOnce(socket, "status", { token: found.token, patienceMs: ANSWER_PATIENCE_MS });
  socket.destroy();
  if (answer?.kind !== "status") return false;
  const { status } = answer;
  const difference = findDifference(status.identity, identity);
  return difference === undefined || !isReplaceable(difference, Date.now() - Date.parse(status.started));
}

function isSameBuild(entry: string, build: string): boolean {
  try {
    return describeBuild(entry) === build;
  } catch {
    return false;
  }
}

/** Writes lines with the time until the log is full. */
function openLog(stderr: Surroundings["stderr"]): (line: string) => void {
  let bytes = 0;
  return (line) => {
    const text = `${new Date().toISOString()} ${oneLine(line)}\n`;
    bytes += Buffer.byteLength(text);
    if (bytes <= MAX_LOG_BYTES) stderr.write(text);
  };
}

/**
 * The catalog that `ptc generate` wrote last. It is read again after every change and never written, as by a command in a separate
 * process.
 */
class CatalogOnDisk implements HostCatalog {
  readonly #configuration: Configuration;
  readonly #ranking: RankingStage | undefined;
  #loaded: { version: string; tools: Promise<ProgramTools> } | undefined;

  constructor(configuration: Configuration, env: EnvironmentVariables) {
    this.#configuration = configuration;
    this.#ranking = rankingOfCommands(configuration, env);
  }

  async currentTools(): Promise<ProgramTools> {
    const version = catalogVersion(this.#configuration) ?? "";
    if (this.#loaded?.version === version) return this.#loaded.tools;
    const loaded = {
      version,
      tools: loadProgramTools(this.#configuration, undefined, { ranking: this.#ranking }),
    };
    this.#loaded = loaded;
    loaded.tools.catch(() => {
      // The user may repair an edited file without changing its version.
      if (this.#loaded === loaded) this.#loaded = undefined;
    });
    return loaded.tools;
  }

  forProgram(): Promise<ProgramTools> {
    return this.currentTools();
  }
}
