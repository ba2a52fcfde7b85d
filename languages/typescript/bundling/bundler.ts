import childProcess, { type ChildProcess, type SpawnOptions } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { type BuildOptions, type BuildResult, build, stop, type TransformOptions, transform } from "esbuild";

/**
 * Bounds the bundler's process. A program that nests too deeply or grows without bound can crash that process, whose output must
 * then not reach a terminal.
 */

/** The resident memory of the process, where Linux says how much that is. A large program needs a fifth of it, and a pod of ptc has twice as much. */
const MAX_MEMORY_KIB = 512 * 1024;
const LOOK_MS = 25;

/** Sets the limit that the kernel holds, of address space. The image of ptc has no shell, so there only the looks bound the process. */
const SHELL = "/bin/sh";
const MAX_ADDRESS_SPACE_KIB = 2 * 1024 * 1024;
/** A shell command that starts the bundler, `$0`, with the limit, or without it if it cannot be set. */
const LIMITED = `ulimit -v ${MAX_ADDRESS_SPACE_KIB} 2>/dev/null; exec "$0" "$@"`;

/** The most bytes of one answer. A larger one would fit neither in a string nor in a frame for a sandbox. */
const MAX_ANSWER_BYTES = 64 * 1024 * 1024;

/** Kills the process when it takes too much. */
class Bounds {
  #child: ChildProcess | undefined;
  #bytes = 0;

  watch(child: ChildProcess): void {
    this.#child = child;
    child.stdout?.prependListener("data", (chunk: Buffer) => {
      this.#bytes += chunk.length;
      if (this.#bytes > MAX_ANSWER_BYTES) child.kill("SIGKILL");
    });
  }

  /** Looks at the memory of the process. */
  weigh(): void {
    if (this.#child?.pid !== undefined && residentKib(this.#child.pid) > MAX_MEMORY_KIB)
      this.#child.kill("SIGKILL");
  }

  /** The process begins another answer. */
  reset(): void {
    this.#bytes = 0;
  }
}

/** `VmRSS` of proc(5); 0 where that is not known. */
function residentKib(pid: number): number {
  try {
    return Number(/^VmRSS:\s+(\d+)/m.exec(readFileSync(`/proc/${pid}/status`, "utf8"))?.[1] ?? 0);
  } catch {
    return 0;
  }
}

/**
 * Calls `start` and contains the processes that it spawns. esbuild starts its process in the first call that needs it, and gives
 * it the stderr of this process. No option changes that.
 */
function startContained<T>(start: () => T, bounds: Bounds): T {
  const { spawn } = childProcess;
  const contained = (command: string, args: readonly string[], options: SpawnOptions) => {
    const silent: SpawnOptions = { ...options, stdio: ["pipe", "pipe", "ignore"] };
    const child = existsSync(SHELL)
      ? spawn(SHELL, ["-c", LIMITED, command, ...args], silent)
      : spawn(command, args, silent);
    bounds.watch(child);
    return child;
  };
  childProcess.spawn = contained as typeof spawn;
  try {
    return start();
  } finally {
    childProcess.spawn = spawn;
  }
}

export type { Message, Plugin, TransformOptions } from "esbuild";

const TIME_LIMIT_MS = 20_000;

/** The bundler took too long for a program, or its process ended. */
export class BundlerOverwhelmed extends Error {
  override readonly name = "BundlerOverwhelmed";
  /** Whether it was time that ran out. */
  readonly isLate: boolean;

  constructor(message: string, { isLate = false, ...options }: ErrorOptions & { isLate?: boolean } = {}) {
    super(message, options);
    this.isLate = isLate;
  }
}

/** Bundles in memory. @throws BundlerOverwhelmed, or esbuild's error, whose `errors` describe mistakes in the input. */
export function bundle<Options extends BuildOptions>(options: Options): Promise<BuildResult<Options>> {
  return sharing(() => build(options as Parameters<typeof build<Options>>[0]));
}

/** Compiles one file to plain JavaScript. @throws like `bundle`. */
export async function reduceToJavaScript(code: string, options: TransformOptions): Promise<string> {
  return (await sharing(() => transform(code, options))).code;
}

/** The esbuild process, which serves several programs at the same time. */
interface Service {
  isOver: boolean;
  bounds: Bounds;
}

let service: Service = { isOver: false, bounds: new Bounds() };

/** Work in the process. `isShared` is set once other work has run at the same time. */
interface Entry {
  isShared: boolean;
  ended: Promise<unknown>;
}

const underWay = new Set<Entry>();

/** The number of pieces of work that must be repeated alone, because the process ended during them. */
let suspects = 0;
let suspectsDone: Promise<unknown> = Promise.resolve();

/**
 * Does work in the shared process. If the process ends, any running work may be the cause. Each piece is then repeated once,
 * alone, so that no program fails because of another.
 */
async function sharing<T>(work: () => Promise<T>): Promise<T> {
  while (suspects > 0) await suspectsDone;
  const attempt = inService(work);
  const entry: Entry = { isShared: underWay.size > 0, ended: attempt.catch(() => {}) };
  for (const other of underWay) other.isShared = true;
  underWay.add(entry);
  try {
    return await attempt;
  } catch (error) {
    if (!(error instanceof ServiceLost)) throw error;
    if (!entry.isShared) throw overwhelmed(error);
  } finally {
    underWay.delete(entry);
  }
  return alone(work);
}

async function alone<T>(work: () => Promise<T>): Promise<T> {
  suspects++;
  const turn = suspectsDone.then(async () => {
    await Promise.all([...underWay].map(({ ended }) => ended));
    return inService(work);
  });
  suspectsDone = turn.then(
    () => suspects--,
    () => suspects--,
  );
  try {
    return await turn;
  } catch (error) {
    throw error instanceof ServiceLost ? overwhelmed(error) : error;
  }
}

class ServiceLost extends Error {}

function overwhelmed(cause: Error): BundlerOverwhelmed {
  const message = "the bundler gave up on this program: it nests too deeply, or becomes too large";
  return new BundlerOverwhelmed(message, { cause });
}

/** Does work in the process. @throws BundlerOverwhelmed after the time limit, ServiceLost if the process ends, and errors of `work`. */
async function inService<T>(work: () => Promise<T>): Promise<T> {
  const own = service;
  const looks = setInterval(() => own.bounds.weigh(), LOOK_MS);
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => {
      reject(
        new BundlerOverwhelmed(`bundling took longer than ${TIME_LIMIT_MS / 1_000} s`, { isLate: true }),
      );
      retire(own);
    }, TIME_LIMIT_MS);
  });
  try {
    const result = await Promise.race([startContained(work, own.bounds), late]);
    own.bounds.reset();
    return result;
  } catch (error) {
    const loss = lossIn(error);
    if (loss === undefined) throw error;
    retire(own);
    // The process had ended before this work began, so the work cannot be the cause.
    if (loss === "unavailable" && service !== own) return inService(work);
    throw new ServiceLost("the bundler's process has ended", { cause: error });
  } finally {
    clearInterval(looks);
    clearTimeout(timer);
  }
}

/** How the process was lost according to an error, or `undefined` for an error about the input, which it may quote. */
function lossIn(error: unknown): "stopped" | "unavailable" | undefined {
  if (!(error instanceof Error) || "errors" in error) return undefined;
  if (error.message.startsWith("The service is no longer running")) return "unavailable";
  return error.message.startsWith("The service was stopped") ? "stopped" : undefined;
}

/** Ends the process. The next call starts another. */
function retire(lost: Service): void {
  if (lost.isOver) return;
  lost.isOver = true;
  service = { isOver: false, bounds: new Bounds() };
  void stop();
}
