/**
 * Sandboxes that are pods of a cluster with kubernetes-sigs/agent-sandbox. The cluster keeps pods waiting whose runners have
 * started; each program claims one, and nothing else ever uses it:
 *
 *     claims.ts        a claim, which gets a pod of a SandboxWarmPool and is removed when the program has ended
 *     pools.ts         the pools that pods wait in, and their templates
 *     examination.ts   whether a cluster has what ptc needs, part by part, for `ptc doctor`
 *     program-pod.ts   what a pod must be like; each is looked at before it is used
 *     pod-channel.ts   one stream to the launcher in the pod, by TLS or through the API server
 *     pod-sandbox.ts   how the pod ends, whoever ends it
 *     owner-lease.ts   whose claims they are, and what becomes of those of a dead ptc
 *
 * A program that has begun is never begun again in another pod: a call may have been made.
 */

import { createHash } from "node:crypto";
import type { Duplex } from "node:stream";
import * as z from "zod/mini";
import { inTime } from "../../base/waiting.ts";
import { RELAY_PATH } from "../../protocol/launcher.ts";
import type { RunnerStarts } from "../../protocol/runners.ts";
import type { SandboxOutput } from "../sandbox.ts";
import type {
  ChannelPreference,
  ChosenChannel,
  EngineDescription,
  EngineOptions,
  EnginePart,
  ExaminationRequest,
  KubernetesOptions,
  SandboxEngine,
  SandboxRequest,
  StartedSandbox,
} from "../sandbox-engine.ts";
import { SandboxError } from "../sandbox-error.ts";
import { type BoundClaim, Claims, EndedPod } from "./claims.ts";
import { ClusterApi } from "./cluster-api.ts";
import { examineCluster } from "./examination.ts";
import { KUBERNETES_ADVICE } from "./kubernetes-advice.ts";
import { OwnerLease } from "./owner-lease.ts";
import { connectLauncher, type LauncherKeys, PodChannel, readLauncherKeys } from "./pod-channel.ts";
import { PodSandbox } from "./pod-sandbox.ts";
import { GVISOR, MANIFESTS, type PodTemplate, Pools } from "./pools.ts";
import { digestOf, hasCertificates, isImageNamed, problemsOfPod, programPodSpec } from "./program-pod.ts";

const DEFAULT_TEMPLATE = "ptc";
const DEFAULT_READY_TIMEOUT_MS = 60_000;
/** How many pods one program may claim. One that has ended before it was used, such as with its node, is given back. */
const MAX_CLAIMS = 3;
const PREFACE_PATIENCE_MS = 10_000;
const PERL = "/usr/bin/perl";

const Version = z.object({ gitVersion: z.string() });

export class KubernetesEngine implements SandboxEngine {
  readonly name = "Kubernetes";
  readonly advice = KUBERNETES_ADVICE;
  readonly hasFixedLimits = true;
  readonly #options: KubernetesOptions;
  readonly #runners: RunnerStarts;
  readonly #preference: ChannelPreference;
  readonly #leases = new Map<string, OwnerLease>();
  #opened: { api: ClusterApi; claims: Claims; pools: Pools } | undefined;

  constructor({ runners, channel = "auto", kubernetes = {} }: EngineOptions) {
    this.#options = kubernetes;
    this.#runners = runners;
    this.#preference = channel;
  }

  isElsewhere(): boolean {
    return true;
  }

  async describe(): Promise<EngineDescription> {
    const { api } = this.#cluster();
    const { gitVersion } = Version.parse(await api.request({ path: "/version" }));
    const { runtime, channel, problem } = await this.#describePods();
    return {
      version: gitVersion,
      identity: digest([api.endpoint, api.namespace, this.#prefix, gitVersion, runtime]),
      profile: profileDigest(this.#runners),
      endpoint: `${api.endpoint}, namespace ${api.namespace}`,
      runtimes: new Map([[runtime, { channel, problem }]]),
    };
  }

  async *examine(request: ExaminationRequest): AsyncGenerator<EnginePart> {
    const { api, pools } = this.#cluster();
    const starts = this.#runners;
    const needs = { ...request, starts, isAttached: this.#options.certificates === undefined };
    if (this.#preference !== "auto") needs.isAttached = this.#preference === "attached";
    yield* examineCluster(api, pools, needs);
  }

  async findImage(reference: string): Promise<{ digest: string } | undefined> {
    const { image } = await this.#cluster().pools.templateOf("javascript");
    const digest = digestOf(image);
    return digest !== undefined && isImageNamed(image, reference) ? { digest } : undefined;
  }

  async start(request: SandboxRequest, output: SandboxOutput): Promise<StartedSandbox> {
    const { owner, use, signal } = request;
    let { onRequested } = request;
    const { claims } = this.#cluster();
    const [template, belongsTo] = await Promise.all([
      this.#usableTemplate(request),
      this.#lease(owner).hold(),
    ]);
    const keys = this.#keysFor(template);
    const end = performance.now() + (this.#options.readyTimeoutMs ?? DEFAULT_READY_TIMEOUT_MS);
    for (let claimed = 1; ; claimed++) {
      let claim: BoundClaim | undefined;
      try {
        claim = await claims.make(
          { pool: template.pool, owner, belongsTo, use, signal },
          end - performance.now(),
          () => {
            onRequested?.();
            onRequested = undefined;
          },
        );
        return await this.#enter(claim, { request, template, keys }, output);
      } catch (error) {
        await claim?.remove().catch(() => {});
        // No program has begun, so another pod may have it.
        const isLost = claim === undefined ? error instanceof EndedPod : !(error instanceof UnfitPod);
        if (!isLost || claimed === MAX_CLAIMS) throw error;
      }
    }
  }

  /** Connects to the pod of a claim. @throws UnfitPod where it can be reached and lacks a wall. */
  async #enter(
    claim: BoundClaim,
    given: { request: SandboxRequest; template: PodTemplate; keys: LauncherKeys | undefined },
    output: SandboxOutput,
  ): Promise<StartedSandbox> {
    const { request, template, keys } = given;
    const { claims, api } = this.#cluster();
    const lost = () => new SandboxError("start_failed", "the pod was lost before it was used");
    const bound = claim.pod;
    if (bound === undefined) throw lost();
    const [pod, stream] = await this.#both(claims.findPod(bound.name), this.#connect(bound, keys));
    try {
      if (pod === undefined) throw lost();
      // A template may have changed since the pod was made.
      const image = digestOf(pod.spec.containers[0]?.image);
      const problems = problemsOfPod(pod.spec, this.#runners[request.runner], request.limits);
      refuse(`the pod ${bound.name}`, problems);
      if (image !== request.image || pod.spec.runtimeClassName !== template.spec.runtimeClassName)
        throw new UnfitPod(
          "start_failed",
          `the pod ${bound.name} was made from an earlier template; \`kubectl delete sandboxes -l agents.x-k8s.io/warm-pool-sandbox -n ${api.namespace}\` has its pool make others`,
        );
      const channel = new PodChannel(stream, output);
      const started = new PodSandbox({ claim, pod, claims, use: request.use }, channel, stream);
      await this.#greet(channel, pod.metadata.uid, bound.name);
      return started;
    } catch (error) {
      stream.destroy();
      throw error;
    }
  }

  list(): Promise<{ id: string; owner: string }[]> {
    return this.#cluster().claims.list();
  }

  /** What a program writes goes over the connection to its launcher, and not to the container's log. */
  async keepsOutput(): Promise<boolean> {
    return false;
  }

  remove(id: string): Promise<void> {
    return this.#cluster().claims.remove(id);
  }

  keepSwept(owner: string): void {
    try {
      this.#lease(owner).watch();
    } catch {
      // No cluster is configured, which the first program is told.
    }
  }

  async close(): Promise<void> {
    this.#opened?.claims.close();
    await Promise.all([...this.#leases.values()].map((lease) => lease.release()));
    this.#leases.clear();
  }

  get #prefix(): string {
    return this.#options.template ?? DEFAULT_TEMPLATE;
  }

  #cluster(): { api: ClusterApi; claims: Claims; pools: Pools } {
    if (this.#opened === undefined) {
      const api = ClusterApi.open(this.#options);
      this.#opened = { api, claims: new Claims(api), pools: new Pools(api, this.#prefix) };
    }
    return this.#opened;
  }

  #lease(owner: string): OwnerLease {
    const { api, claims } = this.#cluster();
    const known = this.#leases.get(owner);
    if (known !== undefined) return known;
    const lease = new OwnerLease(api, owner, () => void claims.renewDue());
    this.#leases.set(owner, lease);
    return lease;
  }

  /** Settles as both do, and closes the stream where the other has failed. */
  async #both<T>(other: Promise<T>, connecting: Promise<Duplex>): Promise<[T, Duplex]> {
    try {
      return await Promise.all([other, connecting]);
    } catch (error) {
      void connecting.then(
        (stream) => stream.destroy(),
        () => {},
      );
      throw error;
    }
  }

  #connect(
    { name, address }: { name: string; address: string },
    keys: LauncherKeys | undefined,
  ): Promise<Duplex> {
    return keys === undefined
      ? this.#cluster().api.execute(name, "program", [PERL, RELAY_PATH])
      : connectLauncher(address, keys);
  }

  /** Waits for the preface, and refuses another pod's. */
  async #greet(channel: PodChannel, uid: string, name: string): Promise<void> {
    const late = () => new SandboxError("start_failed", `the launcher of the pod ${name} does not speak`);
    const ended = channel.ended.then((code) => {
      const how = code === undefined ? "closed the connection" : `ended with exit code ${code}`;
      throw new SandboxError(
        "start_failed",
        `the launcher of the pod ${name} ${how}; \`kubectl logs ${name} -n ${this.#cluster().api.namespace}\` may say why`,
      );
    });
    const said = await inTime(Promise.race([channel.pod, ended]), PREFACE_PATIENCE_MS, late);
    if (said !== uid)
      throw new SandboxError("start_failed", `at the address of the pod ${name} there is another one by now`);
  }

  /** The template for a request. @throws SandboxError where its pods cannot be the sandboxes that are asked for. */
  async #usableTemplate({ runner, runtime, limits, image }: SandboxRequest): Promise<PodTemplate> {
    const template = await this.#cluster().pools.templateOf(runner);
    if (template.runtime !== runtime)
      throw new SandboxError(
        "runtime_missing",
        `the pods of the SandboxTemplate '${template.name}' run with '${template.runtime}', and sandbox.runtime is '${runtime}'; ${KUBERNETES_ADVICE.missingRuntime}`,
      );
    refuse(
      `the SandboxTemplate '${template.name}'`,
      problemsOfPod(template.spec, this.#runners[runner], limits),
    );
    if (digestOf(template.image) !== image)
      throw new SandboxError(
        "image_missing",
        `the SandboxTemplate '${template.name}' has another image than that of the other runner; ${MANIFESTS} with one for both`,
      );
    return template;
  }

  async #describePods(): Promise<{ runtime: string; channel?: ChosenChannel; problem?: string }> {
    try {
      const template = await this.#cluster().pools.templateOf("javascript");
      return { runtime: template.runtime, channel: this.#channelOf(template) };
    } catch (error) {
      if (!(error instanceof SandboxError) || error.code !== "image_missing") throw error;
      return { runtime: GVISOR, problem: `has no pods: ${error.message}` };
    }
  }

  #channelOf({ spec }: PodTemplate): ChosenChannel & { kind: "socket" | "attached" } {
    if (this.#preference !== "auto") return { kind: this.#preference, why: "sandbox.channel says so" };
    if (this.#options.certificates === undefined)
      return { kind: "attached", why: "through the API server: sandbox.kubernetes.certificates is not set" };
    return hasCertificates(spec)
      ? { kind: "socket", why: "by TLS to the pod" }
      : { kind: "attached", why: "through the API server: the template mounts no certificates" };
  }

  /** What a connection to a pod is made with; undefined where it goes through the API server. */
  #keysFor(template: PodTemplate): LauncherKeys | undefined {
    if (this.#channelOf(template).kind === "attached") return undefined;
    const { certificates } = this.#options;
    if (certificates === undefined)
      throw new SandboxError(
        "start_failed",
        "`sandbox.channel: socket` needs sandbox.kubernetes.certificates, a folder with ca.crt, tls.crt and tls.key; `sandbox.channel: attached` needs none",
      );
    if (!hasCertificates(template.spec))
      throw new SandboxError(
        "start_failed",
        `the SandboxTemplate '${template.name}' mounts no certificates, which \`sandbox.channel: socket\` needs`,
      );
    return readLauncherKeys(certificates);
  }
}

/** A pod or template that no program may have. */
class UnfitPod extends SandboxError {}

function refuse(what: string, problems: readonly string[]): void {
  if (problems.length === 0) return;
  throw new UnfitPod("start_failed", `${what} cannot be used: ${problems.join("; ")}; ${MANIFESTS}`);
}

function digest(parts: readonly unknown[]): string {
  return createHash("sha256").update(JSON.stringify(parts)).digest("hex");
}

/** Digest of how pods are isolated, without image and limits. */
function profileDigest(runners: RunnerStarts): string {
  const limits = { memoryMb: 512, cpus: 1, pids: 256 };
  return digest(
    Object.values(runners).map((start) => programPodSpec({ image: "", runtimeClass: "", start, limits })),
  );
}
