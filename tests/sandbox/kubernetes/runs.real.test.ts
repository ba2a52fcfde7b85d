import { readFileSync, writeFileSync } from "node:fs";
import { connect, createServer, type Socket } from "node:net";
import { join } from "node:path";
import { afterEach, expect, onTestFinished, test } from "vitest";
import { envelopeOf, fixtureServer, type Project, type PtcProcess, usePtc } from "../../cli/ptc-process.ts";
import { eventually } from "../../eventually.ts";
import { processesIn } from "../../soak/served-ptc.ts";
import { newFolder } from "../../temporary-folder.ts";
import { describeClustered, killDaemon, TEST_CLUSTER, TestNamespace } from "./cluster.ts";

/** A call, and then nothing more. */
const LASTING = `await mcp__x__note({ id: "once" });
console.error("called");
setInterval(() => {}, 1_000);
await new Promise(() => {});`;
const CALLING = `await mcp__x__note({ id: "only" });
globalThis.result = "done";`;

/** `execution.timeout_seconds`, where nobody sets it. */
const LIMIT_MS = 120_000;

describeClustered("a run in a cluster", () => {
  const project = usePtc();
  const cluster = new TestNamespace("runs").use({ replicas: 2 });

  afterEach(async () => {
    await eventually(() => expect(cluster.names("sandboxclaims")).toEqual([]));
  });

  /** A folder whose programs run in the cluster, with a server `x` that writes down the calls which it gets. */
  async function open(kubernetes: object = {}, sandbox: object = {}) {
    const log = join(newFolder(), "calls");
    writeFileSync(log, "");
    const folder = project({
      "ptc.yaml": {
        servers: [fixtureServer("x", "counts-calls.mjs", [log])],
        sandbox: {
          ...{ engine: "kubernetes", image: cluster.image, ...sandbox },
          kubernetes: { ...cluster.options, ready_timeout_seconds: 30, ...kubernetes },
        },
      },
    });
    await folder.generate();
    const calls = () => readFileSync(log, "utf8").split("\n").slice(0, -1);
    return { folder, calls };
  }

  /** Starts a program, which a test may leave running. */
  function start(folder: Project, code: string, name = "p.ts"): PtcProcess {
    folder.write(name, code);
    const ptc = folder.start(["run", name]);
    onTestFinished(() => ptc.kill("SIGKILL"));
    return ptc;
  }

  async function startLasting(kubernetes: object = {}) {
    const { folder, calls } = await open(kubernetes);
    const ptc = start(folder, LASTING);
    await ptc.printed(/called/);
    const [claim] = cluster.list("sandboxclaims");
    return { folder, calls, ptc, claim, pod: claim.status.sandbox.name as string };
  }

  const resultOf = async (ptc: PtcProcess) => envelopeOf(await ptc.exited).result;

  test("is named by its claim, which ends later than the program may, and is gone with it", async () => {
    const { ptc, claim, calls } = await startLasting();
    expect(claim.metadata.labels).toMatchObject({
      "app.kubernetes.io/managed-by": "ptc",
      "dev.ptc.owner": expect.stringMatching(/./),
      "dev.ptc.principal": "local",
      "dev.ptc.run": expect.stringMatching(/^[0-9a-f-]{36}$/),
    });
    expect(claim.spec.lifecycle.shutdownPolicy).toBe("Delete");
    expect(Date.parse(claim.spec.lifecycle.shutdownTime)).toBeGreaterThan(Date.now() + LIMIT_MS);
    ptc.kill("SIGTERM");
    const { result, ...envelope } = envelopeOf(await ptc.exited);
    expect(result).toMatchObject({ ok: false, error: { type: "Cancelled" } });
    expect(envelope.run_id).toBe(claim.metadata.labels["dev.ptc.run"]);
    expect(calls()).toEqual(["once"]);
    expect(cluster.names("leases")).toEqual([]);
  });

  test("of a ptc that is killed leaves nothing after any other ptc has looked", async () => {
    const { folder, ptc, calls } = await startLasting();
    ptc.kill("SIGKILL");
    await ptc.exited;
    const [lease] = cluster.names("leases");
    // As it is a quarter of an hour later.
    const renewTime = new Date(Date.now() - 16 * 60_000).toISOString().replace("Z", "000Z");
    cluster.kubectl(
      "patch",
      "lease",
      `${lease}`,
      "--type=merge",
      "-p",
      JSON.stringify({ spec: { renewTime } }),
    );
    const { envelope } = await folder.run("globalThis.result = 1;");
    expect(envelope.result).toMatchObject({ ok: true, data: 1 });
    await eventually(() => expect(cluster.names("leases")).toEqual([]));
    await eventually(() => expect(cluster.names("sandboxclaims")).toEqual([]));
    expect(calls()).toEqual(["once"]);
  });

  test.skipIf(TEST_CLUSTER === undefined)(
    "goes on while API server, kubelet and controller are killed, and one that comes meanwhile waits for them",
    async () => {
      const { folder, calls } = await open();
      const steady = start(
        folder,
        `for (let n = 0; n < 30; n++) {
           await mcp__x__note({ id: "steady " + n });
           if (n === 0) console.error("called");
           await new Promise((resolve) => setTimeout(resolve, 200));
         }
         globalThis.result = "done";`,
        "steady.ts",
      );
      await steady.printed(/called/);
      for (const name of ["kubelet", "agent-sandbox", "kube-apiserver"]) await killDaemon(name);
      const late = start(
        folder,
        'await mcp__x__note({ id: "late" }); globalThis.result = "late";',
        "late.ts",
      );
      TEST_CLUSTER?.up();
      expect(await resultOf(steady)).toMatchObject({ ok: true, data: "done" });
      expect(await resultOf(late)).toMatchObject({ ok: true, data: "late" });
      const made = calls();
      expect(made).toHaveLength(31);
      expect(new Set(made).size).toBe(31);
    },
  );

  test.skipIf(TEST_CLUSTER === undefined)(
    "whose node is dead ends with what to do, after one call, and the next runs when there is a node again",
    async () => {
      const { folder, ptc, calls } = await startLasting();
      await killDaemon("kubelet");
      onTestFinished(() => TEST_CLUSTER?.up());
      // Their sockets are not closed, as when a machine loses its power.
      endSandboxes();
      expect(await resultOf(ptc)).toMatchObject({
        ok: false,
        error: {
          type: "InternalError",
          message: expect.stringMatching(/its node or the network may be down; run the program again/),
        },
      });
      expect(calls()).toEqual(["once"]);
      TEST_CLUSTER?.up();
      const { envelope } = await folder.run("globalThis.result = 1;");
      expect(envelope.result).toMatchObject({ ok: true, data: 1 });
    },
  );

  test("goes on when every connection to the API server is closed again and again", async () => {
    const proxy = await closingProxy(new URL(cluster.server), 400);
    const kubeconfig = join(newFolder(), "kubeconfig");
    writeFileSync(kubeconfig, cluster.kubeconfigText.replace(cluster.server, proxy));
    const { folder, calls } = await open({ kubeconfig });
    const { envelope } = await folder.run(CALLING);
    expect(envelope.result).toMatchObject({ ok: true, data: "done" });
    expect(calls()).toEqual(["only"]);
  });

  test("whose pod is deleted ends as killed from outside, after one call", async () => {
    const { ptc, pod, calls } = await startLasting();
    cluster.kubectl("delete", "pod", pod, "--wait=false");
    expect(await resultOf(ptc)).toMatchObject({
      ok: false,
      error: {
        type: "InternalError",
        message: expect.stringMatching(/killed from outside, with its pod .*; run the program again/),
      },
    });
    expect(calls()).toEqual(["once"]);
  });

  test("whose pod is evicted ends with what the cluster says, after one call", async () => {
    const { ptc, pod, calls } = await startLasting();
    const eviction = {
      ...{ apiVersion: "policy/v1", kind: "Eviction" },
      metadata: { name: pod, namespace: cluster.namespace },
    };
    const path = `/api/v1/namespaces/${cluster.namespace}/pods/${pod}/eviction`;
    cluster.create(path, eviction);
    expect(await resultOf(ptc)).toMatchObject({
      ok: false,
      error: { type: "InternalError", message: expect.stringMatching(/evict.*; run the program again/i) },
    });
    expect(calls()).toEqual(["once"]);
  });

  test("that takes more memory than its pod has ends with OutOfMemory, after one call", async () => {
    const { folder, calls } = await open();
    const { envelope } = await folder.run(
      `await mcp__x__note({ id: "once" });
       const held = []; for (;;) held.push(Buffer.alloc(16 * 1024 * 1024, 1));`,
    );
    expect(envelope.result).toMatchObject({ ok: false, error: { type: "OutOfMemory" } });
    expect(calls()).toEqual(["once"]);
  });

  test("whose image no node has ends with SandboxUnavailable and what to look at", async () => {
    const image = `localhost/nowhere@sha256:${"ab".repeat(32)}`;
    cluster.apply(...cluster.manifestsOf({ template: "nowhere", image, replicas: 1 }));
    const { folder } = await open({ template: "nowhere" }, { image: "nowhere" });
    const { envelope } = await folder.run("globalThis.result = 1;");
    expect(envelope.result).toMatchObject({
      ok: false,
      error: {
        type: "SandboxUnavailable",
        message: expect.stringMatching(/ErrImageNeverPull.*`kubectl describe pod/),
      },
    });
    cluster.kubectl("delete", "sandboxwarmpool", "nowhere-javascript");
  });

  test("waits for a pod of a drained pool, and gets the next", async () => {
    const { folder, calls } = await open();
    cluster.scale(1);
    const all = ["a", "b", "c"].map((name) =>
      start(folder, `await mcp__x__note({ id: "${name}" }); globalThis.result = "${name}";`, `${name}.ts`),
    );
    const results = await Promise.all(all.map(resultOf));
    expect(results).toMatchObject(["a", "b", "c"].map((data) => ({ ok: true, data })));
    expect(calls().sort()).toEqual(["a", "b", "c"]);
    cluster.scale(2);
  });

  test("for whose pod there is no quota ends with SandboxUnavailable, which says so, when its wait is over", async () => {
    const { folder, calls } = await open({ ready_timeout_seconds: 4 });
    cluster.apply({
      ...{ apiVersion: "v1", kind: "ResourceQuota" },
      metadata: { name: "none", namespace: cluster.namespace },
      spec: { hard: { pods: "0" } },
    });
    onTestFinished(() => {
      cluster.kubectl("delete", "resourcequota", "none");
      cluster.scale(2);
    });
    cluster.scale(0);
    await eventually(() => expect(cluster.names("pods")).toEqual([]));
    const { envelope } = await folder.run(CALLING);
    expect(envelope.result).toMatchObject({
      ok: false,
      error: { type: "SandboxUnavailable", message: expect.stringMatching(/within 4 s: .*quota.*; raise/) },
    });
    expect(calls()).toEqual([]);
  });
});

/** Ends all gVisor sandboxes of the cluster's node, with the network that each has of its own. */
function endSandboxes(): void {
  for (const pid of processesIn(join(TEST_CLUSTER?.root ?? "", "run/runsc"))) {
    try {
      process.kill(pid, "SIGKILL");
    } catch {
      // It has ended with another.
    }
  }
}

/** A way to a server on which no connection lasts longer than that. */
async function closingProxy({ hostname, port }: URL, lastsMs: number): Promise<string> {
  const open = new Set<Socket>();
  const server = createServer((socket) => {
    const behind = connect(Number(port), hostname);
    const close = () => {
      socket.destroy();
      behind.destroy();
      open.delete(socket);
    };
    open.add(socket);
    for (const each of [socket, behind]) each.on("error", close).on("close", close);
    socket.pipe(behind).pipe(socket);
    setTimeout(close, lastsMs).unref();
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => {
    for (const socket of open) socket.destroy();
    server.close();
  });
  const address = server.address();
  return `https://127.0.0.1:${typeof address === "object" ? address?.port : ""}`;
}
