/** Runs programs that try to get out of the interpreter of the engine `wasm`, and looks whether one has found anything of this machine. */
import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { type AddressInfo, createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { SandboxEngine } from "../../../sandbox/sandbox-engine.ts";
import { WASM_IMAGE } from "../../../sandbox/wasm/wasm-engine.ts";
import { generateProgramInInterpreter } from "../programs/generated-programs.ts";
import { ProgramCampaign } from "../programs/program-campaign.ts";
import type { Ran } from "../real-sandboxes.ts";

const TIMEOUT_MS = 2_000;
const VARIABLE = "PTC_TEST_OF_INTERPRETERS";
const SAMPLE_MS = 20;
/** The most memory of a process, with that of Node.js itself and what is on its way to the host. */
const MAX_MEMORY_MB = 512 + 256;

/** @param engine what programs run on; it is closed with the campaign. */
export async function openHostileCampaign(engine: SandboxEngine): Promise<ProgramCampaign> {
  const bait = await layBait();
  const memory = new ChildMemory();
  const campaign = new ProgramCampaign({
    sandboxes: { open: () => engine, image: WASM_IMAGE },
    generate: generateProgramInInterpreter,
    test: "tests/sandbox/wasm/hostile-programs.test.ts",
    timeoutMs: TIMEOUT_MS,
    data: bait.data,
    look(ran) {
      bait.look(ran);
      assert.ok(memory.takeMb() <= MAX_MEMORY_MB, "the process took more memory than it may");
    },
  });
  const close = campaign.close.bind(campaign);
  campaign.close = async () => {
    memory.close();
    bait.take();
    await close();
    await engine.close?.();
  };
  return campaign;
}

/** What a program would find outside: a file, a variable and a server, all of which it knows by name. */
async function layBait() {
  const secret = randomBytes(16).toString("hex");
  // In halves, so that a program that prints its data does not seem to have left.
  const mark = [randomBytes(8).toString("hex"), randomBytes(8).toString("hex")];
  const folder = mkdtempSync(join(tmpdir(), "ptc-bait-"));
  const file = join(folder, "secret");
  writeFileSync(file, secret);
  process.env[VARIABLE] = secret;
  let connections = 0;
  const server = createServer((socket) => {
    connections++;
    socket.destroy();
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  server.unref();
  const { port } = server.address() as AddressInfo;
  return {
    data: { file, port, mark, variable: VARIABLE },
    look({ envelope, console }: Ran): void {
      const said = JSON.stringify([envelope, console]);
      assert.ok(!said.includes(secret), "it has read something of this machine");
      assert.ok(!said.includes(mark.join("")), "it has run code outside the interpreter");
      assert.equal(connections, 0, "it has reached the network");
      assert.equal(readFileSync(file, "utf8"), secret, "it has changed a file");
      assert.deepEqual(readdirSync(folder), ["secret"], "it has written a file");
    },
    take(): void {
      delete process.env[VARIABLE];
      server.close();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

/** The most memory that a child of this process has had; 0 where the system does not tell. */
class ChildMemory {
  #mostKb = 0;
  readonly #timer = setInterval(() => this.#sample(), SAMPLE_MS).unref();

  takeMb(): number {
    const mb = this.#mostKb / 1024;
    this.#mostKb = 0;
    return mb;
  }

  close(): void {
    clearInterval(this.#timer);
  }

  #sample(): void {
    try {
      for (const task of readdirSync("/proc/self/task"))
        for (const pid of readFileSync(`/proc/self/task/${task}/children`, "utf8").trim().split(" ")) {
          const [, kb = 0] = /^VmHWM:\s+(\d+) kB/m.exec(readFileSync(`/proc/${pid}/status`, "utf8")) ?? [];
          this.#mostKb = Math.max(this.#mostKb, Number(kb));
        }
    } catch {
      // A process ended meanwhile, or this is no Linux.
    }
  }
}
