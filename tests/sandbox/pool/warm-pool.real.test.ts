import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, expect, onTestFinished, test, vi } from "vitest";
import { DockerEngine } from "../../../sandbox/docker/docker-engine.ts";
import { WarmPool } from "../../../sandbox/pool/warm-pool.ts";
import { eventually } from "../../eventually.ts";
import { killFromOutside, lookingEngine } from "../containers-of.ts";
import { describeSandboxed } from "../in-sandbox.ts";
import { RealSandboxes } from "../real-sandboxes.ts";
import { TESTED_ENGINE } from "../tested-engine.ts";

const NO_OUTPUT = { onStdout() {}, onStderr() {} };
/** Told apart from all other times by its length. */
const REST_AFTER_MS = 3_600_001;

/** Keeps timers of one length until the test ends. The returned function does what the last of them would. */
function catchTimers(lengthMs: number): () => void {
  let last = () => {};
  const { setTimeout } = globalThis;
  const keep: (...timer: Parameters<typeof setTimeout>) => NodeJS.Timeout = (act, ms, ...args) => {
    if (ms === lengthMs) last = () => act(...args);
    return setTimeout(act, ms, ...args);
  };
  const spy = vi.spyOn(globalThis, "setTimeout").mockImplementation(keep as typeof setTimeout);
  onTestFinished(() => spy.mockRestore());
  return () => last();
}

describeSandboxed("a pool of started sandboxes", () => {
  const isDocker = TESTED_ENGINE === "docker";
  const { docker } = new DockerEngine();
  let opened: { pool: WarmPool; sandboxes: RealSandboxes } | undefined;

  function open(size: number, image = "ptc-runner") {
    let pool: WarmPool | undefined;
    const over = (source: ConstructorParameters<typeof WarmPool>[0]) => {
      pool = new WarmPool(source, { bounds: { floor: size, ceiling: size }, restAfterMs: REST_AFTER_MS });
      return pool;
    };
    const sandboxes = new RealSandboxes({}, { image, over });
    if (pool === undefined) throw new Error("there is no pool");
    opened = { pool, sandboxes };
    return opened;
  }

  /** Ids of this process's containers, when there are that many and the engine says that all run. */
  async function running(sandboxes: RealSandboxes, count: number): Promise<string[]> {
    return eventually(async () => {
      const ids = await sandboxes.containers();
      expect(ids).toHaveLength(count);
      if (!isDocker) return ids;
      const seen = await Promise.all(ids.map((id) => docker.getContainer(id).inspect()));
      expect(seen.map(({ State }) => State.Running)).toEqual(ids.map(() => true));
      return ids;
    });
  }

  afterEach(async () => {
    await opened?.pool.close();
    expect((await opened?.sandboxes.leftovers()) ?? []).toEqual([]);
    opened?.sandboxes.close();
    opened = undefined;
  });

  test("gives each of many programs at once a sandbox of its own, in which nothing is of another", async () => {
    const { pool, sandboxes } = open(3);
    pool.warm();
    await running(sandboxes, 3);
    const program = `
      import { readdirSync, writeFileSync } from "node:fs";
      const before = { global: globalThis.mark, files: ["/workspace", "/tmp", "/dev/shm"].flatMap((folder) => readdirSync(folder)) };
      globalThis.mark = data.mark;
      for (const folder of ["/workspace", "/tmp", "/dev/shm"]) writeFileSync(folder + "/" + data.mark, data.mark);
      console.error("console of " + data.mark);
      globalThis.result = { mark: data.mark, before };`;
    const marks = Array.from({ length: 8 }, (_, index) => `mark-${index}`);
    const runs = [
      ...(await Promise.all(marks.map((mark) => sandboxes.run(program, { data: { mark } })))),
      await sandboxes.run(program, { data: { mark: "last" } }),
    ];
    for (const [index, { result, console }] of runs.entries()) {
      const mark = marks[index] ?? "last";
      expect(result).toMatchObject({ ok: true, data: { mark, before: { files: [] } } });
      expect(result).not.toHaveProperty("data.before.global");
      expect(console.err).toBe(`console of ${mark}\n`);
    }
  });

  test("hands out each sandbox once, and fills up again", async () => {
    const { pool, sandboxes } = open(2);
    pool.warm();
    await running(sandboxes, 2);
    const taken = await Promise.all(Array.from({ length: 3 }, () => pool.acquire(NO_OUTPUT)));
    expect(new Set(taken.map(({ id }) => id)).size).toBe(3);
    await running(sandboxes, 3 + 2);
    await Promise.all(taken.map((sandbox) => sandbox.dispose()));
    await running(sandboxes, 2);
  });

  test("never hands out a waiting sandbox that was killed or removed, and replaces it", async () => {
    const { pool, sandboxes } = open(2);
    pool.warm();
    const [killed, removed] = await running(sandboxes, 2);
    await killFromOutside(killed ?? "");
    await lookingEngine.remove(removed ?? "");
    const { result } = await sandboxes.run("globalThis.result = 1");
    expect(result).toMatchObject({ ok: true, data: 1 });
    const ids = await running(sandboxes, 2);
    expect(ids).not.toContain(killed);
    expect(ids).not.toContain(removed);
  });

  test("leaves no sandbox when nobody uses it; the next program has its own, and then as many wait as before", async () => {
    const rests = catchTimers(REST_AFTER_MS);
    const { pool, sandboxes } = open(2);
    pool.warm();
    await running(sandboxes, 2);
    rests();
    await running(sandboxes, 0);
    expect(pool.state).toEqual({ ready: 0, starting: 0 });
    const { result } = await sandboxes.run("globalThis.result = 1");
    expect(result).toMatchObject({ ok: true, data: 1 });
    await running(sandboxes, 2);
    rests();
    await running(sandboxes, 0);
    pool.wake();
    await running(sandboxes, 1);
  });

  test("is closed at once, also while it starts: no container, socket or folder stays", async () => {
    const { pool, sandboxes } = open(4);
    pool.warm();
    const acquiring = pool.acquire(NO_OUTPUT).then(
      (sandbox) => sandbox.dispose(),
      (error: unknown) => expect(error).toMatchObject({ code: "cancelled" }),
    );
    await eventually(async () => expect(await sandboxes.containers()).not.toEqual([]));
    await Promise.all([pool.close(), pool.close()]);
    await acquiring;
    expect(await sandboxes.leftovers()).toEqual([]);
  });

  test.skipIf(!isDocker)(
    "leaves a container that waits without anything of the host but a folder of sockets",
    async () => {
      process.env.PTC_POOL_SECRET = "s3cret-of-a-server";
      try {
        const { pool, sandboxes } = open(1);
        pool.warm();
        const [id] = await running(sandboxes, 1);
        const seen = await docker.getContainer(id ?? "").inspect();
        expect(JSON.stringify(seen)).not.toContain("s3cret-of-a-server");
        const mounts = seen.Mounts.map(({ Destination }) => Destination).sort();
        expect(mounts).toEqual(["/etc/resolv.conf", "/run/ptc"]);
        const folder = seen.Mounts.find(({ Destination }) => Destination === "/run/ptc")?.Source ?? "";
        expect(readdirSync(folder)).toSatisfy((names: string[]) =>
          names.every((name) => name.endsWith(".sock")),
        );
      } finally {
        delete process.env.PTC_POOL_SECRET;
      }
    },
  );

  test.skipIf(!isDocker)(
    "turns to an image that was built anew, and leaves the old one's sandboxes",
    async () => {
      const image = `ptc-pool-test-${process.pid}`;
      await docker.getImage("ptc-runner").tag({ repo: image });
      try {
        const { pool, sandboxes } = open(2, image);
        pool.warm();
        const old = await running(sandboxes, 2);
        const { Id: digest } = await docker.getImage(image).inspect();
        const container = await docker.createContainer({ Image: image });
        await container.commit({ repo: image });
        await container.remove();
        // The pool takes the engine's word for a second.
        await new Promise((resolve) => setTimeout(resolve, 1_100));
        const { result, envelope } = await sandboxes.run("globalThis.result = 1");
        expect(result).toMatchObject({ ok: true, data: 1 });
        expect(envelope.sandbox_image).not.toBe(digest);
        const ids = await running(sandboxes, 2);
        expect(ids.filter((id) => old.includes(id))).toEqual([]);
      } finally {
        await opened?.pool.close();
        await docker.getImage(image).remove({ force: true });
      }
    },
  );

  test("of a process that is killed ends by itself, the waiting sandboxes and their containers with it", async () => {
    const base = mkdtempSync(join(tmpdir(), "ptc-k-"));
    const holder = spawn(process.execPath, [join(import.meta.dirname, "fixtures/pool-holder.ts"), base]);
    try {
      const [owner] = (await once(holder.stdout, "data")).map((text) => String(text).trim());
      const owned = async () => (await lookingEngine.list()).filter((each) => each.owner === owner);
      // One that was created and never started is the next ptc's to clear.
      const started = async () => {
        if (!isDocker) return owned();
        const ids = new Set((await docker.listContainers()).map(({ Id }) => Id));
        return (await owned()).filter(({ id }) => ids.has(id));
      };
      await eventually(async () => expect(await started()).toHaveLength(2));
      holder.kill("SIGKILL");
      await eventually(async () => expect(await owned()).toEqual([]));
    } finally {
      holder.kill("SIGKILL");
      rmSync(base, { recursive: true, force: true });
    }
  });
});
