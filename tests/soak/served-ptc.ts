import { existsSync, readdirSync, readFileSync, readlinkSync } from "node:fs";
import { join } from "node:path";
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StdioClientTransport } from "@modelcontextprotocol/sdk/client/stdio.js";
import { Envelope } from "../../protocol/envelope.ts";
import type { SoakKind } from "./kinds.ts";

/** How long a client waits for a reply. Only what hangs takes so long. */
const PATIENCE_MS = 170_000;

/** What became of a program, as its client saw it: no envelope for one that was cancelled, or whose ptc has ended. */
export interface SoakRun {
  id: string;
  kind: SoakKind;
  envelope: Envelope | undefined;
  /** What the client was told instead of an envelope. */
  refused: string | undefined;
}

/** A real `ptc serve` with a client in front of it. */
export class ServedPtc {
  readonly pid: number;
  readonly #client: Client;

  private constructor(client: Client, pid: number) {
    this.#client = client;
    this.pid = pid;
  }

  /** @param command a command line that is ptc */
  static async start(command: readonly string[], directory: string): Promise<ServedPtc> {
    const [executable = "", ...args] = command;
    const transport = new StdioClientTransport({
      command: executable,
      args: [...args, "serve"],
      cwd: directory,
      env: environmentIn(directory),
      stderr: "ignore",
    });
    const client = new Client({ name: "soak", version: "1" });
    await client.connect(transport);
    return new ServedPtc(client, transport.pid ?? 0);
  }

  /** Runs one program. Never rejects. */
  async run(id: string, kind: SoakKind): Promise<SoakRun> {
    const args = {
      code: kind.code,
      data: { id },
      ...(kind.timeoutSeconds === undefined ? {} : { timeout_seconds: kind.timeoutSeconds }),
    };
    const signal = kind.cancelAfterMs === undefined ? undefined : AbortSignal.timeout(kind.cancelAfterMs);
    try {
      const reply = await this.#client.callTool({ name: "execute_program", arguments: args }, undefined, {
        timeout: PATIENCE_MS,
        ...(signal === undefined ? {} : { signal }),
      });
      const meta = reply._meta as Record<string, unknown> | undefined;
      const parsed = Envelope.safeParse(meta?.["ptc/envelope"]);
      const refused = parsed.success ? undefined : JSON.stringify(reply.content).slice(0, 200);
      return { id, kind, envelope: parsed.data, refused };
    } catch (error) {
      return { id, kind, envelope: undefined, refused: String(error) };
    }
  }

  close(): Promise<void> {
    return this.#client.close();
  }

  /** Resident memory in MiB. */
  memoryMib(): number {
    const [, kib = "0"] = /^VmRSS:\s+(\d+)/m.exec(readFileSync(`/proc/${this.pid}/status`, "utf8")) ?? [];
    return Number(kib) / 1_024;
  }

  descriptors(): number {
    return readdirSync(`/proc/${this.pid}/fd`).length;
  }
}

export function environmentIn(directory: string): Record<string, string> {
  const { PATH = "", DOCKER_HOST } = process.env;
  const run = { PATH, HOME: directory, XDG_RUNTIME_DIR: join(directory, "run") };
  return DOCKER_HOST === undefined ? run : { ...run, DOCKER_HOST };
}

/** Folders of ptc processes, alive or dead, which hold their sockets. */
export function stateFolders(directory: string): string[] {
  const base = join(directory, "run", `ptc-${process.getuid?.() ?? 0}`);
  return existsSync(base) ? readdirSync(base) : [];
}

/** Processes that work in a folder or were told of it. */
export function processesIn(directory: string): number[] {
  return readdirSync("/proc")
    .filter((name) => /^\d+$/.test(name) && Number(name) !== process.pid)
    .filter((name) => {
      try {
        const told = readFileSync(`/proc/${name}/cmdline`, "utf8").includes(directory);
        return told || readlinkSync(`/proc/${name}/cwd`) === directory;
      } catch {
        return false;
      }
    })
    .map(Number);
}
