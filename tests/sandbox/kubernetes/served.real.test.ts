import { execFileSync } from "node:child_process";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, expect, test } from "vitest";
import { RIGHTS } from "../../../sandbox/kubernetes/examination.ts";
import { envelopeOf, fixtureServer, usePtc } from "../../cli/ptc-process.ts";
import { eventually } from "../../eventually.ts";
import { newFolder } from "../../temporary-folder.ts";
import { describeClustered, TestNamespace } from "./cluster.ts";

/** Where the kubelet mounts what a pod is to the API server. */
const ACCOUNT = "/run/secrets/kubernetes.io/serviceaccount";
/** Has a command see that folder, and nobody else. */
const MOUNTED = `mount -t tmpfs none /run && mkdir -p ${ACCOUNT} && cp "$1"/* ${ACCOUNT} && shift && exec "$@"`;

describeClustered("ptc with a cluster", () => {
  const project = usePtc();
  const cluster = new TestNamespace("served").use({ replicas: 1, runners: ["javascript", "python"] });

  afterEach(async () => {
    await eventually(() => expect(cluster.names("sandboxclaims")).toEqual([]));
    await eventually(() => expect(cluster.names("leases")).toEqual([]));
  });

  async function open(kubernetes: object = cluster.options, warm = 0) {
    const folder = project({
      "ptc.yaml": {
        languages: ["typescript", "python"],
        sessions: true,
        servers: [fixtureServer("desk", "echo-v1.mjs")],
        sandbox: { engine: "kubernetes", image: cluster.image, warm, kubernetes },
      },
    });
    await folder.generate();
    return folder;
  }

  test("runs programs in Python in pods of their own pool", async () => {
    const folder = await open();
    folder.write("p.py", 'result = mcp__desk__echo(text="from Python")\n');
    const { result } = envelopeOf(await folder.ptc(["run", "p.py"]));
    expect(result).toMatchObject({ ok: true, data: "from Python" });
  });

  test("claims as many pods ahead as are to be warm, gives one to a program, and gives the rest back at its end", async () => {
    const folder = await open(cluster.options, 1);
    const { client } = await folder.serve({ env: { PTC_HOST: "off" } });
    await client.listTools();
    await eventually(() => expect(cluster.list("sandboxclaims")).toHaveLength(1));
    const [before] = cluster.list("sandboxclaims");
    expect(before?.metadata.labels).not.toHaveProperty("dev.ptc.run");
    const code = 'globalThis.result = await mcp__desk__echo({ text: "ahead" });';
    const { content } = await client.callTool({ name: "execute_program", arguments: { code } });
    expect(JSON.stringify(content)).toContain("ahead");
    await eventually(() => {
      const [now, ...more] = cluster.names("sandboxclaims");
      expect(more).toEqual([]);
      expect(now).not.toBe(before?.metadata.name);
    });
    await client.close();
  });

  test("keeps the claim of a session from one program to the next, and gives it back at its end", async () => {
    const folder = await open();
    const { client } = await folder.serve();
    const run = async (code: string) => {
      const given = { code, session: "notes", language: "python" };
      const { content } = await client.callTool({ name: "execute_program", arguments: given });
      return (content as { text: string }[]).map(({ text }) => text).join("\n");
    };
    expect(await run('kept = mcp__desk__echo(text="kept")\nresult = kept')).toContain("kept");
    const [before, ...more] = cluster.names("sandboxclaims");
    expect(more).toEqual([]);
    expect(await run("result = kept.upper()")).toContain("KEPT");
    expect(cluster.names("sandboxclaims")).toEqual([before]);
    expect(await folder.start(["sessions", "end", "notes"]).exited).toMatchObject({ code: 0 });
    await eventually(() => expect(cluster.names("sandboxclaims")).toEqual([]));
    await client.close();
  });

  test("that serves removes what a killed one has left, though no program comes", async () => {
    const folder = await open();
    const { client } = await folder.serve();
    await client.listTools();
    const metadata = (name: string, more: object = {}) => ({
      ...{ name, namespace: cluster.namespace, labels: { "app.kubernetes.io/managed-by": "ptc" } },
      ...more,
    });
    // As it is a quarter of an hour later.
    const renewTime = new Date(Date.now() - 16 * 60_000).toISOString().replace("Z", "000Z");
    const api = "coordination.k8s.io/v1";
    cluster.apply({ apiVersion: api, kind: "Lease", metadata: metadata("left"), spec: { renewTime } });
    const [{ metadata: lease }] = cluster.list("leases");
    const owner = { apiVersion: api, kind: "Lease", name: "left", uid: lease.uid };
    cluster.apply({
      ...{ apiVersion: "extensions.agents.x-k8s.io/v1beta1", kind: "SandboxClaim" },
      metadata: metadata("left", { ownerReferences: [owner] }),
      spec: { warmPoolRef: { name: "ptc-javascript" } },
    });
    await eventually(() => expect(cluster.names("leases")).toEqual([]));
    await eventually(() => expect(cluster.names("sandboxclaims")).toEqual([]));
    await client.close();
  });

  test("in a pod goes by the service account that is mounted there, and its namespace", async () => {
    cluster.account("ptc", RIGHTS);
    const mounted = newFolder();
    writeFileSync(join(mounted, "token"), cluster.token("ptc"));
    writeFileSync(join(mounted, "namespace"), cluster.namespace);
    writeFileSync(join(mounted, "ca.crt"), cluster.serverCa);
    const folder = await open({});
    folder.write("p.ts", 'globalThis.result = await mcp__desk__echo({ text: "from a pod" });');
    const home = join(folder.directory, "home");
    mkdirSync(home);
    const { hostname, port } = new URL(cluster.server);
    const { KUBECONFIG: _, ...env } = process.env;
    const stdout = execFileSync(
      "unshare",
      ["--mount", "sh", "-c", MOUNTED, "sh", mounted, ...folder.command(["run", "p.ts"])],
      {
        cwd: folder.directory,
        encoding: "utf8",
        env: {
          ...{ ...env, HOME: home, XDG_RUNTIME_DIR: join(folder.directory, "run") },
          ...{ KUBERNETES_SERVICE_HOST: hostname, KUBERNETES_SERVICE_PORT: port },
        },
      },
    );
    const { result } = envelopeOf({ code: 0, stdout, stderr: "" });
    expect(result).toMatchObject({ ok: true, data: "from a pod" });
  });
});
