import { existsSync } from "node:fs";
import { oneLine } from "../../base/visible-text.ts";
import { SIGNALS, type Surroundings } from "../surroundings.ts";
import { askOnce, connectTo } from "./ask-host.ts";
import { HostFiles, LostSessions } from "./host-files.ts";
import { findDifference, type HostIdentity, isReplaceable } from "./host-identity.ts";
import { HostListener } from "./host-listener.ts";
import { describeBuild, findHost, findProject, type HostPlace, placeOf } from "./host-place.ts";
import { HostedProject } from "./hosted-project.ts";

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
): Promise<void> {
  const { argv, env } = surroundings;
  const log = openLog(surroundings.stderr);
  const entry = argv[1] ?? "";
  const options = { flag: config, env, cwd: surroundings.cwd() };
  const build = describeBuild(entry);
  const project = findProject(options);
  const hosted = await HostedProject.read(options);
  const { configuration } = hosted;
  if (project === undefined || configuration.host.off) return;
  process.chdir("/");

  const place = placeOf(project, env);
  const files = new HostFiles(place);
  if (!files.claim()) return;
  try {
    const identity = hosted.identify({ build, fileDigest: project.fileDigest });
    if (files.countOthers() >= MAX_HOSTS || (await isNeedless(identity, place))) return;
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
    const ptc = await hosted.open(onWarning, (name) => lost.take(name));
    const { host } = ptc;
    listener = await HostListener.open({
      socket: files.socket,
      token: files.token,
      identity,
      differingVariables: (caller) => hosted.differingVariables(caller),
      host,
      runCommand,
      idleMs: configuration.host.idleMs,
      isNeeded: async () => (await ptc.sessions()).length > 0,
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
    lost.add(
      await ptc.sessions(),
      why.startsWith("was ") ? `with the background host, which ${why}` : `with the background host (${why})`,
    );
    clearInterval(watch);
    files.withdraw();
    await listener.close();
    await ptc.close(CLOSE_PATIENCE_MS);
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
