import { mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { RUNNER_STARTS } from "../../../languages/languages.ts";
import { encodeFrame } from "../../../protocol/frames.ts";
import { MAX_REPLY_FRAME_BYTES } from "../../../protocol/limits.ts";
import type { ProgramEnvironment } from "../../../protocol/messages.ts";
import { encodePythonBundle, type RunnerName } from "../../../protocol/runners.ts";
import { RunscEngine } from "../../../sandbox/runsc/runsc-engine.ts";
import { runscFolders } from "../../../sandbox/runsc/runsc-folders.ts";
import { describeSandboxed } from "../in-sandbox.ts";
import { keptOutput } from "../outputs.ts";

const RESTORES = 50;
const AT_ONCE = 4;
const LIMITS = { memoryMb: 512, cpus: 1, pids: 256 };

/** Draws from everything that gives out something random, each under a name. */
const DRAWS: Record<RunnerName, string> = {
  javascript: `
    import crypto from "node:crypto";
    import { mkdtempSync } from "node:fs";
    import { createContext, runInContext, runInNewContext, Script } from "node:vm";
    import { Worker } from "node:worker_threads";
    import { promisify } from "node:util";
    const { subtle } = globalThis.crypto;
    const jwk = (key) => key.export({ format: "jwk" });
    const pair = await subtle.generateKey({ name: "ECDSA", namedCurve: "P-256" }, true, ["sign", "verify"]);
    const hmac = await subtle.generateKey({ name: "HMAC", hash: "SHA-256" }, true, ["sign"]);
    const { privateKey } = crypto.generateKeyPairSync("ec", { namedCurve: "P-256" });
    const fixed = crypto.createPrivateKey(${JSON.stringify(
      "-----BEGIN PRIVATE KEY-----\nMIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQgevZzL1gdAFr88hb2\nOF/2NxApJCzGCEDdfSp6VQO30hyhRANCAAQRWz+jn65BtOMvdyHKcvjBeBSDZH2r\n1RTwjmYSi9R/zpBnuQ4EiMnCqfMPWiZqB4QdbAd0E7oH50VpuZ1P087G\n-----END PRIVATE KEY-----\n",
    )});
    const inWorker = await new Promise((resolve, reject) => {
      const worker = new Worker(
        "const { parentPort } = require('node:worker_threads'); parentPort.postMessage([Math.random(), require('node:crypto').randomBytes(16).toString('hex')])",
        { eval: true },
      );
      worker.once("message", resolve);
      worker.once("error", reject);
    });
    const ecdh = crypto.createECDH("prime256v1");
    globalThis.result = {
      randomBytes: crypto.randomBytes(16).toString("hex"),
      randomBytesLater: (await promisify(crypto.randomBytes)(16)).toString("hex"),
      randomFillSync: crypto.randomFillSync(Buffer.alloc(16)).toString("hex"),
      randomInt: crypto.randomInt(2 ** 47),
      randomUUID: crypto.randomUUID(),
      getRandomValues: Buffer.from(globalThis.crypto.getRandomValues(new Uint8Array(16))).toString("hex"),
      webUUID: globalThis.crypto.randomUUID(),
      mathRandom: Math.random(),
      mathRandomInContext: runInContext("Math.random()", createContext({})),
      mathRandomInNewContext: runInNewContext("Math.random()"),
      mathRandomInScript: new Script("Math.random()").runInNewContext(),
      mathRandomInWorker: inWorker[0],
      randomBytesInWorker: inWorker[1],
      keyPair: jwk(crypto.generateKeyPairSync("x25519").publicKey).x,
      keyPairLater: jwk((await promisify(crypto.generateKeyPair)("ed25519")).publicKey).x,
      key: crypto.generateKeySync("aes", { length: 128 }).export().toString("hex"),
      ecdh: ecdh.generateKeys("hex"),
      prime: crypto.generatePrimeSync(64, { bigint: true }).toString(),
      signature: crypto.sign("sha256", Buffer.from("x"), fixed).toString("hex"),
      webKeyPair: (await subtle.exportKey("jwk", pair.publicKey)).x,
      webKey: (await subtle.exportKey("jwk", hmac)).k,
      ownSignature: crypto.sign("sha256", Buffer.from("x"), privateKey).toString("hex"),
      temporaryName: mkdtempSync("/tmp/x-"),
    };`,
  python: encodePythonBundle({
    mode: "sync",
    file_name: "draws.py",
    modules: {},
    source: `
import os, random, secrets, ssl, tempfile, uuid, hashlib
first = random.random()
result = {
    "random": first,
    "getrandbits": str(random.getrandbits(64)),
    "Random": random.Random().random(),
    "SystemRandom": random.SystemRandom().random(),
    "urandom": os.urandom(16).hex(),
    "getrandom": os.getrandom(16).hex(),
    "token": secrets.token_hex(16),
    "choice": str(secrets.randbelow(2 ** 60)),
    "uuid4": str(uuid.uuid4()),
    "ssl": ssl.RAND_bytes(16).hex(),
    "name": tempfile.mktemp(),
}
`,
  }),
};

const RUNNERS: readonly RunnerName[] = ["javascript", "python"];

describeSandboxed("sandboxes that are restored from one snapshot", () => {
  const base = mkdtempSync(join(tmpdir(), "ptc-r-"));
  const folder = join(base, "run");
  mkdirSync(folder);
  const engine = new RunscEngine({
    folder,
    runners: RUNNER_STARTS,
    folders: { images: runscFolders().images, snapshots: join(base, "snapshots") },
  });
  let image = "";
  beforeAll(async () => {
    image = (await engine.findImage(process.env.PTC_TEST_IMAGE ?? "ptc-runner"))?.digest ?? "";
  });
  afterAll(() => rmSync(base, { recursive: true, force: true }));

  const requestOf = (runner: RunnerName) => ({
    image,
    runtime: "runsc",
    runner,
    limits: LIMITS,
    owner: `restored-${process.pid}`,
  });

  /** The value of a program. */
  async function run(runner: RunnerName, bundle: string, environment?: ProgramEnvironment): Promise<unknown> {
    const { written, output } = keptOutput();
    const started = await engine.start(requestOf(runner), output);
    try {
      const channel = await started.connected;
      channel.resume();
      const program = {
        type: "program",
        bundle,
        data: {},
        max_output_bytes: 1_000_000,
        max_stderr_bytes: 1_000_000,
        ...(environment === undefined ? {} : { environment }),
      };
      channel.write(encodeFrame(program, MAX_REPLY_FRAME_BYTES));
      await started.exited;
      const claim = JSON.parse(written.out || "{}") as { ok?: boolean; data?: unknown };
      expect(claim, written.out + written.err).toMatchObject({ ok: true });
      return claim.data;
    } finally {
      await started.kill();
      await started.removed();
      started.release();
    }
  }

  test.each(RUNNERS)(
    "never draw alike from any source of randomness of %s, though nothing of a seed is said",
    async (runner) => {
      await engine.snapshot(requestOf(runner));
      const drawn: Record<string, unknown>[] = [];
      const draw = async () => {
        while (drawn.length < RESTORES) {
          const place = drawn.push({}) - 1;
          drawn[place] = (await run(runner, DRAWS[runner])) as Record<string, unknown>;
        }
      };
      await Promise.all(Array.from({ length: AT_ONCE }, draw));
      expect(await engine.describeSnapshot(requestOf(runner))).toBe("sandboxes are restored from one");
      const names = Object.keys(drawn[0] ?? {});
      expect(names.length).toBeGreaterThan(10);
      const alike = names.filter((name) => new Set(drawn.map((each) => each[name])).size < RESTORES);
      expect(alike).toEqual([]);
      // Nor does one sandbox draw the same twice.
      for (const each of drawn) expect(new Set(Object.values(each)).size).toBe(names.length);
    },
  );

  test.each([
    ["javascript", "globalThis.result = [Math.random(), crypto.randomUUID(), Date.now() > 1e12];"],
    [
      "python",
      encodePythonBundle({
        mode: "sync",
        file_name: "p.py",
        modules: {},
        source: "import random, uuid, time\nresult = [random.random(), str(uuid.uuid4()), time.time() > 1e9]",
      }),
    ],
  ] as const)("draw the same in %s where they are given the same seed", async (runner, bundle) => {
    await engine.snapshot(requestOf(runner));
    const seed = "5a".repeat(32);
    const drawn = await Promise.all([run(runner, bundle, { seed }), run(runner, bundle, { seed })]);
    expect(drawn[0]).toEqual(drawn[1]);
    expect(await run(runner, bundle, { seed: "a5".repeat(32) })).not.toEqual(drawn[0]);
  });

  test("have the clocks, names and arguments of one that was booted, and no timer from before", async () => {
    await engine.snapshot(requestOf("javascript"));
    const look = `
      import os from "node:os";
      import { setTimeout as delay } from "node:timers/promises";
      const before = performance.now();
      await delay(20);
      const later = performance.now() - before;
      globalThis.result = {
        agrees: Math.abs(Date.now() - data_now()) < 60_000, waited: later >= 15 && later < 10_000,
        young: performance.now() < 60_000 && process.uptime() < 60, host: os.hostname(), cwd: process.cwd(),
        argv: process.argv.length, env: Object.keys(process.env).sort(), pid: process.pid > 0, tz: process.env.TZ,
      };
      function data_now() { return ${Date.now()}; }`;
    const restored = await run("javascript", look);
    expect(restored).toEqual({
      ...{
        agrees: true,
        waited: true,
        young: true,
        host: "sandbox",
        cwd: "/workspace",
        argv: 2,
        pid: true,
        tz: "UTC",
      },
      env: ["HOME", "LANG", "LC_ALL", "NODE_ENV", "TZ"],
    });
  });
});
