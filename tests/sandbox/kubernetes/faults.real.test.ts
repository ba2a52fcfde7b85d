import { readFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, expect, test } from "vitest";
import { encodeFrame } from "../../../protocol/frames.ts";
import { MAX_REPLY_FRAME_BYTES } from "../../../protocol/limits.ts";
import type { KubernetesOptions, StartedSandbox } from "../../../sandbox/sandbox-engine.ts";
import { eventually } from "../../eventually.ts";
import { keptOutput } from "../outputs.ts";
import { describeClustered, LIMITS, TEST_CLUSTER, TestNamespace } from "./cluster.ts";

const OUTPUT_LIMITS = { max_output_bytes: 65_536, max_stderr_bytes: 65_536 };
const WAITING = "console.error('started'); setInterval(() => {}, 1000); await new Promise(() => {});";

describeClustered("pods of programs", () => {
  const cluster = new TestNamespace("faults").use({ replicas: 2 });
  const engines: { close(): Promise<void> }[] = [];
  const live: StartedSandbox[] = [];

  afterEach(async () => {
    for (const sandbox of live.splice(0)) {
      await sandbox.kill().catch(() => {});
      sandbox.release();
    }
    await Promise.all(engines.splice(0).map((engine) => engine.close()));
    await eventually(() => expect(cluster.names("sandboxclaims")).toEqual([]));
    expect(cluster.names("leases")).toEqual([]);
  });

  async function start(options: KubernetesOptions = {}) {
    const engine = cluster.engine("socket", options);
    engines.push(engine);
    const image = (await engine.findImage(cluster.image))?.digest ?? "";
    const { written, output } = keptOutput();
    const request = {
      image,
      runtime: "runsc",
      runner: "javascript",
      limits: LIMITS,
      owner: "faults",
    } as const;
    const started = await engine.start(request, output);
    live.push(started);
    const channel = await started.connected;
    channel.resume();
    const send = (bundle: string, data: unknown = {}) =>
      channel.write(encodeFrame({ type: "program", bundle, data, ...OUTPUT_LIMITS }, MAX_REPLY_FRAME_BYTES));
    return { started, written, send };
  }

  test("give a program no network, no key of the launcher, and nothing that the kubelet mounts", async () => {
    const { started, written, send } = await start();
    send(`
      import { connect } from "node:net";
      import { readFileSync, readdirSync } from "node:fs";
      import { networkInterfaces } from "node:os";
      const reach = (host, port) => new Promise((resolve) => {
        const socket = connect({ host, port });
        socket.on("connect", () => resolve("reached"));
        socket.on("error", (error) => resolve(error.code));
      });
      const read = (path) => { try { return readFileSync(path, "utf8"); } catch (error) { return error.code; } };
      globalThis.result = {
        launcher: await reach("127.0.0.1", 7411),
        elsewhere: await reach("198.18.77.1", 10250),
        interfaces: Object.keys(networkInterfaces()).filter((name) => name !== "lo"),
        keys: readdirSync("/run/ptc"),
        hosts: read("/etc/hosts") + read("/etc/resolv.conf"),
        token: read("/var/run/secrets/kubernetes.io/serviceaccount/token"),
        variables: Object.keys(process.env).filter((name) => /KUBERNETES|PTC_POD/.test(name)),
        first: read("/proc/1/cmdline").includes("launcher"),
      };
    `);
    await started.exited;
    expect(JSON.parse(written.out)).toMatchObject({
      ok: true,
      data: {
        launcher: expect.not.stringMatching("reached"),
        elsewhere: expect.not.stringMatching("reached"),
        interfaces: [],
        keys: [],
        hosts: "",
        token: "ENOENT",
        variables: [],
        first: false,
      },
    });
  });

  test("end as killed for their memory when a program takes more than there is", async () => {
    const { started, send } = await start();
    send("const held = []; for (;;) held.push(Buffer.alloc(16 * 1024 * 1024, 1));");
    const { code, isKilledByOthers } = await started.exited;
    expect([code, isKilledByOthers ?? false]).toEqual([137, false]);
  });

  test("end as killed by others when somebody deletes one", async () => {
    const { started, written, send } = await start();
    send(WAITING);
    await eventually(() => expect(written.err).toContain("started"));
    const [{ metadata }] = JSON.parse(cluster.kubectl("get", "sandboxclaims", "-o", "json")).items;
    expect(metadata.name).toBe(started.id);
    expect(metadata.labels["dev.ptc.owner"]).toBe("faults");
    const claim = JSON.parse(cluster.kubectl("get", "sandboxclaim", started.id, "-o", "json"));
    cluster.kubectl(
      "delete",
      "pod",
      claim.status.sandbox.name,
      "--wait=false",
      "--grace-period=0",
      "--force",
    );
    expect(await started.exited).toMatchObject({ code: 137, isKilledByOthers: true });
  });

  test.skipIf(TEST_CLUSTER === undefined)(
    "that have ended before they are used are given back, and the program gets another",
    async () => {
      const kubelet = Number(readFileSync(join(TEST_CLUSTER?.root ?? "", "run/kubelet.pid"), "utf8"));
      const waiting = await eventually(() => {
        const pods = cluster.list("pods");
        expect(pods.map(({ status }) => status.containerStatuses?.[0].ready)).toEqual([true, true]);
        return pods;
      });
      // The cluster does not notice.
      process.kill(kubelet, "SIGSTOP");
      try {
        for (const { status } of waiting) cluster.endContainer(status.containerStatuses[0].containerID);
        const starting = start();
        starting.catch(() => {});
        const ended = waiting.map(({ metadata }) => metadata.name);
        await eventually(() => {
          const [claim] = cluster.list("sandboxclaims");
          expect([undefined, ...ended]).not.toContain(claim?.status?.sandbox?.name);
        });
        process.kill(kubelet, "SIGCONT");
        const { started, written, send } = await starting;
        send("globalThis.result = 1;");
        await started.exited;
        expect(JSON.parse(written.out)).toMatchObject({ ok: true, data: 1 });
      } finally {
        process.kill(kubelet, "SIGCONT");
      }
    },
  );

  test("are refused where their template lacks a wall, which is named", async () => {
    const [template] = cluster.manifests(2);
    cluster.kubectl(
      ...["patch", "sandboxtemplate", "ptc-javascript", "--type=json", "-p"],
      '[{"op":"replace","path":"/spec/podTemplate/spec/automountServiceAccountToken","value":true}]',
    );
    await expect(start()).rejects.toThrow(
      /the SandboxTemplate 'ptc-javascript' cannot be used: automountServiceAccountToken must be false; `ptc image manifests/,
    );
    cluster.apply(template as object);
  });

  test("are waited for as long as a program may, and then it is said what is missing", async () => {
    cluster.apply({
      apiVersion: "v1",
      kind: "ResourceQuota",
      metadata: { name: "none", namespace: cluster.namespace },
      spec: { hard: { pods: "0" } },
    });
    cluster.kubectl(
      "patch",
      "sandboxwarmpool",
      "ptc-javascript",
      "--type=merge",
      "-p",
      '{"spec":{"replicas":0}}',
    );
    await eventually(() => expect(cluster.names("pods")).toEqual([]));
    await expect(start({ readyTimeoutMs: 5_000 })).rejects.toThrow(
      /the cluster has no pod for the program: none was ready within 5 s: .*quota.*; raise the replicas/,
    );
    cluster.kubectl("delete", "resourcequota", "none");
  });

  test("are said to be missing where nobody has made a pool", async () => {
    await expect(start({ template: "elsewhere" })).rejects.toThrow(
      /there is no SandboxWarmPool 'elsewhere-javascript' in the namespace ptc-faults-\d+; `ptc image manifests/,
    );
  });
});
