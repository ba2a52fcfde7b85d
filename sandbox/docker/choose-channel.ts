import { hostname, release } from "node:os";
import { basename } from "node:path";
import { oneLine } from "../../base/visible-text.ts";
import type { ChannelKind, ChannelPreference, ChosenChannel } from "../sandbox-engine.ts";

/** What an engine reports about its machine. */
export interface EngineMachine {
  name: string;
  kernel: string;
  operatingSystem: string;
}

/** The machine that ptc is on. */
interface ThisMachine {
  platform: NodeJS.Platform;
  name: string;
  kernel: string;
}

interface Situation {
  preference: ChannelPreference;
  /** The address of the engine. */
  host: string;
  machine: EngineMachine;
  /** The runtime's name, and the engine's description of it. */
  runtime: readonly [string, DockerRuntime];
}

const MAX_NAME_CHARS = 100;

const thisMachine: ThisMachine = { platform: process.platform, name: hostname(), kernel: release() };

/**
 * How the programs in an engine's sandboxes reach ptc. A mounted Unix socket is faster, and is used if the engine is on this machine,
 * shares its kernel, and its runtime lets sandboxes open such a socket. Otherwise, or if that is not known, the attached stdin and
 * stdout are used, which works with every engine. Pure.
 */
export function chooseChannel(
  situation: Situation,
  here = thisMachine,
): ChosenChannel & { kind: ChannelKind } {
  if (situation.preference !== "auto") {
    return { kind: situation.preference, why: "sandbox.channel says so" };
  }
  const why = whyNoSocket(situation, here);
  return why === undefined
    ? { kind: "socket", why: "the engine is on this machine" }
    : { kind: "attached", why };
}

/** Whether an engine's sandboxes use the processors of another machine than this one. A virtual machine of Docker Desktop is this one. Pure. */
export function isEngineElsewhere(
  { host, machine }: Pick<Situation, "host" | "machine">,
  here = thisMachine,
): boolean {
  if (/docker desktop/i.test(machine.operatingSystem)) return false;
  const isLocal = /^(?:unix|npipe):/.test(host);
  if (here.platform !== "linux") return !isLocal;
  return machine.kernel !== here.kernel || (!isLocal && machine.name !== here.name);
}

function whyNoSocket({ host, machine, runtime }: Situation, here: ThisMachine): string | undefined {
  if (!/^unix:/.test(host)) return "the engine is reached over a network";
  const operatingSystem = oneLine(machine.operatingSystem, MAX_NAME_CHARS);
  if (here.platform !== "linux" || /docker desktop/i.test(operatingSystem)) {
    return `the engine is in a virtual machine (${operatingSystem})`;
  }
  if (machine.kernel !== here.kernel) {
    const kernels = `${oneLine(machine.kernel, MAX_NAME_CHARS)}, not ${here.kernel}`;
    return `the engine is on another machine or in a virtual one (its kernel is ${kernels})`;
  }
  if (machine.name !== here.name) {
    return `the engine is on another machine or outside of this container (its name is ${oneLine(machine.name, MAX_NAME_CHARS)}, not ${here.name})`;
  }
  const problem = socketFlagProblem(...runtime);
  return problem === undefined ? undefined : `runtime '${runtime[0]}' ${problem}`;
}

/** A runtime as reported by `docker info`. A containerd shim has neither member, and is configured elsewhere. */
export interface DockerRuntime {
  path?: string | undefined;
  runtimeArgs?: readonly string[] | null | undefined;
}

/** The flag that gVisor requires to let sandboxes open a Unix socket of the host (gVisor, "Filesystem: host Unix sockets"). */
const SOCKET_FLAG = /^--?host-uds=(?:open|all)$/;

/**
 * Why sandboxes of a runtime cannot reach ptc, and how to fix it; `undefined` if they can, or if that is not known.
 *
 * @param name the name under which the runtime is registered.
 */
export function socketFlagProblem(name: string, { path, runtimeArgs }: DockerRuntime): string | undefined {
  if (path === undefined || basename(path) !== "runsc") return undefined;
  const flags = runtimeArgs ?? [];
  if (flags.some((flag) => SOCKET_FLAG.test(flag))) return undefined;
  const others = flags.filter((flag) => !/^--?host-uds(?:=|$)/.test(flag));
  const entry = { runtimes: { [name]: { path, runtimeArgs: [...others, "--host-uds=open"] } } };
  return (
    "is registered without the flag --host-uds=open, so that no sandbox can connect to a socket of ptc's; " +
    `write ${JSON.stringify(entry)} into /etc/docker/daemon.json and restart Docker`
  );
}
