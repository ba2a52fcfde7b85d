import { execFileSync, spawnSync } from "node:child_process";
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { RUNNER_STARTS } from "../../../languages/languages.ts";
import type { RunnerName } from "../../../protocol/runners.ts";
import type { Right } from "../../../sandbox/kubernetes/examination.ts";
import { KubernetesEngine } from "../../../sandbox/kubernetes/kubernetes-engine.ts";
import { type ManifestRequest, programManifests } from "../../../sandbox/kubernetes/manifests.ts";
import type { ChannelPreference, KubernetesOptions } from "../../../sandbox/sandbox-engine.ts";

/** A cluster for tests alone, beside the checkout. */
const CLUSTER = join(import.meta.dirname, "../../../../shared/cluster");
const ROOT = process.env.PTC_K8S_ROOT ?? "/tmp/ptc-k8s";
const IMAGE = process.env.PTC_TEST_IMAGE ?? "ptc-runner";
export const LIMITS = { memoryMb: 512, cpus: 1, pids: 256 };
const SECRET = "ptc-launcher";

/**
 * Where a cluster is: `PTC_TEST_KUBECONFIG` names one whose template's image `PTC_TEST_CLUSTER_IMAGE` does; with
 * `PTC_TEST_KUBERNETES=1` the one beside the checkout is started, which takes a gigabyte of memory and root.
 */
export function whyNoCluster(): string {
  const { PTC_TEST_KUBECONFIG, PTC_TEST_KUBERNETES, PTC_TEST_CLUSTER_IMAGE } = process.env;
  if (PTC_TEST_KUBECONFIG !== undefined)
    return PTC_TEST_CLUSTER_IMAGE === undefined
      ? "PTC_TEST_CLUSTER_IMAGE is to name the image in the cluster, NAME@sha256:..."
      : "";
  if (PTC_TEST_KUBERNETES !== "1") return "neither PTC_TEST_KUBECONFIG nor PTC_TEST_KUBERNETES=1 is set";
  return existsSync(join(CLUSTER, "up.sh")) ? "" : "there is no cluster beside this checkout";
}

/** The cluster that these tests start, whose daemons they may kill; undefined where somebody else has named one. */
export const TEST_CLUSTER =
  process.env.PTC_TEST_KUBECONFIG === undefined
    ? {
        root: ROOT,
        script: join(CLUSTER, "up.sh"),
        up: () => void execFileSync(join(CLUSTER, "up.sh"), { stdio: "ignore" }),
      }
    : undefined;

/**
 * Kills a process of the cluster that these tests start, by its name there, and waits until it is gone: what starts the cluster again
 * leaves alone what is still there.
 */
export async function killDaemon(name: string): Promise<void> {
  const pid = Number(readFileSync(join(TEST_CLUSTER?.root ?? "", `run/${name}.pid`), "utf8"));
  process.kill(pid, "SIGKILL");
  while (existsSync(`/proc/${pid}`) && !/^State:\s+Z/m.test(statusOf(pid))) await delay(20);
}

function statusOf(pid: number): string {
  try {
    return readFileSync(`/proc/${pid}/status`, "utf8");
  } catch {
    return "State: Z";
  }
}

/** A namespace of the cluster with pods for programs. */
export class ClusterNamespace {
  readonly namespace: string;
  readonly folder = mkdtempSync(join(tmpdir(), "ptc-k8s-"));
  readonly #kubeconfig = process.env.PTC_TEST_KUBECONFIG ?? join(ROOT, "pki/admin.kubeconfig");
  #image = "";

  /** Begins with what the tests are about. */
  constructor(name: string) {
    this.namespace = `ptc-${name}-${process.pid}`;
  }

  /** Starts the cluster unless it runs, and makes the namespace. */
  open(replicas: number, runners: RunnerName[]): void {
    this.prepare();
    this.apply(...this.manifests(replicas, runners));
    // A pool without pods never says that it has none.
    for (const runner of replicas === 0 ? [] : runners) this.awaitPool(runner, replicas);
  }

  /** Waits until so many pods are ready. */
  awaitPool(runner: RunnerName, replicas: number): void {
    this.kubectl(
      ...["wait", `sandboxwarmpool/ptc-${runner}`, "--timeout=90s"],
      `--for=jsonpath={.status.readyReplicas}=${replicas}`,
    );
  }

  /** Starts the cluster unless it runs, and makes the namespace with what pods need, but none. */
  prepare(): void {
    const { PTC_TEST_KUBECONFIG, PTC_TEST_CLUSTER_IMAGE = "" } = process.env;
    TEST_CLUSTER?.up();
    this.#image = PTC_TEST_KUBECONFIG === undefined ? importImage() : PTC_TEST_CLUSTER_IMAGE;
    makeCertificates(this.folder);
    this.kubectl("create", "namespace", this.namespace);
    const file = (key: string, name: string) => `--from-file=${key}=${join(this.folder, name)}`;
    this.kubectl(
      ...["create", "secret", "generic", SECRET, file("ca.crt", "ca.crt")],
      ...[file("tls.crt", "program.crt"), file("tls.key", "program.key")],
    );
  }

  close(): void {
    rmSync(this.folder, { recursive: true, force: true });
    spawnSync(
      "kubectl",
      [...this.#flags, "delete", "namespace", this.namespace, "--wait=false"],
      this.#spawn,
    );
  }

  manifests(replicas: number, runners: RunnerName[] = ["javascript"]): object[] {
    return this.manifestsOf({ replicas, runners });
  }

  /** As ptc makes them. */
  manifestsOf(request: Partial<ManifestRequest>): object[] {
    return programManifests({
      namespace: this.namespace,
      template: "ptc",
      runners: ["javascript"],
      starts: RUNNER_STARTS,
      limits: LIMITS,
      replicas: 1,
      image: this.#image,
      runtimeClass: "gvisor",
      certificates: SECRET,
      ...(process.env.PTC_TEST_KUBECONFIG === undefined && { imagePullPolicy: "Never" }),
      ...request,
    });
  }

  apply(...items: object[]): void {
    const input = JSON.stringify({ apiVersion: "v1", kind: "List", items });
    execFileSync("kubectl", [...this.#flags, "apply", "-f", "-"], { ...this.#spawn, input });
  }

  /** Has the API server check manifests as if they were applied. @throws Error with what it says. */
  tryOut(...items: object[]): void {
    const input = JSON.stringify({ apiVersion: "v1", kind: "List", items });
    const flags = [...this.#flags, "apply", "--dry-run=server", "-f", "-"];
    execFileSync("kubectl", flags, { ...this.#spawn, input });
  }

  kubectl(...args: string[]): string {
    return execFileSync("kubectl", [...this.#flags, ...args], this.#spawn);
  }

  /** The names of the objects of a kind. */
  names(kind: string): string[] {
    const listed = this.kubectl("get", kind, "-o", "name");
    return listed.split("\n").flatMap((line) => (line === "" ? [] : [line.replace(/^[^/]*\//, "")]));
  }

  /** The objects of a kind, as the cluster has them. */
  // biome-ignore lint/suspicious/noExplicitAny: a test says what it expects of them.
  list(kind: string): any[] {
    return JSON.parse(this.kubectl("get", kind, "-o", "json")).items;
  }

  /** Posts an object to a path of the API. */
  create(path: string, object: object): void {
    execFileSync("kubectl", [...this.#flags, "create", "--raw", path, "-f", "-"], {
      ...this.#spawn,
      input: JSON.stringify(object),
    });
  }

  /** Kills the processes of a container behind the cluster's back. @param id as in the status of a pod. */
  endContainer(id: string): void {
    ctr("tasks", "kill", "--signal", "SIGKILL", id.replace("containerd://", ""));
  }

  /** Has another number of pods wait. */
  scale(replicas: number, runner: RunnerName = "javascript"): void {
    this.kubectl(
      ...["patch", "sandboxwarmpool", `ptc-${runner}`, "--type=merge", "-p"],
      JSON.stringify({ spec: { replicas } }),
    );
  }

  /** Makes a service account with these rights in the namespace and no other. @returns a kubeconfig that is it. */
  account(name: string, rights: readonly Right[]): string {
    const metadata = { name, namespace: this.namespace };
    const rbac = "rbac.authorization.k8s.io";
    const rules = rights.map(({ group, resource, verbs }) => ({
      ...{ apiGroups: [group], resources: [resource], verbs },
    }));
    this.apply(
      { apiVersion: "v1", kind: "ServiceAccount", metadata },
      { apiVersion: `${rbac}/v1`, kind: "Role", metadata, rules },
      {
        ...{ apiVersion: `${rbac}/v1`, kind: "RoleBinding", metadata },
        subjects: [{ kind: "ServiceAccount", ...metadata }],
        roleRef: { apiGroup: rbac, kind: "Role", name },
      },
    );
    const flags = ["--kubeconfig", join(this.folder, `${name}.kubeconfig`)];
    const config = (...args: string[]) => execFileSync("kubectl", ["config", ...args, ...flags], this.#spawn);
    writeFileSync(join(this.folder, "server-ca.crt"), this.serverCa);
    config(
      ...["set-cluster", "c", `--server=${this.server}`],
      ...[`--certificate-authority=${join(this.folder, "server-ca.crt")}`, "--embed-certs"],
    );
    config("set-credentials", "u", `--token=${this.token(name)}`);
    config("set-context", "c", "--cluster=c", "--user=u", `--namespace=${this.namespace}`);
    config("use-context", "c");
    return flags[1] as string;
  }

  /** A token of a service account, as the kubelet would mount it. */
  token(account: string): string {
    return this.kubectl("create", "token", account).trim();
  }

  /** `sandbox.kubernetes` of a configuration. */
  get options() {
    return { kubeconfig: this.#kubeconfig, namespace: this.namespace, certificates: this.folder };
  }

  get kubeconfig(): string {
    return this.#kubeconfig;
  }

  get kubeconfigText(): string {
    return readFileSync(this.#kubeconfig, "utf8");
  }

  /** The certificate of the API server's authority. */
  get serverCa(): Buffer {
    const path = "jsonpath={.clusters[0].cluster.certificate-authority-data}";
    return Buffer.from(this.kubectl("config", "view", "--minify", "--raw", "-o", path), "base64");
  }

  /** The address of the API server. */
  get server(): string {
    return this.kubectl("config", "view", "--minify", "-o", "jsonpath={.clusters[0].cluster.server}");
  }

  engine(channel: ChannelPreference = "socket", options: KubernetesOptions = {}): KubernetesEngine {
    return new KubernetesEngine({
      folder: this.folder,
      runners: RUNNER_STARTS,
      channel,
      kubernetes: {
        kubeconfig: this.#kubeconfig,
        namespace: this.namespace,
        ...(channel !== "attached" && { certificates: this.folder }),
        ...options,
      },
    });
  }

  /** The image with its digest, as the cluster has it. */
  get reference(): string {
    return this.#image;
  }

  /** The name of the image, without its digest. */
  get image(): string {
    return this.#image.replace(/@.*$/, "");
  }

  get #flags(): string[] {
    return ["--kubeconfig", this.#kubeconfig, "--namespace", this.namespace];
  }

  get #spawn() {
    const env = { ...process.env, PATH: `${join(ROOT, "bin")}:${process.env.PATH}` };
    return { env, encoding: "utf8" as const, stdio: ["pipe", "pipe", "pipe"] as ["pipe", "pipe", "pipe"] };
  }
}

/** The client of the test cluster's containerd. */
const ctr = (...args: string[]) =>
  execFileSync("ctr", ["-a", join(ROOT, "run/containerd.sock"), "-n", "k8s.io", ...args], {
    encoding: "utf8",
  });

/** Gives an image of this machine's Docker to the cluster's containerd, once for each content. @returns its name there, with a digest. */
export function importImage(name = IMAGE): string {
  const id = execFileSync("docker", ["image", "inspect", "-f", "{{.Id}}", name], {
    encoding: "utf8",
  }).trim();
  const imported = `localhost/imported:${id.slice("sha256:".length)}`;
  const digestOf = () =>
    ctr("images", "ls")
      .split("\n")
      .map((line) => line.split(/\s+/))
      .find(([reference]) => reference === imported)?.[2];
  if (digestOf() === undefined) {
    const folder = mkdtempSync(join(tmpdir(), "ptc-k8s-image-"));
    execFileSync("docker", ["save", name, "-o", join(folder, "image.tar")]);
    ctr("images", "import", join(folder, "image.tar"));
    rmSync(folder, { recursive: true });
    ctr("images", "tag", "--force", `docker.io/library/${name}:latest`, imported);
  }
  const reference = `localhost/${name}@${digestOf()}`;
  ctr("images", "tag", "--force", imported, reference);
  return reference;
}

/** An authority, and certificates of it for ptc (`tls.crt`) and for the launchers (`program.crt`). */
export function makeCertificates(folder: string): void {
  const openssl = (...args: string[]) => execFileSync("openssl", args, { cwd: folder, stdio: "pipe" });
  const key = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-sha256"];
  openssl(
    ...["req", "-x509", ...key, "-days", "2", "-subj", "/CN=ptc-test"],
    ...["-addext", "keyUsage=critical,keyCertSign", "-keyout", "ca.key", "-out", "ca.crt"],
  );
  for (const [name, usage] of [
    ["program", "serverAuth"],
    ["tls", "clientAuth"],
  ] as const) {
    writeFileSync(join(folder, "ext"), `extendedKeyUsage=${usage}\nsubjectAltName=DNS:ptc-program\n`);
    openssl("req", "-new", ...key, "-subj", `/CN=${name}`, "-keyout", `${name}.key`, "-out", `${name}.csr`);
    openssl(
      ...["x509", "-req", "-in", `${name}.csr`, "-CA", "ca.crt", "-CAkey", "ca.key", "-CAcreateserial"],
      ...["-days", "2", "-sha256", "-extfile", "ext", "-out", `${name}.crt`],
    );
  }
}
