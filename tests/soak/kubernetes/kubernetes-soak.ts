import { execFile, execFileSync, spawnSync } from "node:child_process";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { promisify } from "node:util";
import * as z from "zod/mini";
import { ClusterApi } from "../../../sandbox/kubernetes/cluster-api.ts";
import { PostgresServer } from "../../archive/postgres/server.ts";
import {
  ClusterNamespace,
  importImage,
  killDaemon,
  TEST_CLUSTER,
  whyNoCluster,
} from "../../sandbox/kubernetes/namespace.ts";
import { type SoakCheck, SoakChecks, until } from "../checks.ts";
import { Balanced, SoakClient } from "../http/clients.ts";
import { type Kind, Programs, type Worker } from "../http/programs.ts";
import { Replica, serveCounter } from "../http/surroundings.ts";
import { HostDoors } from "./host-doors.ts";

const ROOT = join(import.meta.dirname, "../../..");
const CHART = join(ROOT, "deploy/chart");
const HELM = process.env.PTC_TEST_HELM ?? "helm";
const IMAGE = "ptc-soak";
const RELEASE = "team";
const REPLICAS = 2;
const POOL = 3;
const CALLS = 12;
/** Where the replicas say that they are. The balancer tells them so. */
const PUBLIC_URL = "http://127.0.0.1:8080/mcp";
const KEY = Buffer.alloc(32, 7).toString("base64");
/** How long after a killed replica is back programs may still feel it. */
const AFTERMATH_MS = 10_000;
/** How long a pool is empty. */
const DRAINED_MS = 8_000;

export interface KubernetesSoakOptions {
  /** An empty folder for everything. */
  directory: string;
  /** A command line that is ptc. */
  command: readonly string[];
  programs: number;
  inFlight: number;
  /** How often a replica is killed. */
  kills: number;
  say: (line: string) => void;
}

/** Why there can be no such soak here; empty where there can. */
export function whyNoKubernetesSoak(): string {
  if (whyNoCluster() !== "") return whyNoCluster();
  if (TEST_CLUSTER === undefined)
    return "it kills daemons, which it does to the cluster beside the checkout alone";
  return spawnSync(HELM, ["version"]).status === 0 ? "" : "PTC_TEST_HELM names no helm";
}

const note = (number: string) => `await mcp__remote__note({ id: data.id + "/" + ${number} });`;
const each = (body: string) => `for (let i = 0; i < ${CALLS}; i++) { ${body} }`;

const KINDS: readonly Kind[] = [
  { name: "calls", code: each(note("i")), calls: CALLS },
  {
    name: "parallel",
    code: `await parallel(Array.from({ length: ${CALLS} }, (_, i) => async () => { ${note("i")} }));`,
    calls: CALLS,
  },
  {
    name: "lasting",
    code: each(`${note("i")} await new Promise((resolve) => setTimeout(resolve, 150));`),
    calls: CALLS,
  },
  {
    name: "failing",
    code: `${each(note("i"))} throw new Error("as it should");`,
    calls: CALLS,
    failure: "ScriptError",
  },
];

/**
 * Has clients run programs at two replicas of ptc, which are pods of the chart, with one PostgreSQL, while replicas, kubelet, API
 * server and controller are killed, the pool is drained, and another version takes the place of the first. Says what held.
 */
export async function kubernetesSoak(options: KubernetesSoakOptions): Promise<SoakCheck[]> {
  const soak = new KubernetesSoak(options);
  try {
    return await soak.all();
  } finally {
    await soak.close();
  }
}

const Slice = z.object({
  endpoints: z.nullish(
    z.array(
      z.object({
        addresses: z.array(z.string()),
        conditions: z.optional(z.object({ ready: z.optional(z.boolean()) })),
      }),
    ),
  ),
});

class KubernetesSoak {
  readonly #options: KubernetesSoakOptions;
  readonly #checks: SoakChecks;
  readonly #programs: Programs;
  readonly #postgres = new PostgresServer(["fsync=off", "max_connections=100"]);
  readonly #cluster = new ClusterNamespace("soak");
  /** The pods that the Service leads to, as the cluster says. */
  readonly #origins: string[] = [];
  readonly #stopped = new AbortController();
  #doors: HostDoors | undefined;
  #counter: Awaited<ReturnType<typeof serveCounter>> | undefined;
  #clients: Worker[] = [];

  constructor(options: KubernetesSoakOptions) {
    this.#options = options;
    this.#checks = new SoakChecks(options.say);
    this.#programs = new Programs(this.#checks, KINDS);
    mkdirSync(options.directory, { recursive: true });
  }

  async all(): Promise<SoakCheck[]> {
    const { programs, inFlight, say } = this.#options;
    await this.#postgres.start();
    const counter = await serveCounter();
    this.#counter = counter;
    this.#cluster.prepare();
    const [first, second] = buildImages();
    const database = this.#postgres.url("soak");
    const values = await this.#values(counter.url);
    await this.#install(values, first);
    this.#follow();
    await this.#untilServed();
    const ptc = this.#commandsOn(database);
    const created = await ptc("token", "create", "soak", "--expires", "1d", "--json");
    const token = /"token":"([^"]+)"/.exec(created.text)?.[1];
    if (token === undefined) throw new Error(`ptc token create: ${created.text}`);
    const balanced = new Balanced(this.#origins, PUBLIC_URL);
    this.#clients = Array.from({ length: inFlight }, (_, index) => ({
      isStateless: true,
      client: new SoakClient(`client-${index}`, "2026-07-28", balanced, { token }),
    }));
    const startedAt = performance.now();
    const disturbing = this.#disturb(values, second);
    await this.#programs.run(this.#clients, programs);
    const seconds = (performance.now() - startedAt) / 1_000;
    await disturbing;
    say(`${programs} programs, ${inFlight} at a time, in ${seconds.toFixed(0)} s`);
    this.#programs.checkTold();
    this.#programs.checkCalls(counter.ids);
    await this.#programs.checkRecords(database, ptc);
    await this.#checkLeftovers();
    return this.#checks.all;
  }

  async close(): Promise<void> {
    this.#stopped.abort();
    await Promise.all(this.#clients.map(({ client }) => client.close()));
    spawnSync(HELM, ["uninstall", RELEASE, ...this.#helmFlags, "--wait"], { stdio: "ignore" });
    this.#cluster.close();
    this.#doors?.close();
    this.#counter?.close();
    await this.#postgres.stop();
    this.#postgres.remove();
  }

  /** What an operator says to the chart. */
  async #values(counter: string): Promise<object> {
    const path = "jsonpath={.items[0].status.addresses[?(@.type=='InternalIP')].address}";
    const doors = new HostDoors(this.#cluster.kubectl("get", "nodes", "-o", path));
    this.#doors = doors;
    const { hostname, port } = new URL(this.#cluster.server);
    const [api, remote, postgres] = await Promise.all([
      doors.open({ host: hostname, port: Number(port) }),
      doors.open({ host: "127.0.0.1", port: Number(new URL(counter).port) }),
      doors.open({ path: join(this.#postgres.folder, ".s.PGSQL.5432") }),
    ]);
    const search = encodeURIComponent("-c search_path=soak");
    const url = `postgres://ptc@${postgres.host}:${postgres.port}/postgres?options=${search}`;
    const secret = (name: string, ...from: string[]) =>
      this.#cluster.kubectl("create", "secret", "generic", name, ...from);
    secret("ptc-database", `--from-literal=url=${url}`, `--from-literal=encryption_key=${KEY}`);
    const files = ["ca.crt", "tls.crt", "tls.key"];
    secret("ptc-client", ...files.map((name) => `--from-file=${join(this.#cluster.folder, name)}`));
    return {
      replicas: REPLICAS,
      config: {
        servers: [{ name: "remote", url: `http://${remote.host}:${remote.port}/mcp` }],
        http: { auth: { tokens: true } },
      },
      http: { publicUrl: PUBLIC_URL, trustedProxies: [`${api.host}/32`], lameDuckSeconds: 5 },
      programs: {
        ...{ image: this.#cluster.reference, imagePullPolicy: "Never" },
        ...{ certificatesSecret: "ptc-launcher", clientCertificatesSecret: "ptc-client" },
        pools: [{ runner: "javascript", replicas: POOL }],
      },
      // The address that the cluster has for its API server leads nowhere without kube-proxy.
      env: [
        { name: "KUBERNETES_SERVICE_HOST", value: api.host },
        { name: "KUBERNETES_SERVICE_PORT", value: `${api.port}` },
      ],
      resources: { requests: { cpu: "50m", memory: "128Mi" }, limits: { memory: "1Gi" } },
    };
  }

  /** Installs the chart, or has the version that runs replaced by one with another image. Resolves when all replicas are ready. */
  async #install(values: object, image: string): Promise<void> {
    const [repository, digest] = image.split("@");
    const file = join(this.#options.directory, "values.yaml");
    writeFileSync(file, JSON.stringify({ ...values, image: { repository, digest, pullPolicy: "Never" } }));
    const args = ["upgrade", "--install", RELEASE, CHART, ...this.#helmFlags, "-f", file, "--wait"];
    await promisify(execFile)(HELM, [...args, "--timeout", "180s"]);
  }

  get #helmFlags(): string[] {
    return ["--kubeconfig", this.#cluster.kubeconfig, "--namespace", this.#cluster.namespace];
  }

  /** Follows where the Service leads to, as a balancer does. */
  #follow(): void {
    const api = ClusterApi.open(this.#cluster.options);
    const path = `/apis/discovery.k8s.io/v1/namespaces/${this.#cluster.namespace}/endpointslices`;
    const see = (object: unknown, isDeleted: boolean) => {
      const { endpoints } = Slice.parse(object);
      const ready = (endpoints ?? []).filter(({ conditions }) => conditions?.ready !== false);
      const origins = ready.flatMap(({ addresses }) => addresses.map((address) => `http://${address}:8080`));
      if (!isDeleted) this.#origins.splice(0, Number.POSITIVE_INFINITY, ...origins);
    };
    void api.follow(path, `kubernetes.io/service-name=${RELEASE}`, see, this.#stopped.signal);
  }

  async #untilServed(): Promise<void> {
    if (!(await until(() => this.#origins.length === REPLICAS))) throw new Error("no replica is ready");
    this.#cluster.awaitPool("javascript", POOL);
  }

  /** Commands of ptc on this machine with the same database. */
  #commandsOn(url: string): (...args: string[]) => Promise<{ ok: boolean; text: string }> {
    const { directory, command } = this.#options;
    const configuration = {
      servers: [],
      storage: { url, encryption_key: KEY },
      http: { auth: { tokens: true } },
    };
    const beside = new Replica({ port: 0, command, configuration, directory: join(directory, "beside") });
    return (...args) => beside.ptc(...args);
  }

  /** One thing after the other, spread over the programs. Replicas alone may take programs with them. */
  async #disturb(values: object, image: string): Promise<void> {
    const { programs, kills } = this.#options;
    const events: [string, () => Promise<void>][] = [
      ["kubelet was killed", () => this.#killDaemon("kubelet")],
      ["the API server was killed", () => this.#killDaemon("kube-apiserver")],
      ["the controller was killed", () => this.#killDaemon("agent-sandbox")],
      ["the pool was drained", () => this.#drain()],
    ];
    for (let kill = 0; kill < kills; kill++)
      events.splice(kill * 2 + 1, 0, ["a replica was killed", () => this.#killReplica()]);
    events.push(["another version had come", () => this.#upgrade(values, image)]);
    for (const [index, [what, happen]] of events.entries()) {
      const due = ((index + 0.5) * programs) / (events.length + 0.5);
      while (this.#programs.ended.length < due) await delay(50);
      const at = this.#programs.ended.length;
      await happen();
      this.#options.say(`${what} at program ${at}, until program ${this.#programs.ended.length}`);
    }
  }

  async #killDaemon(name: string): Promise<void> {
    if (TEST_CLUSTER === undefined) return;
    await killDaemon(name);
    await promisify(execFile)(TEST_CLUSTER.script);
  }

  /** Kills the processes in the first of the replicas that are ready. The kubelet starts others. */
  async #killReplica(): Promise<void> {
    const from = performance.now();
    const [pod] = this.#pods().filter(({ status }) => status.containerStatuses?.[0]?.ready);
    const { containerID, restartCount } = pod.status.containerStatuses[0];
    this.#cluster.endContainer(containerID);
    await until(() => {
      const found = this.#pods().find(({ metadata }) => metadata.name === pod.metadata.name);
      const container = found?.status.containerStatuses?.[0];
      return container?.ready === true && container.restartCount > restartCount;
    });
    this.#programs.disturb(from, performance.now() + AFTERMATH_MS);
  }

  async #drain(): Promise<void> {
    this.#cluster.scale(0);
    await delay(DRAINED_MS);
    this.#cluster.scale(POOL);
  }

  async #upgrade(values: object, image: string): Promise<void> {
    const from = performance.now();
    await this.#install(values, image);
    const isOver = () => this.#pods().length === REPLICAS;
    await until(isOver);
    const images = this.#pods().map(({ spec }) => spec.containers[0].image);
    const ended = performance.now();
    const during = this.#programs.ended.filter(({ beganAt, endedAt }) => beganAt < ended && endedAt > from);
    const lost = during.filter(({ envelope }) => envelope === undefined);
    this.#checks.check(
      "another version comes without a lost run",
      `${during.length} programs meanwhile, ${lost.length} lost; ${images.filter((each) => each === image).length} replicas of the new version`,
      lost.length === 0 && during.length > 0 && isOver() && images.every((each) => each === image),
    );
  }

  // biome-ignore lint/suspicious/noExplicitAny: objects of Kubernetes.
  #pods(): any[] {
    return this.#cluster
      .list("pods")
      .filter(({ metadata }) => metadata.labels["app.kubernetes.io/name"] === "ptc");
  }

  async #checkLeftovers(): Promise<void> {
    const from = Date.now();
    const look = () => {
      const leases = this.#cluster.list("leases");
      const living = leases.filter(({ spec }) => Date.parse(spec.renewTime) > from);
      const names = new Set(living.map(({ metadata }) => metadata.name));
      const claims = this.#cluster.list("sandboxclaims");
      const left = claims.filter(({ metadata }) => !names.has(metadata.ownerReferences[0].name));
      return { left: left.length, ahead: claims.length - left.length, dead: leases.length - living.length };
    };
    // Those that killed replicas have left are swept by the others, though no program comes any more. Those of the living are renewed,
    // and the living claim pods ahead of programs.
    await until(() => look().left === 0 && look().dead === 0);
    const { left: leftClaims, ahead, dead } = look();
    this.#checks.check(
      "what killed replicas have left is swept by the others",
      `${leftClaims} claims and ${dead} leases of the dead, ${ahead} claims ahead of programs`,
      leftClaims === 0 && dead === 0,
    );
    execFileSync(HELM, ["uninstall", RELEASE, ...this.#helmFlags, "--wait"], { stdio: "ignore" });
    const left = () =>
      ["sandboxclaims", "sandboxes", "leases", "pods"].map((kind) => ({
        kind,
        names: this.#cluster.names(kind),
      }));
    await until(() => left().every(({ names }) => names.length === 0));
    this.#checks.check(
      "nothing stays in the namespace",
      left()
        .map(({ kind, names }) => `${names.length} ${kind}`)
        .join(", "),
      left().every(({ names }) => names.length === 0),
    );
  }
}

/** Builds the image of ptc, and one that is its next version. @returns their names in the cluster. */
function buildImages(): [string, string] {
  execFileSync(process.execPath, ["scripts/image.ts", "--tag", IMAGE, "--local"], {
    cwd: ROOT,
    stdio: "ignore",
  });
  const next = `${IMAGE}-next`;
  execFileSync("docker", ["build", "--tag", next, "-"], {
    input: `FROM ${IMAGE}\nLABEL org.opencontainers.image.version=next\n`,
    stdio: ["pipe", "ignore", "ignore"],
    env: { ...process.env, DOCKER_BUILDKIT: "0" },
  });
  return [importImage(IMAGE), importImage(next)];
}
