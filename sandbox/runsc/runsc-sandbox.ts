import { existsSync } from "node:fs";
import { rm } from "node:fs/promises";
import { join } from "node:path";
import type { Duplex } from "node:stream";
import { encodeFrame } from "../../protocol/frames.ts";
import { GUARD_COMMANDS, GUARD_FRAMES } from "../../protocol/guard.ts";
import type { WakeRequest } from "../../protocol/messages.ts";
import { FramedGuard } from "../guard-channel.ts";
import type { SandboxExit, SandboxOutput } from "../sandbox.ts";
import type { StartedSandbox } from "../sandbox-engine.ts";
import { SandboxError } from "../sandbox-error.ts";
import type { SandboxGroup } from "./cgroups.ts";
import { LaunchedSandbox } from "./runsc-command.ts";

/** The exit code of a process ended by SIGKILL. */
const SIGKILLED = 137;
/** The exit code of runsc if the sandbox was lost. */
const LOST = 128;
const MAX_WAKE_BYTES = 1_024;

/** The resources of one sandbox on this machine. */
export interface SandboxPlace {
  id: string;
  /** The private folder of the sandbox, which is removed with it. */
  folder: string;
  /** Absent if limits are not possible. */
  group: SandboxGroup | undefined;
}

const MAX_EXIT_CODE = 255;

/** The host's end of the frames of a guard whose runner has the channel itself. */
class DirectGuard extends FramedGuard {
  readonly #exited = Promise.withResolvers<number>();

  /** Resolves with the exit code when the guard ends the sandbox and has passed on the output. */
  get exited(): Promise<number> {
    return this.#exited.promise;
  }

  protected override receiveMark(letter: string, number: number): boolean {
    if (letter !== GUARD_FRAMES.exited || number > MAX_EXIT_CODE) return false;
    this.#exited.resolve(number);
    return true;
  }
}

/** Whether runsc has mounted something in the folder of a sandbox, which only runsc itself removes when the sandbox ends. */
function leavesMounts(folder: string): boolean {
  return existsSync(join(folder, "null-netns"));
}

/**
 * A sandbox that is a child of this process. It is killed as soon as its guard has said that it ends, because that takes a fraction of
 * the processor time in which gVisor clears up a sandbox that ends by itself.
 */
export class RunscSandbox implements StartedSandbox {
  readonly id: string;
  readonly connected: Promise<Duplex>;
  readonly stdio: StartedSandbox["stdio"];
  readonly exited: Promise<SandboxExit>;
  readonly #launched: LaunchedSandbox;
  readonly #guard: DirectGuard;
  readonly #removed: Promise<void>;
  #isKilled = false;

  /**
   * @param command calls runsc so that it starts the sandbox in the foreground.
   * @param isServer whether the command passes the sockets of a server on.
   */
  constructor(
    { id, folder, group }: SandboxPlace,
    command: readonly string[],
    output: SandboxOutput,
    isServer = false,
  ) {
    this.id = id;
    const launched = new LaunchedSandbox(command, group?.entrances ?? [], isServer);
    this.stdio = launched.stdio && Promise.resolve(launched.stdio);
    const guard = new DirectGuard(output);
    this.#launched = launched;
    this.#guard = guard;
    const { channel, control } = launched;
    guard.open(control);
    control.on("data", (chunk: Buffer) => guard.onStdout(chunk));
    const delivered = new Promise<void>((resolve) => control.once("close", () => resolve()));
    const ended = launched.ended();
    this.connected = new Promise((resolve, reject) => {
      const look = () => {
        if (channel.readableLength === 0) return;
        channel.off("readable", look);
        resolve(channel);
      };
      channel.on("readable", look);
      void ended.then((code) => {
        const why = launched.complaint || `runsc ended with exit code ${code}`;
        reject(new SandboxError("start_failed", `the sandbox did not start: ${why}`));
      });
    });
    this.connected.catch(() => {});
    const endedByItself = ended.then(async (code) => {
      control.end();
      await delivered;
      return code;
    });
    this.exited = Promise.race([guard.exited, endedByItself]).then((code) => {
      if (!leavesMounts(folder)) launched.kill();
      if (this.#isKilled || group?.hasRunOutOfMemory() === true) return { code: SIGKILLED };
      // The guard exits with another code for a program that killed itself.
      const isLost = code === null || code === LOST || code === SIGKILLED;
      if (isLost) return { code: SIGKILLED, isKilledByOthers: group !== undefined };
      return { code };
    });
    // The counters of the group are read first.
    this.#removed = Promise.all([this.exited, endedByItself]).then(async () => {
      await group?.remove();
      await rm(folder, { recursive: true, force: true });
    });
  }

  /** Tells a sandbox that was just restored from a snapshot to begin. Its runner then says hello. */
  wake(): void {
    this.#guard.say(GUARD_COMMANDS.start);
    this.#launched.channel.write(encodeFrame({ type: "wake" } satisfies WakeRequest, MAX_WAKE_BYTES));
  }

  /** The exit code of the process that started the sandbox, and its complaints. */
  async outcome(): Promise<{ code: number | null; complaint: string }> {
    const code = await this.#launched.ended();
    return { code, complaint: this.#launched.complaint };
  }

  pause(): void {
    this.#guard.pause();
  }

  clear(): Promise<void> {
    return this.#guard.clear();
  }

  resume(): void {
    this.#guard.resume();
  }

  leave(): void {
    this.#launched.control.end();
  }

  async kill(): Promise<void> {
    this.#isKilled = true;
    this.#launched.kill();
  }

  removed(): Promise<void> {
    return this.#removed;
  }

  release(): void {
    this.#launched.channel.destroy();
    this.#launched.control.destroy();
    this.#launched.stdio?.stdin.destroy();
    this.#launched.stdio?.stdout.destroy();
  }
}
